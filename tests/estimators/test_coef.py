"""coef_, effect_ and intercept_: what one unit, and one standard deviation, of a feature does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.datasets import make_spectra
from tests.estimators.samples import assert_close, problem

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

FEW = {"k_grid": (1.5, 2.0), "c_grid": (0.1, 1.0)}
KINDS = {
    "paper": StretchyRegressor(),
    "bent up": StretchyRegressor(a=0.5, b=0.3),
    "shifted": StretchyRegressor(b=np.linspace(-1.0, 1.0, 7)),
    "linear": StretchyRegressor(a=0.0),
    "ridge": StretchyRegressor(a=0.0, k=2.0),
    "no intercept": StretchyRegressor(a=0.0, k=2.0, fit_intercept=False),
    "a column of ones": StretchyRegressor(a=0.0, k=2.0, fit_intercept="column"),
    "identity": StretchyRegressor(quadrant="identity"),
    "selected": StretchyRegressor(density=0.5),
    "factors": StretchyRegressor(a=0.0, penalty_factor=[0, 1, 2, 3, np.inf, 1, 1]),
    "bent, factors": StretchyRegressor(penalty_factor=[0, 1, 2, 3, np.inf, 1, 1]),
    "average": StretchyRegressorCV(**FEW),
    "linear average": StretchyRegressorCV(a_grid=(0.0,), **FEW),
    "chosen": StretchyRegressorCV(a_grid=(-0.2,), combine="best", **FEW),
    "classes": StretchyClassifier(threshold="balanced"),
    "linear classes": StretchyClassifier(a=0.0, threshold="balanced"),
    "searched classes": StretchyClassifierCV(**FEW),
    "linear searched classes": StretchyClassifierCV(a_grid=(0.0,), **FEW),
}
LINEAR = {name for name, one in KINDS.items() if "linear" in name or "identity" in name} | {
    "ridge",
    "no intercept",
    "a column of ones",
    "factors",
}


def fitted(name, X, y):
    """The model of a kind and its outputs, for a target or for two classes."""
    model = KINDS[name]
    if isinstance(model, StretchyClassifier | StretchyClassifierCV):
        model.fit(X, y > np.median(y))
        return model, model.decision_function
    model.fit(X, y)
    return model, model.predict


def data(t=None):
    """Columns of many units, none of them negative."""
    X, y = problem("tall")
    X = np.abs(X) * np.logspace(-3, 3, X.shape[1])
    return X, y if t is None else np.column_stack([y * 10.0**j for j in range(t)])


def derivatives(output, X):
    """Slopes of outputs at the mean by central differences, (..., D)."""
    mean, step = X.mean(axis=0), 1e-5 * X.std(axis=0)
    up, down = (output(mean + sign * np.diag(step)) for sign in (1, -1))
    return ((up - down).T / (2 * step)) if np.ndim(up) == 2 else (up - down) / (2 * step)


@pytest.mark.parametrize("name", KINDS)
def test_derivatives_at_the_mean(name):
    X, y = data()
    model, output = fitted(name, X, y)
    sd = X.std(axis=0)
    found = derivatives(output, X)
    np.testing.assert_allclose(model.effect_, found * sd, rtol=1e-7, atol=1e-8 * y.std())
    assert_close(model.coef_ * sd, model.effect_, rtol=1e-12)
    assert model.is_linear_ == (name in LINEAR)


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_linear_models_are_their_coefficients(name):
    X, y = data()
    model, output = fitted(name, X, y)
    assert_close(X @ model.coef_.T + model.intercept_, output(X), rtol=1e-10)


@pytest.mark.parametrize("a", [0.0, -0.2])
@pytest.mark.parametrize("make", [StretchyRegressor, StretchyRegressorCV])
def test_several_targets(a, make):
    X, Y = data(3)
    own = {"a": a} if make is StretchyRegressor else {"a_grid": (a,), **FEW}
    model = make(**own).fit(X, Y)
    assert model.coef_.shape == model.effect_.shape == (3, X.shape[1])
    found, unit = derivatives(model.predict, X) * X.std(axis=0), Y.std(axis=0)[:, None]
    np.testing.assert_allclose(model.effect_ / unit, found / unit, rtol=1e-6, atol=1e-8)
    if a == 0.0:
        assert_close(X @ model.coef_.T + model.intercept_, model.predict(X), rtol=1e-10)


@pytest.mark.parametrize("a", [0.0, -0.2])
def test_several_classes(a):
    X, y = data()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = StretchyClassifier(a=a).fit(X, labels)
    found = derivatives(model.decision_function, X)
    np.testing.assert_allclose(model.effect_, found * X.std(axis=0), rtol=1e-6, atol=1e-8)
    if a == 0.0:
        assert_close(X @ model.coef_.T + model.intercept_, model.decision_function(X), rtol=1e-10)


@pytest.mark.parametrize("name", ["paper", "linear", "average", "linear searched classes"])
def test_units(name):
    """Other units of X divide coef_ and leave effect_; those of y multiply both."""
    X, y = data()
    units, times = np.logspace(2, -2, X.shape[1]), 1000.0
    one, _ = fitted(name, X, y)
    coef, effect = one.coef_, one.effect_
    other, _ = fitted(name, X * units, y)
    assert_close(other.coef_ * units * X.std(axis=0), coef * X.std(axis=0), rtol=1e-6)
    assert_close(other.effect_, effect, rtol=1e-6)
    if name == "paper":  # which is linear in y
        other, _ = fitted(name, X, y * times)
        assert_close(other.effect_ / times, effect, rtol=1e-6)


@pytest.mark.parametrize("name", ["paper", "linear", "average", "linear searched classes"])
def test_storage(name):
    X, y = data()
    one, _ = fitted(name, X, y)
    effect, intercept = one.effect_, one.intercept_
    thin, _ = fitted(name, sparse.csr_array(X), y)
    assert_close(thin.effect_, effect, rtol=1e-7)
    small, _ = fitted(name, X.astype(np.float32), y)
    assert small.coef_.dtype == small.effect_.dtype == np.float32
    np.testing.assert_allclose(small.effect_, effect, atol=1e-4 * np.abs(effect).max())
    np.testing.assert_allclose(small.intercept_, intercept, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("make", [StretchyRegressor, StretchyRegressorCV])
def test_signs_are_directions(make):
    """Of averages with a < 0 too: on spectra, where one band makes y, and on the diabetes data."""
    X, y = load_diabetes(return_X_y=True)
    model = make().fit(X[:150], y[:150])
    bmi, blood_pressure = 2, 3
    assert model.coef_[bmi] > 0
    assert model.coef_[blood_pressure] > 0
    X, _ = make_spectra(40, return_X_y=True)
    band = X[:, 100] - X[:, 100].mean()
    for sign in (1.0, -1.0):
        model = make().fit(X[:, 80:120:4], sign * band)
        assert sign * model.coef_.sum() > 0
        rise = model.predict(X[:, 80:120:4] + 0.01 * X.std()) - model.predict(X[:, 80:120:4])
        assert (sign * rise > 0).all()


@pytest.mark.parametrize("a", [-0.2, 0.0, 0.2])
def test_signs_of_single_models(a):
    X, _ = problem("wide")
    y = (X[:, 2] - X[:, 2].mean()) / X[:, 2].std()
    assert StretchyRegressor(a=a, c=1e4).fit(X, y).coef_[2] > 0
    assert StretchyRegressor(a=a, c=1e4).fit(X, -y).coef_[2] < 0


def test_alpha_is_the_papers():
    """Weights of the transformed features; an average has none."""
    X, y = problem("tall")
    model = StretchyRegressor().fit(X, y)
    P = np.exp(-0.2 * (X - X.mean(axis=0)) / X.std(axis=0))
    assert_close(P @ model.alpha_ + model.intercept_, model.predict(X), rtol=1e-10)
    average = StretchyRegressorCV(**FEW).fit(X, y)
    assert not hasattr(average, "alpha_")
    with pytest.raises(AttributeError, match="an average has no alpha_ of its own"):
        _ = average.alpha_


def test_spread_of_coefficients_follows_their_units():
    X, y = data()
    units = np.logspace(2, -2, X.shape[1])
    for make in (StretchyRegressor, lambda: StretchyRegressorCV(**FEW)):
        one, other = make().fit(X, y), make().fit(X * units, y)
        assert_close(other.coef_std() * units, one.coef_std(), rtol=1e-6)
    model = StretchyRegressor().fit(X, y)
    assert_close(np.sqrt(np.diag(model.coef_covariance())), model.coef_std(), rtol=1e-10)
