"""From a design of any storage to the exact minimiser, against z-scores in memory."""

import tracemalloc

import numpy as np
import pytest
import sklearn
from scipy import sparse

from skstretch.core.bridge import REPORTED
from skstretch.core.bridge_left_out import leave_one_out, refits
from skstretch.core.bridge_path import approximate_loo, finish, solve, space
from skstretch.core.quadrant import Quadrant
from skstretch.designs import as_design, dual_space, measure, tidy
from skstretch.designs.dual_space import StreamedSpace
from tests.dask_arrays import as_dask
from tests.designs.test_minimiser_products import Counted, refuse_dense, stored

STORAGES = ["C", "float32", "map", "zarr", "sparse", "sparse frequent", "dask", "dask sparse"]
INTERCEPTS = ["free", "column", "none"]


def problem(storage, shape, tmp_path):
    """The design, its z-scores, root weights and a target."""
    rng = np.random.default_rng(shape[1])
    X = rng.standard_normal(shape) + rng.standard_normal((shape[0], 1))
    if "sparse" in storage:
        X[rng.random(shape) < (0.3 if "frequent" in storage else 0.8)] = 0.0
    X[:, 2] = 0.0
    X = X.astype(np.float32) if storage == "float32" else X
    if "dask" in storage and shape[0] > shape[1]:
        data = as_dask(sparse.csr_array(X) if "sparse" in storage else X, (17, -1))
    else:
        data = stored(X, storage, tmp_path)
    data = tidy(data)
    weights = rng.uniform(0.5, 2.0, shape[0])
    moments = measure(data, weights)
    used = np.flatnonzero(~moments.constant)
    design = as_design(data, Quadrant("linear", moments, 0.0, np.zeros(shape[1])), columns=used)
    Z = (X.astype(float)[:, used] - moments.mean[used]) / moments.scale[used]
    y = Z[:, :2] @ [2.0, -1.0] + rng.standard_normal(shape[0]) + 3.0
    return design, Z, np.sqrt(weights), y


def fits(where, y, cases=((1.2, 1.5), (2.0, 1.0))):
    found = []
    for k, c in cases:
        s, point = solve(where, k, c, y)
        found.append((finish(s, point, y), approximate_loo(s, point, y)))
    return found


def assert_same(found, true, tolerance=1e-9):
    for (a, loo), (b, true_loo) in zip(found, true, strict=True):
        assert a.gap <= REPORTED.gap
        size = abs(b.e).max()
        np.testing.assert_allclose(a.alpha, b.alpha, rtol=0, atol=tolerance * abs(b.alpha).max())
        np.testing.assert_allclose(a.residual, b.residual, rtol=0, atol=tolerance * size)
        assert a.m == pytest.approx(b.m, rel=tolerance, abs=tolerance)
        # below k = 2 the Newton matrix is that of the last step but one, wherever that was
        close = 10 * tolerance if a.k == 2.0 else 1e-4
        np.testing.assert_allclose(loo, true_loo, rtol=0, atol=close * size)
        assert a.dof == pytest.approx(b.dof, rel=close)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("storage", STORAGES)
def test_wide_minimum_of_every_storage(storage, intercept, tmp_path):
    design, Z, u, y = problem(storage, (24, 160), tmp_path)
    true = fits(space(Z, u, intercept), y)
    for memory in (1024, 0.05):
        with sklearn.config_context(working_memory=memory):
            assert_same(fits(dual_space(design, u, intercept), y), true)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("memory", [1024, 0.04, 0.008], ids=["all", "Q", "nothing"])
@pytest.mark.parametrize("storage", STORAGES)
def test_tall_minimum_of_every_storage(storage, memory, intercept, tmp_path):
    """With Z in memory, with Q in memory, and with neither."""
    design, Z, u, y = problem(storage, (150, 9), tmp_path)
    true = fits(space(Z, u, intercept), y)
    with sklearn.config_context(working_memory=memory):
        where = dual_space(design, u, intercept)
        assert isinstance(where, StreamedSpace) == (memory == 0.008)
        assert where.products.T.shape[1] <= Z.shape[1] + 1
        assert_same(fits(where, y), true)


@pytest.mark.parametrize("memory", [1024, 0.008], ids=["all", "nothing"])
def test_duplicated_columns_are_one_direction(memory, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    X = np.hstack([X, X[:, :1]])
    moments = measure(X, np.ones(80))
    design = as_design(X, Quadrant("linear", moments, 0.0, np.zeros(5)))
    with sklearn.config_context(working_memory=memory):
        where = dual_space(design, np.ones(80))
        assert where.Q.shape == (80, 4)
        fit = finish(*solve(where, 1.3, 1.0, X[:, 0] + 1.0), X[:, 0] + 1.0)
    assert fit.alpha[0] == pytest.approx(fit.alpha[4], rel=1e-10)


def test_tall_factor_takes_one_walk_over_the_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 11))
    data = Counted(X)
    design = as_design(tidy(data), Quadrant("linear", measure(X, np.ones(4000)), 0.0, np.zeros(11)))
    with sklearn.config_context(working_memory=0.3):
        factor = design.row_factor(np.ones(4000))
    assert data.n_read == X.size
    Z = design.row_features(np.arange(4000)).P
    A = np.column_stack([np.ones(4000), Z])
    np.testing.assert_allclose(factor.T @ factor, A.T @ A, atol=1e-10)


def test_tall_sparse_is_dense_by_blocks_of_rows_only(monkeypatch):
    X = sparse.random_array(
        (5000, 40), density=0.05, random_state=np.random.default_rng(0), format="csc"
    )
    design = as_design(X, Quadrant("linear", measure(X, np.ones(5000)), 0.0, np.zeros(40)))
    largest = []
    real = sparse.csr_array.toarray

    def toarray(self, *args, **kwargs):
        largest.append(self.shape[0])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    with sklearn.config_context(working_memory=0.5):
        where = dual_space(design, np.ones(5000))
        y = np.random.default_rng(1).standard_normal(5000)
        assert finish(*solve(where, 1.25, 1.0, y), y).gap <= REPORTED.gap
    assert isinstance(where, StreamedSpace)
    assert largest
    assert max(largest) <= 2000


def test_wide_sparse_is_solved_without_dense_columns(monkeypatch):
    M = 30
    X = sparse.random_array(
        (M, 2000), density=0.03, random_state=np.random.default_rng(0), format="csc"
    )
    quadrant = Quadrant("linear", measure(X, np.ones(M)), 0.0, np.zeros(2000))
    design = as_design(X, quadrant, columns=np.flatnonzero(~quadrant.moments.constant))
    refuse_dense(monkeypatch, M)
    y = np.random.default_rng(1).standard_normal(M)
    assert finish(*solve(dual_space(design, np.ones(M)), 1.25, 1.0, y), y).gap <= REPORTED.gap


def test_an_array_beyond_memory_says_so():
    X = np.random.default_rng(0).standard_normal((3000, 8))
    design = as_design(X, Quadrant("linear", measure(X, np.ones(3000)), 0.0, np.zeros(8)))
    with sklearn.config_context(working_memory=0.1):
        where = dual_space(design, np.ones(3000))
        with pytest.raises(MemoryError, match="3,000 samples and 8 directions"):
            np.asarray(where.Q)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("storage", ["map", "sparse", "dask"])
def test_left_out_samples_and_folds_of_tall_data_beyond_memory(storage, intercept, tmp_path):
    design, Z, u, y = problem(storage, (150, 9), tmp_path)
    folds = [np.arange(0, 40), np.array([40, 41, 44]), np.arange(100, 150)]

    def left_out(where):
        s, point = solve(where, 1.25, 0.5, y)
        return leave_one_out(s, point, y).residual, np.concatenate(
            [r.residual for r in refits(s, point, y, folds)]
        )

    true = left_out(space(Z, u, intercept))
    with sklearn.config_context(working_memory=0.008):
        where = dual_space(design, u, intercept)
        assert isinstance(where, StreamedSpace)
        found = left_out(where)
    for a, b in zip(found, true, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * np.abs(b).max())


def test_folds_of_tall_data_form_nothing_as_large_as_samples_by_fold(tmp_path):
    M = 6000
    X = np.random.default_rng(0).standard_normal((M, 6))
    design = as_design(X, Quadrant("linear", measure(X, np.ones(M)), 0.0, np.zeros(6)))
    y, folds = X[:, 0] + np.sin(np.arange(M)), np.array_split(np.arange(M), 3)
    for memory in (1024, 0.2):
        with sklearn.config_context(working_memory=memory):
            s, point = solve(dual_space(design, np.ones(M)), 1.25, 0.5, y)
            tracemalloc.start()
            try:
                found = [r.residual for r in refits(s, point, y, folds)]
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert sum(map(len, found)) == M
        assert peak < 8 * M * len(folds[0]) / 10
