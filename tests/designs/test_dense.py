"""Every product of a dense design against the literal one, over dtypes, orders and subsets."""

import numpy as np
import pytest
from sklearn import config_context

from skstretch.core import features
from skstretch.core.quadrant import Quadrant
from skstretch.designs import as_design, measure
from skstretch.designs import threads as blocks

M, D, A = 9, 7, -0.6
B = np.linspace(-0.2, 0.3, D)
EXPONENTS = {"exp": [1.0, 2.5, 10.0], "identity": [1.0, 2.5, 10.0], "linear": [1.0]}


def numbers(dtype):
    """Non-negative data that every dtype holds exactly; no column is constant."""
    whole = np.random.default_rng(0).integers(0, 9, (M, D))
    whole[0], whole[1] = 0, 8
    if np.dtype(dtype) == bool:
        return whole > 3
    return (whole + (0.25 if np.dtype(dtype).kind == "f" else 0)).astype(dtype)


def contained(name, folder):
    """The same numbers in another container."""
    if name == "C":
        return numbers(np.float64)
    if name == "F":
        return np.asfortranarray(numbers(np.float64))
    if name == "strided":
        wide = np.full((2 * M, 3 * D), np.nan)
        wide[::2, 1::3] = numbers(np.float64)
        return wide[::2, 1::3]
    if name == "memmap":
        path = folder / "X.npy"
        np.save(path, numbers(np.float64))
        return np.load(path, mmap_mode="r")
    return numbers(name)


CONTAINERS = ["C", "F", "strided", "memmap", "float32", "int64", "uint8", "bool"]

kinds = pytest.mark.parametrize("kind", ["exp", "linear", "identity"])
subsets = pytest.mark.parametrize("subset", ["all", "both"])


class Case:
    """A design and the same features written out."""

    def __init__(self, X, kind, subset="all"):
        rows = None if subset in ("all", "columns") else np.array([0, 1, 4, 5, 8])
        columns = None if subset in ("all", "rows") else np.array([0, 2, 3, 6])
        self.quadrant = Quadrant(kind, measure(X, np.ones(M)), A, B)
        self.design = as_design(X, self.quadrant, rows=rows, columns=columns)
        self.P = literal_features(X, kind)
        if rows is not None:
            self.P = self.P[rows]
        if columns is not None:
            self.P = self.P[:, columns]
        rng = np.random.default_rng(1)
        self.weights = rng.uniform(0.2, 3.0, len(self.P))
        self.V = rng.standard_normal((len(self.P), 3))
        self.coef = rng.standard_normal((self.P.shape[1], 2))

    def stretched(self, r):
        return self.P if r == 1.0 else self.P**r

    def mean(self, A):
        return self.weights @ A / self.weights.sum()


def literal_features(X, kind):
    X = np.array(X, dtype=np.float64)
    if kind == "identity":
        return X
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z if kind == "linear" else np.exp(A * Z + B)


def assert_close(found, expected, size=None):
    """To 1e-13 of the sizes that were added up."""
    size = np.abs(expected) if size is None else size
    assert found.shape == expected.shape
    assert np.all(np.abs(found - expected) <= 1e-13 * np.max(size))


@pytest.fixture(params=CONTAINERS)
def X(request, tmp_path):
    X = contained(request.param, tmp_path)
    copy = np.array(X)
    if X.flags.writeable:
        X.flags.writeable = False
    yield X
    np.testing.assert_array_equal(X, copy)


@pytest.fixture(params=["one number", "all"], autouse=True)
def block_size(request, monkeypatch):
    """Blocks of one column or row, and one block of everything."""
    if request.param == "one number":
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
        monkeypatch.setattr(blocks, "BLOCK_LENGTH", 1)
        assert len(list(blocks.blocks_of(D, M))) == D
    else:
        assert len(list(blocks.blocks_of(D, M))) == 1


@subsets
@kinds
def test_shape_and_dot(X, kind, subset):
    case = Case(X, kind, subset)
    assert case.design.shape == case.P.shape
    offset = np.exp(case.design.quadrant.b) if kind == "exp" else 0.0
    np.testing.assert_array_equal(case.design.offset, offset)
    size = np.abs(case.P) @ np.abs(case.coef)
    expected = (case.P - case.design.offset) @ case.coef
    assert_close(case.design.dot(case.coef), expected, size)


@subsets
@kinds
def test_gram(X, kind, subset):
    """One pass for every exponent; K in parts that add up to ``P Q'``."""
    case = Case(X, kind, subset)
    P, p = case.P, case.mean(case.P)
    grams = case.design.gram(EXPONENTS[kind], case.weights, None)
    assert [gram.r for gram in grams] == EXPONENTS[kind]
    for gram in grams:
        Q = case.stretched(gram.r)
        q, size = case.mean(Q), np.abs(P) @ np.abs(Q).T
        assert_close(gram.K, (P - p) @ (Q - q).T, size)
        assert_close(gram.Pq, (P - p) @ q, size)
        assert_close(gram.Qp, (Q - q) @ p, size)
        assert gram.pq == pytest.approx(p @ q, abs=1e-13 * size.max())
        assert_close(gram.K + gram.Pq[:, None] + gram.Qp + gram.pq, P @ Q.T, size)
        assert_close(gram.centre + case.design.offset, p, np.abs(P))


@subsets
@pytest.mark.parametrize("kind", ["exp", "identity"])
def test_gram_with_row_scales(X, kind, subset):
    case = Case(X, kind, subset)
    shifts = np.linspace(-1.0, 2.0, len(case.P))
    for gram in case.design.gram(EXPONENTS[kind], case.weights, shifts):
        P = case.P * np.exp(-shifts)[:, None]
        Q = case.stretched(gram.r) * np.exp(-gram.r * shifts)[:, None]
        assert_close(gram.K, P @ Q.T)


@pytest.mark.parametrize("scaled", [False, True])
@subsets
@kinds
def test_coefficients(X, kind, subset, scaled):
    """``alpha = Q' beta``, in the order of the columns."""
    case = Case(X, kind, subset)
    shifts = np.linspace(-1.0, 2.0, len(case.P)) if scaled else None
    for gram in case.design.gram(EXPONENTS[kind], case.weights, shifts):
        Q = case.stretched(gram.r)
        scale = np.exp(gram.r * shifts)[:, None] if scaled else np.ones((len(Q), 1))
        blocks = list(
            case.design.coefficients(gram.frame, case.V * scale, case.V.sum(axis=0), case.weights)
        )
        stops = [columns.stop for columns, _ in blocks]
        starts = [columns.start for columns, _ in blocks]
        assert starts == [0, *stops[:-1]]
        found = np.vstack([alpha for _, alpha in blocks])
        assert_close(found, Q.T @ case.V, np.abs(Q).T @ np.abs(case.V))


@subsets
@kinds
def test_column_products(X, kind, subset):
    case = Case(X, kind, subset)
    P, w = case.P, case.weights[:, None]
    p = case.mean(P)
    for r in EXPONENTS[kind]:
        Q = case.stretched(r)
        q = case.mean(Q)
        gram = case.design.column_grams([r], case.weights)[0]
        assert gram.log_columns is None
        size = np.abs(Q).T @ (w * np.abs(P))
        assert_close(gram.C, (Q - q).T @ (w * (P - p)), size)
        assert_close(gram.p, p, np.abs(P))
        assert_close(gram.q, q, np.abs(Q))
        assert gram.total_weight == pytest.approx(case.weights.sum(), rel=1e-14)
        size = np.abs(Q).T @ np.abs(case.V)
        assert_close(case.design.project(gram, case.V), (Q - q).T @ case.V, size)
        size = np.abs(Q).T @ (w * np.abs(Q))
        found = case.design.stretched_gram(gram, case.weights)
        assert_close(found, (Q - q).T @ (w * (Q - q)), size)


def test_column_products_with_scales():
    """Columns whose powers overflow are divided by their peaks."""
    X = numbers(np.float64) * 2.0 ** np.array([-90, 0, 3, 100, 0, 5, 120])
    design = Case(X, "identity").design
    gram = design.column_grams([10.0], np.ones(M))[0]
    np.testing.assert_allclose(gram.log_columns, 10 * np.log(X.max(axis=0)), rtol=1e-14)
    Q = (X / X.max(axis=0)) ** 10.0
    Qc, Pc = Q - Q.mean(axis=0), X - X.mean(axis=0)
    # column by column: they differ by sixty orders of magnitude
    size = X.max(axis=0)
    assert_close(gram.C / size, (Qc.T @ Pc) / size, np.full(1, M))
    assert_close(design.stretched_gram(gram, np.ones(M)), Qc.T @ Qc, np.full(1, M))


@subsets
@kinds
def test_row_peaks(X, kind, subset):
    """Only where the powers are not safe."""
    case = Case(X, kind, subset)
    assert case.design.row_peaks(10.0) is None
    largest = np.abs(case.P).max(axis=1)
    if X.dtype == bool and kind == "identity":
        # powers of ones and zeros are safe
        assert case.design.row_peaks(1e4) is None
        return
    found = case.design.row_peaks(1e4)
    np.testing.assert_allclose(found, np.log(np.where(largest > 0, largest, 1.0)), atol=1e-13)


@subsets
@kinds
def test_in_memory(X, kind, subset):
    case = Case(X, kind, subset)
    features = case.design.in_memory()
    assert_close(features.excess(1.0) + features.offset, case.P, np.abs(case.P) + 1)
    need = 4 * 8 * case.P.size
    with config_context(working_memory=(need - 1) / 2**20):
        assert case.design.in_memory() is None
    with config_context(working_memory=need / 2**20):
        assert case.design.in_memory() is not None


@kinds
def test_take_of_take_and_take_rows(X, kind):
    case = Case(X, kind, "both")
    columns, rows = np.array([1, 3]), np.array([0, 2, 4])
    part = case.design.take(columns)
    assert_close(
        part.dot(case.coef[:2]),
        (case.P[:, columns] - part.offset) @ case.coef[:2],
        np.abs(case.P) + 1,
    )
    part = part.take_rows(rows)
    P = case.P[np.ix_(rows, columns)]
    assert part.shape == P.shape
    assert_close(part.dot(case.coef[:2]), (P - part.offset) @ case.coef[:2], np.abs(case.P) + 1)
    again = part.take(np.array([1])).take_rows(np.array([2]))
    assert_close(again.dot(np.ones((1, 1))), P[2:, 1:] - again.offset, np.abs(case.P) + 1)


@subsets
@kinds
def test_row_features_and_slices(X, kind, subset):
    case = Case(X, kind, subset)
    rows = np.array([3, 0])
    features = case.design.row_features(rows)
    assert_close(features.excess(1.0) + features.offset, case.P[rows], np.abs(case.P) + 1)
    slices = list(case.design.row_slices())
    covered = np.concatenate([np.arange(len(case.P))[rows] for rows in slices])
    np.testing.assert_array_equal(covered, np.arange(len(case.P)))


@pytest.mark.parametrize("scaled", [False, True])
@kinds
def test_cross(X, kind, scaled):
    """The Gram matrix of new rows with the training rows."""
    case = Case(X, kind, "columns")
    new = case.design.take_rows(np.array([2, 7, 3]))
    shifts = np.linspace(-1.0, 2.0, M) if scaled else None
    for gram in case.design.gram(EXPONENTS[kind], case.weights, shifts):
        P, Q = case.P[[2, 7, 3]], case.stretched(gram.r)
        p, q = case.mean(case.P), case.mean(Q)
        size = np.abs(P) @ np.abs(Q).T
        K, Pq = case.design.cross(gram.frame, case.weights, new)
        if scaled:
            scale = np.exp(-gram.r * shifts)
            assert_close(K, P @ Q.T * scale, size * scale)
            np.testing.assert_array_equal(Pq, 0.0)
        else:
            assert_close(K, (P - p) @ (Q - q).T, size)
            assert_close(Pq, (P - p) @ q, size)


def test_moments(X):
    """Weights of zero leave a row out; float32 data counts as constant within its own rounding."""
    plain = np.array(X, dtype=np.float64)
    weights = np.linspace(0.5, 2.0, M)
    weights[3] = 0.0
    mean = np.average(plain, axis=0, weights=weights)
    moments = measure(X, weights)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-14)
    scale = np.sqrt(np.average((plain - mean) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(moments.scale, scale, rtol=1e-13)
    kept = np.delete(plain, 3, axis=0)
    np.testing.assert_array_equal(moments.smallest, kept.min(axis=0))
    np.testing.assert_allclose(moments.high, (kept.max(axis=0) - mean) / scale, rtol=1e-12)
    assert not moments.constant.any()


def test_moments_of_float32_rounding():
    X = np.full((M, 2), 0.7, dtype=np.float32)
    X[3, 0], X[3, 1] = np.nextafter(X[3, 0], np.float32(1)), 0.8
    np.testing.assert_array_equal(measure(X, np.ones(M)).constant, [True, False])
    np.testing.assert_array_equal(
        measure(X.astype(np.float64), np.ones(M)).constant, [False, False]
    )


@pytest.mark.parametrize("subset", ["rows", "columns"])
@kinds
def test_rows_or_columns_alone(kind, subset):
    case = Case(numbers(np.float64), kind, subset)
    assert case.design.shape == case.P.shape
    expected = (case.P - case.design.offset) @ case.coef
    assert_close(case.design.dot(case.coef), expected, np.abs(case.P) + 1)
    gram = case.design.column_grams([1.0], case.weights)[0]
    assert_close(gram.p, case.mean(case.P), np.abs(case.P) + 1)


@kinds
def test_new_data_is_bounded(kind):
    """Z-scores are, where they are asked to be; raw features never."""
    X = numbers(np.float64)
    quadrant = Quadrant(kind, measure(X, np.ones(M)), A, B)
    low, high = X.min(axis=0), X.max(axis=0)
    far, edge = high + 50.0, 2 * high - low
    coef = np.eye(D)
    found = as_design(far[None], quadrant, bounded=True).dot(coef)
    free = as_design(far[None], quadrant, bounded=False).dot(coef)
    at_edge = as_design(edge[None], quadrant, bounded=False).dot(coef)
    np.testing.assert_allclose(found, free if kind == "identity" else at_edge, rtol=1e-13)
    assert np.all(found != free) == (kind != "identity")


def test_small_working_memory_makes_small_blocks():
    with config_context(working_memory=4 * 8 * M * 2 / 2**20):
        sizes = [columns.stop - columns.start for columns in blocks.blocks_of(D, M)]
    assert max(sizes) <= 2
    assert sum(sizes) == D


@pytest.mark.parametrize("total", [0.0, 0.7])
@pytest.mark.parametrize("kind", ["exp", "identity", "linear"])
def test_coefficients_tile_by_tile(kind, total, monkeypatch):
    """As of one tile, for columns far from zero too, and against sums of fractions of rounding."""
    rng = np.random.default_rng(2)
    X = np.abs(rng.standard_normal((40, 30))) + np.logspace(0, 5, 30)
    weights, beta = rng.uniform(0.5, 2.0, 40), rng.standard_normal((40, 3))
    beta += (total - beta.sum(axis=0)) / 40
    moments = measure(X, weights)
    design = as_design(X, Quadrant(kind, moments, A, np.zeros(30)))
    for r in EXPONENTS[kind]:
        frame = design.gram([r], weights, None)[0].frame
        args = frame, beta, np.full(3, total), weights
        whole = np.vstack([alpha for _, alpha in design.coefficients(*args)])
        with monkeypatch.context() as patch:
            patch.setattr(features, "TILE_BYTES", 8 * 30 * 7)
            tiled = np.vstack([alpha for _, alpha in design.coefficients(*args)])
        P = design.in_memory().excess(1.0) + (1.0 if kind == "exp" else 0.0)
        Q = P.astype(np.longdouble) ** np.longdouble(r)
        true = (Q - Q.mean(axis=0)).T @ beta + np.outer(Q.mean(axis=0), np.full(3, total))
        size = np.abs(Q - Q.mean(axis=0)).T @ np.abs(beta) + total * np.abs(Q.mean(axis=0))[:, None]
        # features and powers are rounded themselves
        rounding = 40 * r * np.finfo(float).eps * np.abs(Q).T @ np.abs(beta)
        for found in (whole, tiled):
            assert np.all(np.abs(found - true) <= 1e-13 * size + rounding)
        assert np.all(np.abs(tiled - whole) <= 1e-13 * size)


@subsets
@kinds
@pytest.mark.parametrize("tile", [8, 8 * 3 * D, 1 << 19], ids=["row", "rows", "all"])
def test_back_is_about_the_weighted_means(kind, subset, tile, monkeypatch):
    """``Qc' V`` of Krylov's passes, for any V and however large a block is."""
    monkeypatch.setattr(features, "TILE_BYTES", tile)
    case = Case(numbers(np.float64), kind, subset)
    for r in EXPONENTS[kind]:
        Q = case.stretched(r)
        found = case.design.products(r, case.weights).back(case.V)
        size = np.abs(Q).T @ np.abs(case.V)
        assert_close(found, (Q - case.mean(Q)).T @ case.V, size)
