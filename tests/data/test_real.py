"""Fits on real data: finite, in the expected space, and ridge regression at k = 2."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.preprocessing import StandardScaler

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.exceptions import GridEdgeWarning

# name -> space of the fit on all samples
REGRESSION = {
    "prostate": "primal",
    "diabetes": "primal",
    "corn_m5": "dual",
    "corn_mp6": "dual",
    "cookie": "dual",
    "riboflavin": "dual",
    "nutrimouse": "dual",
    "eyedata": "dual",
    "pac": "dual",
    "fermentation": "dual",
    "wheat_kernels": "primal",
    "pyrim": "primal",
    "triazines": "primal",
}
CLASSES = {"arcene": 2, "colon": 2, "allaml": 2, "lymphoma": 3}


def load(data_dir, name):
    with np.load(data_dir / f"{name}.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float64), file["y"]


def halves(n):
    order = np.random.default_rng(0).permutation(n)
    return order[: n // 2], order[n // 2 :]


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("k", [1.1, 2.0])
def test_regression(data_dir, name, k):
    X, y = load(data_dir, name)
    model = StretchyRegressor(k=k, c=100.0).fit(X, y)
    assert model._state.space == REGRESSION[name]
    assert np.isfinite(model.alpha_).all()
    assert np.isfinite(model.coef_).all()
    # below k = 2 a tall fit is no least-squares fit, even to the data that it has seen
    assert r2_score(y, model.predict(X)) > (0.4 if k == 2.0 else 0.0)
    train, test = halves(len(y))
    fitted = StretchyRegressor(k=k, c=100.0, density=0.5).fit(X[train], y[train])
    outputs = fitted.predict(X[test])
    # columns that hardly vary in the one half do not explode in the other
    assert np.abs(outputs - y.mean(axis=0)).max() < 20 * np.ptp(y, axis=0).max()


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_power_two_is_ridge(data_dir, name, fit_intercept):
    X, y = load(data_dir, name)
    X = X[:, np.ptp(X, axis=0) > 0]
    model = StretchyRegressor(k=2.0, c=5.0, fit_intercept=fit_intercept).fit(X, y)
    P = np.exp(-0.2 * StandardScaler().fit_transform(X))
    ridge = Ridge(alpha=0.1, fit_intercept=fit_intercept, solver="svd").fit(P, y)
    size = np.abs(ridge.coef_).max()
    np.testing.assert_allclose(model.alpha_, ridge.coef_, rtol=0, atol=1e-8 * size)
    size = np.abs(y).max()
    np.testing.assert_allclose(model.predict(X), ridge.predict(P), rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize("name", CLASSES)
def test_classification(data_dir, name):
    X, y = load(data_dir, name)
    train, test = halves(len(y))
    params = {"k": 1.25, "threshold": "zero", "class_weight": "balanced"}
    model = StretchyClassifier(**params).fit(X[train], y[train])
    assert model._state.space == "dual"
    assert len(model.classes_) == CLASSES[name]
    assert model.score(X[train], y[train]) == 1.0
    assert balanced_accuracy_score(y[test], model.predict(X[test])) > 0.7


def test_arcene_in_its_own_integers(data_dir):
    with np.load(data_dir / "arcene.npz") as file:
        X, y = file["X"], file["y"]
    assert X.dtype == np.uint16
    model = StretchyRegressor(k=1.25).fit(X, y)
    expected = StretchyRegressor(k=1.25).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)
    constant = np.ptp(X, axis=0) == 0
    assert constant.sum() == 39
    np.testing.assert_array_equal(model.support_, ~constant)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 3, 4))]
)
def test_lymphoma_is_not_told_to_go_further(data_dir, seed):
    """No error is left and every sample has its degree of freedom: a longer grid cannot help."""
    X, y = load(data_dir, "lymphoma")
    rows = halves(len(y))[0] if seed == 0 else np.random.default_rng(seed).permutation(len(y))[:50]
    with warnings.catch_warnings():
        warnings.simplefilter("error", GridEdgeWarning)
        StretchyClassifierCV().fit(X[rows], y[rows])


def test_moisture_of_corn_needs_few_wavelengths(data_dir):
    """Few wavelengths tell moisture: the default search finds that by itself."""
    X, Y = load(data_dir, "corn_m5")
    y, squares, (first, second) = Y[:, 0], [], halves(len(Y))
    for train, test in ((first, second), (second, first)):
        model = StretchyRegressorCV().fit(X[train], y[train])
        squares.append(np.square(y[test] - model.predict(X[test])))
    assert np.sqrt(np.concatenate(squares).mean()) <= 0.001
