"""Systems without a unique solution, or next to one: an error or a warning, never silence."""

import numpy as np
import pytest

from skstretch import FirstQuadrant, StretchyRegressor
from skstretch.exceptions import IllConditionedWarning, SingularSystemError
from tests.references import (
    INTERCEPTS,
    exact_solution,
    exponential_features,
    five_points,
    hard_powers,
    relative_error,
)

intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)
solvers = pytest.mark.parametrize("solver", ["auto", "dual", "primal", "qr"])


def raw_fit(P, y, k, c, intercept=True, solver="auto"):
    params = {"quadrant": "identity", "fit_intercept": intercept, "solver": solver}
    return StretchyRegressor(k, c, **params).fit(P, y)


@solvers
@intercepts
@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("shape", [(6, 15), (8, 8)])
def test_equal_samples_with_different_targets(shape, k, intercept, solver):
    """No coefficients fit both. Rounding may hide an exact zero pivot; then there is a warning."""
    P, y = exponential_features(*shape, a=0.5)
    P[3] = P[1]
    with pytest.raises((SingularSystemError, IllConditionedWarning)) as caught:
        raw_fit(P, y, k, np.inf, intercept, solver)
    assert "finite c (say 1e8)" in str(caught.value) or "Use a smaller c" in str(caught.value)


@pytest.mark.parametrize("solver", ["auto", "primal", "qr"])
@intercepts
@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
def test_equal_features_of_a_tall_problem(k, intercept, solver):
    P, y = exponential_features(20, 5, a=0.5)
    P[:, 3] = P[:, 1]
    with pytest.raises((SingularSystemError, IllConditionedWarning)):
        raw_fit(P, y, k, np.inf, intercept, solver)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_exactly_singular_is_an_error(solver):
    """Small powers of two: elimination is exact and nothing hides the zero pivot from LU."""
    P = np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [4.0, 1.0, 2.0]])
    with pytest.raises(SingularSystemError, match=r"finite c \(say 1e8\)"):
        raw_fit(P, np.array([1.0, 2.0, 3.0]), 2.0, np.inf, False, solver)


@intercepts
@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("kind", ["samples", "features"])
def test_finite_c_is_the_way_out(kind, k, intercept):
    """As the error says: with c = 1e8 eight digits less than without duplicates, and no warning.

    Duplicated features share their weight.
    """
    P, y = exponential_features(*((6, 15) if kind == "samples" else (20, 5)), a=0.5)
    if kind == "samples":
        P[3] = P[1]
    else:
        P[:, 3] = P[:, 1]
    model = raw_fit(P, y, k, 1e8, intercept)
    reference = exact_solution(P, y, k, 1e8, intercept)
    error = relative_error(model.alpha_, model.intercept_, reference)
    assert error < (1e-4 if k == 1.1 else 1e-6)
    assert error <= 10 * np.finfo(np.float64).eps / model.rcond_
    if kind == "features":
        assert model.alpha_[3] == pytest.approx(model.alpha_[1], rel=1e-3)


def test_ill_conditioned_warning_names_the_candidate():
    P, y = five_points()
    with pytest.warns(IllConditionedWarning, match=r"k=1.05, c=inf.*rcond=.*smaller c or"):
        raw_fit(P, y, 1.05, np.inf, solver="dual")


def rare_columns(M, D, seed):
    """Binary columns with one to three ones: at k near 1 whole groups of them are negligible."""
    rng = np.random.default_rng(seed)
    X = np.zeros((M, D))
    for j in range(D):
        X[rng.choice(M, 1 + j % 3, replace=False), j] = 1.0
    return X


def hard_cases():
    """(P, y, k, c, intercept): problems that float64 cannot always solve."""
    for intercept in INTERCEPTS:
        P, y = hard_powers(0 if intercept is False else 1)
        for k in (1.02, 1.05, 1.1):
            for c in (1e8, 1e15, np.inf):
                yield P, y, k, c, intercept
        P, y = five_points()
        for c in (1e8, 1e15, np.inf):
            yield P, y, 1.02, c, intercept
        for M, D, seed in [(8, 20, 0), (8, 20, 1), (12, 5, 2), (7, 7, 3)]:
            X = rare_columns(M, D, seed)
            y = np.random.default_rng(seed).standard_normal(M)
            for a, k in [(-10.0, 1.02), (-10.0, 1.1), (-2.0, 1.02)]:
                yield FirstQuadrant(a=a).fit_transform(X), y, k, 1e4, intercept


def test_wrong_coefficients_never_go_unreported():
    """Where the error exceeds 1e-3 there is an error or a warning, and rcond bounds the rest."""
    eps, wrong, right = np.finfo(np.float64).eps, 0, 0
    for P, y, k, c, intercept in hard_cases():
        reference = None
        for solver in ("auto", "qr"):
            try:
                model = raw_fit(P, y, k, c, intercept, solver)
            except (SingularSystemError, IllConditionedWarning):
                wrong += 1
                continue
            if reference is None:
                span = np.ptp(np.log10(P[P > 0])) / (k - 1)
                reference = exact_solution(P, y, k, c, intercept, digits=150 + int(span))
            error = relative_error(model.alpha_, model.intercept_, reference)
            assert error < 1e-3
            assert error <= 100 * eps / model.rcond_
            right += 1
    # the test would be idle if all were of one kind
    assert wrong > 10
    assert right > 10
