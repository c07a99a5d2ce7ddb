"""What the closed form is not: a minimiser of the paper's objective."""

import numpy as np
import pytest
from scipy.optimize import minimize

from skstretch import StretchyRegressor


def objective(alpha, P, y, k, c):
    """``sum |alpha|^k + 2c |y - P alpha|^2``, and its gradient."""
    rest = y - P @ alpha
    value = np.sum(np.abs(alpha) ** k) + 2 * c * rest @ rest
    return value, k * np.sign(alpha) * np.abs(alpha) ** (k - 1) - 4 * c * P.T @ rest


def least(P, y, k, c, basis, start):
    """The least objective over ``alpha = basis x``, from a start: convex in x."""

    def of(x):
        value, slope = objective(basis @ x, P, y, k, c)
        return value, basis.T @ slope

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(of, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "c"), [(1.3, 1.0), (1.5, 10.0)])
def test_closed_form_minimises_neither_freely_nor_in_its_span(seed, k, c):
    """Theorem 3 treats K = P Q' as symmetric, which it is at k = 2 alone."""
    rng = np.random.default_rng(seed)
    P = np.exp(-0.2 * rng.standard_normal((6, 15)))
    y = rng.standard_normal(6)
    Q = P ** (1 / (k - 1))
    beta = np.linalg.solve(P @ Q.T + np.eye(6) / (c * k), y)
    model = StretchyRegressor(k, c, quadrant="identity", fit_intercept=False).fit(P, y)
    alpha = Q.T @ beta
    np.testing.assert_allclose(model.predict(P), P @ alpha, rtol=1e-8)
    closed = objective(alpha, P, y, k, c)[0]
    spanned = min(least(P, y, k, c, Q.T, start) for start in (beta, np.zeros(6)))
    free = min(least(P, y, k, c, np.eye(15), start) for start in (alpha, np.zeros(15)))
    assert closed > 1.001 * spanned
    assert spanned > 1.001 * free


def test_at_k_2_it_does():
    rng = np.random.default_rng(0)
    P, y = np.exp(-0.2 * rng.standard_normal((6, 15))), rng.standard_normal(6)
    alpha = P.T @ np.linalg.solve(P @ P.T + np.eye(6) / 2.0, y)
    free = least(P, y, 2.0, 1.0, np.eye(15), np.zeros(15))
    assert objective(alpha, P, y, 2.0, 1.0)[0] == pytest.approx(free, rel=1e-9)
