"""The ends of every range: far features, tiny slopes, huge units, powers near one, penalties."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skstretch import StretchyRegressor
from skstretch.exceptions import IllConditionedWarning
from tests.estimators.samples import (
    assert_close,
    mean_fit,
    new_rows,
    problem,
    quadrant_features,
)
from tests.references import INTERCEPTS, exact_solution

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
intercepts = pytest.mark.parametrize("fit_intercept", INTERCEPTS)


@shapes
@pytest.mark.parametrize("a", [-0.2, -3.0, 3.0])
def test_far_away_features_are_bounded(shape, a):
    """A z of a thousand counts as the training range widened by its width on either side."""
    X, y = problem(shape)
    model = StretchyRegressor(a=a, c=100.0).fit(X, y)
    mean, scale, low, high = X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0)
    T = mean + 1e3 * scale * np.random.default_rng(2).choice([-1, 1], (9, X.shape[1]))
    bounded = np.clip(T, low - (high - low), high + (high - low))
    P = quadrant_features(bounded, a, train=X)
    assert_close(model.predict(T), P @ model.alpha_ + model.intercept_, rtol=1e-9)
    assert np.isfinite(model.predict(T * 1e300)).all()


@shapes
@pytest.mark.parametrize("k", [1.25, 1.5, 2.0])
@pytest.mark.parametrize("a", [-1e-8, 1e-8, -1e-6])
def test_tiny_slope_is_near_its_linear_limit(shape, k, a):
    """As a -> 0: ridge on z with penalty ``lam / (a**2 r)``, up to terms of order a."""
    X, y = problem(shape)
    mu, r = 0.7, 1 / (k - 1)
    model = StretchyRegressor(k=k, c=1 / (k * mu * a**2 * r), a=a).fit(X, y)
    scale = X.std(axis=0)
    Z, T = (X - X.mean(axis=0)) / scale, new_rows(X)
    ridge = Ridge(alpha=mu, solver="svd").fit(Z, y)
    expected = ridge.predict((T - X.mean(axis=0)) / scale)
    assert_close(model.predict(T), expected, rtol=50 * abs(a))
    assert_close(model.coef_, ridge.coef_ / scale, rtol=50 * abs(a))


@shapes
@pytest.mark.parametrize("exponent", [-900, -700, -500, 500, 900])
def test_tiny_and_huge_units(shape, exponent):
    """Powers of two round nothing: the same model to the last bit."""
    X, y = problem(shape)
    T, unit = new_rows(X), 2.0**exponent
    base = StretchyRegressor(density=0.6, c=100.0).fit(X, y)
    model = StretchyRegressor(density=0.6, c=100.0).fit(X * unit, y)
    np.testing.assert_array_equal(model.alpha_, base.alpha_)
    np.testing.assert_array_equal(model.predict(T * unit), base.predict(T))


@shapes
@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_units_differ_between_columns(shape, unit):
    X, y = problem(shape)
    units = np.where(np.arange(X.shape[1]) % 2, unit, 1.0)
    base = StretchyRegressor(k=1.2, c=100.0).fit(X, y)
    model = StretchyRegressor(k=1.2, c=100.0).fit(X * units, y)
    assert_close(model.alpha_, base.alpha_)
    assert_close(model.predict(X * units), base.predict(X))


@shapes
@intercepts
@pytest.mark.parametrize("k", [1.02, 1.5, 2.0])
def test_tiny_raw_data_leaves_the_intercept(shape, fit_intercept, k):
    """Beside a penalty of order one, features of 1e-100 and less explain nothing."""
    X, y = problem(shape)
    for unit in (1e-100, 1e-160, 1e-200):
        model = StretchyRegressor(k=k, quadrant="identity", fit_intercept=fit_intercept, c=100.0)
        fitted = model.fit(np.abs(X) * unit, y).predict(np.abs(X) * unit)
        expected = mean_fit(y, k, 100.0, fit_intercept)
        np.testing.assert_allclose(fitted, expected, rtol=1e-12, atol=1e-12)


@shapes
@intercepts
@pytest.mark.parametrize("unit", [1e100, 1e200, 1e300])
def test_huge_raw_data(shape, fit_intercept, unit):
    X, y = problem((6, 9) if shape == "wide" else (20, 4))
    X = np.abs(X) * unit
    params = {"k": 1.5, "c": 100.0, "quadrant": "identity", "fit_intercept": fit_intercept}
    model = StretchyRegressor(**params).fit(X, y)
    exact = exact_solution(X, y, 1.5, 100.0, fit_intercept, digits=1500)
    assert_close(model.predict(X), exact.predict(X))
    assert_close(model.alpha_, exact.vector[:-1])


@shapes
@intercepts
@pytest.mark.parametrize("k", [1.001, 1.005, 50.0])
@pytest.mark.parametrize("c", [1.0, np.inf])
def test_power_near_one_and_far_above_two(shape, fit_intercept, k, c):
    X, y = problem((6, 9) if shape == "wide" else (20, 4))
    model = StretchyRegressor(k=k, c=c, fit_intercept=fit_intercept)
    with warnings.catch_warnings():
        if k == 1.001:  # powers of 1000: the estimate of the error may be cautious
            warnings.simplefilter("ignore", IllConditionedWarning)
        model.fit(X, y)
    P = quadrant_features(X)
    exact = exact_solution(P, y, k, c, fit_intercept, digits=900)
    assert_close(np.append(model.alpha_, model.intercept_), exact.vector, rtol=1e-8)
    assert_close(model.predict(X), exact.predict(P), rtol=1e-8)


@shapes
@intercepts
@pytest.mark.parametrize("k", [1.02, 1.5, 2.0])
def test_penalty_beyond_measure(shape, fit_intercept, k):
    X, y = problem(shape)
    params = {"k": k, "fit_intercept": fit_intercept}
    crushed = StretchyRegressor(c=1e-249, **params).fit(X, y)
    expected = y.mean() if fit_intercept is True else 0.0
    np.testing.assert_allclose(crushed.predict(X), expected, rtol=1e-13, atol=1e-13)
    assert np.abs(crushed.alpha_).max() < 1e-15
    free = StretchyRegressor(c=1e300, **params).fit(X, y)
    none = StretchyRegressor(c=np.inf, **params).fit(X, y)
    assert_close(free.alpha_, none.alpha_, rtol=1e-13)
    assert_close(free.predict(X), none.predict(X), rtol=1e-13)


@pytest.mark.parametrize("c", [1e-300, 5e-324])
def test_penalty_beyond_float64(c):
    X, y = problem("wide")
    with pytest.raises(ValueError, match=f"c={c!r} is out of range.*Use c=1e-249 or larger"):
        StretchyRegressor(c=c).fit(X, y)


@shapes
@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e30, 1e300])
def test_units_of_the_target(shape, unit):
    X, y = problem(shape)
    base = StretchyRegressor(c=100.0).fit(X, y)
    model = StretchyRegressor(c=100.0).fit(X, y * unit)
    assert_close(model.predict(X) / unit, base.predict(X), rtol=1e-12)
