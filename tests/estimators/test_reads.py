"""How often data that is read in blocks is read: the numbers of docs/large.md and scaling.md."""

import dask
import dask.array as da
import numpy as np
import pytest
import sklearn
from sklearn.model_selection import KFold

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

rng = np.random.default_rng(0)
DATA = {"wide": rng.standard_normal((24, 70)), "tall": rng.standard_normal((70, 9))}
# four pairs of a and k, all closed forms
GRID = {"combine": "best", "a_grid": (-0.2, 0.1), "k_grid": (1.1, 2.0), "c_grid": (0.1, 1.0)}
EXACT = {"combine": "best", "a_grid": (0.0,), "c_grid": (0.1, 1.0), "k_grid": (1.25, 1.5)}
SMALL = 0.002  # MiB of working memory: the tall data does not fit a quarter of it


class Counting:
    """An array that lives elsewhere and counts how often each of its numbers is read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.reads = np.zeros(array.shape, dtype=int)

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        self.reads[key] += 1
        return self.array[key]


def counting_blocks(X):
    """X in blocks of ten columns or rows, and how often they are made."""
    reads = np.zeros(X.shape, dtype=int)

    def make(chunk, block_info=None):
        rows, columns = (slice(*span) for span in block_info[0]["array-location"])
        reads[rows, columns] += 1
        return X[rows, columns]

    empty = da.empty(X.shape, chunks=(-1, 10) if X.shape[0] <= X.shape[1] else (10, -1))
    blocks = empty.map_blocks(make, dtype=float, meta=np.empty((0, 0)))
    reads[:] = 0  # Dask may try a function out before it is used
    return blocks, reads


def target(X):
    """What four features explain."""
    return X[:, :4].sum(axis=1) + 0.3 * np.random.default_rng(1).standard_normal(len(X))


def reads_of(model, X, store, memory=1024, weights=None):
    """How often a fit reads every number."""
    y = target(X)
    if "Classifier" in type(model).__name__:
        y = y > np.median(y)
    if store == "dask":
        data, reads = counting_blocks(X)
    else:
        data = Counting(X)
        reads = data.reads
    with sklearn.config_context(working_memory=memory), dask.config.set(scheduler="synchronous"):
        model.fit(data, y, sample_weight=weights)
    return reads


def regressor(**params):
    return StretchyRegressor(c=1.0, **params)


# a model, and the passes of wide data, tall data, and tall data of Dask
WALKS = {
    "fit": (regressor, 2, 3, 3),
    "linear": (lambda: regressor(k=2.0, a=0.0), 2, 3, 3),
    "column": (lambda: regressor(fit_intercept="column"), 2, 3, 3),
    "qr": (lambda: regressor(solver="qr"), 2, 2, 2),
    "classifier": (lambda: StretchyClassifier(c=1.0), 2, 4, 4),
    "automatic c": (StretchyClassifier, 2, 4, 4),
    # moments; C of every a; targets, then held-out rows, of every (a, k): with Dask of every a
    "search": (lambda: StretchyRegressorCV(**GRID), 2, 1 + 2 + 4 + 4, 1 + 2 + 2 + 2),
    "classes": (lambda: StretchyClassifierCV(**GRID), 2, 1 + 2 + 4 + 4, 1 + 2 + 2 + 2),
    "folds": (lambda: StretchyRegressorCV(cv=4, **GRID), 2, 1 + 2 + 4 + 4, 1 + 2 + 2 + 2),
}


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize(
    ("shape", "store"), [("wide", "file"), ("wide", "dask"), ("tall", "file"), ("tall", "dask")]
)
def test_walks(name, shape, store):
    make, wide, tall, tall_dask = WALKS[name]
    reads = reads_of(make(), DATA[shape], store)
    expected = wide if shape == "wide" else tall if store == "file" else tall_dask
    assert reads.min() == reads.max() == expected


@pytest.mark.parametrize("name", ["search", "classes"])
def test_rows_of_dask_that_do_not_fit_are_read_for_every_k(name):
    reads = reads_of(WALKS[name][0](), DATA["tall"], "dask", SMALL)
    assert reads.min() == reads.max() == 1 + 2 + 4 + 4


@pytest.mark.parametrize("shape", DATA)
@pytest.mark.parametrize("store", ["file", "dask"])
def test_a_search_predicts_samples_of_weight_zero_at_its_end(shape, store):
    X = DATA[shape]
    weights = np.where(np.arange(len(X)) % 4 == 1, 0.0, 1.5)
    make, wide, tall, tall_dask = WALKS["search"]
    products = wide if shape == "wide" else tall if store == "file" else tall_dask
    reads = reads_of(make(), X, store, weights=weights)
    # rows of weight zero are in no pass but those over whole blocks and the last
    assert reads.max() == products + 1


@pytest.mark.parametrize("store", ["file", "dask"])
def test_powers_that_need_scaled_rows_take_three_more(store):
    """Two for the scales, and one that looks for copies of samples where digits would be lost."""
    reads = reads_of(regressor(k=1.02, a=-6.0), DATA["wide"], store)
    assert reads.min() == reads.max() == 2 + 3


@pytest.mark.parametrize("shape", DATA)
@pytest.mark.parametrize("store", ["file", "dask"])
def test_a_second_pass_takes_two_more_at_most(shape, store):
    products = {"wide": 2, "tall": 3}[shape]
    reads = reads_of(regressor(density=0.3), DATA[shape], store)
    assert products < reads.max() <= products + 2


@pytest.mark.parametrize(("shape", "most"), [("wide", 2 + 8 * (4 + 2 * 4) + 2), ("tall", 99)])
def test_densities_of_dask(shape, most):
    """At most 4 + 2 a fold more for every candidate; one in all where X fits."""
    model = StretchyRegressorCV(cv=4, n_features_to_select=[1.0, 0.3], **GRID)
    assert 1 < reads_of(model, DATA[shape], "dask", SMALL).max() <= most
    reads = reads_of(model, DATA[shape], "dask")
    assert reads.min() == reads.max() == 1


def test_scattered_folds_of_a_file_take_up_to_a_walk_each():
    model = StretchyRegressorCV(cv=KFold(5, shuffle=True, random_state=0), **GRID)
    reads = reads_of(model, DATA["tall"], "file")
    assert 1 + 2 + 4 + 4 < reads.max() <= 1 + 2 + 4 + 4 * 5


@pytest.mark.parametrize("cv", [None, 4])
def test_exact_minimisers_of_a_file_that_fits(cv):
    """Into memory, once."""
    reads = reads_of(StretchyRegressorCV(cv=cv, **EXACT), DATA["wide"], "file")
    assert reads.min() == reads.max() == 1


@pytest.mark.parametrize("search", [StretchyRegressorCV, StretchyClassifierCV])
@pytest.mark.parametrize("store", ["dask", "file"])
@pytest.mark.parametrize(("memory", "products"), [(SMALL, 2), (1024, 1)])
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.SmallerSearchWarning")
def test_automatic_powers_at_a_0_are_those_that_cost_no_walk_a_step(
    search, store, memory, products
):
    model = search(combine="best")
    assert reads_of(model, DATA["wide"], store, memory).max() <= products
    linear = model.cv_results_["param_a"] == 0
    least = 1.02 if products == 1 else 2.0
    assert model.cv_results_["param_k"][linear].min() == least


def test_exact_minimisers_of_dask_share_their_walks():
    """A pass a step, in which all powers take theirs."""

    def passes(ks):
        model = StretchyRegressorCV(**EXACT | {"k_grid": ks})
        return reads_of(model, DATA["wide"], "dask", SMALL).max()

    both, *each = passes((1.25, 1.5)), passes((1.25,)), passes((1.5,))
    assert max(each) < both < sum(each)


@pytest.mark.parametrize("store", ["file", "dask"])
def test_candidates_of_a_mixture_share_the_walk_for_their_coefficients(store):
    grid = {"a_grid": (-0.2,), "k_grid": (1.25, 1.5, 2.0), "c_grid": (0.1, 1.0)}
    model = StretchyRegressorCV(**grid)
    reads = reads_of(model, DATA["wide"], store)
    assert model.weights_["weight"].size == 3
    assert reads.min() == reads.max() == 2
    in_memory = StretchyRegressorCV(**grid).fit(DATA["wide"], target(DATA["wide"]))
    np.testing.assert_allclose(model.coef_, in_memory.coef_, rtol=1e-10)
