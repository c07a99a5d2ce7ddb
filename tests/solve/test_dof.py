"""Degrees of freedom: the trace of the hat matrix, built from one unit target per sample."""

import numpy as np
import pytest

from skstretch import StretchyRegressor
from tests.references import INTERCEPTS, exact_solution, exponential_features, literal_repeat
from tests.solve.samples import plain, system

SOLVERS = ["auto", "dual", "primal", "qr"]
SHAPES = [(7, 15), (20, 4), (9, 9)]

solvers = pytest.mark.parametrize("solver", SOLVERS)
shapes = pytest.mark.parametrize("shape", SHAPES)
intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)


def hat_matrix(P, k, c, intercept, weights=None):
    """``H`` with ``fitted = H y``, by the plain formula."""
    coef, constant = plain(P, np.eye(len(P)), k, c, intercept, weights)
    return P @ coef + constant


@pytest.mark.parametrize("c", [0.1, 5.0])
@pytest.mark.parametrize("k", [1.2, 2.0])
@intercepts
@shapes
@solvers
def test_trace_of_the_hat_matrix(solver, shape, intercept, k, c):
    P, _ = exponential_features(*shape, a=0.5)
    expected = np.trace(hat_matrix(P, k, c, intercept))
    # the hat matrix has entries below one, and the larger system a condition number of 1e4
    assert system(P, k, c, intercept, solver).dof == pytest.approx(expected, rel=1e-11)


@intercepts
@shapes
@solvers
def test_with_weights(solver, shape, intercept):
    P, _ = exponential_features(*shape, a=0.5)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(P))
    expected = np.trace(hat_matrix(P, 1.5, 3.0, intercept, weights))
    found = system(P, 1.5, 3.0, intercept, solver, weights).dof
    assert found == pytest.approx(expected, rel=1e-11)


@intercepts
@shapes
def test_weights_are_repetitions(shape, intercept):
    P, y = exponential_features(*shape, a=0.5)
    weights = np.random.default_rng(0).integers(1, 4, len(P))
    many, _ = literal_repeat(P, y, weights)
    expected = np.trace(hat_matrix(many, 1.5, 3.0, intercept))
    params = {"quadrant": "identity", "fit_intercept": intercept}
    model = StretchyRegressor(1.5, 3.0, **params).fit(P, y, sample_weight=weights)
    assert model.dof_ == pytest.approx(expected, rel=1e-10)


@intercepts
@shapes
@solvers
def test_residual_norm(solver, shape, intercept):
    """``tr((I - H)'(I - H))`` over repeated rows, for the estimate of the noise."""
    P, y = exponential_features(*shape, a=0.5)
    weights = np.random.default_rng(0).integers(1, 4, len(P))
    many, _ = literal_repeat(P, y, weights)
    left = np.eye(len(many)) - hat_matrix(many, 1.5, 3.0, intercept)
    found = system(P, 1.5, 3.0, intercept, solver, weights.astype(float)).residual_norm()
    assert found == pytest.approx(np.sum(left**2), rel=1e-10)


@intercepts
def test_limits(intercept):
    """No penalty: every sample (wide) or every coefficient (tall) is one degree of freedom.

    Nothing but penalty: the free intercept is left.
    """
    constant = 0 if intercept is False else 1
    wide, _ = exponential_features(5, 12, a=0.5)
    tall, _ = exponential_features(20, 4, a=0.5)
    for solver in ("auto", "qr"):
        assert system(wide, 1.5, np.inf, intercept, solver).dof == pytest.approx(5, rel=1e-12)
        assert system(tall, 1.5, np.inf, intercept, solver).dof == pytest.approx(4 + constant)
        for P in (wide, tall):
            left = 1.0 if intercept is True else 0.0
            found = system(P, 1.5, 1e-12, intercept, solver).dof
            assert found == pytest.approx(left, abs=1e-9)


@pytest.mark.parametrize("solver", ["dual", "qr"])
def test_features_too_large_for_their_powers(solver):
    """P times s makes K ``s**(1+r)`` times larger; the same of lambda leaves the hat matrix."""
    P, _ = exponential_features(6, 12, a=0.5)
    expected = np.trace(hat_matrix(P, 1.1, 2.0, False))
    found = system(P * 2.0**60, 1.1, 2.0 * 2.0 ** (-60 * 11), False, solver)
    assert found.dof == pytest.approx(expected, rel=1e-10)
    left = np.eye(6) - hat_matrix(P, 1.1, 2.0, False)
    assert found.residual_norm() == pytest.approx(np.sum(left**2), rel=1e-9)


@intercepts
def test_rows_too_different_for_their_powers(intercept):
    """A row 2**120 times larger takes one degree of freedom, whatever the penalty."""
    P, _ = exponential_features(4, 7, a=0.5)
    P[2] *= 2.0**120
    coef = [exact_solution(P, unit, 1.1, 2.0, intercept, digits=600) for unit in np.eye(4)]
    expected = sum(coef[i].predict(P[[i]])[0] for i in range(4))
    for solver in ("auto", "dual"):
        found = system(P, 1.1, 2.0, intercept, solver)
        assert found.dof == pytest.approx(expected, rel=1e-10)
