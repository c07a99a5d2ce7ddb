"""The chart of the front page shows the ranks of the arena's page."""

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
| pls | 2.50 | 2.9 | 1.2 | corn |
| skstretch | 1.25 | 1.4 | 0.9 | corn |

skstretch loses to the best peer by more than 5 % on 1 of 2 families (corn).
"""


def test_methods_are_sorted_by_rank_and_written_out():
    assert front.ranks(SECTION) == [("skstretch", 1.25), ("PLS", 2.5)]


def test_bars_are_as_long_as_ranks():
    first, second = [line for line in front.bars(SECTION).splitlines() if "<dt" in line]
    assert "skstretch" in first
    assert 'class="ours"' in first
    assert "width: 50%" in first
    assert "1.25" in first
    assert "PLS" in second
    assert "width: 100%" in second


def test_losses_are_counted():
    assert front.verdict(SECTION).startswith("2 kinds of data. On 1 of them")
    with pytest.raises(ValueError, match="make arena"):
        front.verdict(SECTION.replace("skstretch loses", "all is well"))


def test_a_page_without_ranks_is_refused():
    with pytest.raises(ValueError, match="make arena"):
        front.ranks("Regression\n\n| set | ridge |\n| --- | --- |\n| corn | 0.1 |\n")


def test_the_arena_of_today_has_both_charts():
    text = (ROOT / "docs" / "arena.md").read_text("utf-8")
    for kind in front.KINDS:
        section = next(part for part in text.split("\n## ") if part.startswith(kind))
        assert "skstretch" in front.bars(section)
        assert "kinds of data" in front.verdict(section)
