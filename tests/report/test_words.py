"""Numbers and names as people read them."""

import numpy as np
import pytest

from skstretch.report.page import rounded
from skstretch.report.subject import distinct, short
from skstretch.style import count, near_one, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0060712, "0.00607"),
        (-1.5, "−1.50"),
        (54.53, "54.5"),
        (12345.6, "12,300"),
        (1e-9, "1 × 10⁻⁹"),
        (-2.346e12, "−2.35 × 10¹²"),
        (np.inf, "∞"),
        (np.nan, "not known"),
        (0.9996, "1.00"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_share_near_one_keeps_digits():
    assert near_one(0.99975) == "0.9998"
    assert near_one(0.999995) == "> 0.9999"
    assert near_one(1.0) == "1.0000"
    assert near_one(0.5014) == "0.501"
    assert near_one(-0.0123) == "−0.012"


def test_names_are_bounded_and_distinct():
    assert short("a\n b\t c") == "a b c"
    assert len(short("x" * 1000)) == 60
    assert "\x00" not in short("a\x00b")
    assert distinct(["a", "b", "a"]) == ["a (1)", "b", "a (3)"]
    assert count(1, "candidate") == "1 candidate"
    assert count(1500, "candidate") == "1,500 candidates"


def test_numbers_of_the_page_are_short_and_finite():
    assert rounded([1 / 3, np.nan, -np.inf, 12345.678]) == [0.3333, None, None, 12350.0]
