"""Recipes: each is searched on its own, and weighed by what it loses on left-out samples."""

import copy
import re

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.pipeline import make_pipeline

import skstretch
from skstretch import RecipeRegressorCV, SpectralFilter, StretchyRegressorCV
from skstretch.estimators.recipes import spectral_recipes

GRID = {"a_grid": (0,), "k_grid": (2,), "c_grid": (1e-3, 1e-1), "density_grid": (1.0,)}
RIDGE = StretchyRegressorCV(**GRID, rule="best", nested=False)
FILTERS = {
    "raw": SpectralFilter(),
    "snv": SpectralFilter(snv=True),
    "slope": SpectralFilter(derivative=1, window=5),
}

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")


def data(M=30, D=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, D)).cumsum(axis=1) + rng.normal(size=(M, 1))
    return X, np.diff(X, axis=1)[:, 10] + 0.1 * X[:, 3] + 0.05 * rng.standard_normal(M)


def fitted(y=None, weight=None, **options):
    X, own = data()
    return RecipeRegressorCV(RIDGE, FILTERS, **options).fit(X, own if y is None else y, weight)


def literal_weights(residuals):
    """The minimum of the documented criterion, by a solver that knows nothing of it."""
    n = residuals.shape[1]
    A = residuals @ residuals.T / n
    least = A.diagonal().min()
    p = (A.diagonal() / least) ** (-0.1 * n / 2)
    p /= p.sum()

    def criterion(w):
        return (w @ A @ w + 3.0 * least * np.sum((w - p) ** 2)) / least

    found = minimize(
        criterion,
        np.full(len(p), 1 / len(p)),
        bounds=[(0, 1)] * len(p),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    ).x
    kept = np.where(found >= 0.01, found, 0.0)
    return kept / kept.sum()


def test_weights_are_those_of_the_documented_criterion():
    _, y = data()
    model = fitted()
    residuals = np.array([y - pipe[-1].cv_predictions_ for pipe in model.pipelines_.values()])
    expected = literal_weights(residuals)
    np.testing.assert_allclose(list(model.weights_.values()), expected, atol=1e-5)
    np.testing.assert_allclose(list(model.errors_.values()), np.mean(residuals**2, axis=1))
    assert model.best_recipe_ == min(model.errors_, key=model.errors_.get)


def test_every_recipe_is_the_pipeline_that_one_would_fit():
    X, y = data()
    model = fitted()
    total = 0.0
    for name, step in FILTERS.items():
        alone = make_pipeline(step, RIDGE).fit(X, y)
        np.testing.assert_array_equal(alone.predict(X), model.pipelines_[name].predict(X))
        total = total + model.weights_[name] * alone.predict(X)
    np.testing.assert_allclose(model.predict(X), total, rtol=1e-13)


def test_left_out_predictions_are_those_of_literal_refits():
    """A filter sees one row at a time, so that leaving one out after it is leaving one out before.

    Given the z-scores, as everywhere: those of the filtered spectra.
    """
    X, y = data()
    model = fitted()
    mixed = np.zeros_like(y)
    for name, step in FILTERS.items():
        Z = step.fit_transform(X)
        pipe = model.pipelines_[name]
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        lam = 1 / (pipe[-1].c_ * 2)
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            centre, level = Z[rest].mean(axis=0), y[rest].mean()
            inner = (Z[rest] - centre).T @ (Z[rest] - centre) + lam * np.eye(Z.shape[1])
            coef = np.linalg.solve(inner, (Z[rest] - centre).T @ (y[rest] - level))
            mixed[i] += model.weights_[name] * (level + (Z[i] - centre) @ coef)
    np.testing.assert_allclose(model.cv_predictions_, mixed, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(-model.best_score_, np.mean((y - mixed) ** 2), rtol=1e-7)


def test_the_best():
    model = fitted(rule="best")
    assert model.weights_ == {name: float(name == model.best_recipe_) for name in FILTERS}
    X, _ = data()
    alone = model.pipelines_[model.best_recipe_]
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_invariances():
    X, y = data()
    model = fitted()
    turned = RecipeRegressorCV(RIDGE, dict(reversed(FILTERS.items()))).fit(X, y)
    for name in FILTERS:
        assert turned.weights_[name] == pytest.approx(model.weights_[name], abs=1e-9)
    unit = fitted(1000.0 * y)
    np.testing.assert_allclose(unit.predict(X), 1000.0 * model.predict(X), rtol=1e-9)
    order = np.random.default_rng(1).permutation(len(y))
    mixed = RecipeRegressorCV(RIDGE, FILTERS).fit(X[order], y[order])
    np.testing.assert_allclose(mixed.predict(X), model.predict(X), rtol=1e-8)
    ones = fitted(weight=np.ones(len(y)))
    np.testing.assert_allclose(ones.predict(X), model.predict(X), rtol=1e-9)


def test_targets_are_weighed_on_their_own():
    X, y = data()
    other = X[:, 5]
    model = fitted(np.column_stack([y, other]))
    for j, target in enumerate((y, other)):
        alone = fitted(target)
        np.testing.assert_allclose(
            [weight[j] for weight in model.weights_.values()], list(alone.weights_.values()),
            atol=1e-7,
        )  # fmt: skip
        np.testing.assert_allclose(model.predict(X)[:, j], alone.predict(X), rtol=1e-7)


def test_groups_are_left_out_whole():
    X, y = data()
    groups = np.arange(len(y)) // 3
    model = RecipeRegressorCV(RIDGE, FILTERS).fit(X, y, groups=groups)
    for pipe in model.pipelines_.values():
        alone = copy.deepcopy(pipe[-1]).fit(pipe[0].transform(X), y, groups=groups)
        np.testing.assert_array_equal(alone.cv_predictions_, pipe[-1].cv_predictions_)


def test_recipes_can_be_saved(tmp_path):
    X, _ = data()
    model = fitted()
    skstretch.save(model.pipelines_["slope"], tmp_path / "slope.stretchy")
    again = skstretch.load(tmp_path / "slope.stretchy")
    np.testing.assert_array_equal(again.predict(X), model.pipelines_["slope"].predict(X))


def test_usual_recipes():
    assert len(spectral_recipes(100)) == 7
    assert [*spectral_recipes(12)] == [
        "as measured", "snv", "snv, detrended", "first derivative", "snv, first derivative"
    ]  # fmt: skip
    X, y = data()
    model = RecipeRegressorCV(RIDGE).fit(X, y)
    assert [*model.pipelines_] == [*spectral_recipes(25)]


def test_refused():
    X, y = data()
    with pytest.raises(ValueError, match="rule='most' is not known: use one of mix, best"):
        RecipeRegressorCV(RIDGE, FILTERS, rule="most").fit(X, y)
    with pytest.raises(ValueError, match=re.escape('recipes=[] must be "spectra" or a dict')):
        RecipeRegressorCV(RIDGE, []).fit(X, y)
    with pytest.raises(TypeError, match="a RecipeRegressorCV cannot be saved"):
        skstretch.save(fitted(), "no.stretchy")
