"""Columns far from zero: their z-scores have mean zero to all digits, with or without intercept."""

import dask.array as da
import mpmath
import numpy as np
import pytest
from scipy import sparse

import skstretch
from skstretch import StretchyRegressor
from skstretch.designs import measure, tidy

PARAMS = {"a": 0.0, "k": 2.0, "c": 10.0, "fit_intercept": False}


def data(offset, n_samples=20):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n_samples, 4))
    return Z + offset, Z[:, 0] + 1e4 + 0.1 * rng.standard_normal(n_samples)


def ridge_on_z(X, y, c):
    """``(Z'Z + lam)^-1 Z'y``, ``lam = 1/(2c)``, with 50 digits from the float64 numbers of X."""
    with mpmath.workdps(50):
        M, D = X.shape
        Z = mpmath.matrix(M, D)
        for j in range(D):
            column = [mpmath.mpf(float(x)) for x in X[:, j]]
            mean = sum(column) / M
            scale = mpmath.sqrt(sum((x - mean) ** 2 for x in column) / M)
            for i in range(M):
                Z[i, j] = (column[i] - mean) / scale
        A = Z.T * Z + mpmath.eye(D) / (2 * mpmath.mpf(c))
        coef = mpmath.lu_solve(A, Z.T * mpmath.matrix([float(v) for v in y]))
        return np.array([float(v) for v in coef])


def mapped(X, path):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode="r")


STORAGES = {
    "dense": lambda X, path: X,
    "csr": lambda X, path: sparse.csr_array(X),
    "map": mapped,
    "tall dask": lambda X, path: da.from_array(X, chunks=(7, -1)),
}


@pytest.mark.parametrize("offset", [1e4, 1e8, -3e11])
@pytest.mark.parametrize("storage", STORAGES)
def test_no_intercept(storage, offset, tmp_path):
    X, y = data(offset)
    held = STORAGES[storage](X, tmp_path)
    true = ridge_on_z(X, y, 10.0)
    found = StretchyRegressor(**PARAMS).fit(held, y)
    assert found.rcond_ > 0.01
    # y is 1e4 times what z explains of it: four digits go with the sums
    np.testing.assert_allclose(found.alpha_, true, rtol=0, atol=1e-11 * np.abs(true).max())


@pytest.mark.parametrize("solver", ["primal", "qr", "krylov"])
def test_every_solver(solver):
    X, y = data(1e8)
    true = ridge_on_z(X, y, 10.0)
    found = StretchyRegressor(solver=solver, **PARAMS).fit(X, y)
    tolerance = 1e-5 if solver == "krylov" else 1e-11  # a residual of 1e-10 beside y
    np.testing.assert_allclose(found.alpha_, true, rtol=0, atol=tolerance * np.abs(true).max())


def test_batches_and_files_keep_the_rest_of_the_mean(tmp_path):
    X, y = data(1e8)
    fitted = StretchyRegressor(**PARAMS).fit(X, y)
    skstretch.save(fitted, tmp_path / "model.stretchy")
    loaded = skstretch.load(tmp_path / "model.stretchy")
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    more, targets = data(1e8, 30)
    batches = fitted.partial_fit(more, targets)
    np.testing.assert_allclose(batches.predict(more[:3]), batches.predict(more)[:3], rtol=1e-12)


def test_blocks_of_rows_find_the_same_rest(tmp_path):
    X, _ = data(1e8, 200)
    weights = np.linspace(0.1, 2.0, 200)
    whole = measure(X, weights)
    assert whole.rest.any()
    for held in (mapped(X, tmp_path), da.from_array(X, chunks=(23, -1))):
        found = measure(tidy(held), weights)
        mean = (found.mean - whole.mean) + (found.rest - whole.rest)
        np.testing.assert_allclose(mean, 0.0, atol=1e-14)


def test_ordinary_columns_have_no_rest():
    X, _ = data(3.0, 200)
    assert not measure(X, np.ones(200)).rest.any()
