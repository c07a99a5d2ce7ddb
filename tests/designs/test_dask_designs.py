"""Every product of a Dask design against the same product in memory."""

import tracemalloc

import numpy as np
import pytest
import sklearn
from scipy import sparse

from skstretch.core.gram import Frame
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.designs import as_design, measure, rows_in_memory, tidy
from skstretch.designs.dask.array import SUB_BLOCK_COPIES, Block
from skstretch.designs.dask.design import MomentsAndGrams
from skstretch.designs.dask.passes import Own, Shared, work_on
from skstretch.designs.threads import BLOCK_BYTES
from skstretch.estimators.inputs import Transform
from tests.dask_arrays import as_dask, tall, wide

RNG = np.random.default_rng(5)
CASES = [(kind, shape) for kind in ("dense", "sparse") for shape in ("wide", "tall")]


def pair(kind, shape, a=-0.2, rows=None, bounded=False, all_columns=False):
    """The design in memory, and by blocks."""
    X = wide(kind) if shape == "wide" else tall(kind)
    weights = np.ones(X.shape[0])
    if rows is not None:
        weights = np.zeros(X.shape[0])
        weights[rows] = RNG.uniform(0.5, 2.0, rows.size)
    blocks = tidy(as_dask(X, (-1, 37) if shape == "wide" else (41, -1)))
    X = tidy(X)
    moments = measure(X, weights)
    again = measure(blocks, weights)
    for name in moments.__dataclass_fields__:
        expected = getattr(moments, name)
        np.testing.assert_allclose(getattr(again, name), expected, rtol=1e-13, atol=1e-14)
    b = RNG.uniform(-0.1, 0.1, X.shape[1])
    kind_of = "linear" if a == 0 else "exp"
    columns = None if all_columns else np.flatnonzero(~moments.constant)
    designs = [
        as_design(data, Quadrant(kind_of, moments, a, b), rows=rows, columns=columns,
                  bounded=bounded)
        for data in (X, blocks)
    ]  # fmt: skip
    return *designs, weights[weights > 0]


def close(actual, expected, tolerance=1e-13):
    size = max(np.abs(expected).max(), 1e-300)
    assert np.abs(actual - expected).max() <= tolerance * size


@pytest.fixture(params=CASES, ids="-".join)
def case(request):
    return request.param


@pytest.mark.parametrize("used", [None, np.arange(4, 30, 2)])
def test_products(case, used):
    here, there, weights = pair(*case, rows=used)
    assert here.shape == there.shape
    np.testing.assert_array_equal(here.offset, there.offset)
    coef = RNG.standard_normal((here.shape[1], 3))
    close(there.dot(coef), here.dot(coef))
    beta = RNG.standard_normal((here.shape[0], 3))
    total = beta.sum(axis=0)
    frame = here.gram([2.5], weights, None)[0].frame if case[1] == "wide" else None
    if frame is None:
        gram = here.column_grams([2.5], weights)[0]
        frame = Frame(2.5, gram.centre, None)
    found = [np.vstack([part for _, part in d.coefficients(frame, beta, total, weights)])
             for d in (here, there)]  # fmt: skip
    close(found[1], found[0])
    index = np.arange(0, here.shape[0], 3)
    close(there.row_features(index).excess(1.5), here.row_features(index).excess(1.5))
    close(there.in_memory().excess(1.0), here.in_memory().excess(1.0))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("borders", [True, False])
def test_dual_grams_agree_to_1e_13(kind, borders):
    here, there, weights = pair(kind, "wide", rows=np.arange(1, 30))
    exponents = [1.0, 2.0, 10.0]
    pairs = zip(here.gram(exponents, weights, None, borders),
                there.gram(exponents, weights, None, borders), strict=True)  # fmt: skip
    for expected, gram in pairs:
        close(gram.K, expected.K)
        close(gram.centre, expected.centre)
        close(gram.Pq, expected.Pq)
        close(gram.Qp, expected.Qp)
        assert gram.pq == pytest.approx(expected.pq, rel=1e-13)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_scaled_rows_and_peaks(kind):
    here, there, weights = pair(kind, "wide", a=-2.0 if kind == "dense" else -9.0)
    peaks = here.row_peaks(250.0)
    close(there.row_peaks(250.0), peaks)
    assert there.row_peaks(1.0) is None
    close(there.gram([50.0], weights, peaks)[0].K, here.gram([50.0], weights, peaks)[0].K)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("held", [0, 45])
def test_primal_grams(kind, held):
    here, there, weights = pair(kind, "tall")
    weights[:held] = 0.0  # the first block may have no row of positive weight
    exponents = [1.0, 2.0, 10.0]
    reference = here.take_rows(np.flatnonzero(weights > 0))
    pairs = zip(reference.column_grams(exponents, weights[weights > 0]),
                there.column_grams(exponents, weights), strict=True)  # fmt: skip
    V = RNG.standard_normal((here.shape[0], 2))
    for expected, gram in pairs:
        close(gram.C, expected.C)
        close(gram.centre, expected.centre)
        close(gram.q_centre, expected.q_centre)
        close(there.project(expected, V), here.project(expected, V), 1e-12)
    if not held:
        gram = here.column_grams([2.0], weights)[0]
        close(there.stretched_gram(gram, weights), here.stretched_gram(gram, weights), 1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("memory", [1024, 0.05])
def test_cross_with_new_rows(kind, memory):
    here, there, weights = pair(kind, "wide")
    new = as_design(wide("dense", seed=1), here_quadrant(kind), columns=there.columns, bounded=True)
    frame = here.gram([2.0], weights, None)[0].frame
    with sklearn.config_context(working_memory=memory):
        for actual, expected in zip(there.cross(frame, weights, new),
                                    here.cross(frame, weights, new), strict=True):  # fmt: skip
            close(actual, expected, 1e-12)


def here_quadrant(kind):
    X = tidy(wide(kind))
    moments = measure(X, np.ones(X.shape[0]))
    return Quadrant("exp", moments, -0.2, np.zeros(X.shape[1]))


@pytest.mark.parametrize("memory", [1024, 0.002])
def test_selections_come_into_memory_where_they_are_small(case, memory):
    with sklearn.config_context(working_memory=memory):
        here, there, _ = pair(*case)
        for count in (here.shape[1] // 8 + 2, here.shape[1] - 2):
            some = np.sort(RNG.choice(here.shape[1], count, replace=False))
            a, b = here.take(some), there.take(some)
            coef = RNG.standard_normal((count, 1))
            close(b.dot(coef), a.dot(coef))
            rows = np.arange(3, 25)
            close(b.take_rows(rows).dot(coef), a.take_rows(rows).dot(coef))


def test_only_new_columns_of_a_selection_are_read(monkeypatch):
    _, there, _ = pair("dense", "wide", all_columns=True)
    from skstretch.designs.dask import passes as dask_gather

    asked = []
    result = dask_gather.iterated
    monkeypatch.setattr(
        dask_gather,
        "iterated",
        lambda *a, **k: asked.append(sum(map(len, a[2]))) or result(*a, **k),
    )
    there.take(np.arange(0, 20))
    there.take(np.arange(5, 25))
    there.take(np.arange(2, 22))
    assert asked == [20, 5]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_in_any_order(kind):
    for X, chunks in ((wide(kind), (-1, 37)), (tall(kind), (41, -1))):
        rows = np.array([7, 2, 29, 11])
        array = tidy(as_dask(X, chunks))
        for found in (rows_in_memory(array, rows), array[rows]):
            assert sparse.issparse(found) == sparse.issparse(X)
            values = [data.toarray() if sparse.issparse(data) else data for data in (found, X)]
            np.testing.assert_array_equal(values[0], values[1][rows])


def test_the_form_that_would_need_all_of_x_in_memory_is_refused():
    _, there, weights = pair("dense", "wide")
    with pytest.raises(ValueError, match=r'solver="auto" or "dual" on a wide Dask array'):
        there.column_grams([1.0], weights)
    _, there, weights = pair("dense", "tall")
    with pytest.raises(ValueError, match=r'solver="auto" or "primal" on a tall Dask array'):
        there.gram([1.0], weights, None)


def test_the_same_graph_gives_the_same_bits():
    _, there, weights = pair("dense", "wide")
    first, second = (there.gram([4.0], weights, None)[0].K for _ in range(2))
    assert np.array_equal(first, second)


def test_a_task_needs_no_more_than_the_formula_beside_its_chunk():
    n_rows, n_columns, exponents = 200, 16_000, [1.0, 2.0, 4.0]
    chunk = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    block = Block(0, 1, slice(0, n_rows), slice(0, n_columns), "feature")
    transform = Transform("exp", -0.2, np.zeros(()), Intercept.FREE, None, exponents)
    shared = Shared(MomentsAndGrams([transform], np.ones(n_rows), False), 1024)
    tracemalloc.start()
    try:
        work_on(chunk, shared, Own(block, None))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    width = BLOCK_BYTES // (8 * n_rows)
    sums = 8 * len(exponents) * n_rows**2
    moments = 20 * 8 * n_columns
    assert peak < SUB_BLOCK_COPIES * 8 * n_rows * width + sums + moments
    assert peak < 0.6 * chunk.nbytes
