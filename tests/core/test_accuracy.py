"""Coefficients and intercept together against 150 digits, over k, c and three intercepts.

The reference starts from the same float64 numbers, so that the error is that of the solution
alone. Where LU would lose digits, ``solver="auto"`` goes on to the pivoted QR; the bounds are
those that the library promises.
"""

import numpy as np
import pytest

from skstretch import FirstQuadrant, StretchyRegressor
from tests.references import (
    INTERCEPTS,
    exact_solution,
    exponential_features,
    five_points,
    hard_powers,
    relative_error,
)

KS = [1.05, 1.1, 1.25, 1.5, 1.75, 2.0]
CS = [1e-2, 1e2, 1e8, 1e15, np.inf]
CASES = {
    "five points": five_points(),
    "wide": exponential_features(12, 40),
    "tall": exponential_features(40, 6),
}

ks = pytest.mark.parametrize("k", KS)
cs = pytest.mark.parametrize("c", CS)
intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)


cases = pytest.mark.parametrize("case", CASES)


def checked_error(model, reference):
    """The error, which ``eps / rcond_`` must bound as it promises (but for a small factor)."""
    error = relative_error(model.alpha_, model.intercept_, reference)
    assert error <= 10 * np.finfo(np.float64).eps / model.rcond_
    return error


def raw_error(P, y, k, c, intercept, weights=None):
    """The error of the estimator on features as they are."""
    model = StretchyRegressor(k, c, quadrant="identity", fit_intercept=intercept, solver="auto")
    model.fit(P, y, sample_weight=weights)
    return checked_error(model, exact_solution(P, y, k, c, intercept, weights))


@cs
@ks
@intercepts
@cases
def test_estimator(case, k, c, intercept):
    assert raw_error(*CASES[case], k, c, intercept) <= 1e-10


@cs
@ks
@intercepts
def test_hard_tall_powers(k, c, intercept):
    """With an intercept the power 0 is left out: a constant column takes no part."""
    P, y = hard_powers(0 if intercept is False else 1)
    assert raw_error(P, y, k, c, intercept) <= (3e-5 if k == 1.05 else 5e-8)


@cs
@intercepts
@pytest.mark.parametrize("k", [1.25, 1.5, 2.0])
def test_as_many_samples_as_features(k, c, intercept):
    """At the edge between the two regimes the smaller system is nearly singular by itself."""
    P, y = exponential_features(10, 10, a=0.5, seed=5)
    assert raw_error(P, y, k, c, intercept) <= 1e-10


@intercepts
@pytest.mark.parametrize("c", [1e2, 1e15])
@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
@cases
def test_weights(case, k, c, intercept):
    P, y = CASES[case]
    weights = np.random.default_rng(2).uniform(0.1, 5.0, len(y))
    assert raw_error(P, y, k, c, intercept, weights) <= 1e-10


@cs
@ks
@intercepts
@pytest.mark.parametrize("shape", [(12, 40), (40, 6)])
def test_exponential_quadrant(shape, k, c, intercept):
    """The estimator works on ``L = a z`` and not on ``P = exp(L)``; P is known to half an eps."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal(shape) * 7 + 3, rng.standard_normal(shape[0])
    P = FirstQuadrant(a=-0.2).fit_transform(X)
    model = StretchyRegressor(k, c, a=-0.2, fit_intercept=intercept).fit(X, y)
    assert checked_error(model, exact_solution(P, y, k, c, intercept)) <= 1e-10
