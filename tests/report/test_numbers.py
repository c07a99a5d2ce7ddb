"""Numbers of a page: as few digits as a person reads, and no others."""

import numpy as np
import pytest

from skstretch.report.page import rounded


@pytest.mark.parametrize("digits", [1, 3, 4, 9])
def test_digits_are_those_of_a_format(digits):
    """But for a last digit whose rest is half of it to within rounding."""
    rng = np.random.default_rng(digits)
    values = rng.standard_normal(5000) * 10.0 ** rng.integers(-320, 300, 5000)
    near = rng.standard_normal(5000) * 10.0 ** rng.integers(-9, 9, 5000)
    edges = [0.0, -0.0, 9.9996, 99996.0, 999.951, 1e300, 5e-324, 1e-300, -1e15, 1e16, 123456789.0]
    values = np.concatenate([values, near, edges])
    told = [float(f"{v:.{digits}g}") for v in values.tolist()]
    assert rounded(values, digits) == told


def test_what_is_not_finite_is_nothing():
    assert rounded([np.nan, 1.0, np.inf, -np.inf]) == [None, 1.0, None, None]
    assert rounded([]) == []
