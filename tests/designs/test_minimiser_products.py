"""The passes of the exact minimiser: every storage against z-scores in memory."""

import tracemalloc

import numpy as np
import pytest
import sklearn
from scipy import sparse

from skstretch.core.bridge_products import DenseProducts, Trial
from skstretch.core.quadrant import Quadrant
from skstretch.designs import as_design, measure, tidy
from skstretch.designs import minimiser_products as walks_of_strips
from skstretch.designs import sparse_products as sparse_walks
from skstretch.designs import threads as blocks
from skstretch.designs.minimiser_products import StripProducts
from tests.dask_arrays import as_dask

SHAPES = {"wide": (23, 301), "square": (31, 31), "tall": (67, 13), "row": (1, 9), "column": (12, 1)}
LOCAL = ["C", "F", "float32", "int", "strided", "map", "zarr", "sparse", "sparse frequent"]
WIDE = [*LOCAL, "dask", "dask sparse"]


def numbers(storage, shape, constant=True):
    """Data of which every third entry or more is zero; one constant column where there is room."""
    rng = np.random.default_rng(abs(hash(shape)) % 1000)
    X = rng.standard_normal(shape) * rng.uniform(0.1, 30.0, shape[1]) + rng.normal(size=shape[1])
    if "sparse" in storage:
        X[rng.random(shape) < (0.35 if "frequent" in storage else 0.9)] = 0.0
    if storage == "int":
        X = np.round(X)
    if constant and shape[1] > 4:
        X[:, 3] = 0.0 if "sparse" in storage else 2.0
    return X.astype(np.float32) if storage == "float32" else X


class Counted:
    """An array that lives elsewhere and counts the numbers that are read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.n_read = array, array.shape, array.dtype, 0

    def __getitem__(self, index):
        part = self.array[index]
        self.n_read += part.size
        return part


def stored(X, storage, tmp_path):
    if storage == "F":
        return np.asfortranarray(X)
    if storage == "int":
        return X.astype(np.int16)
    if storage == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if storage == "map":
        np.save(tmp_path / "x.npy", X)
        return np.load(tmp_path / "x.npy", mmap_mode="r")
    if storage == "zarr":
        zarr = pytest.importorskip("zarr")
        return zarr.array(X, chunks=(7, 20))
    if storage == "dask sparse":
        return as_dask(sparse.csr_array(X), (-1, 29))
    if "sparse" in storage:
        return sparse.csc_array(X)
    return as_dask(X, (-1, 29)) if storage == "dask" else X


def pair(storage, shape, tmp_path, rows=None):
    """The design of a storage, and the z-scores that it stands for."""
    X = numbers(storage, shape)
    data = tidy(stored(X, storage, tmp_path))
    moments = measure(data, np.ones(shape[0]))
    used = np.flatnonzero(~moments.constant)
    b = np.zeros(shape[1])
    design = as_design(data, Quadrant("linear", moments, 0.0, b), rows=rows, columns=used)
    Z = (X.astype(float)[:, used] - moments.mean[used]) / moments.scale[used]
    return design, Z if rows is None else Z[rows]


def trials_for(Z):
    """Several k, strengths and vectors; one that overflows, one beyond its ceiling, one below."""
    M, D = Z.shape
    rng = np.random.default_rng(4)
    trials = []
    for k, gram in [(2.0, True), (1.5, False), (1.25, False), (1.25, True), (1.05, True)]:
        x = rng.standard_normal(M)
        # |v| / (lam k) of order one
        lam = (np.abs(Z.T @ x).max(initial=0.0) or 1.0) / k
        trials.append(Trial(k, lam, x, gram))
    x, lam = trials[3].x, trials[3].lam
    trials += [
        Trial(1.25, lam, rng.standard_normal(M), gram=True),
        Trial(1.05, lam * 1e-20, x, gram=True),
        Trial(1.25, lam, x, gram=True, ceiling=1e-9),
        Trial(1.25, lam, x, gram=True, ceiling=10.0 * (D + 1)),
        Trial(1.25, lam, x, keep=False),
        Trial(1.25, lam, 0.1 * x, gram=True, base=Z.T @ trials[2].x),
        Trial(1.5, lam, np.zeros(M), gram=True),
    ]
    return trials


def close(found, true, tolerance=1e-12, name=""):
    size = np.max(np.abs(true), initial=0.0)
    np.testing.assert_allclose(found, true, rtol=0, atol=tolerance * size, err_msg=name)


def assert_alike(found, true, tolerance=1e-11, keeps=True):
    assert len(found) == len(true)
    for i, (a, b) in enumerate(zip(found, true, strict=True)):
        assert np.isinf(a.energy) == np.isinf(b.energy)
        if keeps:
            assert (a.v is None) == (b.v is None)
        if a.v is not None:
            close(a.v, b.v, tolerance, f"v of trial {i}")
        assert (a.gram is None) == (b.gram is None)
        if np.isinf(b.energy):
            continue
        assert a.energy == pytest.approx(b.energy, rel=tolerance * 20)
        close(a.fitted, b.fitted, tolerance * 20, f"fitted of trial {i}")
        if b.gram is not None:
            assert np.abs(a.gram - b.gram).max() <= 20 * tolerance * np.trace(b.gram)
            np.testing.assert_array_equal(a.gram, a.gram.T)


def test_a_base_is_a_product_made_before():
    rng = np.random.default_rng(0)
    Z, x, more = rng.standard_normal((10, 400)), *rng.standard_normal((2, 10))
    whole = DenseProducts(Z, block=64).step([Trial(1.5, 5.0, x + more, gram=True)])
    parts = DenseProducts(Z, block=64).step([Trial(1.5, 5.0, more, gram=True, base=Z.T @ x)])
    assert_alike(parts, whole)


@pytest.mark.parametrize("memory", [1024, 0.02])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("storage", LOCAL)
def test_every_storage_against_dense(storage, shape, memory, tmp_path):
    design, Z = pair(storage, SHAPES[shape], tmp_path)
    trials, true = trials_for(Z), DenseProducts(Z)
    with sklearn.config_context(working_memory=memory):
        products = design.minimiser_products()
        found = products.step(trials)
        again = products.step(trials[:3])
        assert_alike(found, true.step(trials), keeps=memory > 1)
        assert_alike(again, true.step(trials[:3]), keeps=memory > 1)
        for trial in trials[:4]:
            close(products.coef(trial, None), true.coef(trial, None), 1e-10)
        X = np.random.default_rng(0).standard_normal((Z.shape[0], 3))
        close(products.transposed(X), Z.T @ X)


@pytest.mark.parametrize("storage", ["dask", "dask sparse"])
def test_wide_dask_against_dense(storage, tmp_path):
    for shape in ("wide", "square", "row"):
        design, Z = pair(storage, SHAPES[shape], tmp_path)
        trials, true, products = trials_for(Z), DenseProducts(Z), design.minimiser_products()
        assert_alike(products.step(trials), true.step(trials))
        close(products.coef(trials[3], None), true.coef(trials[3], None), 1e-10)
        X = np.random.default_rng(0).standard_normal((Z.shape[0], 3))
        close(products.transposed(X), Z.T @ X)


@pytest.mark.parametrize("rows", [[0, 3, 4, 11, 20], [7]], ids=["rows", "one row"])
@pytest.mark.parametrize("storage", WIDE)
def test_some_rows(storage, rows, tmp_path):
    rows = np.array(rows)
    design, Z = pair(storage, SHAPES["wide"], tmp_path, rows)
    trials = trials_for(Z)
    assert_alike(design.minimiser_products().step(trials), DenseProducts(Z).step(trials))


@pytest.mark.parametrize("storage", ["C", "F", "map", "sparse", "sparse frequent"])
@pytest.mark.parametrize("memory", [1024, 4])
def test_threads_share_the_columns(storage, memory, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    monkeypatch.setattr(sparse_walks, "available_threads", lambda: 3)
    monkeypatch.setattr(sparse_walks, "LEAST_SHARED", 0)
    design, Z = pair(storage, (23, 15_000), tmp_path)
    trials = trials_for(Z)
    threads = set()
    shared = blocks.parallel_map

    def parallel_map(work, items):
        threads.add(len(items))
        return shared(work, items)

    for module in (walks_of_strips, sparse_walks):
        monkeypatch.setattr(module, "parallel_map", parallel_map)
    with sklearn.config_context(working_memory=memory):
        found = design.minimiser_products().step(trials)
    assert_alike(found, DenseProducts(Z).step(trials), keeps=memory > 10)
    assert 3 in threads or (memory < 10 and "sparse" in storage)


@pytest.mark.parametrize("storage", WIDE)
def test_no_column_varies(storage, tmp_path):
    data = tidy(stored(np.zeros((6, 40)), storage, tmp_path))
    moments = measure(data, np.ones(6))
    quadrant = Quadrant("linear", moments, 0.0, np.zeros(40))
    products = as_design(data, quadrant, columns=np.zeros(0, dtype=np.intp)).minimiser_products()
    found = products.step([Trial(1.5, 1.0, np.ones(6), gram=True), Trial(1.5, 1.0, np.ones(6))])
    assert [w.energy for w in found] == [0.0, 0.0]
    np.testing.assert_array_equal(found[0].gram, np.zeros((6, 6)))
    np.testing.assert_array_equal(found[1].fitted, np.zeros(6))
    assert products.coef(Trial(1.5, 1.0, np.ones(6)), None).shape == (0,)


def test_pruning_leaves_out_nothing_that_counts(tmp_path):
    """Columns far below the largest stay where they are seen: shares differ by 1e12."""
    design, Z = pair("map", SHAPES["wide"], tmp_path)
    x = np.linalg.lstsq(Z.T, 10.0 ** -np.linspace(0, 3, Z.shape[1]), rcond=None)[0]
    trial = Trial(1.2, 1.0, x, gram=True)
    found = StripProducts(design).step([trial])[0].gram
    v = Z.T @ x
    true = (Z * (5.0 * (np.abs(v) / 1.2) ** 4 / 1.2)) @ Z.T
    close(found, true, 1e-13)


def test_largest_column_last_prunes_like_largest_first(tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((5, 4000)) * np.geomspace(1e-3, 1.0, 4000)
    v = 0.5 * np.ones(5) @ Z
    for columns in (np.arange(4000), np.arange(4000)[::-1]):
        X = Z[:, columns]
        moments = measure(X, np.ones(5))
        design = as_design(X, Quadrant("identity", moments, 0.0, np.zeros(4000)))
        trial = Trial(1.1, 1.0, 0.5 * np.ones(5), gram=True)
        found = StripProducts(design).step([trial])[0].gram
        true = (Z * (10.0 * (np.abs(v) / 1.1) ** 9 / 1.1)) @ Z.T
        close(found, true, 1e-12)


@pytest.mark.parametrize("n_trials", [1, 6])
def test_one_walk_a_step(n_trials):
    X = numbers("C", (20, 3000), constant=False)
    data = Counted(X)
    quadrant = Quadrant("linear", measure(X, np.ones(20)), 0.0, np.zeros(3000))
    with sklearn.config_context(working_memory=0.25):
        products = as_design(tidy(data), quadrant).minimiser_products()
        assert data.n_read == 0
        for n_steps in (1, 2, 3):
            products.step(plain_trials(20, n_trials))
            assert data.n_read == n_steps * X.size
        products.coef(plain_trials(20, 1)[0], np.ones(3000))
        assert data.n_read == 3 * X.size


def plain_trials(M, n):
    rng = np.random.default_rng(0)
    ks = np.linspace(1.1, 1.9, n)
    return [Trial(k, 20.0, rng.standard_normal(M), gram=True) for k in ks]


@pytest.mark.parametrize("density", [0.01, 0.5])
@pytest.mark.parametrize("memory", [1024, 1])
def test_sparse_is_never_dense(density, memory, monkeypatch):
    """Only products (M x M) may become dense, and frequent columns no more than a block."""
    rng = np.random.default_rng(0)
    M, D = 40, 5000
    X = sparse.random_array((M, D), density=density, random_state=rng, format="csc")
    quadrant = Quadrant("linear", measure(X, np.ones(M)), 0.0, np.zeros(D))
    used = np.flatnonzero(~quadrant.moments.constant)
    products = as_design(X, quadrant, columns=used).minimiser_products()
    refuse_dense(monkeypatch, M)
    with pytest.raises(AssertionError, match="densified"):
        X.toarray()
    with sklearn.config_context(working_memory=memory):
        trials = plain_trials(M, 4)
        found = products.step(trials)
        products.coef(trials[0], None)
        products.transposed(np.ones((M, 2)))
    assert all(result.gram is not None for result in found)


def refuse_dense(monkeypatch, M):
    for kind in (sparse.csc_array, sparse.csr_array, sparse.csc_matrix, sparse.csr_matrix):
        real = kind.toarray

        def toarray(self, *args, real=real, **kwargs):
            assert self.shape[1] == M, f"densified {self.shape}"
            return real(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", toarray)
        monkeypatch.setattr(kind, "todense", toarray)


def test_many_trials_over_a_sparse_design_make_nothing_dense():
    """As many trials as samples, as leave-one-out has them: v of all would be X, dense."""
    M, D = 150, 60_000
    X = sparse.random_array(
        (M, D), density=0.01, random_state=np.random.default_rng(0), format="csc"
    )
    quadrant = Quadrant("linear", measure(X, np.ones(M)), 0.0, np.zeros(D))
    products = as_design(
        X, quadrant, columns=np.flatnonzero(~quadrant.moments.constant)
    ).minimiser_products()
    trials = [Trial(1.25, 20.0, row, keep=False) for row in np.eye(M)]
    tracemalloc.start()
    try:
        found = products.step(trials)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == M
    assert peak < 8 * M * D / 4


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_of_a_map_stays_within_working_memory(order, tmp_path):
    M, D, limit = 60, 120_000, 8
    array = np.lib.format.open_memmap(
        tmp_path / "x.npy", "w+", np.float64, (M, D), fortran_order=order == "F"
    )
    rng = np.random.default_rng(0)
    for start in range(0, D, 10_000):
        array[:, start : start + 10_000] = rng.standard_normal((M, 10_000))
    data = tidy(np.load(tmp_path / "x.npy", mmap_mode="r"))
    design = as_design(data, Quadrant("linear", measure(data, np.ones(M)), 0.0, np.zeros(D)))
    trials = plain_trials(M, 4)
    with sklearn.config_context(working_memory=limit):
        products = design.minimiser_products()
        products.step(trials)
        tracemalloc.start()
        try:
            found = products.step(trials)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert isinstance(products, StripProducts)
    assert 6 * limit * 2**20 < 8 * M * D
    assert peak <= limit * 2**20
    assert all(result.v is None for result in found)


@pytest.mark.parametrize("storage", ["dask", "dask sparse"])
def test_dask_has_the_same_bits_whoever_works(storage, tmp_path):
    import dask
    from dask.distributed import Client, LocalCluster

    design, Z = pair(storage, (23, 601), tmp_path)
    trials = trials_for(Z)

    def steps():
        return design.minimiser_products().step(trials)

    with dask.config.set(scheduler="synchronous"):
        expected = steps()
    with dask.config.set(scheduler="threads", num_workers=4):
        same_bits(steps(), expected)
    for n_workers, threads in [(1, 2), (3, 1)]:
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=threads, processes=False,
                dashboard_address=":0",
            ) as cluster,
            Client(cluster),
        ):  # fmt: skip
            same_bits(steps(), expected)


def same_bits(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.energy == b.energy
        for name in ("v", "gram") if np.isinf(b.energy) else ("v", "gram", "fitted"):
            one, other = getattr(a, name), getattr(b, name)
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_array_equal(one, other)


def test_dask_keeps_v_only_where_it_is_small(tmp_path):
    design, Z = pair("dask", SHAPES["wide"], tmp_path)
    trials = plain_trials(Z.shape[0], 3)
    with sklearn.config_context(working_memory=0.001):
        found = design.minimiser_products().step(trials)
    assert all(result.v is None for result in found)
    for result, true in zip(found, DenseProducts(Z).step(trials), strict=True):
        close(result.fitted, true.fitted, 1e-11)


def test_dask_asks_every_block_once_a_step(tmp_path):
    X, seen = numbers("dask", SHAPES["wide"]), []

    class Watched:
        shape, dtype, ndim = X.shape, X.dtype, 2

        def __getitem__(self, index):
            seen.append(index)
            return X[index]

    import dask.array as da

    array = da.from_array(Watched(), chunks=(-1, 29), asarray=False, name="watched")
    data = tidy(array)
    moments = measure(data, np.ones(X.shape[0]))
    used = np.flatnonzero(~moments.constant)
    quadrant = Quadrant("linear", moments, 0.0, np.zeros(X.shape[1]))
    products = as_design(data, quadrant, columns=used).minimiser_products()
    seen.clear()
    products.step(plain_trials(X.shape[0], 4))
    assert len(seen) == len(data.blocks)


@pytest.mark.parametrize("shape", [(130, 700), (140, 141)])
def test_columns_that_threads_share(shape, monkeypatch):
    """In halves, the same bits whatever the number of threads, and the sums of the whole."""
    rng = np.random.default_rng(1)
    Z = rng.standard_normal(shape)
    trials, whole = trials_for(Z), DenseProducts(Z)
    monkeypatch.setattr("skstretch.core.bridge_products.SHARED_NUMBERS", 1)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(blocks, "available_threads", lambda n=threads: n)
        found.append(walks_of_strips.shared(DenseProducts(Z)).step(trials))
    assert_alike(found[0], whole.step(trials))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.energy == b.energy
            np.testing.assert_array_equal(a.fitted, b.fitted)
            for x, y in ((a.v, b.v), (a.gram, b.gram)):
                np.testing.assert_array_equal(*(np.zeros(0) if z is None else z for z in (x, y)))
