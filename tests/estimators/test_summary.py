"""A fitted model in sentences, as a table, and in a notebook."""

import builtins
import copy
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_predict

import skstretch
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
    StretchySurvivalCV,
)
from skstretch.estimators.quality import Evidence, Rival, beside_ridge, several_verdicts, verdict
from skstretch.estimators.summary import family_name, fewer_features, mixture_members, ridge_of
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


def plain(text):
    """In one line, with plain spaces."""
    return " ".join(text.replace("\u00a0", " ").split())


def test_a_search_says_that_its_error_has_seen_the_choice(diabetes):
    model, X, y = diabetes
    whole = str(model.summary())
    words = plain(whole)
    assert words.startswith("StretchyRegressorCV: 442 samples, 10 features How well it does on new")
    root = np.sqrt(np.mean((y - model.cv_predictions_) ** 2))
    nothing = np.sqrt(np.mean((y - (y.sum() - y) / (len(y) - 1)) ** 2))
    spread = number(0.5 * model.best_score_se_ / root, 2)
    assert (
        "In a cross-validation that has seen the choice among models the typical error of target "
        f"is {number(root)} (standard error {spread})" in words
    )
    assert f"less than always answering the mean ({number(nothing)})" in words
    assert "Fit with nested_cv=10 for an error that has not seen the choice." in words
    assert "Predicts" not in words
    assert (
        f"Ridge regression, c = {number(model.c_)}: the best of 3 models that were tried." in words
    )
    assert max(map(len, whole.split("\n"))) <= 88
    effect = model.coef_ * X.std(ddof=0).to_numpy()
    strongest = int(np.argmax(np.abs(effect)))
    lines = model.summary().effects.split("\n")
    line = next(each for each in lines if each.startswith("  ")).split()
    assert line[0] == X.columns[strongest]
    assert line[1] == ("+" if effect[strongest] > 0 else "") + number(effect[strongest])
    assert f"{number(abs(model.coef_[strongest]))} per unit" in words


def test_the_search_repeated_comes_first():
    X, y = sparse_truth()
    y = pd.Series(y, name="protein")
    model = fitted(StretchyRegressorCV(nested_cv=5), X, y)
    words = plain(model.summary().error)
    root = np.sqrt(np.mean((y - model.nested_predictions_) ** 2))
    spread = number(0.5 * model.nested_score_se_ / root, 2)
    assert words.startswith(
        f"Predicts protein: typical error {number(root)} (standard error {spread})"
    )
    seen = number(np.sqrt(-model.best_score_))
    assert f"The plain cross-validation has seen the choice: typical error {seen} ± " in words
    assert "This is the error when the whole search is repeated on other samples." in words
    ridge = StretchyRegressorCV(1.0, a_grid=(0.0,), k_grid=(2.0,), combine="best")
    ridge = cross_val_predict(ridge, X, y, cv=KFold(5, shuffle=True, random_state=0))
    figures = f"(error {number(root)} against {number(np.sqrt(np.mean((y - ridge) ** 2)))})"
    assert f"Clearly better than ridge regression {figures}." in words
    assert "if samples are independent of each other; pass groups" in words
    grouped = fitted(StretchyRegressorCV(**GRID, nested_cv=5), X, y, groups=np.arange(40) // 2)
    assert "it holds for new groups like these" in plain(grouped.summary().error)


@pytest.mark.slow
def test_noise_reads_as_noise():
    """On thirty sets of pure noise nothing is said to be found, and ridge is never beaten."""
    quick = {"a_grid": (0.0,), "k_grid": (1.5, 2.0), "c_grid": (0.001, 0.01), "cv": 5}
    first, found = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((25, 40)), rng.standard_normal(25)
        words = plain(fitted(StretchyRegressorCV(**quick, nested_cv=5), X, y).summary().error)
        assert "Clearly better than ridge" not in words
        first.append(words.startswith("Nothing was found"))
        found.append(words.startswith("Predicts"))
        plainly = plain(fitted(StretchyRegressorCV(**quick), X, y).summary().error)
        assert "Predicts" not in plainly
    # by luck one set in six beats the mean by a standard error, and one in forty by two
    assert sum(first) >= 20
    assert sum(found) <= 2


@pytest.mark.parametrize("nested", [None, 2])
def test_four_samples_are_too_few(nested):
    X, y = sparse_truth()
    model = fitted(StretchyRegressorCV(nested_cv=nested), X[:4], y[:4])
    words = plain(str(model.summary()))
    assert "Too few samples to say how well the target is predicted: there are 4, and 10" in words
    assert "R²" not in words
    assert "than ridge" not in words


def test_a_curved_model():
    grid = GRID | {"a_grid": (-0.5, 0.0), "k_grid": (2.0,)}
    model = fitted(StretchyRegressorCV(**grid), *curved(0.1))
    words = plain(model.summary().choice)
    assert words.startswith(f"A sum of one curve per feature, a = −0.5, k = {model.k_:g}, c = ")
    assert words.endswith(": the best of 6 models that were tried.")
    model.combine = "guarded"  # as files of older versions say
    assert 'chosen by combine="guarded" out of 6 models' in model.summary().choice


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"combine": "1se"}, "the simplest of "),
        ({"combine": "best"}, "the best of 12 models that were tried."),
        (
            {"a_grid": (0.0,), "k_grid": (2.0,)},
            "the best of 3 models that were tried.",
        ),
        (
            {"a_grid": (0,), "k_grid": (2,), "c_grid": (1.0,)},
            "the only model that was tried.",
        ),
        ({"quadrant": "identity"}, "A linear model of the features as they are, k = "),
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
    words = plain(words)
    assert (
        "A sum of one curve per feature, a = −0.2, k = 1.5, c = 0.100: as asked for, nothing was"
        in words
    )
    one = fitted(StretchyRegressorCV(1.0, a_grid=(-0.2,), k_grid=(1.5,), c_grid=(0.1,)), X, y)
    root = np.sqrt(np.mean((y - one.cv_predictions_) ** 2))
    assert f"Predicts target: typical error {number(root)} (standard error " in words


@pytest.mark.parametrize("model", [StretchyClassifier(c=1.0), StretchyClassifierCV(**GRID)])
def test_classes(model):
    iris = load_iris(as_frame=True)
    y = iris.target_names[iris.target]
    model = fitted(clone(model), iris.data, y)
    text = str(model.summary())
    words = plain(text)
    if hasattr(model, "cv_predictions_"):
        assert "the balanced error of the 3 classes is " in words
    else:
        assert "Tells the 3 classes apart: balanced error " in words
        assert "(always answering the largest class: 33.3 %)" in words
    assert "less than guessing (66.7 %)" in words
    assert " of virginica  (" in text
    frame = model.summary().frame
    assert len(frame) == 12
    assert set(frame["of"]) == {"setosa", "versicolor", "virginica"}


@pytest.mark.parametrize("loss", ["squared", "poisson", "classes", "cox"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_errors_are_those_of_the_score(loss, weighted, grouped):
    """Weights and groups count in the summary as they do in ``best_score_``."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 30))
    signal = X[:, 0] + 0.8 * rng.standard_normal(40)
    given = {"sample_weight": rng.integers(1, 8, 40) * 10.0} if weighted else {}
    given |= {"groups": np.arange(40) // 2} if grouped else {}
    y: object = {"poisson": np.exp(signal), "classes": signal > 0}.get(loss, signal)
    model: object = {
        "squared": StretchyRegressorCV(a_grid=(0,), k_grid=(2,)),
        "poisson": StretchyRegressorCV(loss="poisson", k_grid=(2,)),
        "classes": StretchyClassifierCV(a_grid=(0,), k_grid=(2,), threshold=0.0),
        "cox": StretchySurvivalCV(k_grid=(2,)),
    }[loss]
    if loss == "cox":
        y = np.empty(40, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = rng.uniform(size=40) < 0.7, np.exp(-signal)
    (found,) = model.fit(X, y, **given).summary().evidence
    best = 1.0 if loss in ("classes", "cox") else 0.0
    assert found.loss == pytest.approx(best - model.best_score_, rel=1e-9)
    assert found.loss_se == pytest.approx(model.best_score_se_, rel=1e-9)
    assert found.n_units == (20 if grouped else 40)


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
    assert "Ridge regression, c" in str(summary)
    with pytest.raises(ImportError, match=r"pandas is not installed: pip install pandas"):
        _ = summary.frame


def test_from_a_file(diabetes, tmp_path):
    model, _, _ = diabetes
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy").summary()
    assert again.choice == model.summary().choice
    assert again.effects == model.summary().effects
    root = np.sqrt(-model.best_score_)
    spread = f"{number(root)} ± {number(0.5 * model.best_score_se_ / root, 2)}"
    assert again.error.startswith(
        f"In a cross-validation that has seen the choice among models: typical error {spread}. Fit"
    )


def test_results_of_older_versions(diabetes):
    model, X, y = diabetes
    old = fitted(clone(model), X, y)
    for name in ("loss_above_chosen", "loss_above_chosen_se"):
        del old.cv_results_[name]
    assert "the best of 3 models that were tried" in str(old.summary())


def test_notebooks_show_a_single_model(diabetes):
    _, X, y = diabetes
    assert "effect of 1 sd" in StretchyRegressor().fit(X, y)._repr_html_()


def test_notebooks_show_it(diabetes):
    model, X, y = diabetes
    shown = model._repr_mimebundle_()["text/html"]
    ours = model.summary()._repr_html_()
    assert shown.endswith(ours)
    assert model._repr_html_().endswith(ours)
    assert "the best of 3 models that were tried" in shown
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
    assert "all 2 targets are better than their means" in plain(str(two.summary()))
    assert set(two.summary().frame["of"]) == {"target 1", "target 2"}
    Y = pd.DataFrame(X[:, :2], columns=["fat", "water"])
    named = fitted(StretchyRegressorCV(**GRID), X, Y)
    assert set(named.summary().frame["of"]) == {"fat", "water"}


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


def test_an_average_tells_its_models_and_their_weights(mixture):
    model, _, _ = mixture
    members = mixture_members(model)
    assert len(members) > 1
    assert model.summary().choice.startswith(f"The average of {len(members)} models, mostly ")
    table = model.summary().table.split("\n")[1:]
    assert [line.split()[0] for line in map(plain, table)] == [
        f"{100 * member.share:.0f}" for member in members
    ]
    np.testing.assert_allclose(sum(member.share for member in members), 1.0)


def test_ridge_beside_a_search_is_that_of_paired_differences(mixture):
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
    found = ridge_of(model)
    assert found.margin == pytest.approx(
        differences.mean() / (differences.std() / np.sqrt(len(y))), rel=1e-6
    )
    assert found.loss == pytest.approx(-literal.best_score_)
    assert "Better than ridge regression in that cross-validation" in plain(model.summary().error)


@pytest.mark.parametrize(
    ("above", "trusted", "words"),
    [
        (3.0, True, "Clearly better than ridge regression (error 1.00 against 2.00)."),
        (1.5, True, "Better than ridge regression, perhaps by chance ("),
        (0.5, True, "No better than ridge regression ("),
        (-0.5, True, "No better than ridge regression ("),
        (-1.5, True, "Worse than ridge regression, perhaps by chance ("),
        (-3.0, True, "Clearly worse than ridge regression ("),
        (3.0, False, "Better than ridge regression in that cross-validation ("),
        (0.0, True, ""),
    ],
)
def test_what_is_said_of_ridge(above, trusted, words):
    ridge = Rival(4.0, above, 1.0 if above else 0.0)
    found = beside_ridge(Evidence(1.0, 0.1, 50, False, trusted, Rival(9.0, 8.0, 1.0), ridge))
    assert found.startswith(words) if words else found == ""


@pytest.mark.parametrize(
    ("margin", "words"),
    [
        (3.0, "Predicts fat: typical error 1.00 (standard error 0.050), 67 % less than always"),
        (
            1.5,
            "Little was found, perhaps by chance: fat is predicted a little better than by always",
        ),
        (0.9, "Nothing was found: fat is not predicted better than by always answering the mean"),
        (-2.0, "Nothing was found: "),
    ],
)
def test_what_is_said_of_the_mean(margin, words):
    found = verdict(Evidence(1.0, 0.1, 50, False, True, Rival(9.0, margin, 1.0)), "fat")
    assert plain(found).startswith(words)


@pytest.mark.parametrize(("n", "word"), [(25, "Little"), (1000, "Predicts")])
def test_few_samples_need_a_wider_margin(n, word):
    found = verdict(Evidence(1.0, 0.1, n, False, True, Rival(9.0, 2.1, 1.0)), "fat")
    assert found.startswith(word)


def test_what_is_said_of_fewer_features(mixture):
    model, _, _ = mixture
    results = model.cv_results_
    words = fewer_features(model)
    for n in (5, 10, 20):
        some = np.array([density == n for density in results["param_density"]])
        row = int(np.argmin(np.where(some, results["loss_above_chosen"], np.inf)))
        margin = results["loss_above_chosen"][row] / results["loss_above_chosen_se"][row]
        said = [each for each in words.lower().split("; ") if re.search(rf"\b{n}\b", each)]
        assert len(said) == 1
        said = said[0]
        # better than the average is never called certain: it is the best of many
        assert ("perhaps by chance" in said) == (margin <= -1 or 1 <= margin < 2)
        assert ("not told apart" in said) == (abs(margin) < 1)
    # the number that the model itself has is no other one
    grid = {"a_grid": (0.0,), "k_grid": (2.0,)}
    alone = fitted(StretchyRegressorCV(n_features_to_select=[3, 20], **grid), *mixture[1:])
    own = int(alone.support_.sum())
    assert own in (3, 20)
    assert str(own) not in fewer_features(alone)
    assert str(23 - own) in fewer_features(alone)
    none = fitted(StretchyRegressorCV(1.0, **grid), *mixture[1:])
    assert fewer_features(none) == ""
    # nothing between 3 and 20 was tried: it is not said that fewer would not do
    wide = fitted(StretchyRegressorCV(n_features_to_select=[1.0, 50]), *mixture[1:])
    assert "do not do as well" not in fewer_features(wide)


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ((0.0, 2.0), "ridge"),
        ((0.0, 1.25), "sparse linear, k = 1.25"),
        ((-0.2, 1.5), "curved, a = −0.2, k = 1.5"),
        ((0.0, 2.0, 30, 700), "ridge, 30 features"),
        ((0.0, 2.0, 0.1, 700), "ridge, 10\u00a0% of the features"),
        ((0.0, 2.0, 1.0, 700), "ridge"),
        ((1.0, 1.5, 1.0, 700, True), "linear, k = 1.5"),
    ],
)
def test_names_of_families(candidate, words):
    assert family_name(*candidate) == words


@pytest.mark.parametrize("search", [True, False])
def test_one_sparse_model(search):
    X, y = sparse_truth()
    grid = {"a_grid": (0.0,), "k_grid": (1.25,), "c_grid": (0.1, 1.0), "combine": "best"}
    model = fitted(StretchyRegressorCV(**grid), X, y)
    if not search:
        model = StretchyRegressor(a=0.0, k=1.25, c=model.c_).fit(X, y)
    words = model.summary().choice
    assert words.startswith("A sparse linear model, k = 1.25, c = ")
    assert ("the best of 2 models" in words) == search


def test_classes_are_averaged_too():
    X, y = sparse_truth()
    model = fitted(StretchyClassifierCV(), X, np.where(y > 0, "high", "low"))
    assert model.summary().choice.startswith("The average of ")


def test_several_targets_have_mean_shares():
    X, y = sparse_truth(40, 6)
    model = fitted(StretchyRegressorCV(c_grid=(0.01, 1.0)), X, np.column_stack([y, y**2, X[:, 5]]))
    assert np.ndim(model._members["weight"]) == 2
    np.testing.assert_allclose(sum(part.share for part in mixture_members(model)), 1.0)
    assert "The average of " in model.summary().choice
    assert "Averaged models, their weights and strengths c" in str(model.summary())
    noise = np.random.default_rng(0).standard_normal(len(y))
    model = fitted(model.set_params(combine="best"), X, np.column_stack([X[:, 5], noise]))
    assert len(mixture_members(model)) == 2
    told = str(model.summary())
    assert "Chosen models, shares of targets and strengths c" in told
    assert "Averaged" not in told


def test_scores_of_older_files_and_shuffles_where_there_are_some(mixture, tmp_path):
    model = copy.copy(mixture[0])
    assert "random order" not in model.summary().error
    null = np.linspace(-2, -1, 1000)
    model.permutation_ = SimpleNamespace(
        pvalue=1 / 1001, statistic=model.best_score_, null_distribution=null
    )
    assert "does as well with probability 0.001 (1,000 random orders" in model.summary().error
    skstretch.save(mixture[0], tmp_path / "m.stretchy")
    old = skstretch.load(tmp_path / "m.stretchy")
    old.nested_score_, old.nested_score_se_ = -0.5678, 0.1234
    assert old.summary().error.startswith(
        "When the whole search is repeated on other samples: typical error 0.754 ± 0.082. The "
        "plain cross-validation has seen the choice: "
    )


def test_notebooks_show_the_candidates_of_a_mixture(mixture):
    shown = mixture[0].summary()._repr_html_()
    for part in mixture_members(mixture[0]):
        assert f"{part.name}</td>" in shown
        assert f"{share(part.share)}</td>" in shown


def test_a_test_of_chance_is_told():
    X, y = sparse_truth(40, 20)
    model = fitted(StretchyRegressorCV(a_grid=(-0.2, 0.0), k_grid=(2.0,)), X, y)
    found = model.permutation_test(20)
    assert f"probability {found.pvalue:.2g} (20 random orders" in model.summary().error


def test_targets_of_one_value_and_targets_worse_than_the_mean():
    nothing = Evidence(0.0, 0.0, 50, False, True, Rival(0.0, 0.0, 0.0))
    assert verdict(nothing, "yield") == (
        "All samples have one value of yield: there is nothing to predict."
    )
    bad = Evidence(1.44, 0.1, 50, False, True, Rival(1.0, -0.44, 0.1))
    good = Evidence(0.25, 0.1, 50, False, True, Rival(1.0, 0.75, 0.1))
    found = plain(several_verdicts([bad, bad], ["a", "b"]))
    assert found.startswith("Nothing was found: none of 2 targets is predicted better than")
    found = plain(several_verdicts([bad, good], ["a", "b"]))
    assert found.startswith("Predicts 1 of 2 targets better than their means: typical error 50 %")
    assert found.endswith("for b, the best, and 20 % more for a, the worst.")
