"""The drawing vocabulary: one place of colours, and numbers as people read them."""

import re
from pathlib import Path

import pytest

from skstretch import style

SOURCE = Path(style.__file__).parent
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")


def test_python_names_its_colours_here_alone():
    found = {
        path.name: COLOUR.findall(path.read_text("utf-8"))
        for folder in (SOURCE, SOURCE.parents[1] / "reproduction")
        for path in folder.rglob("*.py")
    }
    assert COLOUR.findall("x = '#0072b2'")  # the pattern sees one
    assert {name for name, colours in found.items() if colours} == {"style.py"}


def test_both_papers_have_the_same_colours():
    assert style.LIGHT.keys() == style.DARK.keys()
    assert sum(name.startswith("h") for name in style.LIGHT) == style.SHADES
    assert sum(name[0] == "c" and name[1:].isdigit() for name in style.LIGHT) == style.CURVES


def test_series_differ_without_colour():
    looks = {(str(line.dash), line.marker) for line in style.LINES}
    assert len(looks) == len(style.LINES)


def test_unknown_colour():
    with pytest.raises(KeyError, match="no colour 'accnt'; it has paper"):
        style.var("accnt")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1.23 × 10⁶"),
        (123456, "123,000"),
        (-1e-9, "−1 × 10⁻⁹"),
        (float("-inf"), "−∞"),
        (9.999, "10.0"),
    ],
)
def test_number(value, text):
    assert style.number(value) == text


def test_the_page_uses_these_colours():
    sheet = (SOURCE / "report" / "template" / "page.css").read_text("utf-8")
    assert {*COLOUR.findall(sheet)} <= {*style.LIGHT.values(), *style.DARK.values()}
