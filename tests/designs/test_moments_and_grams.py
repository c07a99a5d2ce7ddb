"""How often data is read, and that neither blocks nor threads change a result."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV
from skstretch.designs import Source, measure, moments_and_grams, tidy
from skstretch.designs.dense import DenseDesign
from tests.designs.products import design_of, quadrant_of
from tests.zoo import CountingArray, numbers, targets, weights

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
GRID = {"a_grid": (-0.4, -0.2, 0.1), "k_grid": (1.1, 1.25, 1.5, 2.0), "c_grid": (0.1, 1.0, 10.0)}
MANY_BLOCKS = 0.02


def set_blocks(monkeypatch, length):
    """Blocks of `length` rows or columns, whatever they weigh."""
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_BYTES", 1)
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_LENGTH", length)


def set_threads(monkeypatch, count):
    """Work shared among threads, however small it is."""
    monkeypatch.setattr("skstretch.designs.threads.SHARED_SIZE", 1)
    for module in ("threads", "dense"):
        monkeypatch.setattr(f"skstretch.designs.{module}.available_threads", lambda: count)


# Reads


@pytest.mark.parametrize("fit_intercept", [True, "column", False])
@pytest.mark.parametrize("quadrant", ["exp", "identity"])
def test_a_wide_fit_reads_twice(fit_intercept, quadrant):
    """Moments and K in one pass, the coefficients in another."""
    X = numbers("wide")
    array = CountingArray(X)
    params = {"fit_intercept": fit_intercept, "quadrant": quadrant, "c": 1e-2}
    with config_context(working_memory=MANY_BLOCKS):
        StretchyRegressor(**params).fit(array, targets(X))
    # constant columns have no coefficient, and may be left out of the second pass
    assert np.all(array.reads <= 2)
    varying = np.ptp(X, axis=0) > 0
    assert np.all(array.reads[:, varying] == 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_wide_search_reads_twice_for_all_a_and_k(weighted):
    X = numbers("wide")
    array = CountingArray(X)
    with config_context(working_memory=MANY_BLOCKS):
        search = StretchyRegressorCV(**GRID, combine="best")
        search.fit(array, targets(X), sample_weight=weights(len(X)) if weighted else None)
    assert len(search.cv_results_["param_k"]) > 20
    assert array.reads[:, np.ptp(X, axis=0) > 0].max() == 2 + weighted  # rows without weight
    if not weighted:
        assert np.all(array.reads[:, np.ptp(X, axis=0) > 0] == 2)


def test_a_mixture_reads_once_more_for_every_a():
    X = numbers("wide")
    array = CountingArray(X)
    with config_context(working_memory=MANY_BLOCKS):
        search = StretchyRegressorCV(**GRID).fit(array, targets(X))
    a = search.weights_["a"]
    assert len(a) > np.unique(a).size
    assert array.reads[:, np.ptp(X, axis=0) > 0].max() == 1 + np.unique(a).size


def test_a_wide_classifier_reads_twice():
    X = numbers("wide")
    array = CountingArray(X)
    y = targets(X)
    StretchyClassifier(c=1.0).fit(array, y > np.median(y))
    assert array.reads.max() == 2


def test_a_tall_fit_reads_three_times():
    """Moments; products; the projection of the targets."""
    X = numbers("tall")
    array = CountingArray(X)
    with config_context(working_memory=MANY_BLOCKS):
        fitted = StretchyRegressor(c=1.0).fit(array, targets(X))
    assert fitted._state.space == "primal"
    np.testing.assert_array_equal(array.reads[:, np.ptp(X, axis=0) > 0], 3)


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_prediction_reads_once(shape):
    X = numbers(shape)
    fitted = StretchyRegressor().fit(X, targets(X))
    array = CountingArray(X)
    with config_context(working_memory=MANY_BLOCKS):
        fitted.predict(array)
    assert array.reads.max() == 1


# Blocks and threads


def designs(X):
    yield "dense", design_of(X, "exp")
    yield "blocked", design_of(Source(CountingArray(X)), "exp", quadrant=quadrant_of(X, "exp"))
    yield "sparse", design_of(tidy(sparse.csr_array(X)), "exp", quadrant=quadrant_of(X, "exp"))


def grams(X, name):
    design = dict(designs(X))[name]
    w = np.linspace(0.5, 2.0, len(X))
    dual = [gram.K for gram in design.gram([1.0, 4.0, 10.0], w, None)]
    return dual + [gram.C for gram in design.column_grams([1.0, 4.0, 10.0], w)]


kinds = pytest.mark.parametrize("name", ["dense", "blocked", "sparse"])
BLOCKS = (1, 7, 23, 10_000)


@kinds
@pytest.mark.parametrize("length", BLOCKS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_K_is_the_same_for_any_blocks_and_threads(name, length, threads, monkeypatch):
    X = numbers((30, 90))
    true = grams(X, "dense")
    set_blocks(monkeypatch, length)
    set_threads(monkeypatch, threads)
    for found, expected in zip(grams(X, name), true, strict=True):
        scale = 1e-13 * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=scale)


@pytest.mark.parametrize("memory", [0.003, 0.05, 1024])
def test_K_is_the_same_for_any_working_memory(memory):
    X = numbers((30, 90))
    true = grams(X, "dense")
    for name in ("dense", "blocked", "sparse"):
        with config_context(working_memory=memory):
            found = grams(X, name)
        for one, other in zip(found, true, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * np.abs(other).max())


def held(X, name):
    return {"dense": lambda: X, "blocked": lambda: CountingArray(X)}.get(
        name, lambda: sparse.csr_array(X)
    )()


@kinds
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_predictions_are_the_same_for_any_blocks(name, shape, monkeypatch):
    X = numbers(shape)
    y = targets(X)
    true = StretchyRegressor(c=1.0).fit(X, y).predict(X)
    for length in BLOCKS:
        for threads in (1, 2):
            set_blocks(monkeypatch, length)
            set_threads(monkeypatch, threads)
            found = StretchyRegressor(c=1.0).fit(held(X, name), y).predict(held(X, name))
            np.testing.assert_allclose(found, true, rtol=0, atol=1e-10 * np.abs(true).max())


@kinds
@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_blocks_and_threads_give_the_same_bits(name, shape, threads, monkeypatch):
    X = numbers(shape)
    set_blocks(monkeypatch, 7)
    set_threads(monkeypatch, threads)

    def bits():
        search = StretchyRegressorCV(**GRID).fit(held(X, name), targets(X))
        return np.concatenate(
            [search.coef_, search.cv_predictions_, search.predict(held(X, name))]
        ).tobytes()

    assert len({bits() for _ in range(4)}) == 1


# The moments and Gram matrices itself


class Stretched:
    """What a moments and Gram matrices is told: which transform follows from the moments, and the
    exponents."""

    def __init__(self, exponents, whole):
        self.exponents, self.whole = exponents, whole


def test_survey_is_moments_and_grams():
    X = numbers("wide")
    w = np.linspace(0.5, 2.0, len(X))
    true = measure(X, w)

    def whole(moments, columns):
        quadrant = quadrant_of(X[:, columns], "exp")
        return type(quadrant)("exp", moments, -0.6, quadrant.b), np.flatnonzero(~moments.constant)

    source = Source(CountingArray(X))
    with config_context(working_memory=MANY_BLOCKS):
        moments, ready = moments_and_grams(
            source, w, [Stretched([1.0, 4.0], whole)] * 2, borders=True
        )
    for name in true.__dataclass_fields__:
        np.testing.assert_allclose(getattr(moments, name), getattr(true, name), rtol=1e-12)
    assert len(ready) == 2
    assert {*ready[0].grams} == {1.0, 4.0}
    assert ready[0].find([1.0], w, None, borders=True)[0].K.shape == (len(X), len(X))


def test_what_is_ready_is_only_used_where_it_fits():
    X = numbers("wide")
    w = np.ones(len(X))

    def whole(moments, columns):
        return quadrant_of(X[:, columns], "exp"), np.arange(columns.stop - columns.start)

    _, (ready,) = moments_and_grams(
        Source(CountingArray(X)), w, [Stretched([1.0], whole)], borders=False
    )
    assert ready.find([1.0], w, None, borders=False) is not None
    assert ready.find([1.0], w, None, borders=True) is None
    assert ready.find([1.0, 2.0], w, None, borders=False) is None
    assert ready.find([1.0], 2 * w, None, borders=False) is None
    assert ready.find([1.0], w, np.zeros(len(X)), borders=False) is None


def test_powers_that_overflow_are_summed_again_with_scaled_rows():
    """The moments and Gram matrices leaves unsafe exponents out; the fit reads once more and is
    right."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 400))
    X[3, 7] = 40.0
    y = rng.standard_normal(12)
    params = {"k": 1.01, "a": 2.0, "c": 1.0}
    array = CountingArray(X)
    found = StretchyRegressor(**params).fit(array, y)
    true = StretchyRegressor(**params).fit(X, y)
    assert array.reads.max() > 2
    np.testing.assert_allclose(found.predict(X), true.predict(X), rtol=1e-9)


def test_moments_of_tall_blocks_whose_squares_leave_float64():
    X = numbers("tall")
    X[:, 4] *= 1e-200
    X[:, 5] *= 1e200
    with config_context(working_memory=MANY_BLOCKS):
        found = measure(Source(CountingArray(X)), np.ones(len(X)))
    true = measure(X, np.ones(len(X)))
    for name in true.__dataclass_fields__:
        np.testing.assert_allclose(getattr(found, name), getattr(true, name), rtol=1e-12)


def test_a_design_of_a_source_is_dense():
    X = numbers("wide")
    assert isinstance(design_of(Source(CountingArray(X)), "exp"), DenseDesign)
