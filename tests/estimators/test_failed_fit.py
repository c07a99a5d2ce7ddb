"""A fit that fails leaves no mixture of two models behind."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV
from tests.estimators.samples import problem


def data(Model):
    X, y = problem("tall")
    return X, y if Model is StretchyRegressor else np.where(y > np.median(y), "up", "down")


def model(Model, **params):
    return Model(**{"threshold": "zero"} | params if Model is StretchyClassifier else params)


BAD_FITS = {
    "parameter": lambda X, y: ({"k": 0.5}, X, y, None),
    "values": lambda X, y: ({}, np.where(X[0, 0] == X, np.nan, X), y, None),
    "sign": lambda X, y: ({"quadrant": "identity"}, X, y, None),
    "overflow": lambda X, y: ({"a": 500.0}, X[:, :3], y, None),
    "weights": lambda X, y: ({}, X[:, :3], y, -np.ones(len(y))),
    "classes": lambda X, y: ({"class_weight": "even"}, X[:, :3], y, None),
    "density": lambda X, y: ({"density": 9}, X[:, :3], y, None),
}
WORDS = {
    "parameter": "k=0.5",
    "values": "NaN",
    "sign": "negative value",
    "overflow": "a=500",
    "weights": "negative entry",
    "classes": "even",
    "density": "density=9",
}

FAULTS = pytest.mark.parametrize(
    ("Model", "fault"),
    [(StretchyRegressor, fault) for fault in BAD_FITS if fault != "classes"]
    + [(StretchyClassifier, fault) for fault in BAD_FITS],
)


@FAULTS
def test_a_failed_fit_leaves_no_mixture(Model, fault):
    """After a fit that fails, predict either refuses or still is the earlier model."""
    X, y = data(Model)
    fitted = model(Model).fit(X, y)
    before = fitted.predict(X)
    params, X_bad, y_bad, weights = BAD_FITS[fault](X, y)
    fitted.set_params(**params)
    with pytest.raises(ValueError, match=WORDS[fault]):
        fitted.fit(X_bad, y_bad, sample_weight=weights)
    try:
        after = fitted.predict(X)
    except (NotFittedError, ValueError):
        return
    np.testing.assert_array_equal(after, before)


@FAULTS
def test_a_failed_first_fit_is_no_fit(Model, fault):
    X, y = data(Model)
    params, X_bad, y_bad, weights = BAD_FITS[fault](X, y)
    broken = model(Model, **params)
    with pytest.raises(ValueError, match=WORDS[fault]):
        broken.fit(X_bad, y_bad, sample_weight=weights)
    with pytest.raises(NotFittedError):
        broken.predict(X_bad if np.isfinite(X_bad).all() else X)


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(
    "model", [StretchyRegressorCV(), StretchyRegressor()], ids=lambda model: type(model).__name__
)
def test_interrupted_refit_leaves_nothing_of_either(model, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 30)), rng.standard_normal(20)
    model.fit(X[:, :10], y)
    assert {"coef_", "n_features_in_", "rcond_"} <= set(vars(model))

    def interrupted(*args, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_store", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
