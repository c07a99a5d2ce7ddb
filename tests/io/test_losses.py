"""Model files and graphs of other losses: the same predictions, and forged files are refused."""

import functools

import numpy as np
import pytest

import skstretch
from skstretch.io import ModelFileError
from tests.estimators.samples import survival_of
from tests.estimators.test_survival import entered
from tests.io.forged import renamed
from tests.io.samples import CODES, NEW, WEIGHTS, X, saved_bytes, with_array, with_header

COUNTS = np.round(np.abs(X[:, 0]) / 4)
ABC = np.array(["a", "b", "c"])[CODES]
FEW = {"k_grid": (1.25, 2.0), "c_grid": (0.01, 0.1), "cv": 3}
BEST = {**FEW, "combine": "best"}
MODELS = {
    "counts": ("StretchyRegressorCV", {"loss": "poisson", **FEW}, X, COUNTS),
    "one of counts": ("StretchyRegressorCV", {"loss": "poisson", **BEST}, X, COUNTS),
    "two classes": ("StretchyClassifierCV", {"loss": "log", **FEW}, X, CODES > 0),
    "three classes": ("StretchyClassifierCV", {"loss": "log", **FEW}, X, ABC),
    "one of classes": ("StretchyClassifierCV", {"loss": "log", **BEST}, X, CODES),
    "survival": ("StretchySurvivalCV", {"nested_cv": 2, **FEW}, X, survival_of(X[:, 0])),
    "one of survival": ("StretchySurvivalCV", BEST, X, survival_of(X[:, 0])),
    "strata": ("StretchySurvivalCV", BEST, X, entered(survival_of(X[:, 0]), "stratum")),
    "one k": ("StretchyRegressor", {"loss": "poisson", "a": 0, "c": 0.05}, X, COUNTS),
    "one k of classes": ("StretchyClassifier", {"loss": "log", "a": 0, "c": 0.05}, X, ABC),
    "float32": ("StretchySurvivalCV", FEW, X.astype("f4"), survival_of(X[:, 0])),
}  # fmt: skip


@functools.cache
def fitted(name):
    cls, parameters, data, y = MODELS[name]
    model = getattr(skstretch, cls)(**parameters)
    return model.fit(data, y, sample_weight=None if "32" in name else WEIGHTS)


def loaded(tmp_path, content):
    path = tmp_path / "m.stretchy"
    path.write_bytes(content)
    return skstretch.load(path)


@pytest.mark.parametrize("name", MODELS)
def test_files(name, tmp_path):
    model = fitted(name)
    again = loaded(tmp_path, saved_bytes(model, tmp_path))
    assert again.get_params().keys() == model.get_params().keys()
    methods = ["predict", "predict_proba", "decision_function", "predict_survival_function",
               "predict_median", "predict_restricted_mean"]  # fmt: skip
    new = NEW.astype(model.coef_.dtype)
    for method in methods:
        if hasattr(model, method) and (name != "strata" or method == "predict"):
            np.testing.assert_array_equal(getattr(again, method)(new), getattr(model, method)(new))
    searched = ["cv_predictions_", "best_score_"] * hasattr(model, "cv_predictions_")
    for attribute in ("coef_", "intercept_", "dual_gap_", *searched):
        np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute))
    assert again._state.loss == model._state.loss != "squared"
    strange = [each.novelty(new).to_numpy() for each in (again, model)]
    np.testing.assert_array_equal(*strange)
    words = [str(each.summary()) for each in (model, again)]
    if name == "survival":
        assert again.nested_score_ == model.nested_score_
        assert words[0].splitlines()[:3] == words[1].splitlines()[:3]
    assert words[1].splitlines()[0] == words[0].splitlines()[0]
    with pytest.raises(ValueError, match="is for squared error"):
        again.coef_std()


def test_rates_that_the_first_files_stored_as_logarithms(tmp_path):
    model = fitted("one of counts")
    held = model.cv_predictions_
    assert held.min() > 0.0
    logs = with_array(saved_bytes(model, tmp_path), "cv_rates", np.log(held))
    again = loaded(tmp_path, renamed(logs, "cv_rates", "cv_predictions"))
    np.testing.assert_allclose(again.cv_predictions_, held, rtol=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_graphs(name):
    runtime = pytest.importorskip("onnxruntime")
    model, new = fitted(name), NEW[:5]
    graph = skstretch.to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    out = dict(zip(names, session.run(None, {"X": new}), strict=True))
    digits = 1e-10 if model.coef_.dtype == np.float64 else 1e-5
    if "label" in out:
        assert out["label"].tolist() == model.predict(new).tolist()
        np.testing.assert_allclose(out["probabilities"], model.predict_proba(new), atol=digits)
    else:
        want = model.predict(new.astype(model.coef_.dtype))
        np.testing.assert_allclose(out["prediction"], want, rtol=digits, atol=digits)


FORGED = {
    "other loss": {"loss": "log"},
    "no loss": {"loss": "squared"},
    "a list": {"loss": ["cox"]},
    "no last time": {"last_time": None},
    "early last time": {"last_time": 1e-9},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_fields_are_refused(name, tmp_path):
    with pytest.raises(ModelFileError):
        loaded(tmp_path, with_header(saved_bytes(fitted("survival"), tmp_path), **FORGED[name]))


@pytest.mark.parametrize("name", ["baseline_times", "baseline_hazard"])
def test_forged_baselines_are_refused(name, tmp_path):
    good = saved_bytes(fitted("survival"), tmp_path)
    values = getattr(fitted("survival")._state.baseline, name.removeprefix("baseline_"))
    for forged in (values[::-1].copy(), values - 1e3, values * np.nan, values[:-1], values[:0]):
        with pytest.raises(ModelFileError):
            loaded(tmp_path, with_array(good, name, forged))


def test_a_loss_of_another_class_is_refused(tmp_path):
    good = saved_bytes(fitted("counts"), tmp_path)
    with pytest.raises(ModelFileError):
        loaded(tmp_path, with_header(good, **{"class": "StretchyClassifierCV"}))
    with pytest.raises(
        ValueError, match=r"intervals=True is for squared error, and not for loss='p"
    ):
        skstretch.save(fitted("counts"), tmp_path / "m", intervals=True)
