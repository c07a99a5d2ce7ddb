"""Damaged files: refused, or a model that predicts the same; never another error."""

import contextlib
import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skstretch
from skstretch.io import ModelFileError
from tests.io.samples import CLASSIFIERS, MIXTURES, REGRESSORS, fitted, saved_bytes, with_header

CASES = {
    "regressor": (REGRESSORS["dense"], {"intervals": True}),
    "classifier": (CLASSIFIERS["search two"], {}),
    "mixture": (MIXTURES["some selected"], {"intervals": True}),
}


@functools.cache
def example(name):
    """The file of a model, new data, and what the model says of them."""
    case, options = CASES[name]
    model, new = fitted(case)
    with tempfile.TemporaryDirectory() as folder:
        return saved_bytes(model, Path(folder), **options), new, outputs(model, new)


def outputs(model, new):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(new)
    return model.predict(new), model.predict_interval(new, method="residual")


def check(data, name):
    _, new, expected = example(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.stretchy"
        path.write_bytes(data)
        try:
            model = skstretch.load(path)
        except ModelFileError:
            return
    for one, other in zip(outputs(model, new), expected, strict=True):
        np.testing.assert_array_equal(one, other)


# positions from either end: the directory, which has no checksum of its own, lies at the end
POSITION = st.one_of(st.integers(0, 1 << 20), st.integers(-4000, -1))


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=250)
@given(changes=st.lists(st.tuples(POSITION, st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes(name, changes):
    data = bytearray(example(name)[0])
    for position, bits in changes:
        data[position % len(data)] ^= bits
    check(bytes(data), name)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=80)
@given(position=POSITION)
def test_truncated(name, position):
    data = example(name)[0]
    check(data[: position % len(data)], name)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=150)
@given(position=POSITION, junk=st.binary(min_size=1, max_size=40), over=st.booleans())
def test_inserted_bytes(name, position, junk, over):
    data = example(name)[0]
    at = position % len(data)
    check(data[:at] + junk + data[at + over * len(junk) :], name)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=80)
@given(first=POSITION, second=POSITION, size=st.integers(1, 3000))
def test_moved_bytes(name, first, second, size):
    data = example(name)[0]
    start, to = first % len(data), second % len(data)
    part, rest = data[start : start + size], data[:start] + data[start + size :]
    check(rest[:to] + part + rest[to:], name)


@settings(max_examples=150)
@given(junk=st.binary(max_size=300))
def test_junk(junk):
    check(junk, "regressor")
    check(b"PK\x03\x04" + junk + b"PK\x05\x06" + bytes(18), "regressor")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$tuple", "$dict", "$numpy", "$array", "$int"]), inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    "class", "dtype", "quadrant", "spec", "spaces", "solvers", "has_dual", "single", "intervals",
    "feature_names", "parameters", "versions", "schema", "classes", "factor", "biases", "isotonic",
    "chosen",
    "results", "arrays", "terms", "intercept", "space",
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=100)
@given(field=st.sampled_from(FIELDS), value=JSON)
def test_odd_headers(name, field, value, tmp_path_factory):
    """A header of another meaning may well make a model: no foreign error, that is all."""
    path = tmp_path_factory.getbasetemp() / f"{name}.stretchy"
    path.write_bytes(with_header(example(name)[0], **{field: value}))
    with contextlib.suppress(ModelFileError):
        skstretch.load(path)
