"""The closed forms on one array, against literal formulas, each other and ridge regression."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skstretch.core import solve_dual, solve_primal, solve_qr
from tests.references import (
    exact_solution,
    exponential_features,
    plain_dual,
    plain_primal,
    relative_error,
)

SOLVERS = [solve_dual, solve_primal, solve_qr]
SHAPES = [(6, 15), (9, 9), (30, 5), (1, 4), (4, 1)]
solvers = pytest.mark.parametrize("solve", SOLVERS)
shapes = pytest.mark.parametrize("shape", SHAPES)


def difference(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("c", [1e-2, 1.0, 1e3])
@pytest.mark.parametrize("k", [1.2, 1.5, 2.0, 3.0])
@shapes
@solvers
def test_literal_formula(solve, shape, k, c):
    P, y = exponential_features(*shape, a=0.6)
    M, D = shape
    expected = (plain_dual if M < D else plain_primal)(P, y, k, c)[0]
    foreign = {solve_dual: M > D, solve_primal: M < D, solve_qr: False}[solve]
    # 1e4 is about the condition number of the smaller system, 1e5 that of the square one. The
    # larger one is singular but for the penalty, so that it loses a digit for every digit of c.
    tolerance = 1e-10 * max(1.0, c) if foreign else 1e-12 if M != D else 2e-11
    assert difference(solve(P, y, k, c), expected) < tolerance


@pytest.mark.parametrize("k", [1.1, 1.5, 2.0, 3.0])
@solvers
def test_unregularised_limit(solve, k):
    """``Q'(PQ')^-1 y`` for M < D, ``(Q'P)^-1 Q'y`` for M >= D: each solver where it exists."""
    if solve is not solve_primal:
        P, y = exponential_features(5, 14, a=0.6)
        Q = P ** (1 / (k - 1))
        alpha = solve(P, y, k, np.inf)
        assert difference(alpha, Q.T @ np.linalg.solve(P @ Q.T, y)) < 1e-10
        np.testing.assert_allclose(P @ alpha, y, rtol=0, atol=1e-12 * np.abs(y).max())
    if solve is not solve_dual:
        P, y = exponential_features(25, 4, a=0.6)
        Q = P ** (1 / (k - 1))
        alpha = solve(P, y, k, np.inf)
        assert difference(alpha, np.linalg.solve(Q.T @ P, Q.T @ y)) < 1e-11
        # what is left is orthogonal to the stretched features, not to the features
        left = np.abs(Q.T @ (y - P @ alpha)) / (np.abs(Q).T @ np.abs(y))
        assert left.max() < 1e-13


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e8, np.inf])
def test_solvers_agree(c):
    """At c = inf each form needs its own regime; qr serves both."""
    wide, tall = exponential_features(6, 15, a=0.5), exponential_features(30, 5, a=0.5)
    for k in (1.15, 1.7):
        assert difference(solve_dual(*wide, k, c), solve_qr(*wide, k, c)) < 1e-12
        assert difference(solve_primal(*tall, k, c), solve_qr(*tall, k, c)) < 1e-12
        if c <= 1.0:
            assert difference(solve_dual(*wide, k, c), solve_primal(*wide, k, c)) < 1e-10
            assert difference(solve_dual(*tall, k, c), solve_primal(*tall, k, c)) < 1e-10


@pytest.mark.parametrize("c", [1e-2, 1.0, 1e3])
@shapes
@solvers
def test_k_2_is_ridge_regression_of_any_sign(solve, shape, c):
    rng = np.random.default_rng(1)
    P, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    ridge = Ridge(alpha=1 / (2 * c), fit_intercept=False, solver="svd").fit(P, y)
    # the condition number of P'P + lam I is at most 1e6 here
    assert difference(solve(P, y, 2.0, c), ridge.coef_) < 1e-10


@solvers
def test_k_2_without_penalty_is_least_squares(solve):
    rng = np.random.default_rng(2)
    for shape in [(5, 12)] * (solve is not solve_primal) + [(20, 4)] * (solve is not solve_dual):
        P, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
        expected = np.linalg.lstsq(P, y, rcond=None)[0]
        assert difference(solve(P, y, 2.0, np.inf), expected) < 1e-12


@pytest.mark.parametrize("k", [1.2, 1.5])
@solvers
def test_zeros_in_the_features(solve, k):
    """Zero is in the first quadrant: its power is zero. A column of zeros gets nothing."""
    P, y = exponential_features(6, 12, a=0.5)
    P[P < 0.8], P[:, 3] = 0.0, 0.0
    found = solve(P, y, k, 10.0)
    exact = exact_solution(P, y, k, 10.0, False)
    assert relative_error(found, 0.0, exact) < 1e-12
    assert found[3] == 0.0


@solvers
def test_several_targets(solve):
    P, y = exponential_features(6, 15)
    Y = np.column_stack([y, 1 - y, np.zeros(6)])
    alpha = solve(P, Y, 1.5, 10.0)
    assert alpha.shape == (15, 3)
    for column, target in zip(alpha.T, Y.T, strict=True):
        single = solve(P, target, 1.5, 10.0)
        assert single.shape == (15,)
        np.testing.assert_allclose(column, single, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(alpha[:, 2], 0.0)


@solvers
def test_lists_and_integers_are_welcome_and_arrays_are_not_written(solve):
    P, y = np.array([[1, 2, 4], [3, 1, 1]]), np.array([1, -2])
    expected = plain_dual(P.astype(float), y.astype(float), 1.5, 7.0)[0]
    for given in (P, P.astype(np.float32), P.tolist(), np.asfortranarray(P)):
        np.testing.assert_allclose(solve(given, y.tolist(), 1.5, 7.0), expected, rtol=1e-13)
    P, y = P.astype(float), y.astype(float)
    for array in (P, y):
        array.flags.writeable = False
    solve(P, y, 1.5, 7.0)


# What cannot be: each error names the value.


@pytest.mark.parametrize("k", [1.5, 3.0, 1.9999])
@solvers
def test_negative_features_need_k_2(solve, k):
    P = np.array([[1.0, 2.0], [0.5, -0.25]])
    with pytest.raises(ValueError, match=r"P\[1, 1\] = -0.25 is negative.*k=2"):
        solve(P, [1.0, 2.0], k, 1.0)
    assert np.isfinite(solve(P, [1.0, 2.0], 2.0, 1.0)).all()


@pytest.mark.parametrize("k", [1.0, 0.5, -1.0, np.inf, np.nan])
@solvers
def test_k_out_of_range(solve, k):
    with pytest.raises(ValueError, match=rf"k={k}.*1 < k < inf"):
        solve([[1.0, 2.0]], [1.0], k, 1.0)


@pytest.mark.parametrize("c", [0.0, -1.0, np.nan])
@solvers
def test_c_out_of_range(solve, c):
    with pytest.raises(ValueError, match=rf"c={c}.*positive"):
        solve([[1.0, 2.0]], [1.0], 1.5, c)


@pytest.mark.parametrize("P", [[1.0, 2.0], [[[1.0]]], np.empty((0, 3)), np.empty((3, 0))])
@solvers
def test_shape_of_P(solve, P):
    with pytest.raises(ValueError, match="P has shape"):
        solve(P, np.ones(len(P)), 1.5, 1.0)


@pytest.mark.parametrize("y", [1.0, [1.0], [1.0, 2.0, 3.0], np.ones((2, 1, 1))])
@solvers
def test_shape_of_y(solve, y):
    with pytest.raises(ValueError, match="y has shape"):
        solve([[1.0, 2.0, 3.0], [2.0, 1.0, 1.0]], y, 1.5, 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@solvers
def test_numbers_that_are_not_finite(solve, bad):
    with pytest.raises(ValueError, match=r"P has .*not finite"):
        solve([[1.0, bad], [2.0, 1.0]], [1.0, 2.0], 2.0, 1.0)
    with pytest.raises(ValueError, match=r"y has .*not finite"):
        solve([[1.0, 3.0], [2.0, 1.0]], [1.0, bad], 2.0, 1.0)


@pytest.mark.parametrize(
    ("solve", "P"),
    [
        (solve_dual, [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]),
        (solve_primal, [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]),
        (solve_qr, [[0.0, 1.0], [0.0, 2.0], [0.0, 1.0]]),
    ],
)
def test_singular_without_penalty(solve, P):
    """Powers of two, so that elimination is exact and the zero pivot is one."""
    y = np.arange(1.0, len(P) + 1)
    with pytest.raises(np.linalg.LinAlgError, match=r"A finite c \(say 1e8\) regularises"):
        solve(P, y, 1.5, np.inf)


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("shape", [(1, 4), (2, 6)])
def test_a_level_far_above_the_penalty(shape, c):
    """No digit is lost to the level of the prediction, which the centred system has for itself."""
    P, y = exponential_features(*shape, a=0.6)
    y[:] = -0.5  # both samples alike: only the level is left of them
    P[:] = P[0]
    Q = P**2
    expected = Q[0] * y[0] * len(y) / (len(y) * P[0] @ Q[0] + 1 / (c * 1.5))
    np.testing.assert_allclose(solve_dual(P, y, 1.5, c), expected, rtol=1e-14)
