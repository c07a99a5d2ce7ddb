"""A loaded model is the model that was saved."""

import copy
import functools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import skstretch
from skstretch.io.header import SCHEMA
from tests.io.samples import (
    CLASSIFIERS,
    GRID,
    NEW,
    REGRESSORS,
    WIDE,
    WORDS,
    X,
    Y,
    fitted,
    members,
    saved_bytes,
    with_array,
    with_header,
)

ATTRIBUTES = (
    "coef_", "effect_", "is_linear_", "support_", "intercept_", "dof_", "rcond_", "solver_",
    "n_features_in_", "a_", "k_", "c_", "density_", "best_score_", "best_index_",
    "best_score_se_", "cv_predictions_", "classes_", "threshold_",
)  # fmt: skip


def same(first, second):
    """Equal bit for bit, with the same types."""
    np.testing.assert_array_equal(first, second)
    assert np.asarray(first).dtype == np.asarray(second).dtype
    assert np.shape(first) == np.shape(second)


def reloaded(model, tmp_path, **options):
    skstretch.save(model, tmp_path / "model.stretchy", **options)
    return skstretch.load(tmp_path / "model.stretchy")


@functools.cache
def regressor(name):
    return fitted(REGRESSORS[name])


@functools.cache
def classifier(name):
    return fitted(CLASSIFIERS[name])


def check_attributes(model, again):
    assert type(again) is type(model)
    for name in ATTRIBUTES:
        assert hasattr(again, name) == hasattr(model, name), name
        if hasattr(model, name):
            same(getattr(model, name), getattr(again, name))
    for name, value in model.get_params().items():
        other = again.get_params()[name]
        assert type(other) is type(value), name
        np.testing.assert_equal(other, value)


def check_results(model, again):
    assert list(model.cv_results_) == list(again.cv_results_)
    for name, values in model.cv_results_.items():
        if name == "params":
            assert values == again.cv_results_[name]
        else:
            same(values, again.cv_results_[name])
    types = [type(candidate["density"]) for candidate in model.cv_results_["params"]]
    assert types == [type(candidate["density"]) for candidate in again.cv_results_["params"]]


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_exact_minimisers(kind, tmp_path):
    """A model, and a search that chose one: which candidates have exact residuals is kept too."""
    target = Y[:, 0] if kind == "Regressor" else Y[:, 0] > np.median(Y[:, 0])
    alone = getattr(skstretch, f"Stretchy{kind}")(a=0.0, k=1.25)
    search = getattr(skstretch, f"Stretchy{kind}CV")(
        a_grid=(0.0,), k_grid=(1.25, 1.5), combine="best"
    )
    for model in (alone, search):
        again = reloaded(model.fit(X, target), tmp_path, intervals=kind == "Regressor")
        assert again.solver_ == "newton"
        check_attributes(model, again)
        for name in ("n_iter_", "dual_gap_", "dual_coef_"):
            same(getattr(model, name), getattr(again, name))
        same(model.predict(NEW), again.predict(NEW))
        if kind == "Regressor":
            np.testing.assert_allclose(
                again.predict_interval(NEW), model.predict_interval(NEW), rtol=1e-8
            )
    check_results(search, again)
    assert {*again.cv_results_["loo"]} == {"exact", "approximate"}


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.IllConditionedWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor(name, tmp_path):
    model, new = regressor(name)
    again = reloaded(model, tmp_path)
    check_attributes(model, again)
    same(model.predict(new), again.predict(new))
    for coverage in (0.5, 0.9):
        before = model.predict_interval(new, coverage, method="residual")
        after = again.predict_interval(new, coverage, method="residual")
        for one, other in zip(before, after, strict=True):
            same(one, other)
    if hasattr(model, "cv_results_"):
        check_results(model, again)


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.IllConditionedWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_intervals(name, tmp_path):
    model, new = regressor(name)
    again = reloaded(model, tmp_path, intervals=True)
    same(model.predict(new), again.predict(new))
    before, after = model.predict_interval(new), again.predict_interval(new)
    np.testing.assert_allclose(after, before, rtol=1e-12)
    assert np.asarray(after).dtype == model.coef_.dtype
    noise = np.full(np.atleast_2d(model.coef_).shape[0], 0.5)
    np.testing.assert_allclose(again.coef_std(noise), model.coef_std(noise), rtol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name, tmp_path):
    model, new = classifier(name)
    again = reloaded(model, tmp_path)
    check_attributes(model, again)
    same(model.predict(new), again.predict(new))
    same(model.decision_function(new), again.decision_function(new))
    same(model.predict_proba(new), again.predict_proba(new))
    if hasattr(model, "cv_results_"):
        check_results(model, again)


@pytest.mark.parametrize("name", ["wide", "sparse"])
def test_dual_coefficients(name, tmp_path):
    model, _ = regressor(name)
    again = reloaded(model, tmp_path, intervals=model._state.space == "primal")
    same(model.dual_coef_, again.dual_coef_)


@pytest.mark.parametrize("name", ["tall", "wide", "dense"])
@pytest.mark.parametrize("method", ["predict_interval", "coef_std", "coef_covariance"])
def test_without_features_the_error_says_how_to_save(name, method, tmp_path):
    model, new = regressor(name)
    again = reloaded(model, tmp_path)
    with pytest.raises(ValueError, match=r"save\(model, path, intervals=True\)"):
        getattr(again, method)(*([new] if method == "predict_interval" else []))


def test_path_needs_all_features(tmp_path):
    model, _ = regressor("tall")
    np.testing.assert_array_equal(
        reloaded(model, tmp_path, intervals=True).effect_path()[1], model.effect_path()[1]
    )
    with pytest.raises(ValueError, match="does not hold all of them"):
        reloaded(model, tmp_path).effect_path()


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("name", ["tall", "dense", "search two"])
def test_saved_twice(name, intervals, tmp_path):
    model, _ = regressor(name)
    first, second = tmp_path / "1.stretchy", tmp_path / "2.stretchy"
    skstretch.save(model, first, intervals=intervals)
    skstretch.save(skstretch.load(first), second, intervals=intervals)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_loaded_models_are_ordinary(copied, tmp_path):
    model, new = regressor("tall")
    again = copied(reloaded(model, tmp_path))
    same(again.predict(new), model.predict(new))
    same(
        again.predict_interval(new, method="residual")[0],
        model.predict_interval(new, method="residual")[0],
    )
    same(clone(again).fit(X, Y[:, 0]).alpha_, model.alpha_)


NAMES = {
    "unicode": ["größe", "日本", "a\0b", "", "<script>", "\ud800", "x y", "é", "e\u0301"],
    "long": [str(i) * 20_000 for i in range(9)],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_feature_names(names, tmp_path):
    frame = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
    model = skstretch.StretchyRegressor().fit(frame, Y[:, 0])
    again = reloaded(model, tmp_path)
    assert again.feature_names_in_.tolist() == names
    assert again.feature_names_in_.dtype == model.feature_names_in_.dtype
    same(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_parameters_that_cannot_be_stored(tmp_path):
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    model = skstretch.StretchyRegressorCV(**GRID, cv=KFold(3), scoring=scoring).fit(X, Y[:, 0])
    again = reloaded(model, tmp_path)
    assert again.cv is None
    assert again.scoring is None
    assert again.a_grid == GRID["a_grid"]
    assert again.not_stored_["cv"] == "KFold(n_splits=3, random_state=None, shuffle=False)"
    assert "mean_absolute_error" in again.not_stored_["scoring"]
    assert not hasattr(clone(again).fit(X, Y[:, 0]), "not_stored_")
    assert not hasattr(copy.copy(again).fit(X, Y[:, 0]), "not_stored_")
    same(again.predict(NEW), model.predict(NEW))
    header = json.loads(members((tmp_path / "model.stretchy").read_bytes())["header.json"])
    assert header["parameters"]["cv"]["$repr"].startswith("KFold(n_splits=3")
    assert [note.split(" could")[0] for note in header["notes"]] == [
        "the parameter cv",
        "the parameter scoring",
    ]


VALUES = [
    np.float32(1.5), np.int64(3), np.inf, 2**70, (1.0, [2, None, "ü"]), {"a": 1, 2: True},
    np.arange(3), np.str_("ö"), np.bytes_(b"\xff\0a"), np.array([0.5, np.nan]), "auto",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_parameter_values(value, tmp_path):
    model, _ = regressor("tall")
    changed = copy.copy(model).set_params(n_jobs=value)
    again = reloaded(changed, tmp_path).n_jobs
    assert type(again) is type(value)
    np.testing.assert_equal(again, value)


@pytest.mark.parametrize("value", [np.float32(1.5), (1.0, [2, None, "ü"]), np.str_("ö")], ids=str)
def test_parameter_values_that_no_fit_takes(value, tmp_path):
    model, _ = regressor("tall")
    changed = copy.copy(model).set_params(solver=value)
    with pytest.raises(skstretch.exceptions.ModelFileError, match=r"solver=.* is not known"):
        reloaded(changed, tmp_path)


def test_header_can_be_read_by_people(tmp_path):
    model, _ = regressor("two")
    skstretch.save(model, tmp_path / "model.stretchy")
    header = json.loads(members((tmp_path / "model.stretchy").read_bytes())["header.json"])
    assert header["schema"] == SCHEMA
    assert header["task"] == "regression"
    assert header["versions"].keys() == {"skstretch", "numpy", "scikit-learn"}
    assert (header["a"], header["k"], header["c"]) == (model.a, model.k, model.c_)
    assert header["arrays"]["coef"]["shape"] == [2, 9]


def test_features_are_stored_only_on_request(tmp_path):
    model, _ = regressor("wide")
    path = tmp_path / "model.stretchy"
    skstretch.save(model, path)
    without = path.stat().st_size
    skstretch.save(model, path, intervals=True)
    kept = model.support_.sum()
    # features, targets, weights; how residuals spread
    stored = 8 * 36 * (kept + 2) + 8 * (36 + model.n_features_in_)
    assert 0 <= path.stat().st_size - without - stored < 4000
    novelty = 4 * 10 * model.n_features_in_ + 3 * 8 * 36  # components, and what is compared
    assert without < 14_000 + novelty + 1_000


def test_refused_models(tmp_path):
    model, _ = regressor("tall")
    labels, _ = classifier("words")

    class Mine(skstretch.StretchyRegressor):
        pass

    with pytest.raises(NotFittedError):
        skstretch.save(skstretch.StretchyRegressor(), tmp_path / "m")
    with pytest.raises(
        TypeError, match="a BaggingRegressor cannot be saved: pass a fitted Stretchy"
    ):
        skstretch.save(make_pipeline(BaggingRegressor(model)), tmp_path / "m")
    with pytest.raises(TypeError, match="a Mine cannot be saved"):
        skstretch.save(Mine().fit(X, Y[:, 0]), tmp_path / "m")
    with pytest.raises(ValueError, match="a classifier has no intervals"):
        skstretch.save(labels, tmp_path / "m", intervals=True)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        skstretch.load(tmp_path / "m")


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.IllConditionedWarning")
def test_ill_conditioned_models_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    powers = rng.uniform(0.1, 1, 30)[:, None] ** np.arange(1, 9)
    options = {"quadrant": "identity", "k": 1.1, "c": np.inf}
    model = skstretch.StretchyRegressor(**options).fit(powers, powers[:, 0])
    assert model.rcond_ < 1e-9
    again = reloaded(model, tmp_path)
    same(again.predict(powers), model.predict(powers))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.IllConditionedWarning")
def test_without_residuals_the_header_says_so(tmp_path):
    model = skstretch.StretchyRegressor(k=1.02, c=100.0, a=-2.0).fit(WIDE, Y[:, 0])
    again = reloaded(model, tmp_path)
    same(again.predict(WIDE), model.predict(WIDE))
    header = json.loads(members((tmp_path / "model.stretchy").read_bytes())["header.json"])
    assert "no leave-one-out residuals: the system is singular" in header["notes"][0]
    with pytest.raises(ValueError, match="singular"):
        model.predict_interval(WIDE, method="residual")
    with pytest.raises(ValueError, match="needs the training features"):
        again.predict_interval(WIDE, method="residual")


def test_one_sample(tmp_path):
    model = skstretch.StretchyRegressor().fit(X, Y[:, 0], sample_weight=np.eye(36)[3])
    again = reloaded(model, tmp_path)
    same(again.predict(NEW), model.predict(NEW))
    with pytest.raises(ValueError, match="at least two samples"):
        again.predict_interval(NEW, method="residual")


def test_string_dtype(tmp_path):
    model, new = classifier("words")
    model = copy.copy(model)
    string = getattr(np.dtypes, "StringDType", None)
    if string is None:
        pytest.skip("this numpy has no StringDType; numpy 2 lifts this")
    model.classes_ = WORDS.astype(string())
    again = reloaded(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert (again.predict(new) == model.predict(new)).all()


def test_iterations_are_kept(tmp_path):
    X = np.random.default_rng(0).random((30, 100))
    model = skstretch.StretchyRegressor(solver="krylov").fit(X, X[:, 0])
    skstretch.save(model, tmp_path / "m.stretchy")
    loaded = skstretch.load(tmp_path / "m.stretchy")
    assert loaded.n_iter_ == model.n_iter_ > 0
    assert loaded._state.residual == model.plan_.residual


def test_forged_references_and_notes_are_refused(tmp_path):
    model, _ = regressor("wide")
    good = saved_bytes(model, tmp_path)
    forged = [
        with_array(good, "novelty_basis", np.zeros((2, 3), dtype=np.float32)),
        with_array(good, "novelty_masses", -np.ones(36)),
        with_header(good, novelty_total=-1.0),
    ]
    search = skstretch.StretchyRegressorCV(a_grid=(0,), k_grid=(2,)).fit(WIDE, WIDE[:, 0])
    whole = saved_bytes(search, tmp_path)
    for noted in ({"copies": [-1]}, {"copies": [36]}, {"gross": ["\x1b[2J"]}, {"odd": []}, []):
        forged.append(with_header(whole, noticed=noted))
    for data in forged:
        (tmp_path / "forged.stretchy").write_bytes(data)
        with pytest.raises(skstretch.exceptions.ModelFileError):
            skstretch.load(tmp_path / "forged.stretchy")
