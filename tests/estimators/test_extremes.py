"""Extreme data and parameters: the right numbers or a clear error, never a NaN."""

import numpy as np
import pytest

from skstretch import StretchyClassifier, StretchyRegressor
from tests.estimators.samples import (
    assert_close,
    mean_fit,
    new_rows,
    plain_fit,
    problem,
    quadrant_features,
)
from tests.references import INTERCEPTS, exact_solution

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
intercepts = pytest.mark.parametrize("fit_intercept", INTERCEPTS)


@intercepts
@pytest.mark.parametrize("solver", ["auto", "dual", "primal", "qr"])
@pytest.mark.parametrize("a", [-0.2, 0.0])
def test_one_sample_has_no_varying_feature(fit_intercept, solver, a):
    X, y = problem((1, 5))
    k = 2.0 if a == 0 else 1.5
    params = {"k": k, "a": a, "fit_intercept": fit_intercept, "solver": solver}
    model = StretchyRegressor(c=4.0, **params).fit(X, y)
    expected = mean_fit(y, k, 4.0, fit_intercept)
    np.testing.assert_array_equal(model.alpha_, 0.0)
    np.testing.assert_allclose(model.predict(new_rows(X) * 9), expected, rtol=1e-14)
    free = StretchyRegressor(c=np.inf, **params).fit(X, y)
    assert free.predict(X)[0] == pytest.approx(0.0 if fit_intercept is False else y[0], rel=1e-14)


@pytest.mark.parametrize("c", [10.0, np.inf])
def test_one_sample_of_raw_data_without_intercept(c):
    """``alpha = q y / (p'q + lam)`` with ``q = p**2`` at k = 1.5."""
    p, y = np.array([[0.5, 2.0, 0.0, 1.0]]), np.array([3.0])
    model = StretchyRegressor(k=1.5, c=c, quadrant="identity", fit_intercept=False).fit(p, y)
    assert_close(model.alpha_, 3.0 * p[0] ** 2 / (np.sum(p**3) + 1 / (1.5 * c)), rtol=1e-14)


def test_one_sample_is_no_classification():
    with pytest.raises(ValueError, match="one class"):
        StretchyClassifier(threshold="zero", k=1.25).fit([[1.0, 2.0]], [1])


@intercepts
@pytest.mark.parametrize("k", [1.1, 2.0])
@pytest.mark.parametrize("M", [2, 3, 30])
def test_one_feature(fit_intercept, k, M):
    X, y = problem((M, 1))
    model = StretchyRegressor(k=k, c=10.0, fit_intercept=fit_intercept).fit(X, y)
    coef, intercept = plain_fit(quadrant_features(X), y, k, 10.0, fit_intercept)
    assert_close(model.alpha_, coef)
    assert_close(model.predict(X), quadrant_features(X) @ coef + intercept)


@intercepts
@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("c", [1.0, 1e6, np.inf])
@pytest.mark.parametrize("M", [5, 6, 7])
def test_about_as_many_samples_as_features(fit_intercept, k, c, M):
    X, y = problem((M, 6))
    model = StretchyRegressor(k=k, c=c, fit_intercept=fit_intercept).fit(X, y)
    P = quadrant_features(X)
    exact = exact_solution(P, y, k, c, fit_intercept)
    assert_close(np.append(model.alpha_, model.intercept_), exact.vector)
    assert_close(model.predict(X), exact.predict(P))


@shapes
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.PoorTargetsWarning")
@pytest.mark.parametrize("params", [{}, {"c": np.inf}, {"a": 0.0}, {"k": 1.05}, {"density": 3}])
def test_constant_target(shape, params):
    X, _ = problem(shape)
    model = StretchyRegressor(**params).fit(X, np.full(len(X), 7.3))
    assert_close(model.predict(new_rows(X) * 3), np.full(11, 7.3), rtol=1e-13)
    assert np.abs(model.alpha_).max() < 1e-12
    zero = StretchyRegressor(**params).fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(zero.alpha_, 0.0)
    np.testing.assert_array_equal(zero.predict(X), 0.0)


@shapes
@intercepts
@pytest.mark.parametrize("constant", [0.0, 1e-300, 0.1, -7e7, 1e300])
def test_constant_columns_have_no_influence(shape, fit_intercept, constant):
    X, y = problem(shape)
    base = StretchyRegressor(k=1.3, fit_intercept=fit_intercept, c=100.0).fit(X, y)
    wider = np.insert(X, [0, 4, X.shape[1]], constant, axis=1)
    model = StretchyRegressor(k=1.3, fit_intercept=fit_intercept, c=100.0).fit(wider, y)
    added = [0, 5, wider.shape[1] - 1]
    for values in (model.alpha_, model.coef_, model.support_, model.coef_std()):
        np.testing.assert_array_equal(values[added], 0.0)
    assert_close(np.delete(model.alpha_, added), base.alpha_, rtol=1e-13)
    # nor later, when the column is no longer constant
    T = np.insert(X, [0, 4, X.shape[1]], 12345.0, axis=1)
    assert_close(model.predict(T), base.predict(X), rtol=1e-13)


def test_constant_within_rounding_is_constant():
    X, y = problem("tall")
    noise = np.spacing(1e6) * (np.arange(len(y)) % 2)
    model = StretchyRegressor(c=100.0).fit(np.column_stack([X, 1e6 + noise]), y)
    assert np.ptp(1e6 + noise) > 0
    assert not model.support_[-1]
    small = np.column_stack([X, 1 + 1e-9 * X[:, 0]])
    assert StretchyRegressor(c=100.0).fit(small, y).support_.all()


@intercepts
@pytest.mark.parametrize("a", [-0.2, 0.0])
def test_only_constant_columns(fit_intercept, a):
    X, y = np.ones((20, 3)), problem((20, 3))[1]
    k = 2.0 if a == 0 else 1.5
    model = StretchyRegressor(k=k, c=0.1, a=a, fit_intercept=fit_intercept).fit(X, y)
    expected = mean_fit(y, k, 0.1, fit_intercept)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-14)
    np.testing.assert_array_equal(model.alpha_, 0.0)
    np.testing.assert_array_equal(model.coef_std(1.0), 0.0)
    assert model.dof_ == pytest.approx(expected / np.mean(y), rel=1e-14)
    assert not model.support_.any()


def rare_binary(M, D, seed=0):
    """Zeros with one to three ones in each column, no two columns alike, and random targets."""
    rng = np.random.default_rng(seed)
    chosen = {}
    while len(chosen) < D:
        chosen[tuple(sorted(rng.choice(M, rng.integers(1, 4), replace=False)))] = None
    X = np.zeros((M, D))
    for j, rows in enumerate(chosen):
        X[list(rows), j] = 1.0
    return X, rng.standard_normal(M)


@pytest.mark.parametrize("shape", [(12, 3), (8, 20)])
@pytest.mark.parametrize("a", [-10.0, 10.0])
@pytest.mark.parametrize("k", [1.02, 1.5])
@intercepts
def test_rare_binary_columns(shape, a, k, fit_intercept):
    X, y = rare_binary(*shape)
    P = quadrant_features(X, a)
    assert np.ptp(np.log(P)) > 30
    model = StretchyRegressor(k=k, a=a, fit_intercept=fit_intercept, c=100.0).fit(X, y)
    exact = exact_solution(P, y, k, 100.0, fit_intercept, digits=1000)
    assert_close(model.predict(X), exact.predict(P), rtol=1e-9)
    assert_close(model.alpha_, exact.vector[:-1], rtol=1e-9)


def test_equal_rows_of_rare_columns_are_one():
    """Only a penalty far below rounding tells equal rows with different targets apart: their mean
    counts twice, and a weak penalty lets all others be met."""
    X, y = rare_binary(8, 20)
    X, y = np.vstack([X, X[:1]]), np.append(y, y[0] + 1.0)
    model = StretchyRegressor(k=1.02, a=-10.0, c=100.0).fit(X, y)
    assert_close(model.predict(X), [y[0] + 0.5, *y[1:8], y[0] + 0.5], rtol=1e-8)
    assert model.rcond_ > 1e-13
    model = StretchyRegressor(k=1.5, c=1e-3, a=-1.0).fit(X, y)
    coef, intercept = plain_fit(quadrant_features(X, -1.0), y, 1.5, 1e-3)
    assert_close(model.predict(X), quadrant_features(X, -1.0) @ coef + intercept)


@pytest.mark.parametrize("shape", [(400, 30), (40, 300)])
@pytest.mark.parametrize("a", [-20.0, -10.0, 10.0, 20.0])
@pytest.mark.parametrize("k", [1.02, 2.0])
@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_many_rare_binary_columns(shape, a, k, solver):
    """Features up to exp(400): fitted values stay within the targets, whatever the power."""
    X, y = rare_binary(*shape)
    model = StretchyRegressor(k=k, a=a, solver=solver, c=100.0).fit(X, y)
    fitted = model.predict(X)
    assert fitted.min() > y.min() - 1e-6
    assert fitted.max() < y.max() + 1e-6
    assert model.rcond_ > 1e-13
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("k", [1.5, 1.8, 2.0, 3.0])
@pytest.mark.parametrize("solver", ["primal", "qr"])
def test_columns_of_very_different_size(k, solver):
    """Outliers at a = 30 make columns of up to exp(90) and exp(230)."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 6)), rng.standard_normal(60)
    X[1, 3], X[2, 2] = 40.0, 10.0
    P = quadrant_features(X, 30.0)
    size, r, lam = P.max(axis=0), 1 / (k - 1), 1 / (100.0 * k)
    assert np.ptp(np.log(size)) > 100
    # the formula for columns divided by their size: coefficients times it
    P = P / size
    Q = P**r
    P, Q = P - P.mean(axis=0), Q - Q.mean(axis=0)
    scaled = np.linalg.solve(Q.T @ P + np.diag(lam * size ** -(1 + r)), Q.T @ (y - y.mean()))
    model = StretchyRegressor(k=k, a=30.0, solver=solver, c=100.0).fit(X, y)
    assert_close(model.alpha_ * size, scaled)
