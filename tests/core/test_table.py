"""Table 1 of the paper, noiseless: coefficients of the powers 0 to 10 fitted to five points."""

import numpy as np
import pytest

from skstretch import StretchyRegressor
from skstretch.core import solve_qr
from tests.references import exact_solution, five_points, relative_error, with_column

# The paper's own figures, by (k, c).
PAPER = {
    (1.8, 1e4): [
        1.000,
        0.641,
        -0.402,
        -0.340,
        -0.179,
        -0.083,
        -0.036,
        -0.015,
        -0.007,
        -0.003,
        -0.001,
    ],
    (1.2, 1e4): [1.063, 0.234, -0.046, -0.002, 0, 0, 0, 0, 0, 0, 0],
    (1.8, 1e15): [0.999, 0.626, -0.198, -0.826, -0.140, 0.219, 0.244, 0.168, 0.095, 0.049, 0.024],
    (1.2, 1e15): [1.000, 0.602, -0.014, -1.457, 0.738, 0.033, 0.001, 0, 0, 0, 0],
}
LAST = (1.2, 1e15)
agreeing = pytest.mark.parametrize(
    ("k", "c"), [candidate for candidate in PAPER if candidate != LAST]
)


def by_estimator(k, c):
    P, y = five_points()
    model = StretchyRegressor(k, c, quadrant="identity", fit_intercept="column", solver="auto")
    model.fit(P, y)
    return np.concatenate([[model.intercept_], model.alpha_])


def by_core(k, c):
    P, y = five_points()
    return np.roll(solve_qr(with_column(P), y, k, c), 1)


@pytest.mark.parametrize("fit", [by_estimator, by_core])
@agreeing
def test_columns_that_agree_to_three_decimals(fit, k, c):
    np.testing.assert_array_equal(np.round(fit(k, c), 3) + 0.0, np.array(PAPER[k, c]) + 0.0)


@pytest.mark.parametrize("fit", [by_estimator, by_core])
@pytest.mark.parametrize(("k", "c"), PAPER)
def test_every_column_is_exact(fit, k, c):
    found = fit(k, c)
    exact = exact_solution(*five_points(), k, c, "column")
    assert relative_error(found[1:], found[0], exact) < 1e-12


def test_the_last_column_of_the_paper_carries_rounding_error():
    """In 150 digits it is -0.0127, -1.460, 0.740 where the paper has -0.014, -1.457, 0.738."""
    *coef, constant = exact_solution(*five_points(), *LAST, "column").vector
    exact = np.array([constant, *coef])
    np.testing.assert_allclose(exact[2:5], [-0.0127, -1.460, 0.740], rtol=0, atol=5e-4)
    np.testing.assert_array_equal(np.round(exact[2], 4), -0.0127)
    wrong = np.abs(exact - PAPER[LAST]) > 5e-4
    np.testing.assert_array_equal(np.flatnonzero(wrong), [2, 3, 4])
    # ours are the exact ones
    np.testing.assert_allclose(by_estimator(*LAST), exact, rtol=0, atol=1e-9)
    np.testing.assert_allclose(by_core(*LAST), exact, rtol=0, atol=1e-9)
