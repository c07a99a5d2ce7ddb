"""The tables of the front page are those of the arena's page, cut and sorted."""

import importlib.util

import pytest

from tests.site.build import ROOT

SPEC = importlib.util.spec_from_file_location("front", ROOT / "docs" / "_ext" / "standings.py")
front = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(front)

SECTION = """Regression: squared error

2 of 3 sets, 2 of 2 families. Folds are halves.

| set | ridge |
| --- | --- |
| corn | 0.1 |

| method | mean rank among peers | mean rank, all methods | ratio to the best peer | worst family |
| --- | --- | --- | --- | --- |
| mean | - | - | - | - |
| ridge | 2.50 | 2.9 | 1.2 | corn |
| ours | 1.50 | 1.4 | 0.9 | corn |

skstretch loses to the best peer on 1 of 2 families.

skstretch against RidgeCV on 2 sets: loses on 1.
"""


def test_ranked_methods_are_sorted_and_columns_are_cut():
    assert front.standing(SECTION).splitlines() == [
        "| method | mean rank among peers | ratio to the best peer |",
        "| --- | --- | --- |",
        "| ours | 1.50 | 0.9 |",
        "| ridge | 2.50 | 1.2 |",
    ]


def test_the_number_of_sets_is_told():
    assert front.measured(SECTION) == "2 of 3 sets, 2 of 2 families."
    assert front.measured("Regression\n\n| set | ridge |\n") == ""


def test_losses_are_named_too():
    assert front.verdicts(SECTION).splitlines() == [
        "- skstretch loses to the best peer on 1 of 2 families.",
        "- skstretch against RidgeCV on 2 sets: loses on 1.",
    ]
    with pytest.raises(ValueError, match="make arena"):
        front.verdicts(SECTION.replace("skstretch loses", "all is well"))


def test_a_page_without_ranks_is_refused():
    with pytest.raises(ValueError, match="make arena"):
        front.standing("Regression\n\n| set | ridge |\n| --- | --- |\n| corn | 0.1 |\n")


def test_the_arena_of_today_has_both_tables():
    text = (ROOT / "docs" / "arena.md").read_text("utf-8")
    for kind in front.KINDS:
        section = next(part for part in text.split("\n## ") if part.startswith(kind))
        assert "skstretch" in front.standing(section)
        assert "loses" in front.verdicts(section)
