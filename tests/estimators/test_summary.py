"""A fitted model in sentences, as a table, and in a notebook."""

import builtins
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import skstretch
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.exceptions import GridEdgeWarning
from skstretch.style import number, share

GRID = {"k_grid": (1.25, 2.0), "c_grid": (0.01, 0.1, 1.0)}


def fitted(model, X, y, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        return model.fit(X, y, **keywords)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return fitted(StretchyRegressorCV(**GRID), X, y), X, y


def curved(noise):
    """What only a curved form can follow: y = exp(-0.6 z) of one of five features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    return X, np.exp(-0.6 * X[:, 0]) + noise * rng.standard_normal(120)


def test_ridge_was_chosen_and_why(diabetes):
    model, X, y = diabetes
    title, choice, error, effects = str(model.summary()).split("\n", 3)
    assert title == "StretchyRegressorCV: 442 samples, 10 features"
    assert choice.startswith("Ridge was chosen (a = 0, the linear limit, c = 0.100): nothing else ")
    results = model.cv_results_
    other = np.where(results["param_a"] != 0, results["loss_above_chosen"], np.inf)
    row = int(np.argmin(other))
    margin = other[row] / results["loss_above_chosen_se"][row]
    assert choice.endswith(
        f"was better by two standard errors; closest: a = −0.2, k = {results['param_k'][row]:g}, "
        f"c = {number(results['param_c'][row])}, worse by {margin:.1f} standard errors."
    )
    root = np.sqrt(np.mean((y - model.cv_predictions_) ** 2))
    nothing = np.sqrt(np.mean((y - (y.sum() - y) / (len(y) - 1)) ** 2))
    assert f"typical error of ±{number(root)} on samples that it has not seen" in error
    assert f"always answering the mean (±{number(nothing)})" in error
    spread = f"{number(-model.best_score_)} ± {number(model.best_score_se_)}"
    assert error.endswith(f"Cross-validated mean squared error: {spread}.")
    effect = model.slope_ * X.std(ddof=0).to_numpy()
    strongest = int(np.argmax(np.abs(effect)))
    line = effects.split("\n")[1].split()
    assert line[0] == X.columns[strongest]
    assert line[1] == ("+" if effect[strongest] > 0 else "") + number(effect[strongest])
    assert f"{number(abs(model.slope_[strongest]))} per unit" in effects


@pytest.mark.parametrize(
    ("ks", "other", "best"),
    [
        ((2.0,), "ridge", "the best ridge: c = "),
        ((1.25, 2.0), "every linear model", "the best of these: a = 0, k = 1.25, c = "),
    ],
)
def test_another_form_was_chosen_and_why(ks, other, best):
    grid = GRID | {"a_grid": (-0.5, 0.0), "k_grid": ks}
    model = fitted(StretchyRegressorCV(**grid), *curved(0.1))
    words = model.summary().choice
    assert words.startswith(f"Stretching was chosen (a = −0.5, k = {model.k_:g}, c = ")
    assert f"it is better than {other} by more than two standard errors; {best}" in words
    margin = float(words.rpartition("worse by ")[2].split()[0])
    assert margin > 2


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"rule": "1se"}, "it is the simplest of "),
        ({"rule": "best"}, "it is the best of 12 cells; closest: "),
        ({"a_grid": (0.0,), "rule": "guarded"}, "it is the best of 6 cells; closest: "),
        ({"a_grid": (0.0,), "k_grid": (2.0,)}, "it is the best of 3 cells; closest: ridge, c = "),
        ({"a_grid": (0.0,), "k_grid": (1.5,)}, "The exact minimiser was chosen (a = 0, k = 1.5"),
        ({"a_grid": (0.0,), "k_grid": (1.5,)}, "closest: a = 0, k = 1.5, c = "),
        (
            {"a_grid": (0.0,), "k_grid": (2.0,), "c_grid": (1.0,)},
            "it was the only cell to choose from.",
        ),
        ({"quadrant": "identity"}, "k = "),
    ],
)
def test_other_rules(diabetes, parameters, words):
    _, X, y = diabetes
    model = fitted(StretchyRegressorCV(**(GRID | parameters)), X, y)
    assert words in model.summary().choice


def test_kept_features_are_counted(diabetes):
    _, X, y = diabetes
    model = fitted(StretchyRegressorCV(**GRID, density_grid=(3,)), X, y)
    assert "3 of 10 features" in model.summary().choice
    frame = model.summary().frame
    assert frame["kept"].sum() == 3
    assert (frame["effect"][~frame["kept"]] == 0).all()


def test_plain_models_have_leave_one_out_errors(diabetes):
    _, X, y = diabetes
    model = StretchyRegressor(k=1.5, c=0.1).fit(X, y)
    words = str(model.summary())
    assert "Stretching was asked for (a = −0.2, k = 1.5, c = 0.100); nothing was searched." in words
    one = fitted(StretchyRegressorCV((-0.2,), (1.5,), (0.1,)), X, y)
    root = np.sqrt(np.mean((y - one.cv_predictions_) ** 2))
    assert f"typical error of ±{number(root)}" in words


@pytest.mark.parametrize("model", [StretchyClassifier(), StretchyClassifierCV(**GRID)])
def test_classes(model):
    iris = load_iris(as_frame=True)
    y = iris.target_names[iris.target]
    model = fitted(clone(model), iris.data, y)
    text = str(model.summary())
    assert "Tells the 3 classes apart: " in text
    assert "(always answering the most frequent class: 33.3\u00a0%)" in text
    assert " of virginica  (" in text
    frame = model.summary().frame
    assert len(frame) == 12
    assert set(frame["of"]) == {"setosa", "versicolor", "virginica"}
    if hasattr(model, "cv_predictions_"):
        codes = (model.cv_predictions_ - model.threshold_).argmax(axis=1)
        right = np.mean(model.classes_[codes] == y)
        assert f"{share(right)} of samples that it has not seen" in text


def test_frame_has_all_effects(diabetes):
    model, X, _ = diabetes
    frame = model.summary().frame
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == ["feature", "effect", "slope", "sd", "mean", "kept"]
    assert (np.diff(np.abs(frame["effect"])) <= 0).all()
    at = [list(X.columns).index(name) for name in frame["feature"]]
    np.testing.assert_allclose(frame["slope"], model.slope_[at])
    np.testing.assert_allclose(frame["sd"], X.std(ddof=0).to_numpy()[at])
    np.testing.assert_allclose(frame["effect"], frame["slope"] * frame["sd"])


def test_without_pandas(diabetes, monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **keywords):
        if name == "pandas":
            raise ImportError("No module named 'pandas'")
        return real(name, *args, **keywords)

    summary = diabetes[0].summary()
    monkeypatch.setattr(builtins, "__import__", missing)
    assert "Ridge was chosen" in str(summary)
    with pytest.raises(ImportError, match=r"pandas is not installed: pip install pandas"):
        _ = summary.frame


def test_from_a_file(diabetes, tmp_path):
    model, _, _ = diabetes
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy").summary()
    assert again.choice == model.summary().choice
    assert again.effects == model.summary().effects
    spread = f"{number(-model.best_score_)} ± {number(model.best_score_se_)}"
    assert again.error == f"Cross-validated mean squared error: {spread}."


def test_results_of_older_versions(diabetes):
    model, X, y = diabetes
    old = fitted(clone(model), X, y)
    for name in ("loss_above_chosen", "loss_above_chosen_se"):
        del old.cv_results_[name]
    assert "nothing else was better by two standard errors; closest: a = −0.2" in str(old.summary())


def test_notebooks_show_it(diabetes):
    model, X, y = diabetes
    shown = model._repr_mimebundle_()["text/html"]
    ours = model.summary()._repr_html_()
    assert shown.endswith(ours)
    assert model._repr_html_().endswith(ours)
    assert "nothing else was better by two standard errors" in shown
    assert "sk-estimator" in shown  # scikit-learn's diagram stays
    nasty = X.rename(columns={"bmi": "<script>alert(1)</script>"})
    shown = fitted(clone(model), nasty, y)._repr_html_()
    assert "<script>alert" not in shown.partition("effect of 1 sd")[2]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "effect of 1 sd" not in clone(model)._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_batches_and_several_targets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    model = StretchyRegressor().partial_fit(X[:30], X[:30, 0]).partial_fit(X[30:], X[30:, 0])
    words = str(model.summary())
    assert words.startswith("StretchyRegressor: 60 samples, 4 features\n")
    assert "is not known" in words
    two = fitted(StretchyRegressorCV(**GRID), X, X[:, :2] + 0.1)
    assert "Predicts 2 targets at once." in str(two.summary())
    assert set(two.summary().frame["of"]) == {1, 2}


def test_not_fitted():
    with pytest.raises(NotFittedError):
        StretchyRegressorCV().summary()
