"""Estimators on Dask arrays against the same estimators on data in memory."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.exceptions import SmallerSearchWarning
from skstretch.solve.choose import SCORING
from tests.dask_arrays import as_dask, tall, wide

# two values of c are enough here, and one of them is always at the edge
pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
KINDS = [(kind, shape) for kind in ("dense", "sparse") for shape in ("wide", "tall")]
GRID = {"a_grid": (-0.2, 0.0), "k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0)}


def data(kind, shape):
    """X in memory, X in blocks, y, and weights with zeros among them."""
    X = wide(kind) if shape == "wide" else tall(kind)
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(X.shape[0])
    y = np.asarray(X[:, [0, 1, 2]].sum(axis=1)).ravel() + 0.3 * noise
    weights = rng.integers(0, 3, X.shape[0]).astype(float)
    return X, as_dask(X, (-1, 37) if shape == "wide" else (41, -1)), y, weights


@pytest.fixture(params=KINDS, ids="-".join)
def case(request):
    return data(*request.param)


def same(here, there, X, blocks):
    """Coefficients, predictions (to 1e-10) and lazy predictions are those of the fit in memory."""
    size = np.abs(here.coef_).max()
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-10 * size)
    assert (there._state.space, there.solver_) == (here._state.space, here.solver_)
    np.testing.assert_allclose(there.dof_, here.dof_, rtol=1e-9)
    outputs = "predict" if hasattr(here, "predict_interval") else "decision_function"
    expected = getattr(here, outputs)(X)
    np.testing.assert_allclose(getattr(there, outputs)(X), expected, rtol=0, atol=1e-10)
    lazy = getattr(there, outputs)(blocks)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(lazy.compute(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"k": 1.05, "c": 1.0},
        {"fit_intercept": "column"},
        {"fit_intercept": False},
        {"a": 0.0},
        {"density": 0.4},
        {"density": 3, "b": 0.1},
        {"a": -6.0, "k": 1.02, "c": 1.0},
    ],
    ids=str,
)
def test_regressor(case, parameters):
    X, blocks, y, _ = case
    here = StretchyRegressor(**parameters).fit(X, y)
    same(here, StretchyRegressor(**parameters).fit(blocks, y), X, blocks)


def test_weights_of_zero_leave_rows_out(case):
    X, blocks, y, weights = case
    here = StretchyRegressor().fit(X, y, sample_weight=weights)
    there = StretchyRegressor().fit(blocks, y, sample_weight=da.from_array(weights))
    same(here, there, X, blocks)
    np.testing.assert_allclose(there.dual_coef_, here.dual_coef_, atol=1e-10)


def test_targets_may_be_dask_and_several(case):
    X, blocks, y, _ = case
    Y = np.column_stack([y, y**2])
    here = StretchyRegressor().fit(X, Y)
    there = StretchyRegressor().fit(blocks, da.from_array(Y, chunks=(11, 1)))
    same(here, there, X, blocks)


@pytest.mark.parametrize("cv", [None, KFold(3)])
def test_search(case, cv):
    X, blocks, y, weights = case
    here = StretchyRegressorCV(**GRID, cv=cv, combine="best").fit(X, y, sample_weight=weights)
    there = StretchyRegressorCV(**GRID, cv=cv, combine="best").fit(blocks, y, sample_weight=weights)
    assert (here.a_, here.k_, here.c_) == (there.a_, there.k_, there.c_)
    exact = here.cv_results_["loo"] == "exact"
    np.testing.assert_array_equal(there.cv_results_["loo"] == "exact", exact)
    found, true = (model.cv_results_["mean_test_score"] for model in (there, here))
    np.testing.assert_allclose(found[exact], true[exact], rtol=1e-9)
    # Newton's method ends at steps of this size there, and squares what is left
    np.testing.assert_allclose(found[~exact], true[~exact], rtol=SCORING.step**2)
    np.testing.assert_allclose(there.cv_predictions_, here.cv_predictions_, atol=1e-10)
    same(here, there, X, blocks)


PASSES = [
    # moments, C of all k, right-hand sides of all k, held-out rows
    (None, (1.0,), 0.2, 4),
    (KFold(5), (1.0,), 0.2, 4),
    # every block has rows of every fold, of which one at a time is in memory
    (KFold(5, shuffle=True, random_state=0), (1.0,), 0.2, 8),
    # into memory, once
    (KFold(5), (0.5, 1.0), 3.0, 1),
    (KFold(5, shuffle=True, random_state=0), (0.5, 1.0), 3.0, 1),
]


@pytest.mark.parametrize(("cv", "densities", "memory", "n_passes"), PASSES)
def test_how_often_a_tall_search_reads_the_data(cv, densities, memory, n_passes, monkeypatch):
    from skstretch.designs.dask import passes

    read, opened = [], passes.opened
    monkeypatch.setattr(passes, "opened", lambda *args: read.append(args) or opened(*args))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(2000)
    grid = {"a_grid": (-0.2,), "k_grid": (1.5, 2.0), "c_grid": (0.1, 1.0, 10.0)}
    search = StretchyRegressorCV(**grid, n_features_to_select=densities, cv=cv, combine="best")
    here = search.fit(X, y)
    scores, support = here.cv_results_["mean_test_score"], here.support_.copy()
    assert not read
    with sklearn.config_context(working_memory=memory), dask.config.set(scheduler="synchronous"):
        there = search.fit(da.from_array(X, chunks=(200, -1)), y)
    np.testing.assert_allclose(there.cv_results_["mean_test_score"], scores, rtol=1e-12)
    assert np.array_equal(there.support_, support)
    assert len(read) == 10 * n_passes


@pytest.mark.parametrize("intercept", [True, False, "column"])
@pytest.mark.parametrize("targets", [1, 2])
def test_densities_of_repeated_and_left_out_rows(intercept, targets):
    """Bootstrap samples as folds, several targets, each kind of intercept."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((600, 12))
    Y = X[:, :targets] + 0.5 * rng.standard_normal((600, targets))
    some = [rng.integers(0, 600, 500) for _ in range(3)]
    splits = [(train, np.setdiff1d(np.arange(600), train)) for train in some]
    weights = rng.integers(0, 3, 600).astype(float)
    grid = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (0.1, 10.0)}
    search = StretchyRegressorCV(
        **grid, n_features_to_select=[0.25, 0.5], cv=splits, combine="best", fit_intercept=intercept
    )
    scores = search.fit(X, Y, sample_weight=weights).cv_results_["mean_test_score"]
    with sklearn.config_context(working_memory=0.5):
        blocks = da.from_array(X, chunks=(83, -1))
        found = search.fit(blocks, Y, sample_weight=weights).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, scores, rtol=1e-10)


@pytest.mark.parametrize("memory", [1024, 0.01])
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_search_over_densities(shape, memory):
    X, blocks, y, _ = data("dense", shape)
    parameters = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (0.1, 1.0), "cv": 3}
    densities = (0.05, 0.5, 1.0) if shape == "wide" else (0.3, 1.0)
    with sklearn.config_context(working_memory=memory):
        here = StretchyRegressorCV(n_features_to_select=densities, **parameters).fit(X, y)
        there = StretchyRegressorCV(n_features_to_select=densities, **parameters).fit(blocks, y)
    np.testing.assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert np.array_equal(here.support_, there.support_)
    same(here, there, X, blocks)


def test_classifiers(case):
    X, blocks, y, _ = case
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    for make in (
        StretchyClassifier,
        lambda: StretchyClassifierCV(n_features_to_select=1.0, **GRID),
    ):
        for target in (labels, labels == "low"):
            here, there = make().fit(X, target), make().fit(blocks, target)
            same(here, there, X, blocks)
            lazy = there.predict(blocks)
            assert isinstance(lazy, da.Array)
            assert np.array_equal(lazy.compute(), here.predict(X))
            proba = there.predict_proba(blocks)
            assert proba.shape == here.predict_proba(X).shape
            np.testing.assert_allclose(proba.compute(), here.predict_proba(X), atol=1e-10)


def test_intervals_and_spread(case):
    X, blocks, y, _ = case
    here, there = StretchyRegressor(c=0.01).fit(X, y), StretchyRegressor(c=0.01).fit(blocks, y)
    for method in ("plus", "residual"):
        expected = here.predict_interval(X[:7], method=method)
        for new in (X[:7], as_dask(X[:7], (4, 50))):
            bounds = there.predict_interval(new, method=method)
            np.testing.assert_allclose(bounds, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there.coef_std(), here.coef_std(), rtol=1e-8)
    np.testing.assert_allclose(
        there.effect_path(values=[0.1, 1.0])[1], here.effect_path(values=[0.1, 1.0])[1], atol=1e-10
    )


def test_krylov(case):
    X, blocks, y, weights = case
    here = StretchyRegressor(c=1.0).fit(X, y, sample_weight=weights)
    there = StretchyRegressor(c=1.0, solver="krylov").fit(blocks, y, sample_weight=weights)
    assert there.solver_ == "krylov"
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=0, atol=1e-7)


def test_float32_stays_float32(case):
    X, _, y, _ = case
    X = X.astype(np.float32)
    chunks = (-1, 37) if X.shape[0] < X.shape[1] else (41, -1)
    model = StretchyRegressor().fit(as_dask(X, chunks), y)
    assert model.coef_.dtype == np.float32
    assert model.predict(as_dask(X, chunks)).dtype == np.float32
    np.testing.assert_allclose(model.alpha_, StretchyRegressor().fit(X, y).alpha_, atol=1e-5)
    model = StretchyClassifier().fit(X, y > 0)
    lazy = model.predict_proba(as_dask(X, chunks))
    assert lazy.dtype == lazy.compute().dtype == model.predict_proba(X).dtype


@pytest.mark.parametrize("chunks", [(-1, -1), (10, 37), (7, -1), (-1, 50)])
def test_predict_takes_any_chunks(chunks):
    X, blocks, y, _ = data("dense", "wide")
    model = StretchyRegressor(density=0.1).fit(blocks, y)
    lazy = model.predict(as_dask(X, chunks))
    np.testing.assert_allclose(lazy.compute(), model.predict(X), rtol=0, atol=1e-12)
    assert model.score(as_dask(X, chunks), y) == pytest.approx(model.score(X, y))


def test_predict_computes_nothing_and_keeps_no_training_data():
    X, blocks, y, _ = data("dense", "wide")
    model = StretchyRegressor().fit(blocks, y)

    def never(chunk):
        raise AssertionError("computed too early")

    lazy = model.predict(as_dask(X, (10, 37)).map_blocks(never, dtype=float, meta=np.empty((0, 0))))
    assert isinstance(lazy, da.Array)
    with pytest.raises(AssertionError, match="too early"):
        lazy.compute()
    graph = model.predict(da.zeros((10**6, 200), chunks=(10**5, 200))).dask.to_dict()
    import cloudpickle

    assert len(cloudpickle.dumps(graph)) < 100_000


@pytest.mark.parametrize("parameters", [{}, {"fit_intercept": "column"}, {"a": -6.0, "k": 1.02}])
def test_coefficients_as_a_dask_array(parameters):
    _, blocks, y, _ = data("dense", "wide")
    model = StretchyRegressor(c=1.0, **parameters).fit(blocks, y)
    lazy = model.lazy_coef()
    assert lazy.chunks == (blocks.chunks[1],)
    size = np.abs(model.coef_).max()
    np.testing.assert_allclose(lazy.compute(), model.coef_, rtol=0, atol=1e-13 * size)
    model = StretchyRegressor().fit(*data("dense", "tall")[1:3])
    with pytest.raises(ValueError, match="from_array"):
        model.lazy_coef()


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_repeated_fits_are_bitwise_equal_whichever_scheduler(case, scheduler):
    _, blocks, y, _ = case
    first = StretchyRegressor().fit(blocks, y)
    with dask.config.set(scheduler=scheduler):
        second = StretchyRegressor().fit(blocks, y)
    assert np.array_equal(first.alpha_, second.alpha_)
    assert np.array_equal(first.intercept_, second.intercept_)


def test_data_read_from_files(tmp_path):
    import zarr

    X, _, y, _ = data("dense", "wide")
    expected = StretchyRegressor().fit(X, y)
    store = zarr.create_array(str(tmp_path / "X.zarr"), shape=X.shape, dtype="f8", chunks=(30, 37))
    store[:] = X
    da.to_npy_stack(str(tmp_path / "X"), da.from_array(X.T, chunks=(37, -1)))
    lazies = [
        da.from_zarr(str(tmp_path / "X.zarr")),
        da.from_npy_stack(str(tmp_path / "X")).T,
    ]
    for lazy in lazies:
        model = StretchyRegressor().fit(lazy, y)
        np.testing.assert_allclose(model.alpha_, expected.alpha_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_a_block_that_cannot_be_read_is_named(scheduler):
    _, blocks, y, _ = data("dense", "wide")

    def broken(chunk, block_info=None):
        if block_info[0]["chunk-location"][1] == 2:
            raise OSError("part-2.npy is damaged")
        return chunk

    bad = blocks.map_blocks(broken, dtype=float, meta=np.empty((0, 0)))
    model = StretchyRegressor()
    expected = r"feature block 2 of 6 \(columns 74 to 110 of X\).*OSError: part-2.npy is damaged"
    with dask.config.set(scheduler=scheduler), pytest.raises(RuntimeError, match=expected):
        model.fit(bad, y)
    with pytest.raises(NotFittedError):
        model.predict(blocks)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_numbers_that_are_not_finite_are_found_where_they_are(kind, shape, value, name):
    X, _, y, _ = data(kind, shape)
    row, column = (5, 123) if shape == "wide" else (97, 4)
    if kind == "sparse":
        X = X.tolil()
        X[row, column] = value
        X = X.tocsr()
    else:
        X[row, column] = value
    blocks = as_dask(X, (-1, 37) if shape == "wide" else (41, -1))
    with pytest.raises(ValueError, match=f"{name} in column {column}, row {row}"):
        StretchyRegressor().fit(blocks, y)


def test_chunks_that_are_not_what_they_say_are_refused():
    _, blocks, y, _ = data("dense", "wide")
    short = blocks.map_blocks(lambda chunk: chunk[:-1], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"feature block \d of 6 .* has shape \(29, \d+\)"):
        StretchyRegressor().fit(short, y)


def test_errors_of_fit_name_the_way_out():
    X, blocks, y, _ = data("dense", "wide")
    with pytest.raises(ValueError, match=r"X.rechunk\(\{0: -1, 1: 'auto'\}\)"):
        StretchyRegressor().fit(as_dask(X, (10, 50)), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        StretchyRegressor().fit(blocks, y[:-1])
    with pytest.raises(ValueError, match="2D"):
        StretchyRegressor().fit(blocks[0], y)
    with pytest.raises(ValueError, match="complex"):
        StretchyRegressor().fit(blocks.astype(complex), y)
    model = StretchyRegressor().fit(blocks, y)
    with pytest.raises(ValueError, match="199 features"):
        model.predict(blocks[:, 1:])
    with pytest.raises(ValueError, match="negative value"):
        StretchyRegressor(quadrant="identity").fit(blocks, y)


def test_identity_and_offsets_by_column():
    X, _, y, _ = data("dense", "wide")
    X = np.abs(X)
    blocks = as_dask(X, (-1, 37))
    same(StretchyRegressor(quadrant="identity", c=1.0).fit(X, y),
         StretchyRegressor(quadrant="identity", c=1.0).fit(blocks, y), X, blocks)  # fmt: skip
    b = np.linspace(-0.2, 0.2, X.shape[1])
    same(StretchyRegressor(b=b).fit(X, y), StretchyRegressor(b=b).fit(blocks, y), X, blocks)


def test_a_fitted_model_pickles_and_saves(tmp_path):
    import skstretch

    X, blocks, y, _ = data("dense", "wide")
    model = StretchyRegressor().fit(blocks, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    skstretch.save(model, tmp_path / "model.stretchy")
    loaded = skstretch.load(tmp_path / "model.stretchy")
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=0, atol=1e-12)


def test_sparse_chunks_stay_sparse(monkeypatch):
    _, blocks, y, _ = data("sparse", "wide")
    assert sparse.issparse(blocks.blocks[0, 0].compute())
    from skstretch.designs.dask import passes as dask_walk

    seen = []
    opened = dask_walk.opened
    monkeypatch.setattr(dask_walk, "opened", lambda *args: seen.append(opened(*args)) or seen[-1])
    StretchyRegressor().fit(blocks, y)
    assert seen
    assert all(sparse.issparse(chunk) for chunk in seen)


@pytest.mark.parametrize("chunks", [(10, 37), (-1, 50), (7, -1)])
def test_new_data_that_is_bad_is_named_by_its_place(chunks):
    X, blocks, y, _ = data("dense", "wide")
    model = StretchyRegressor().fit(blocks, y)
    X = X.copy()
    X[12, 60] = np.nan
    with pytest.raises(ValueError, match="NaN in column 60, row 12") as caught:
        model.predict(as_dask(X, chunks)).compute()
    rows = "10 to 19" if chunks[0] == 10 else "7 to 13" if chunks[0] == 7 else "0 to 29"
    columns = "37 to 73" if chunks[1] == 37 else "50 to 99" if chunks[1] == 50 else "0 to 199"
    assert f"in rows {rows}, columns {columns} of X" in caught.value.__notes__
    short = as_dask(X, chunks).map_blocks(lambda c: c[1:], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="was promised") as caught:
        model.predict(short).compute(scheduler="synchronous")
    assert caught.value.__notes__


@pytest.mark.parametrize("shape", [(20, 20), (20, 19), (20, 21)])
@pytest.mark.parametrize("dtype", [float, int, bool])
def test_nearly_square_data_of_any_dtype(shape, dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 9, shape).astype(dtype)
    y = np.random.default_rng(1).standard_normal(shape[0])
    blocks = as_dask(X, (-1, 7) if shape[0] <= shape[1] else (7, -1))
    same(StretchyRegressor(c=1.0).fit(X, y), StretchyRegressor(c=1.0).fit(blocks, y), X, blocks)
    here, there = (
        StretchyClassifier(c=1.0).fit(X, y > 0),
        StretchyClassifier(c=1.0).fit(blocks, y > 0),
    )
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("shape", [(20, 50), (50, 6)])
def test_columns_that_do_not_vary_leave_the_mean(shape):
    X, y = np.ones(shape), np.arange(float(shape[0]))
    blocks = as_dask(X, (-1, 7) if shape[0] <= shape[1] else (7, -1))
    model = StretchyRegressor().fit(blocks, y)
    np.testing.assert_allclose(model.predict(blocks).compute(), np.full(shape[0], y.mean()))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("width", [1, 10])
def test_chunks_without_a_column_that_varies(kind, width):
    X = np.random.default_rng(0).gamma(1.0, size=(20, 60))
    X[:, 10:20] = 0.0
    y = np.random.default_rng(1).standard_normal(20)
    whole = sparse.csr_array(X) if kind == "sparse" else X
    blocks = as_dask(whole, (-1, width))
    for make in (StretchyRegressor, lambda: StretchyRegressorCV(n_features_to_select=1.0, **GRID)):
        same(make().fit(whole, y), make().fit(blocks, y), whole, blocks)


def test_columns_whose_squares_leave_float64():
    X = np.random.default_rng(0).standard_normal((60, 4)) * [1.0, 1e200, 1e-200, 1.0]
    y = np.random.default_rng(1).standard_normal(60)
    blocks = as_dask(X, (13, -1))
    same(StretchyRegressor().fit(X, y), StretchyRegressor().fit(blocks, y), X, blocks)


@pytest.mark.parametrize("shape", [(30, 200), (90, 40)])
@pytest.mark.parametrize("storage", ["Dask", "memory map"])
def test_what_fits_the_memory_is_searched_like_the_array(shape, storage, tmp_path):
    rng = np.random.default_rng(8)
    X = rng.standard_normal(shape)
    y = X[:, :2].sum(axis=1) + 0.3 * rng.standard_normal(len(X))
    blocks = da.from_array(X, chunks=(-1, 60) if shape[0] < shape[1] else (30, -1))
    if storage == "memory map":
        np.save(tmp_path / "X.npy", X)
        blocks = np.load(tmp_path / "X.npy", mmap_mode="r")
    here, there = (StretchyRegressorCV().fit(each, y) for each in (X, blocks))
    assert there.plan_.into_memory
    assert not here.plan_.into_memory
    assert "read into memory once" in str(there.plan_)
    assert there.plan_.left_out == ()
    for name in ("param_a", "param_k", "param_c", "param_density", "mean_test_score"):
        np.testing.assert_array_equal(there.cv_results_[name], here.cv_results_[name])
    assert there.best_score_ == here.best_score_
    np.testing.assert_array_equal(there.coef_, here.coef_)
    np.testing.assert_allclose(np.asarray(there.predict(blocks)), here.predict(X), rtol=1e-12)


def test_what_does_not_fit_the_memory_says_what_it_leaves_out():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30, 200))
    y = X[:, :2].sum(axis=1)
    with (
        sklearn.config_context(working_memory=0.09),
        pytest.warns(SmallerSearchWarning, match=r"leaves out: sparse.*working_memory=1\)") as told,
    ):
        model = StretchyRegressorCV().fit(da.from_array(X, chunks=(-1, 60)), y)
    assert told[0].filename == __file__
    assert not model.plan_.into_memory
    assert "selected features" in model.plan_.left_out[0]


def test_arrays_of_unknown_size_say_so_before_their_folds_are_counted():
    X = da.from_array(np.random.default_rng(0).standard_normal((20, 3)), chunks=(5, 3))
    X = X[X[:, 0] > -9.0]
    for name in ("cv", "nested_cv"):
        with pytest.raises(ValueError, match=r"X\.compute_chunk_sizes\(\)"):
            StretchyRegressorCV(**{name: 5}).fit(X, np.arange(20.0))
