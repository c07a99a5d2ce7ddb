"""The units of X: a search finds the same whatever they are, in every container."""

import numpy as np
import pytest

from skstretch import StretchyRegressor, StretchyRegressorCV
from tests import zoo
from tests.dask_arrays import as_dask

# for X in units of 10**-e, c is a float64 up to these e; at more than 300 / r decimal places of e
# rows are scaled one by one, which costs digits
FURTHEST = {1.1: 10, 1.25: 25, 1.5: 55, 1.75: 80, 2.0: 110}
SMALL = {"a_grid": (-0.2, 0.0), "k_grid": (1.1, 1.5, 2.0)}


def held(name, X, folder):
    if name == "dask":
        return as_dask(X, (-1, 20) if X.shape[1] > X.shape[0] else (20, -1))
    return zoo.contained(name, X, folder)


def noisy(X):
    """Targets whose best penalty is no matter of rounding."""
    return zoo.targets(X) + 2.0 * np.random.default_rng(5).standard_normal(len(X))


def assert_same(found, expected, predicted, size):
    np.testing.assert_array_equal(found.cv_results_["usable"], expected.cv_results_["usable"])
    assert found.best_index_ == expected.best_index_
    np.testing.assert_allclose(predicted, expected.predict(size[0]), rtol=0, atol=size[1])


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", FURTHEST)
@pytest.mark.parametrize("shape", zoo.SHAPES)
def test_identity(shape, k, intercept):
    X = zoo.numbers(shape)
    y = noisy(X)
    model = StretchyRegressorCV(k_grid=(k,), quadrant="identity", fit_intercept=intercept)
    expected = model.fit(X, y)
    for e in (-FURTHEST[k], -3, 3, FURTHEST[k]):
        scaled = X * 10.0**e
        found = StretchyRegressorCV(**model.get_params()).fit(scaled, y)
        assert_same(found, expected, found.predict(scaled), (X, 1e-7 * np.ptp(y)))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("container", [*zoo.CONTAINERS, "dask"])
@pytest.mark.parametrize("shape", zoo.SHAPES)
def test_containers(container, shape, tmp_path):
    """All k at once, at units where c is a float64 for each of them."""
    X = zoo.numbers(shape)
    y = noisy(X)
    model = StretchyRegressorCV(**SMALL, quadrant="identity").fit(X, y)
    # data that is read in blocks has no automatic selection of features
    # and paths of exact minimisers step by what Newton's method leaves of each solution
    all_features = {"a_grid": (-0.2, 0.1), "k_grid": (1.1, 1.5, 2.0), "n_features_to_select": 1.0}
    for e in (-10, 10):
        scaled = held(container, X * 10.0**e, tmp_path)
        found = StretchyRegressorCV(**SMALL, quadrant="identity").fit(scaled, y)
        assert_same(found, model, found.predict(X * 10.0**e), (X, 1e-7 * np.ptp(y)))
    model = StretchyRegressorCV(**all_features).fit(X, y)
    for e in (-150, 150):
        scaled = held(container, X * 10.0**e, tmp_path)
        found = StretchyRegressorCV(**all_features).fit(scaled, y)
        assert_same(found, model, found.predict(X * 10.0**e), (X, 1e-7 * np.ptp(y)))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [1.1, 1.25, 2.0])
def test_condition(k, intercept):
    """``K`` is s**(1 + r) times as large, so c is divided by that; intervals do not warn."""
    X = zoo.numbers("wide") + 0.1
    y, r = noisy(X), 1 / (k - 1)
    params = {"quadrant": "identity", "fit_intercept": intercept, "solver": "dual"}
    expected = StretchyRegressor(k, 1e-3, **params).fit(X, y)
    lower, upper = expected.predict_interval(X[:5])
    for s in (1e-6, 1e-3, 1e3, 1e6):
        model = StretchyRegressor(k, 1e-3 * s ** -(1 + r), **params).fit(s * X, y)
        assert expected.rcond_ / 8 <= model.rcond_ <= 8 * expected.rcond_
        bounds = model.predict_interval(s * X[:5])
        np.testing.assert_allclose(bounds, (lower, upper), rtol=0, atol=1e-7 * np.ptp(y))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("e", [-40, 40])
@pytest.mark.parametrize("shape", zoo.SHAPES)
def test_penalties_that_are_no_float64(shape, e):
    """``lam = s * scale`` of size 10**(11 e): no candidate, instead of one without penalty."""
    X = zoo.numbers(shape)
    y = noisy(X)
    model = StretchyRegressorCV(quadrant="identity", k_grid=(1.1, 2.0)).fit(X * 10.0**e, y)
    lost = model.cv_results_["param_k"] == 1.1
    np.testing.assert_array_equal(model.cv_results_["usable"], ~lost)
    assert all("other units" in reason for reason in model.cv_results_["reason"][lost])
    with pytest.raises(ValueError, match="use other units"):
        StretchyRegressorCV(quadrant="identity", k_grid=(1.1,)).fit(X * 10.0**e, y)
