"""Recipes: each is searched on its own, and weighed by what it loses on left-out samples."""

import copy
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

import skstretch
from skstretch import (
    RecipeClassifierCV,
    RecipeRegressorCV,
    SpectralFilter,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.estimators.recipes import spectral_recipes

GRID = {"a_grid": (0,), "k_grid": (2,), "c_grid": (1e-3, 1e-1), "n_features_to_select": 1.0}
RIDGE = StretchyRegressorCV(**GRID, combine="best")
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
    """The documented weights: the less, the more is lost on n samples, in logarithms."""
    n = residuals.shape[1]
    losses = np.log(np.mean(residuals**2, axis=1)) / 2
    found = np.exp(-0.15 * n * losses)
    found /= found.sum()
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
    model = fitted(combine="best")
    assert model.weights_ == {name: float(name == model.best_recipe_) for name in FILTERS}
    X, y = data()
    alone = model.pipelines_[model.best_recipe_]
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    twice = RecipeRegressorCV(RIDGE, {"one": FILTERS["raw"], "two": FILTERS["raw"]}, combine="best")
    assert twice.fit(X, y).weights_ == {"one": 1.0, "two": 0.0}


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


def test_no_band_of_effects_crosses_recipes():
    model, D = fitted(), data()[0].shape[1]
    found = list(model.effects(bands=2, n_pairs=2)["feature"])
    places = [[int(end[1:]) // D for end in name.split(" .. ")] for name in found]
    assert places == [[recipe, recipe] for recipe in range(len(FILTERS)) for _ in range(2)]
    with pytest.raises(ValueError, match=f"between 1 and the {D} features of a recipe"):
        model.effects(bands=D + 1)


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
    assert [*spectral_recipes(2)] == ["as measured"]
    assert [*spectral_recipes(12)] == [
        "as measured", "snv", "snv, detrended", "first derivative", "snv, first derivative"
    ]  # fmt: skip
    X, y = data()
    model = RecipeRegressorCV(RIDGE).fit(X, y)
    assert [*model.pipelines_] == [*spectral_recipes(25)]


def test_refused():
    X, y = data()
    with pytest.raises(ValueError, match="combine='most' is not known: use one of average, best"):
        RecipeRegressorCV(RIDGE, FILTERS, combine="most").fit(X, y)
    with pytest.raises(ValueError, match=re.escape('recipes=[] must be "spectra" or a dict')):
        RecipeRegressorCV(RIDGE, []).fit(X, y)
    with pytest.raises(TypeError, match="is no StretchyRegressorCV, which every recipe"):
        RecipeRegressorCV(StretchyRegressor(), FILTERS).fit(X, y)
    with pytest.raises(TypeError, match="a RecipeRegressorCV cannot be saved"):
        skstretch.save(RecipeRegressorCV(), "no.stretchy")
    folds = KFold(5, shuffle=True)
    with pytest.raises(ValueError, match="give it a random_state"):
        RecipeRegressorCV(clone(RIDGE).set_params(cv=folds), FILTERS).fit(X, y)


MIXING = StretchyRegressorCV(
    a_grid=(-0.2, 0.0), k_grid=(1.5, 2.0), c_grid=(0.01, 1.0), n_features_to_select=[1.0, 5], cv=5
)
SEARCHES = {
    "ridge": RIDGE,
    "mixture": MIXING,
    "best": clone(MIXING).set_params(combine="best", cv=None, n_features_to_select=1.0),
}


@pytest.mark.parametrize("combine", ["average", "best"])
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("targets", [1, 2])
def test_one_model_of_all_recipes(name, combine, targets, tmp_path):
    """The pipeline on all recipes side by side is the weighted mean of the recipes."""
    X, y = data()
    Y = y if targets == 1 else np.column_stack([y, X[:, 5]])
    new = data(12, seed=3)[0]
    model = RecipeRegressorCV(SEARCHES[name], FILTERS, combine=combine).fit(X, Y)
    parts = [w * model.pipelines_[n].predict(new) for n, w in model.weights_.items()]
    np.testing.assert_allclose(model.predict(new), sum(parts), rtol=1e-11, atol=1e-11)
    own = model.pipeline_[-1]
    Z = model.pipeline_[:-1].transform(new)
    total = own.contributions(Z).sum(axis=1) + own.contributions_base_
    np.testing.assert_allclose(total, model.predict(new), rtol=1e-12, atol=1e-12)
    counted = {n: np.zeros(targets) for n in FILTERS}
    table = own.weights_
    each = [f"weight_{j}" for j in range(targets)] if "weight_0" in table else ["weight"]
    for recipe, weight in zip(table["recipe"], table[each].to_numpy(), strict=True):
        counted[recipe] = counted[recipe] + weight
    for n in FILTERS:
        np.testing.assert_allclose(counted[n], model.weights_[n], atol=1e-12)
    assert set(own.cv_results_["param_recipe"]) == set(FILTERS)
    skstretch.save(model, tmp_path / "m.stretchy", intervals=True)
    again = skstretch.load(tmp_path / "m.stretchy")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again[-1].cv_results_["param_recipe"],
                                  own.cv_results_["param_recipe"])  # fmt: skip
    for method in ("plus", "residual"):
        found = again[-1].predict_interval(again[:-1].transform(new), method=method)
        told = model.predict_interval(new, method=method)
        np.testing.assert_allclose(np.array(found), np.array(told), rtol=1e-9)


def test_intervals_are_those_of_literal_refits():
    """jackknife+ of the mixture: every sample is left out of all recipes, which keep their weight.

    Given the z-scores of the filtered spectra, as everywhere.
    """
    X, y = data()
    new, coverage = data(6, seed=3)[0], 0.8
    model, n = fitted(), len(y)
    predicted, left = np.zeros((6, n)), np.zeros(n)
    for name, step in FILTERS.items():
        pipe, w = model.pipelines_[name], model.weights_[name]
        Z = step.fit_transform(X)
        mean, scale = Z.mean(axis=0), Z.std(axis=0)
        Z, N = (Z - mean) / scale, (step.transform(new) - mean) / scale
        lam = 1 / (pipe[-1].c_ * 2)
        for i in range(n):
            rest = np.arange(n) != i
            centre, level = Z[rest].mean(axis=0), y[rest].mean()
            inner = (Z[rest] - centre).T @ (Z[rest] - centre) + lam * np.eye(Z.shape[1])
            coef = np.linalg.solve(inner, (Z[rest] - centre).T @ (y[rest] - level))
            predicted[:, i] += w * (level + (N - centre) @ coef)
            left[i] += w * (level + (Z[i] - centre) @ coef)
    sizes = np.abs(y - left)
    down, up = np.floor((1 - coverage) * (n + 1)), np.ceil(coverage * (n + 1))
    lower = np.sort(predicted - sizes, axis=1)[:, int(down) - 1]
    upper = np.sort(predicted + sizes, axis=1)[:, int(up) - 1]
    found = model.predict_interval(new, coverage)
    np.testing.assert_allclose(found[0], lower, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found[1], upper, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("count", [2, 3])
def test_classes(count, tmp_path):
    X, y = data(45)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))]
    labels = np.where(labels == "mid", "low", labels) if count == 2 else labels
    own = StretchyClassifierCV(
        a_grid=(-0.2, 0.0), k_grid=(2.0,), c_grid=(0.01, 1.0), n_features_to_select=1.0
    )
    model = RecipeClassifierCV(own, FILTERS).fit(X, labels)
    losses = np.array(list(model.errors_.values()))
    shares = np.exp(-0.3 * len(y) * (losses - losses.min()))
    shares = np.where(shares / shares.sum() >= 0.01, shares / shares.sum(), 0.0)
    found = [float(np.ravel(w)[0]) for w in model.weights_.values()]
    np.testing.assert_allclose(found, shares / shares.sum(), atol=1e-12)
    assert model.classes_.tolist() == sorted(set(labels))
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (45, count)
    even = probabilities / np.exp(model.pipeline_[-1]._state.decision.biases)
    np.testing.assert_array_equal(model.classes_[even.argmax(axis=1)], model.predict(X))
    assert np.mean(model.predict(X) == labels) > 0.8
    scores = sum(
        np.multiply(w, pipe[-1].cv_predictions_)
        for w, pipe in zip(model.weights_.values(), model.pipelines_.values(), strict=True)
    )
    np.testing.assert_allclose(model.cv_predictions_, scores, rtol=1e-9, atol=1e-12)
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)


def test_graph_and_page(tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="install skstretch[onnx] to run")
    from skstretch.report import write_report

    X, y = data()
    model = fitted()
    session = runtime.InferenceSession(skstretch.to_onnx(model).SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[0].ravel()
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9, atol=1e-12)
    page = write_report(model, tmp_path / "m.html", X=X, y=y).read_text()
    assert "ridge (slope)" in page


def test_what_is_left_of_a_search():
    """Questions that need one design of all candidates are refused, not answered wrongly."""
    own = fitted().pipeline_[-1]
    with pytest.raises(ValueError, match="permutation_test needs what the search kept"):
        own.permutation_test(10)


def test_weights_and_factors():
    """Repetition is weight, and factors of the spectrum's columns are those of every recipe."""
    X, y = data()
    w = np.random.default_rng(0).integers(1, 3, len(y))
    groups = np.arange(len(y))
    weighed = RecipeRegressorCV(RIDGE, FILTERS).fit(X, y, sample_weight=w, groups=groups)
    where = np.repeat(groups, w)
    repeated = RecipeRegressorCV(RIDGE, FILTERS).fit(X[where], y[where], groups=where)
    np.testing.assert_allclose(weighed.predict(X), repeated.predict(X), rtol=1e-8)
    factor = np.ones(X.shape[1])
    factor[3], factor[4] = 0.0, np.inf
    own = clone(RIDGE).set_params(penalty_factor=factor)
    model = RecipeRegressorCV(own, FILTERS).fit(X, y)
    parts = [v * model.pipelines_[n].predict(X) for n, v in model.weights_.items()]
    np.testing.assert_allclose(model.predict(X), sum(parts), rtol=1e-9)
    np.testing.assert_array_equal(model.pipeline_[-1].coef_[4::25], 0.0)


@pytest.mark.parametrize("Model", [RecipeRegressorCV, RecipeClassifierCV])
@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_a_fit_that_fails_or_is_interrupted_leaves_nothing(Model, fault, monkeypatch):
    """Neither a half of it nor a mixture with the fit before."""
    X, y = data()
    y = y if Model is RecipeRegressorCV else y > np.median(y)
    search = StretchyRegressorCV if Model is RecipeRegressorCV else StretchyClassifierCV
    model = Model(search(**GRID), {"raw": SpectralFilter()}).fit(X[:, :20], y)

    def broken(*args, **keywords):
        raise fault("broken")

    monkeypatch.setattr(Model, "_join", broken)
    with pytest.raises(fault):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    monkeypatch.undo()
    model.set_params(combine="other")
    with pytest.raises(ValueError, match="combine='other'"):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("classes", [False, True])
def test_the_nested_score_is_that_of_literal_refits(classes):
    """All recipes are searched and weighed again without each fold."""
    X, y = data()
    y = np.where(y > np.median(y), "high", "low") if classes else y
    one = StretchyClassifierCV(**GRID) if classes else RIDGE
    recipes = RecipeClassifierCV if classes else RecipeRegressorCV
    folds = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    model = recipes(clone(one).set_params(nested_cv=folds), FILTERS).fit(X, y)
    literal = cross_val_predict(recipes(one, FILTERS), X, y, cv=folds)
    if classes:
        assert (model.nested_predictions_ == literal).all()
        assert model.nested_score_ == pytest.approx(balanced_accuracy_score(y, literal), abs=1e-12)
    else:
        np.testing.assert_allclose(model.nested_predictions_, literal, rtol=1e-12, atol=1e-12)
        assert model.nested_score_ == pytest.approx(-np.mean((y - literal) ** 2), rel=1e-12)
    assert model.pipeline_[-1].nested_score_ == model.nested_score_
    assert not hasattr(recipes(one, FILTERS).fit(X, y), "nested_score_")
