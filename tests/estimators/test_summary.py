"""A fitted model in sentences, as a table, and in a notebook."""

import builtins
import copy
import warnings
from types import SimpleNamespace

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
from skstretch.estimators.quality import RegressionQuality, many_targets
from skstretch.estimators.summary import beside_ridge, family_name, fewer_features, mixture_members
from skstretch.exceptions import GridEdgeWarning
from skstretch.style import number, share

GRID = {"k_grid": (1.25, 2.0), "c_grid": (0.01, 0.1, 1.0), "combine": "best"}


def fitted(model, X, y, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        return model.fit(X, y, **keywords)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    grid = GRID | {"a_grid": (0.0,), "k_grid": (2.0,), "c_grid": (0.01, 0.1, 3.0)}
    return fitted(StretchyRegressorCV(**grid), X, y), X, y


def curved(noise):
    """What only a curved form can follow: y = exp(-0.6 z) of one of five features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    return X, np.exp(-0.6 * X[:, 0]) + noise * rng.standard_normal(120)


def test_ridge_was_chosen_and_why(diabetes):
    model, X, y = diabetes
    title, choice, error, effects = str(model.summary()).split("\n", 3)
    assert title == "StretchyRegressorCV: 442 samples, 10 features"
    c = number(model.c_)
    assert choice.startswith(
        f"Ridge was chosen (a = 0, the linear limit, c = {c}): it is the best "
    )
    results = model.cv_results_
    other = np.array(results["loss_above_chosen"])
    other[model.best_index_] = np.inf
    row = int(np.argmin(other))
    margin = other[row] / results["loss_above_chosen_se"][row]
    assert choice.endswith(
        f"of 3 candidates; closest: ridge, c = {number(results['param_c'][row])}, "
        f"worse by {margin:.1f} standard errors."
    )
    root = np.sqrt(np.mean((y - model.cv_predictions_) ** 2))
    nothing = np.sqrt(np.mean((y - (y.sum() - y) / (len(y) - 1)) ** 2))
    assert f"typical error of ±{number(root)} on samples that it has not seen" in error
    assert f"always answering the mean (±{number(nothing)})" in error
    spread = f"{number(-model.best_score_)} ± {number(model.best_score_se_)}"
    assert error.endswith(f"Cross-validated mean squared error: {spread}.")
    effect = model.coef_ * X.std(ddof=0).to_numpy()
    strongest = int(np.argmax(np.abs(effect)))
    line = effects.split("\n")[1].split()
    assert line[0] == X.columns[strongest]
    assert line[1] == ("+" if effect[strongest] > 0 else "") + number(effect[strongest])
    assert f"{number(abs(model.coef_[strongest]))} per unit" in effects


def test_another_form_was_chosen_and_why():
    grid = GRID | {"a_grid": (-0.5, 0.0), "k_grid": (2.0,)}
    model = fitted(StretchyRegressorCV(**grid), *curved(0.1))
    words = model.summary().choice
    assert words.startswith(f"Stretching was chosen (a = −0.5, k = {model.k_:g}, c = ")
    assert "it is the best of 6 candidates; closest: " in words
    model.combine = "guarded"  # as files of older versions say
    assert 'combine="guarded" chose it out of 6 candidates; closest: ' in model.summary().choice


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"combine": "1se"}, "it is the simplest of "),
        ({"combine": "best"}, "it is the best of 12 candidates; closest: "),
        (
            {"a_grid": (0.0,), "k_grid": (2.0,)},
            "it is the best of 3 candidates; closest: ridge, c = ",
        ),
        (
            {"a_grid": (0,), "k_grid": (2,), "c_grid": (1.0,)},
            "it was the only candidate to choose from.",
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
    model = fitted(StretchyRegressorCV(**GRID, n_features_to_select=3), X, y)
    assert "3 of 10 features" in model.summary().choice
    frame = model.summary().frame
    assert frame["kept"].sum() == 3
    assert (frame["effect"][~frame["kept"]] == 0).all()


def test_plain_models_have_leave_one_out_errors(diabetes):
    _, X, y = diabetes
    model = StretchyRegressor(k=1.5, c=0.1).fit(X, y)
    words = str(model.summary())
    assert "Stretching was asked for (a = −0.2, k = 1.5, c = 0.100); nothing was searched." in words
    one = fitted(StretchyRegressorCV(a_grid=(-0.2,), k_grid=(1.5,), c_grid=(0.1,)), X, y)
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
    np.testing.assert_allclose(frame["slope"], model.coef_[at])
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
    assert "it is the best of 3 candidates; closest: ridge, c = " in str(old.summary())


def test_notebooks_show_it(diabetes):
    model, X, y = diabetes
    shown = model._repr_mimebundle_()["text/html"]
    ours = model.summary()._repr_html_()
    assert shown.endswith(ours)
    assert model._repr_html_().endswith(ours)
    assert "it is the best of 3 candidates" in shown
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


# Mixtures and exact minimisers.


def sparse_truth(n=40, D=120):
    """Three of many features matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D))
    return X, X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def mixture():
    X, y = sparse_truth()
    return fitted(StretchyRegressorCV(), X, y), X, y


def test_a_mixture_tells_its_candidates_and_their_shares(mixture):
    model, _, _ = mixture
    assert len(model.weights_["row"]) > 1
    words = model.summary().choice
    assert words.startswith(f"A mixture of {len(model.weights_['row'])} candidates was made (")
    heaviest = share(model.weights_["weight"][0], 0)
    assert f"candidates was made ({heaviest} " in words
    shares = [part.share for part in mixture_members(model)]
    np.testing.assert_allclose(sum(shares), 1.0)
    assert shares == sorted(shares, reverse=True)


def test_a_mixture_beside_ridge(mixture):
    model, X, y = mixture
    results = model.cv_results_
    # 1.0 is a share and means all features, 30 is a number of them
    whole = np.array([isinstance(density, float) for density in results["param_density"]])
    ridge = (results["param_a"] == 0) & (results["param_k"] == 2) & whole
    row = int(np.argmin(np.where(ridge, results["loss_above_chosen"], np.inf)))
    literal = fitted(
        StretchyRegressorCV(
            a_grid=(0.0,), k_grid=(2.0,), c_grid=(results["param_c"][row],), combine="best"
        ),
        X,
        y,
    )
    differences = (y - literal.cv_predictions_) ** 2 - (y - model.cv_predictions_) ** 2
    margin = differences.mean() / (differences.std() / np.sqrt(len(y)))
    assert margin > 2
    figures = f"{number(-literal.best_score_)} against {number(-model.best_score_)}"
    assert (
        f"ridge alone is worse by {margin:.1f} standard errors (mean squared error {figures})"
        in model.summary().choice
    )


def test_a_mixture_that_ridge_equals(diabetes):
    _, X, y = diabetes
    model = fitted(StretchyRegressorCV(c_grid=(0.01, 0.1, 1.0)), X, y)
    margin = beside_ridge(model)
    assert "ridge alone " in margin
    assert "may be chance" in margin or "does as well" in margin
    alone = fitted(StretchyRegressorCV(a_grid=(-0.2,), c_grid=(0.01, 0.1, 1.0)), X, y)
    assert "ridge alone was not tried; fewer features were not tried." in alone.summary().choice


@pytest.mark.slow
def test_whether_fewer_features_would_do(mixture, diabetes):
    model, _, _ = mixture
    results = model.cv_results_
    some = np.array([density == 30 for density in results["param_density"]])
    row = int(np.argmin(np.where(some, results["loss_above_chosen"], np.inf)))
    margin = results["loss_above_chosen"][row] / results["loss_above_chosen_se"][row]
    assert margin > 1
    assert fewer_features(model) == (
        f"fewer features would not do as well (30: worse by {margin:.1f} standard errors)"
    )
    X, y = sparse_truth(60, 8)
    easy = fitted(StretchyRegressorCV(n_features_to_select=[1.0, 2, 3, 4]), X, y)
    assert fewer_features(easy) == "3 of 8 features would do as well (within one standard error)"


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ((0.0, 2.0), "ridge"),
        ((0.0, 1.25), "exact minimiser with k = 1.25"),
        ((-0.2, 1.5), "stretching with a = −0.2, k = 1.5"),
        ((0.0, 2.0, 30, 700), "ridge on 30 features"),
        ((0.0, 2.0, 0.1, 700), "ridge on 10\u00a0% of the features"),
        ((0.0, 2.0, 1.0, 700), "ridge"),
        ((1.0, 1.5, 1.0, 700, True), "stretching with k = 1.5"),
    ],
)
def test_names_of_families(candidate, words):
    assert family_name(*candidate) == words


@pytest.mark.parametrize("search", [True, False])
def test_one_exact_minimiser_has_its_name_and_certificate(search):
    X, y = sparse_truth()
    grid = {"a_grid": (0.0,), "k_grid": (1.25,), "c_grid": (0.1, 1.0), "combine": "best"}
    model = fitted(StretchyRegressorCV(**grid), X, y)
    if not search:
        model = StretchyRegressor(a=0.0, k=1.25, c=model.c_).fit(X, y)
    words = model.summary().choice
    form = "was chosen" if search else "was asked for"
    assert words.startswith(f"The exact minimiser {form} (a = 0, k = 1.25, c = ")
    bound = max(np.max(model.dual_gap_), np.finfo(float).eps)
    assert words.endswith(f" Its objective is the least but for a share of {number(bound, 1)}.")
    if search:
        assert "closest: exact minimiser with k = 1.25, c = " in words


def test_classes_are_mixed_too():
    X, y = sparse_truth()
    model = fitted(StretchyClassifierCV(), X, np.where(y > 0, "high", "low"))
    words = model.summary().choice
    assert words.startswith("A mixture of ")
    assert f" against {share(-model.best_score_)})" in words or " of both)" in words


def test_several_targets_have_mean_shares():
    X, y = sparse_truth(40, 6)
    model = fitted(StretchyRegressorCV(c_grid=(0.01, 1.0)), X, np.column_stack([y, y**2, X[:, 5]]))
    assert np.ndim(model.weights_["weight"]) == 2
    np.testing.assert_allclose(sum(part.share for part in mixture_members(model)), 1.0)
    assert "A mixture of " in model.summary().choice


def test_held_out_errors_of_a_mixture_are_its_own(mixture):
    model, _, y = mixture
    root = np.sqrt(np.mean((y - model.cv_predictions_) ** 2))
    assert f"typical error of ±{number(root)} on samples" in model.summary().error


def test_nested_score_and_shuffles_where_there_are_some(mixture):
    model = copy.copy(mixture[0])
    assert "random order" not in model.summary().error
    model.nested_score_, model.nested_score_se_ = -0.5678, 0.1234
    null = np.linspace(-2, -1, 1000)
    model.permutation_ = SimpleNamespace(
        pvalue=1 / 1001, statistic=model.best_score_, null_distribution=null
    )
    error = model.summary().error
    assert "; searched again without parts of the samples: 0.568 ± 0.123. " in error
    assert error.endswith("do as well with p = 0.001 (1\u202f000 orders).")
    model.nested_score_ = np.nan
    assert "searched again" not in model.summary().error


def test_notebooks_show_the_candidates_of_a_mixture(mixture):
    shown = mixture[0].summary()._repr_html_()
    for part in mixture_members(mixture[0]):
        assert f"{part.name}</td>" in shown
        assert f"{share(part.share)}</td>" in shown


def test_a_test_of_chance_is_told():
    X, y = sparse_truth(40, 20)
    model = fitted(StretchyRegressorCV(a_grid=(-0.2, 0.0), k_grid=(2.0,)), X, y)
    found = model.permutation_test(20)
    assert f"do as well with p = {found.pvalue:.2g} (20 orders)." in model.summary().error


def test_targets_of_one_value_and_targets_worse_than_the_mean():
    nothing = RegressionQuality(0.0, 0.0)
    assert nothing.sentence("yield") == (
        "All samples have one value of yield: there is nothing to predict."
    )
    found = many_targets([RegressionQuality(1.2, 1.0), RegressionQuality(1.2, 1.0)], ["a", "b"])
    found = found.replace("\N{NO-BREAK SPACE}", " ")
    assert "is 20 % more than that of always answering the mean for a, the best" in found
    assert found.endswith("and 20 % more for b, the worst.")
