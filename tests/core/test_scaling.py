"""Overflow-safe scaling: powers beyond float64 on the way, the right numbers at the end."""

import numpy as np
import pytest

from skstretch import FirstQuadrant, StretchyRegressor
from skstretch.core import solve_dual, solve_primal, solve_qr
from skstretch.core.dual import dual_system
from skstretch.core.features import ExpFeatures, PlainFeatures
from skstretch.core.gram import dual_grams, primal_grams
from skstretch.core.primal import primal_system
from skstretch.core.stretch import Intercept, is_safe, scaled_penalty
from skstretch.exceptions import IllConditionedWarning
from tests.references import (
    INTERCEPTS,
    exact_solution,
    exponential_features,
    plain_dual,
    plain_primal,
    relative_error,
)

intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)
kinds = pytest.mark.parametrize("intercept", list(Intercept))


def rare_binary(M):
    """3 M binary columns with three, one and two ones each; every kind tells all rows apart.

    M must not be a multiple of 3, or the first kind is singular.
    """
    eye = np.eye(M)
    trios = eye + np.roll(eye, 1, axis=0) + np.roll(eye, 2, axis=0)
    pairs = eye + np.roll(eye, 3, axis=0)
    return np.hstack([trios, eye, pairs])


def extreme_solution(P, y, k, c, intercept):
    """The reference with as many digits as the products P Q span, and 100 to spare."""
    logs = np.log10(P[P > 0])
    digits = 100 + int((1 + 1 / (k - 1)) * max(np.ptp(logs), np.abs(logs).max()))
    return exact_solution(P, y, k, c, intercept, digits=digits)


# Features whose powers overflow.


def assert_exact(X, y, P, c, params, solvers):
    """Coefficients and predictions of every solver, at k = 1.02."""
    reference = extreme_solution(P, y, 1.02, c, params["fit_intercept"])
    predictions = reference.predict(P)
    for solver in solvers:
        model = StretchyRegressor(1.02, c, solver=solver, **params).fit(X, y)
        # r L reaches 1500 and is known to 1500 eps, which is 3e-13
        assert relative_error(model.alpha_, model.intercept_, reference) < 1e-11
        np.testing.assert_allclose(model.predict(X), predictions, rtol=0, atol=1e-12)


@intercepts
@pytest.mark.parametrize("c", [1e-2, np.inf])
@pytest.mark.parametrize("a", [-10.0, 10.0])
def test_rare_binary_columns(a, c, intercept):
    X, y = rare_binary(5), np.random.default_rng(0).standard_normal(5)
    P = FirstQuadrant(a=a).fit_transform(X)
    assert 50 * np.ptp(np.log(P)) > 1000
    assert_exact(X, y, P, c, {"a": a, "fit_intercept": intercept}, ["auto", "dual", "qr"])


@intercepts
@pytest.mark.parametrize("c", [1e-2, 1e8])
@pytest.mark.parametrize("a", [-10.0, 10.0])
def test_rare_binary_columns_of_a_tall_problem(a, c, intercept):
    X = np.vstack([np.eye(3), np.eye(3), np.zeros((2, 3))])
    y = np.random.default_rng(0).standard_normal(8)
    P = FirstQuadrant(a=a).fit_transform(X)
    assert_exact(X, y, P, c, {"a": a, "fit_intercept": intercept}, ["auto", "primal", "qr"])


@intercepts
@pytest.mark.parametrize("c", [1e-200, 1e30])
def test_extreme_c_and_extreme_features_together(c, intercept):
    X, y = rare_binary(4), np.random.default_rng(0).standard_normal(4)
    P = FirstQuadrant(a=4.0).fit_transform(X)
    assert_exact(X, y, P, c, {"a": 4.0, "fit_intercept": intercept}, ["auto", "dual", "qr"])


# Rows that differ by hundreds of orders of magnitude.


@pytest.mark.parametrize("octaves", [0, 5, 30, 400])
@pytest.mark.parametrize("k", [1.05, 1.1, 1.5, 2.0])
@pytest.mark.parametrize("solve", [solve_dual, solve_qr])
def test_row_scales_cancel_without_penalty(solve, k, octaves):
    """Row i of P and y times ``2**s_i`` leaves ``Q'(PQ')^-1 y`` as it is, to the last digit."""
    P, y = exponential_features(6, 14, a=0.3)
    scale = np.exp2(np.round(np.linspace(-octaves, octaves, 6)))
    scaled = solve(P * scale[:, None], y * scale, k, np.inf)
    reference = exact_solution(P, y, k, np.inf, False)
    assert relative_error(scaled, 0.0, reference) < 1e-12


@intercepts
@pytest.mark.parametrize("c", [1e-2, 1e8, np.inf])
def test_row_scales_with_penalty_and_intercept(c, intercept):
    """The pivoted QR by itself needs c = inf: a row that the penalty buries has no rank."""
    P, y = exponential_features(5, 9, a=0.3)
    P = P * np.exp2([-120, 0, 1, 2, 120])[:, None]
    reference = extreme_solution(P, y, 1.1, c, intercept)
    predictions = reference.predict(P)
    for solver in ["auto", "dual", "qr"] if np.isinf(c) else ["auto", "dual"]:
        params = {"quadrant": "identity", "fit_intercept": intercept, "solver": solver}
        # beside a target of ordinary size the prediction of the last row is rounding, and said so
        with pytest.warns(IllConditionedWarning, match=r"features reach exp\(84\)"):
            model = StretchyRegressor(1.1, c, **params).fit(P, y)
        assert relative_error(model.alpha_, model.intercept_, reference) < 1e-11
        # every row is predicted in its own scale
        size = P @ np.abs(model.alpha_) + abs(model.intercept_)
        wrong = (model.predict(P) - predictions) / size
        np.testing.assert_allclose(wrong, 0.0, rtol=0, atol=1e-11)


@pytest.mark.parametrize("k", [1.02, 1.1, 1.5])
@pytest.mark.parametrize("solve", [solve_primal, solve_qr])
def test_column_scales_cancel_without_penalty(solve, k):
    """Column j of P times ``2**t_j`` divides coefficient j by it, to the last digit."""
    P, y = exponential_features(25, 5, a=0.3)
    scale = np.exp2([-400, -30, 0, 70, 400])
    reference = exact_solution(P, y, k, np.inf, False)
    scaled = solve(P * scale, y, k, np.inf)
    assert relative_error(scaled * scale, 0.0, reference) < 1e-12


@intercepts
@pytest.mark.parametrize("solver", ["auto", "primal", "qr"])
def test_column_scales_with_intercept(solver, intercept):
    """With c = inf the intercept of any kind is not shrunk: the scales cancel here too."""
    P, y = exponential_features(25, 4, a=0.3)
    scale = np.exp2([-300, 0, 40, 300])
    reference = exact_solution(P, y, 1.1, np.inf, intercept)
    params = {"quadrant": "identity", "fit_intercept": intercept, "solver": solver}
    model = StretchyRegressor(1.1, np.inf, **params).fit(P * scale, y)
    assert relative_error(model.alpha_ * scale, model.intercept_, reference) < 1e-11


# The scaled systems are the plain ones where both exist.


@pytest.mark.parametrize("weights", [np.ones(7), np.linspace(0.2, 3.0, 7)])
@pytest.mark.parametrize("r", [1.0, 2.0, 10.0])
def test_gram_with_row_scales_is_the_plain_one(r, weights):
    L = 0.3 * np.random.default_rng(0).standard_normal((7, 12))
    P, Q = np.exp(L), np.exp(r * L)
    shifts = np.linspace(-2.0, 3.0, 7)
    for features in (ExpFeatures(L), PlainFeatures(P)):
        (scaled,) = dual_grams([features], [r], weights, shifts)
        undone = scaled.K * np.exp(shifts)[:, None] * np.exp(r * shifts)
        np.testing.assert_allclose(undone, P @ Q.T, rtol=1e-13)
        (plain,) = dual_grams([features], [r], weights, None)
        whole = plain.K + plain.Pq[:, None] + plain.Qp + plain.pq
        np.testing.assert_allclose(whole, P @ Q.T, rtol=1e-13)


@kinds
@pytest.mark.parametrize("lam", [1e-3, 1.0])
@pytest.mark.parametrize("r", [1.0, 4.0])
def test_dual_system_with_row_scales_is_the_plain_one(r, lam, intercept):
    rng = np.random.default_rng(0)
    L, Y, weights = 0.3 * rng.standard_normal((7, 12)), rng.standard_normal((7, 2)), np.ones(7)
    shifts = rng.uniform(0.0, 2.0, 7)
    found = []
    for log_rows in (None, shifts):
        gram = dual_grams([ExpFeatures(L)], [r], weights, log_rows)[0]
        system = dual_system(gram, np.full(7, lam), intercept)
        beta = system.solve(Y).beta
        scale = 1.0 if log_rows is None else np.exp(-r * system.gram.log_rows)[:, None]
        found.append((beta * scale, system.dof))
    np.testing.assert_allclose(
        found[1][0], found[0][0], rtol=0, atol=1e-11 * np.abs(found[0][0]).max()
    )
    assert found[1][1] == pytest.approx(found[0][1], rel=1e-11)


@kinds
@pytest.mark.parametrize("r", [1.0, 4.0])
def test_primal_system_with_column_scales_is_the_plain_one(r, intercept):
    rng = np.random.default_rng(0)
    L, Y, weights = 0.3 * rng.standard_normal((20, 4)), rng.standard_normal((20, 2)), np.ones(20)
    features, means = ExpFeatures(L), Y.mean(axis=0)
    found = []
    for log_columns in (None, np.array([-1.0, 0.0, 2.0, 3.0])):
        result = [(slice(None), features)]
        gram = primal_grams(result, [r], weights, [log_columns])[0]
        system = primal_system(gram, 0.1, intercept)
        alpha, constant = system.solve(gram.stretched(features).T @ (Y - means), means)
        found.append((alpha, constant, system.dof))
    for scaled, plain in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(scaled, plain, rtol=1e-11)


def test_safety_covers_the_power_and_the_feature_itself():
    assert is_safe(np.array([-300.0, 300.0]), 1.0)
    assert is_safe(np.array([-30.0, 30.0]), 10.0)
    assert not is_safe(np.array([-31.0, 0.0]), 10.0)
    assert not is_safe(np.array([0.0, 31.0]), 10.0)
    # an exponent below one does not make huge features safe
    assert not is_safe(np.array([0.0, 301.0]), 0.5)


def test_scaled_penalty_is_its_formula_up_to_a_cap():
    lam, shift = np.array([0.0, 2.0, 3.0, 1e-300]), np.array([-800.0, 1.5, -2.0, -690.0])
    expected = [0.0, 2.0 * np.exp(-1.5), 3.0 * np.exp(2.0), 1e-300 * np.exp(690.0)]
    np.testing.assert_allclose(scaled_penalty(lam, shift), expected, rtol=1e-12)
    capped = scaled_penalty(np.array([1.0]), np.array([-5000.0]))
    assert np.isfinite(capped).all()
    assert capped[0] > 1e240


# Penalties at the ends of the range.


@pytest.mark.parametrize(
    ("solver", "shape", "intercept"),
    [
        (solver, shape, intercept)
        for solver in ("auto", "dual", "primal", "qr")
        for shape in ((6, 14), (25, 4))
        for intercept in INTERCEPTS
    ],
)
def test_tiny_c(solver, shape, intercept):
    """As c -> 0, ``alpha -> c k Q'(y - m)`` with m the mean (free), 0 (none, column)."""
    P, y = exponential_features(*shape, a=0.3)
    params = {"quadrant": "identity", "fit_intercept": intercept, "solver": solver}
    model = StretchyRegressor(1.5, 1e-200, **params).fit(P, y)
    mean = y.mean() if intercept is True else 0.0
    limit = 1.5e-200 * (P**2).T @ (y - mean)
    # 1e-200 is far below eps, so nothing but rounding is left of the next order
    np.testing.assert_allclose(model.alpha_, limit, rtol=0, atol=1e-12 * np.abs(limit).max())
    constant = {True: mean, "column": 1.5e-200 * y.sum(), False: 0.0}[intercept]
    assert model.intercept_ == pytest.approx(constant, rel=1e-12, abs=0)


@intercepts
@pytest.mark.parametrize("shape", [(6, 14), (25, 4)])
@pytest.mark.parametrize("solver", ["auto", "own", "qr"])
def test_huge_c_is_the_unregularised_limit(solver, shape, intercept):
    P, y = exponential_features(*shape, a=0.3)
    plain = plain_dual if shape == (6, 14) else plain_primal
    own = "dual" if shape == (6, 14) else "primal"
    coef, constant = plain(P, y, 1.5, np.inf, intercept=intercept)
    params = {"fit_intercept": intercept, "solver": own if solver == "own" else solver}
    model = StretchyRegressor(1.5, 1e300, quadrant="identity", **params).fit(P, y)
    # the plain formula has a condition number of about 1e3
    np.testing.assert_allclose(model.alpha_, coef, rtol=0, atol=1e-11 * np.abs(coef).max())
    assert model.intercept_ == pytest.approx(constant, rel=1e-10, abs=1e-12)
