"""Facts of the origin that are kept with a model."""

import re

import numpy as np
import pytest

import skstretch
from skstretch.io import ModelFileError, about
from tests.io.samples import X, Y, saved_bytes

FACTS = {"target": "größe <b>", "seconds": 0.25, "rows": 36, "checked": True}


@pytest.fixture
def model():
    return skstretch.StretchyRegressor().fit(X, Y[:, 0])


def test_facts_come_back(model, tmp_path):
    path = tmp_path / "m.stretchy"
    skstretch.save(model, path, about=FACTS)
    assert about(path) == FACTS
    assert {name: type(value) for name, value in about(path).items()} == {
        name: type(value) for name, value in FACTS.items()
    }
    np.testing.assert_array_equal(skstretch.load(path).predict(X), model.predict(X))


def test_without_facts_equal_models_give_equal_files(model, tmp_path):
    plain = saved_bytes(model, tmp_path)
    assert saved_bytes(skstretch.load(tmp_path / "good.stretchy"), tmp_path) == plain
    assert b'"about"' not in plain
    assert about(tmp_path / "good.stretchy") == {}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (["target"], "about=['target'] cannot be stored: it must be a dict from names to values."),
        ({1: "y"}, "about={1: 'y'} cannot be stored: it must be a dict from names to values."),
        ({"y": np.arange(2)}, "'y' is neither a string nor a finite number."),
        ({"seconds": np.nan}, "'seconds' is neither a string nor a finite number."),
        ({"y": "x" * 10_001}, "'y' has 10001 characters, and 10000 are allowed."),
        ({"n": 2**63}, "'n' is too large a number."),
    ],
)
def test_facts_that_cannot_be_stored(model, tmp_path, facts, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        skstretch.save(model, tmp_path / "m.stretchy", about=facts)
    assert not (tmp_path / "m.stretchy").exists()


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "m.stretchy"
    path.write_bytes(b"hello")
    with pytest.raises(ModelFileError, match=re.escape(f"{str(path)!r} is not a sound model file")):
        about(path)
