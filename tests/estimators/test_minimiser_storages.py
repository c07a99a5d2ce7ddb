"""The exact minimiser of the estimators: every storage gives what dense data gives."""

import numpy as np
import pytest
import sklearn
from scipy import sparse

from skstretch import StretchyClassifier, StretchyRegressor
from tests.dask_arrays import as_dask
from tests.zoo import CountingArray

SHAPES = {"wide": (24, 150), "tall": (160, 9)}
STORAGES = ["F", "float32", "csr", "csc", "map", "zarr", "h5py", "sliced", "dask", "dask sparse"]


def problem(storage, shape):
    """Data that every storage holds exactly, with a constant column, and two targets."""
    rng = np.random.default_rng(len(shape))
    X = np.round(rng.standard_normal(SHAPES[shape]) * 4 + rng.standard_normal(SHAPES[shape][1]))
    if storage in ("csr", "csc", "dask sparse"):
        X[rng.random(X.shape) < 0.7] = 0.0
    X[:, 3] = 0.0
    Y = X[:, :2] @ rng.standard_normal((2, 2)) + rng.standard_normal((len(X), 2)) + 2.0
    return X, Y


def stored(X, storage, tmp_path):
    if storage in ("csr", "csc"):
        return sparse.csr_array(X) if storage == "csr" else sparse.csc_array(X)
    if "dask" in storage:
        chunks = (-1, 40) if X.shape[0] <= X.shape[1] else (33, -1)
        return as_dask(sparse.csr_array(X) if "sparse" in storage else X, chunks)
    if storage == "map":
        np.save(tmp_path / "x.npy", X)
        return np.load(tmp_path / "x.npy", mmap_mode="r")
    if storage == "zarr":
        return pytest.importorskip("zarr").array(X, chunks=(7, 20))
    if storage == "h5py":
        file = pytest.importorskip("h5py").File(tmp_path / "x.h5", "w")
        return file.create_dataset("x", data=X, chunks=(8, 9))
    if storage == "sliced":
        return CountingArray(X)
    return np.asfortranarray(X) if storage == "F" else X.astype(np.float32)


@pytest.mark.parametrize("memory", [1024, 0.01], ids=["in memory", "in blocks"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("storage", STORAGES)
def test_regressor_of_every_storage(storage, shape, memory, tmp_path):
    X, Y = problem(storage, shape)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = StretchyRegressor(a=0, k=1.25, c=0.2)
    true = sklearn.clone(model).fit(X, Y, weights)
    with sklearn.config_context(working_memory=memory):
        found = model.fit(stored(X, storage, tmp_path), Y, weights)
    assert np.max(found.dual_gap_) <= 1e-10
    coef, expected = np.asarray(found.alpha_), true.alpha_
    # coefficients of float32 data are rounded to float32
    close = 2e-7 if storage == "float32" else 1e-9
    assert coef.dtype == (np.float32 if storage == "float32" else np.float64)
    np.testing.assert_allclose(coef, expected, rtol=0, atol=close * np.abs(expected).max())
    assert not coef[:, 3].any()
    new, size = X.astype(coef.dtype), np.ptp(Y)
    np.testing.assert_allclose(found.predict(new), true.predict(X), rtol=0, atol=5 * close * size)
    np.testing.assert_allclose(found.intercept_, true.intercept_, rtol=5 * close)


@pytest.mark.parametrize("fit_intercept", ["column", False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("storage", ["csr", "map", "dask"])
def test_other_intercepts(storage, shape, fit_intercept, tmp_path):
    X, Y = problem(storage, shape)
    model = StretchyRegressor(a=0, k=1.4, c=0.1, fit_intercept=fit_intercept)
    true = sklearn.clone(model).fit(X, Y[:, 0])
    with sklearn.config_context(working_memory=0.01):
        found = model.fit(stored(X, storage, tmp_path), Y[:, 0])
    expected = true.alpha_
    np.testing.assert_allclose(
        np.asarray(found.alpha_), expected, rtol=0, atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize("storage", ["csr", "map", "dask"])
def test_classifier(storage, tmp_path):
    X, Y = problem(storage, "wide")
    y = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.33, 0.66]))
    model = StretchyClassifier(a=0, k=1.25, c=0.2)
    true = sklearn.clone(model).fit(X, y)
    with sklearn.config_context(working_memory=0.01):
        found = model.fit(stored(X, storage, tmp_path), y)
    np.testing.assert_allclose(
        np.asarray(found.alpha_), true.alpha_, rtol=0, atol=1e-9 * np.abs(true.alpha_).max()
    )


def test_number_of_walks_of_a_fit():
    """Two for the moments and what else a fit looks at, then one a Newton step."""
    X, Y = problem("sliced", "wide")
    X = np.tile(X, (1, 20)) + np.random.default_rng(0).standard_normal((len(X), 20 * X.shape[1]))
    array = CountingArray(X)
    with sklearn.config_context(working_memory=0.25):
        model = StretchyRegressor(a=0, k=1.25, c=0.2).fit(array, Y)
    assert array.reads.min() == array.reads.max()
    assert array.reads.max() <= np.max(model.n_iter_) + 3
