"""At k = 2, and at a = 0, stretchy regression is ridge regression."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyRegressor
from tests.estimators.samples import assert_close, new_rows, problem, quadrant_features

C = 3.0


def ridge(**params):
    return Ridge(alpha=1 / (2 * C), solver="svd", **params)


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_targets", [None, 3])
def test_power_two_is_ridge_on_the_features(shape, fit_intercept, n_targets):
    X, y = problem(shape, n_targets)
    model = StretchyRegressor(k=2.0, c=C, fit_intercept=fit_intercept).fit(X, y)
    reference = ridge(fit_intercept=fit_intercept).fit(quadrant_features(X), y)
    assert_close(model.alpha_, reference.coef_)
    assert_close(np.asarray(model.intercept_), np.zeros(n_targets or ()) + reference.intercept_)
    T = new_rows(X)
    assert_close(model.predict(T), reference.predict(quadrant_features(T, train=X)))


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_power_two_with_weights_is_ridge_with_weights(shape):
    X, y = problem(shape)
    weights = np.random.default_rng(3).uniform(0.1, 4.0, len(y))
    model = StretchyRegressor(k=2.0, c=C).fit(X, y, sample_weight=weights)
    P = quadrant_features(X, weights=weights)
    reference = ridge().fit(P, y, sample_weight=weights)
    assert_close(model.alpha_, reference.coef_)
    assert_close(model.predict(X), reference.predict(P))


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_identity_is_ridge_on_the_raw_data(shape, fit_intercept):
    X, y = problem(shape)
    X = np.abs(X) / 10
    model = StretchyRegressor(k=2.0, c=C, quadrant="identity", fit_intercept=fit_intercept)
    model.fit(X, y)
    reference = ridge(fit_intercept=fit_intercept).fit(X, y)
    assert_close(model.alpha_, reference.coef_)
    # a linear model has no bound and no sign to look at
    T = -50 * new_rows(X)
    assert_close(model.predict(T), reference.predict(T))


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("quadrant", ["exp", "identity"])
def test_column_is_ridge_on_the_features_and_a_column_of_ones(shape, quadrant):
    X, y = problem(shape)
    X = np.abs(X) / 10
    model = StretchyRegressor(k=2.0, c=C, quadrant=quadrant, fit_intercept="column").fit(X, y)
    P = quadrant_features(X) if quadrant == "exp" else X
    P = np.column_stack([P, np.ones(len(y))])
    reference = ridge(fit_intercept=False).fit(P, y)
    assert_close(np.append(model.alpha_, model.intercept_), reference.coef_)
    assert_close(model.predict(X), reference.predict(P))


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", [True, "column", False])
def test_slope_zero_is_ridge_on_the_standardised_data(shape, fit_intercept):
    X, y = problem(shape)
    model = StretchyRegressor(k=2.0, c=C, a=0.0, fit_intercept=fit_intercept).fit(X, y)
    scaler = StandardScaler().fit(X)
    # far away it is bounded, as exp(a z + b) is
    T = X.mean(axis=0) + np.linspace(0.5, 40, 11)[:, None] * (new_rows(X) - X.mean(axis=0))
    low, high, width = X.min(axis=0), X.max(axis=0), np.ptp(X, axis=0)
    bounded = np.clip(T, low - width, high + width)
    assert (bounded[0] == T[0]).all()
    assert (bounded != T).any()
    Z, ZT = scaler.transform(X), scaler.transform(bounded)
    if fit_intercept == "column":
        Z, ZT = (np.column_stack([A, np.ones(len(A))]) for A in (Z, ZT))
    reference = ridge(fit_intercept=fit_intercept is True).fit(Z, y)
    assert_close(model.alpha_, reference.coef_[: X.shape[1]])
    assert_close(model.predict(T), reference.predict(ZT))
    assert_close(model.coef_, model.alpha_ / X.std(axis=0))


def test_no_penalty_is_least_squares_of_any_power():
    X, y = problem("tall")
    P = np.column_stack([quadrant_features(X), np.ones(len(y))])
    solution = np.linalg.lstsq(P, y, rcond=None)[0]
    ols = StretchyRegressor(k=2.0, c=np.inf).fit(X, y)
    assert_close(np.append(ols.alpha_, ols.intercept_), solution)
    # other powers weigh the samples differently: unbiased too, but another estimator
    other = StretchyRegressor(k=1.5, c=np.inf).fit(X, y)
    assert np.abs(other.alpha_ - ols.alpha_).max() > 0.01
    exact = StretchyRegressor(k=1.5, c=np.inf).fit(X, P @ np.arange(8.0))
    assert_close(np.append(exact.alpha_, exact.intercept_), np.arange(8.0))
