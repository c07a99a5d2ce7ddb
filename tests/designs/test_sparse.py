"""Sparse designs: the products of the dense design, no whole matrix made dense, odd matrices."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV
from skstretch.designs import as_design, measure, tidy
from skstretch.designs.sparse import SparseDesign
from tests.designs.products import (
    KINDS,
    assert_alike,
    design_of,
    plain_products,
    quadrant_of,
    scaled_products,
)
from tests.zoo import numbers, targets, weights

kinds = pytest.mark.parametrize("kind", KINDS)
shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
memories = pytest.mark.parametrize("memory", [1024, 0.005], ids=["at once", "in blocks"])
SUBSETS = {
    "all": lambda M, D: {},
    "some": lambda M, D: {"rows": np.arange(M)[1::2], "columns": np.arange(D)[::2]},
}
subsets = pytest.mark.parametrize("subset", SUBSETS)


def both(shape, kind, subset):
    """The same design sparse and dense, each with new data."""
    X = numbers(shape)
    chosen = SUBSETS[subset](*X.shape)
    quadrant = quadrant_of(X, kind)
    new = X[::-1][:9] * 1.4
    for held, held_new in ((tidy(sparse.csr_array(X)), sparse.csc_array(new)), (X, new)):
        yield (
            design_of(held, kind, **chosen, quadrant=quadrant),
            design_of(
                held_new, kind, columns=chosen.get("columns"), bounded=True, quadrant=quadrant
            ),
        )


@kinds
@shapes
@subsets
@memories
@pytest.mark.parametrize("products", [plain_products, scaled_products])
def test_products_are_those_of_the_dense_design(kind, shape, subset, memory, products):
    (design, new), (dense, dense_new) = both(shape, kind, subset)
    assert isinstance(design, SparseDesign)
    with config_context(working_memory=memory):
        found = products(design, kind, new)
    assert_alike(found, products(dense, kind, dense_new))


@pytest.mark.parametrize("cost", [0.0, 1e12], ids=["sparse product", "BLAS"])
@pytest.mark.parametrize("r", [2.5, 4000.0], ids=["plain", "scaled columns"])
@pytest.mark.parametrize("rows", [np.arange(7, 41), np.arange(41)[::2]], ids=["run", "every other"])
def test_the_stretched_gram_takes_the_means_of_any_rows(r, rows, cost, monkeypatch):
    """A block of rows is asked about the means of all rows, and with their scales."""
    monkeypatch.setattr("skstretch.designs.sparse.SPARSE_COST", cost)
    X = numbers("tall")
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    dense = design_of(X, "exp")
    whole = design_of(tidy(sparse.csr_array(X)), "exp", quadrant=dense.quadrant)
    w = np.linspace(0.5, 2.0, len(X))
    (gram,) = whole.column_grams([r], w)
    assert (gram.log_columns is None) == (r == 2.5)
    block = whole.take_rows(rows)
    assert block._rows_are_sparse == (cost == 0.0)
    Q = gram.stretched(dense.row_features(rows))
    own_mean = np.abs((w[rows] @ Q) / w[rows].sum())
    assert own_mean.max() > 1e-3 * np.abs(Q).max()  # the means are those of other rows
    expected = Q.T @ (w[rows, None] * Q)
    found = block.stretched_gram(gram, w[rows])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert not block.stretched_gram(gram, np.zeros(rows.size)).any()


@pytest.mark.parametrize("cost", [0.0, np.inf], ids=["all rare", "all frequent"])
@kinds
def test_the_split_by_cost_changes_nothing(kind, cost, monkeypatch):
    """Whatever share of the columns goes through BLAS."""
    (design, new), (dense, dense_new) = both("wide", kind, "all")
    monkeypatch.setattr("skstretch.designs.sparse.SPARSE_COST", min(cost, 1e12))
    frequent, rare = design.split
    assert (rare if cost else frequent).size <= 1  # a column without entries is always rare
    for products in (plain_products, scaled_products):
        assert_alike(products(design, kind, new), products(dense, kind, dense_new))


def test_both_sides_of_the_split_are_used():
    X = numbers((200, 40))
    X[:, 20:] *= np.random.default_rng(0).random((200, 20)) < 0.02
    design = design_of(tidy(sparse.csc_array(X)), "exp")
    frequent, rare = design.split
    assert 0 in frequent
    assert set(range(20, 40)) <= set(rare)


@kinds
def test_moments(kind):
    X = numbers("tall")
    for w in (np.ones(len(X)), weights(len(X)), np.random.default_rng(0).random(len(X))):
        found, true = measure(tidy(sparse.csr_array(X)), w), measure(X, w)
        for name in true.__dataclass_fields__:
            np.testing.assert_allclose(
                getattr(found, name), getattr(true, name), rtol=1e-13, atol=1e-14, err_msg=name
            )


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e-300])
def test_moments_whose_squares_leave_float64(scale):
    X = numbers("tall")
    X[:, 4] *= scale
    found, true = (measure(held, np.ones(len(X))) for held in (tidy(sparse.csr_array(X)), X))
    for name in true.__dataclass_fields__:
        np.testing.assert_allclose(getattr(found, name), getattr(true, name), rtol=1e-12, atol=0)


class Densified:
    """Counts the entries of every dense copy of a sparse matrix."""

    def __init__(self, monkeypatch):
        self.sizes = []
        for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix,
                    sparse.coo_array, sparse.coo_matrix):  # fmt: skip
            monkeypatch.setattr(cls, "toarray", self._counted(cls.toarray))

    def _counted(self, original):
        def toarray(matrix, *args, **keywords):
            self.sizes.append(matrix.shape[0] * matrix.shape[1])
            return original(matrix, *args, **keywords)

        return toarray


WORK = {
    "fit": lambda X, y: StretchyRegressor().fit(X, y),
    "identity": lambda X, y: StretchyRegressor(quadrant="identity", c=1.0).fit(X, y),
    "powers": lambda X, y: StretchyRegressor(k=1.02, a=-1.0, c=1.0).fit(X, y),
    "predict": lambda X, y: StretchyRegressor().fit(X, y).predict(X),
    "interval": lambda X, y: StretchyRegressor().fit(X, y).predict_interval(X[:20]),
    "coef_std": lambda X, y: StretchyRegressor().fit(X, y).coef_std(),
    "density": lambda X, y: StretchyRegressor(density=0.1).fit(X, y),
    "search": lambda X, y: StretchyRegressorCV(c_grid=(0.1, 1.0)).fit(X, y),
    "minimisers": lambda X, y: StretchyRegressorCV(
        a_grid=(0.0,), k_grid=(1.5,), c_grid=(1e-3, 0.01)
    ).fit(X, y),
    "compressed search": lambda X, y: StretchyRegressorCV(
        c_grid=(0.1, 1.0), k_grid=(1.5,), n_features_to_select=[1.0, 0.01], cv=3
    ).fit(X, y),
    "classes": lambda X, y: StretchyClassifier().fit(X, y > 0).predict_proba(X),
    "partial": lambda X, y: StretchyRegressor().partial_fit(X, y) if X.shape[1] < 999 else None,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.SmallerSearchWarning")
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.IllConditionedWarning")
@pytest.mark.parametrize("shape", [(60, 20_000), (6_000, 60)], ids=["wide", "tall"])
@pytest.mark.parametrize("work", WORK)
def test_no_whole_matrix_becomes_dense(work, shape, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array(shape, density=0.01, format="csr", random_state=rng)
    X += sparse.csr_array(([1.0] * shape[0], (np.arange(shape[0]), np.zeros(shape[0], int))), shape)
    y = rng.standard_normal(shape[0])
    densified = Densified(monkeypatch)
    # the lasso path is dense on so many numbers of the columns that correlate most
    monkeypatch.setattr("skstretch.search.selection.PATH_NUMBERS", 2**16)
    X[:2].toarray()
    assert densified.sizes == [2 * shape[1]]  # the counter counts
    budget = 1.0
    with config_context(working_memory=budget):
        WORK[work](X, y)
    assert max(densified.sizes) <= budget * 2**20 / 8 < X.shape[0] * X.shape[1] / 2


# What can be odd about a sparse matrix, and the same numbers in a plain one


def entries():
    X = sparse.csr_array(numbers("wide"))
    return X, targets(X.toarray())


def with_explicit_zeros(X):
    held = X.tocsr().copy()
    dense = np.array(held.toarray())
    held.data[::5] = 0.0
    return held, np.where(dense != 0, 0, 0) + held.toarray()


def with_negative_zeros(X):
    held, dense = with_explicit_zeros(X)
    held.data[held.data == 0] = -0.0
    return held, dense


def with_empty_rows(X):
    dense = X.toarray()
    dense[[0, 5, 23]] = 0.0
    return sparse.csr_array(dense), dense


def with_empty_columns(X):
    dense = X.toarray()
    dense[:, [3, 10, 69]] = 0.0
    return sparse.csc_array(dense), dense


def with_duplicates(X):
    entries = X.tocoo()
    row, column = (np.concatenate([i, i]) for i in (entries.row, entries.col))
    data = np.concatenate([0.25 * entries.data, 0.75 * entries.data])
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    held = sparse.csr_array((data[order], column[order], indptr), shape=X.shape)
    assert not held.has_canonical_format
    return held, X.toarray()


def with_duplicates_by_column(X):
    held, dense = with_duplicates(X.T.tocsr())
    return held.T, dense.T


def with_unsorted_indices(X):
    held = X.tocsr().copy()
    for start, stop in zip(held.indptr[:-1], held.indptr[1:], strict=True):
        held.indices[start:stop] = held.indices[start:stop][::-1]
        held.data[start:stop] = held.data[start:stop][::-1]
    held.has_sorted_indices = False
    return held, X.toarray()


def with_long_indices(X):
    held = X.tocsr().copy()
    held.indices, held.indptr = held.indices.astype(np.int64), held.indptr.astype(np.int64)
    return held, X.toarray()


def with_bools(X):
    held = (X > 1.0).tocsr()
    assert held.dtype == bool
    return held, held.toarray().astype(float)


def with_integers(X):
    held = (10 * X).astype(np.int32)
    return held, held.toarray().astype(float)


def with_bytes(X):
    held = (10 * X).astype(np.uint8)
    return held, held.toarray().astype(float)


def as_entries(X):
    return X.tocoo(), X.toarray()


def as_lists(X):
    return X.tolil(), X.toarray()


ODD = [
    with_explicit_zeros, with_negative_zeros, with_empty_rows, with_empty_columns,
    with_duplicates, with_duplicates_by_column, with_unsorted_indices, with_long_indices,
    with_bools, with_integers, with_bytes, as_entries, as_lists,
]  # fmt: skip


def parts(X):
    """Copies of all that a sparse matrix consists of."""
    names = ("data", "indices", "indptr") if X.format in ("csr", "csc") else ()
    arrays = {name: getattr(X, name).copy() for name in names}
    flags = {name: vars(X).get(name) for name in ("_has_sorted_indices", "_has_canonical_format")}
    return arrays, flags, X.shape, X.dtype


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_odd_matrices_are_the_numbers_that_they_stand_for(odd, fit_intercept):
    X, y = entries()
    held, dense = odd(X)
    before, _, *kind = parts(held)
    params = {"c": 1.0, "fit_intercept": fit_intercept}
    found = StretchyRegressor(**params).fit(held, y)
    true = StretchyRegressor(**params).fit(dense, y)
    np.testing.assert_allclose(found.alpha_, true.alpha_, rtol=0, atol=1e-10 * np.ptp(true.alpha_))
    np.testing.assert_array_equal(found.support_, true.support_)
    np.testing.assert_allclose(found.predict(held), true.predict(dense), rtol=1e-10)
    for side, other in zip(
        found.predict_interval(held, 0.7), true.predict_interval(dense, 0.7), strict=True
    ):
        np.testing.assert_allclose(side, other, rtol=1e-9)
    _, _, *kind_after = parts(held)
    assert kind == kind_after
    for name, values in before.items():
        np.testing.assert_array_equal(values, getattr(held, name), err_msg=name)
        assert values.dtype == getattr(held, name).dtype


def test_flags_of_the_users_matrix_stay_true():
    """Scipy caches what it found out; a cached word about the user's matrix must not be false."""
    X, y = entries()
    for odd in (with_duplicates, with_duplicates_by_column, with_unsorted_indices):
        held, _ = odd(X)
        StretchyRegressor(c=1.0).fit(held, y).predict(held)
        fresh = type(held)((held.data, held.indices, held.indptr), shape=held.shape)
        assert held.has_sorted_indices == fresh.has_sorted_indices
        assert held.has_canonical_format == fresh.has_canonical_format
        assert not held.has_canonical_format


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_numbers_that_are_none(value, form):
    X, y = entries()
    X.data[7] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        StretchyRegressor().fit(X.asformat(form), y)
    good, _ = entries()
    fitted = StretchyRegressor().fit(good, y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.predict(X.asformat(form))


def test_complex_and_text_are_refused():
    X, y = entries()
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        StretchyRegressor().fit(X.astype(complex), y)


@pytest.mark.parametrize("fit_intercept", [True, "column", False])
@pytest.mark.parametrize("quadrant", ["exp", "identity"])
@pytest.mark.parametrize("stored", [False, True], ids=["nothing stored", "zeros stored"])
def test_a_matrix_of_zeros(fit_intercept, quadrant, stored):
    """No column varies: what is left is what a dense matrix of zeros leaves."""
    X = sparse.csr_array((20, 30))
    if stored:
        X = sparse.csr_array((np.zeros(5), (np.arange(5), np.arange(5))), shape=(20, 30))
    y = np.arange(20.0)
    params = {"fit_intercept": fit_intercept, "quadrant": quadrant}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, true = (StretchyRegressor(**params).fit(held, y) for held in (X, X.toarray()))
    np.testing.assert_array_equal(found.alpha_, 0.0)
    np.testing.assert_allclose(found.predict(X), true.predict(X.toarray()))


@pytest.mark.parametrize("params", [{}, {"k": 1.05}, {"k": 1.05, "a": -0.6}, {"a": 0.0}], ids=str)
@pytest.mark.parametrize("quadrant", ["exp", "identity"])
def test_a_full_column_far_from_zero(params, quadrant):
    """A column of years: its zero would be 600 deviations away, and no row has it."""
    X, y = entries()
    dense = X.toarray()
    dense[:, 5] = 2000.0 + np.arange(len(dense)) % 9
    if quadrant == "identity":
        dense[:, 5] /= 1000.0
    new = dense.copy()
    new[::4, 5] = 0.0  # here a row has it, and it is bounded
    model = StretchyRegressor(c=1.0, quadrant=quadrant, **params)

    def answers(to):
        fitted = model.fit(to(dense), y)
        intervals = fitted.predict_interval(to(new[:5]), 0.7)
        return fitted.predict(to(dense)), fitted.predict(to(new)), *intervals, fitted.coef_std(1.0)

    for one, other in zip(answers(sparse.csr_array), answers(np.array), strict=True):
        finite = np.isfinite(other)
        np.testing.assert_allclose(
            one[finite], other[finite], rtol=0, atol=1e-10 * np.abs(other[finite]).max(initial=0)
        )


def test_negative_data_is_refused_by_name():
    X, y = entries()
    X.data[X.indices == 12] *= -1
    with pytest.raises(ValueError, match="column 12 has a negative value"):
        StretchyRegressor(quadrant="identity").fit(X, y)


def test_rows_and_columns_that_do_not_fit():
    X, y = entries()
    fitted = StretchyRegressor().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :-1])
    with pytest.raises(ValueError, match="inconsistent"):
        StretchyRegressor().fit(X, y[:-1])
    assert fitted.predict(X[:1]).shape == (1,)
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(X[:0])


def test_one_sparse_row_or_column():
    X, y = entries()
    one = X[:, [0]]
    dense = StretchyRegressor(c=1.0).fit(one.toarray(), y)
    np.testing.assert_allclose(
        StretchyRegressor(c=1.0).fit(one, y).predict(one), dense.predict(one.toarray()), rtol=1e-10
    )


def test_tidy_leaves_what_is_tidy_alone():
    X = sparse.csc_array(numbers("wide"))
    assert tidy(X) is X
    assert as_design(X, quadrant_of(X, "exp")).X is X
