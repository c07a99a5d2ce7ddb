"""Pickles of another version load with a warning."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import skstretch
from skstretch import _version
from skstretch.exceptions import OtherVersionWarning

X = np.random.default_rng(0).random((12, 4))
Y = X[:, 0] - X[:, 1]
MODELS = {
    "StretchyRegressor": {},
    "StretchyClassifier": {},
    "FirstQuadrant": {},
    "GaussianBasis": {},
    "RandomNetwork": {},
    "SpectralFilter": {"snv": True},
}


@pytest.fixture(params=MODELS)
def model(request):
    made = getattr(skstretch, request.param)(**MODELS[request.param])
    return made.fit(X, Y > 0 if "Classifier" in request.param else Y)


def output(model):
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


def test_a_pickle_of_another_version_warns(model, monkeypatch):
    monkeypatch.setattr(_version, "__version__", "0.9.1")
    data = pickle.dumps(model)
    monkeypatch.undo()
    now = skstretch.__version__
    expected = f"this {type(model).__name__} was pickled by skstretch 0.9.1 and is read by {now}"
    with pytest.warns(OtherVersionWarning, match=expected):
        again = pickle.loads(data)
    np.testing.assert_array_equal(output(again), output(model))


def test_a_pickle_from_before_versions_were_kept_warns(model):
    state = model.__getstate__()
    del state["_skstretch_version"]
    again = type(model).__new__(type(model))
    with pytest.warns(OtherVersionWarning, match=r"skstretch 0\.1 or earlier"):
        again.__setstate__(state)
    np.testing.assert_array_equal(output(again), output(model))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_of_this_version_are_silent(model, copied):
    again = copied(model)
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(output(again), output(model))
    assert vars(clone(again)).keys() == again.get_params().keys()
