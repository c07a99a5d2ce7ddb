"""The exported graph says what the model says."""

import copy
import subprocess
import sys

import numpy as np
import onnxruntime as runtime
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import skstretch
from tests.io.samples import CLASSIFIERS, MIXTURES, NEW, REGRESSORS, X, Y, fitted


def run(graph, data):
    """Outputs of a graph by name."""
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": data}), strict=True))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor(name):
    model, new = fitted(REGRESSORS[name])
    expected = model.predict(new)
    got = run(skstretch.to_onnx(model), new.astype(np.float64))["prediction"]
    assert got.shape == expected.shape
    assert got.dtype == np.float64
    # where a model is fitted on float32, `predict` rounds to it
    tolerance = 1e-10 if model.coef_.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * abs(expected).max())


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name):
    model, new = fitted(CLASSIFIERS[name])
    if name == "uint64":
        with pytest.raises(TypeError, match="classes of dtype uint64 have no counterpart in ONNX"):
            skstretch.to_onnx(model)
        return
    out = run(skstretch.to_onnx(model), new.astype(np.float64))
    assert out["label"].tolist() == model.predict(new).tolist()
    scores = model.decision_function(new)
    assert out["scores"].shape == scores.shape
    np.testing.assert_allclose(out["scores"], scores, rtol=1e-10, atol=1e-10)
    expected = model.predict_proba(new)
    digits = 1e-10 if expected.dtype == np.float64 else 1e-7  # which rounds them
    np.testing.assert_allclose(out["probabilities"], expected, atol=digits)


# name -> how many transforms the graph adds up
MIXED = {"linear": 1, "exponential": 1, "identity": 1, "one": 2, "some selected": 2, "weights": 3}


@pytest.mark.parametrize("name", MIXED)
def test_mixture(name):
    model, new = fitted(MIXTURES[name])
    assert len(model._terms()) == MIXED[name]
    graph, expected = skstretch.to_onnx(model), model.predict(new)
    got = run(graph, new)["prediction"]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert [node.op_type for node in graph.graph.node].count("MatMul") == MIXED[name]


@pytest.mark.parametrize("name", ["search", "search two"])
def test_loaded_mixture_of_classes(name, tmp_path):
    model, _ = fitted(CLASSIFIERS[name])
    assert len(model._terms()) == 2
    skstretch.save(model, tmp_path / "model.stretchy")
    again = skstretch.load(tmp_path / "model.stretchy")
    assert skstretch.to_onnx(again).SerializeToString() == (
        skstretch.to_onnx(model).SerializeToString()
    )


@pytest.mark.parametrize("name", ["tall", "wide", "dense", "linear", "identity", "single"])
def test_float32(name):
    model, new = fitted(REGRESSORS[name])
    expected = model.predict(new)
    got = run(skstretch.to_onnx(model, dtype="float32"), new.astype(np.float32))["prediction"]
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, atol=1e-4 * abs(expected).max())


@pytest.mark.parametrize("name", ["words", "bool", "float"])
def test_float32_classes(name):
    model, new = fitted(CLASSIFIERS[name])
    out = run(skstretch.to_onnx(model, dtype="float32"), new.astype(np.float32))
    clear = np.abs(np.atleast_2d(model.decision_function(new).T)).min(axis=0) > 1e-4
    assert out["label"][clear].tolist() == model.predict(new)[clear].tolist()


@pytest.mark.parametrize("search", [False, True])
def test_an_exact_minimiser_is_a_linear_graph(search):
    """The same operations as for ridge regression on z, whichever power gave the coefficients."""
    _, new = fitted(REGRESSORS["wide"])
    data, y = REGRESSORS["wide"][2:4]
    ridge = skstretch.StretchyRegressor(a=0.0, k=2.0).fit(data, y)
    model = skstretch.StretchyRegressor(a=0.0, k=1.25)
    if search:
        model = skstretch.StretchyRegressorCV(a_grid=(0.0,), k_grid=(1.25,))
    graph = skstretch.to_onnx(model.fit(data, y))
    assert model.solver_ == "newton"
    operations = [node.op_type for node in graph.graph.node]
    assert operations == [node.op_type for node in skstretch.to_onnx(ridge).graph.node]
    assert not {"Exp", "Pow"} & {*operations}
    np.testing.assert_allclose(run(graph, new)["prediction"], model.predict(new), rtol=1e-10)


def test_far_from_the_data():
    """Values far outside the training data are bounded as in `predict`."""
    model, _ = fitted(REGRESSORS["wide"])
    far = np.vstack([np.full(59, 1e300), np.full(59, -1e300), np.zeros(59)])
    got = run(skstretch.to_onnx(model), far)["prediction"]
    np.testing.assert_allclose(got, model.predict(far), rtol=1e-10)


def test_small_logs_keep_their_digits():
    """With tiny |a| the features are 1 + 1e-9 and the coefficients huge."""
    model = skstretch.StretchyRegressor(a=1e-9, c=1e20).fit(X, Y[:, 0])
    assert abs(model.alpha_).max() > 1e8
    got = run(skstretch.to_onnx(model), NEW)["prediction"]
    np.testing.assert_allclose(got, model.predict(NEW), rtol=1e-10)


def test_no_features_and_any_number_of_rows():
    model, _ = fitted(REGRESSORS["constant"])
    graph = skstretch.to_onnx(model)
    for n in (1, 5):
        got = run(graph, np.ones((n, 3)))["prediction"]
        np.testing.assert_allclose(got, model.predict(np.ones((n, 3))), rtol=1e-14)


def test_loaded_model(tmp_path):
    model, _ = fitted(CLASSIFIERS["words"])
    skstretch.save(model, tmp_path / "model.stretchy")
    again = skstretch.load(tmp_path / "model.stretchy")
    assert skstretch.to_onnx(again).SerializeToString() == (
        skstretch.to_onnx(model).SerializeToString()
    )


def test_only_the_kept_features_are_read():
    model, _ = fitted(REGRESSORS["sparse"])
    constants = {c.name: tuple(c.dims) for c in skstretch.to_onnx(model).graph.initializer}
    assert max(size for dims in constants.values() for size in dims) <= 6


def test_refused():
    model, _ = fitted(REGRESSORS["tall"])
    with pytest.raises(TypeError, match="a Ridge cannot be exported"):
        skstretch.to_onnx(Ridge())
    with pytest.raises(NotFittedError):
        skstretch.to_onnx(skstretch.StretchyRegressor())
    with pytest.raises(ValueError, match="dtype='float16' is not known: use one of float64"):
        skstretch.to_onnx(model, dtype="float16")
    odd, _ = fitted(CLASSIFIERS["words"])
    odd = copy.copy(odd)
    odd.classes_ = np.array(["2020", "2021", "2022"], dtype="M8[Y]")
    with pytest.raises(TypeError, match="no counterpart in ONNX"):
        skstretch.to_onnx(odd)


def test_without_the_package():
    code = (
        "import sys; sys.modules['onnx'] = None; import skstretch, numpy as np\n"
        "m = skstretch.StretchyRegressor().fit(np.eye(4), np.arange(4.0))\n"
        "try: skstretch.to_onnx(m)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "to_onnx needs the package onnx: pip install 'skstretch[onnx]'."
