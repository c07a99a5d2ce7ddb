"""What X may be stored in: same numbers, same model, and X is never written."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skstretch import StretchyClassifier, StretchyRegressor
from tests.estimators.samples import assert_close, new_rows, problem

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])


@shapes
@pytest.mark.parametrize("density", [1.0, 0.5])
def test_float32_stays_float32(shape, density):
    X, y = problem(shape)
    small = X.astype(np.float32)
    model = StretchyRegressor(density=density).fit(small, y.astype(np.float32))
    assert model.coef_.dtype == model.predict(small).dtype == model.coef_.dtype == np.float32
    assert np.asarray(model.intercept_).dtype == np.float32
    # the same float32 numbers in float64: only the results are rounded
    exact = StretchyRegressor(density=density).fit(
        small.astype(np.float64), y.astype(np.float32).astype(np.float64)
    )
    assert exact.predict(X).dtype == np.float64
    assert_close(model.alpha_, exact.alpha_, rtol=1e-7)
    assert_close(model.predict(small), exact.predict(small.astype(np.float64)), rtol=3e-6)


@shapes
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_integers_are_numbers(shape, dtype):
    M, D = problem(shape)[0].shape
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 100, (M, D)).astype(dtype)
    y = rng.standard_normal(M)
    model = StretchyRegressor().fit(X, y)
    expected = StretchyRegressor().fit(X.astype(np.float64), y)
    assert model.coef_.dtype == np.float64
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X.astype(np.float64)))


def test_integer_targets():
    X, y = problem("wide")
    counts = np.round(y * 10).astype(int)
    model = StretchyRegressor().fit(X, counts)
    np.testing.assert_array_equal(
        model.predict(X), StretchyRegressor().fit(X, counts.astype(float)).predict(X)
    )
    assert model.predict(X).dtype == np.float64


@shapes
def test_memory_order_and_strides(shape):
    X, y = problem(shape)
    base = StretchyRegressor(density=0.5).fit(X, y)
    padded = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    padded[::2, ::3] = X
    assert np.asfortranarray(X).flags.f_contiguous
    for other in (np.asfortranarray(X), padded[::2, ::3], X[::-1][::-1]):
        model = StretchyRegressor(density=0.5).fit(other, y)
        assert_close(model.alpha_, base.alpha_, rtol=1e-13)
        assert_close(model.predict(other), base.predict(X), rtol=1e-13)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_names(frame):
    X, y = problem("tall")
    names = [f"gene {j}" for j in range(X.shape[1])]
    data = frame(dict(zip(names, X.T, strict=True)))
    model = StretchyRegressor().fit(data, y)
    assert model.feature_names_in_.tolist() == names
    base = StretchyRegressor().fit(X, y)
    assert not hasattr(base, "feature_names_in_")
    assert_close(model.alpha_, base.alpha_, rtol=1e-13)
    assert_close(model.predict(data), base.predict(X), rtol=1e-13)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_columns_of_a_frame_may_differ_in_type():
    X, y = problem("tall")
    data = pd.DataFrame(X, columns=list("abcdefg"))
    data["a"] = np.arange(len(y))
    data["b"] = data["b"].astype(np.float32)
    model = StretchyRegressor().fit(data, pd.Series(y, name="target"))
    expected = StretchyRegressor().fit(data.to_numpy(dtype=np.float64), y)
    assert_close(model.predict(data), expected.predict(data.to_numpy(dtype=np.float64)))


@shapes
@pytest.mark.parametrize("quadrant", ["exp", "identity"])
@pytest.mark.parametrize("solver", ["auto", "dual", "primal", "qr"])
def test_nothing_is_written(shape, quadrant, solver):
    X, y = problem(shape)
    X = np.abs(X) / 10
    T, weights = new_rows(X), np.arange(len(y)) % 3
    arrays = (X, y, T, weights)
    before = [array.copy() for array in arrays]
    model = StretchyRegressor(quadrant=quadrant, solver=solver, density=0.5)
    model.fit(X, y, sample_weight=weights).predict(T)
    model.coef_std()
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@shapes
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_read_only_data(shape, dtype, tmp_path):
    X, y = problem(shape)
    X, y = X.astype(dtype), y.astype(dtype)
    expected = StretchyRegressor().fit(X, y)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    locked = X.copy()
    locked.flags.writeable = y.flags.writeable = False
    for other in (locked, mapped):
        model = StretchyRegressor().fit(other, y)
        assert_close(model.alpha_, expected.alpha_, rtol=1e-13)
        assert_close(model.predict(other), expected.predict(X), rtol=1e-13)


def test_classifier_keeps_float32_and_names():
    X, y = problem("tall")
    data = pd.DataFrame(X.astype(np.float32), columns=list("abcdefg"))
    model = StretchyClassifier(threshold="zero").fit(data, y > 5)
    assert model.decision_function(data).dtype == np.float32
    assert model.feature_names_in_.tolist() == list("abcdefg")
