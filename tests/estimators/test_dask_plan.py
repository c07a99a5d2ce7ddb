"""The plan of a fit to a Dask array says how often blocks are read, and they are read so often."""

import re

import dask
import dask.array as da
import numpy as np
import pytest
import sklearn

import skstretch.designs.source
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.solve import choose as fit_module
from tests.estimators.plans import DATA, GRID, SHAPES, SHUFFLED, printed

pytestmark = pytest.mark.filterwarnings(
    "ignore::skstretch.exceptions.GridEdgeWarning", "ignore::UserWarning"
)


def counting(X, reads):
    """X in blocks of ten columns or rows that count how often they are made."""

    def make(chunk, block_info=None):
        rows, columns = (slice(*span) for span in block_info[0]["array-location"])
        reads[rows, columns] += 1
        return X[rows, columns]

    chunks = (-1, 10) if X.shape[0] <= X.shape[1] else (10, -1)
    empty = da.empty(X.shape, chunks=chunks)
    blocks = empty.map_blocks(make, dtype=float, meta=np.empty((0, 0)))
    reads[:] = 0  # Dask may try a function out before it is used
    return blocks


def fitted(model, X, capfd, memory=1024, weights=None):
    """The model, how often every number was read, and the plan as printed."""
    reads = np.zeros(X.shape, dtype=int)
    y = X[:, :4].sum(axis=1) + 0.3 * np.random.default_rng(1).standard_normal(len(X))
    if "Classifier" in type(model).__name__:
        y = y > np.median(y)
    blocks = counting(X, reads)
    with sklearn.config_context(working_memory=memory), dask.config.set(scheduler="synchronous"):
        model.set_params(verbose=1).fit(blocks, y, sample_weight=weights)
    return model, reads, printed(capfd.readouterr().err)


EXACT = {
    "fit": lambda: StretchyRegressor(c=1.0),
    "column": lambda: StretchyRegressor(c=1.0, fit_intercept="column"),
    "linear": lambda: StretchyRegressor(c=1.0, a=0.0),
    "little penalty": lambda: StretchyRegressor(c=1e14),
    "classifier": lambda: StretchyClassifier(c=1.0),
    "search": lambda: StretchyRegressorCV(**GRID),
    "three a": lambda: StretchyRegressorCV(a_grid=(-0.2, 0.0, -0.5), **GRID),
    "one cell": lambda: StretchyRegressorCV(a_grid=(-0.2,), k_grid=(1.5,), c_grid=(1.0,)),
    "classes": lambda: StretchyClassifierCV(**GRID),
}


@pytest.mark.parametrize("memory", [1024, 0.002])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", EXACT)
def test_blocks_are_read_as_planned(name, shape, memory, capfd):
    model, reads, plan = fitted(EXACT[name](), DATA[shape], capfd, memory)
    assert "at most" not in plan.sentence
    assert reads.min() == reads.max() == plan.walks
    assert plan.space == model.space_
    assert model.solver_ in plan.solvers


@pytest.mark.parametrize("solver", ["dual", "primal", "qr"])
@pytest.mark.parametrize("shape", ["square", "one more"])
@pytest.mark.parametrize("make", [StretchyRegressor, StretchyClassifier])
def test_a_solver_that_is_asked_for(solver, shape, make, capfd):
    model, reads, plan = fitted(make(c=1.0, solver=solver), DATA[shape], capfd)
    assert plan.exact
    assert reads.min() == reads.max() == plan.walks
    assert model.solver_ in plan.solvers


@pytest.mark.parametrize("memory", [1024, 0.002])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["fit", "classifier", "search", "one cell", "classes"])
def test_samples_of_weight_zero_are_no_samples(shape, name, memory, capfd):
    """A search predicts them at its end."""
    X = DATA[shape]
    weights = np.where(np.arange(len(X)) % 4 == 1, 0.0, 1.5)
    model, reads, plan = fitted(EXACT[name](), X, capfd, memory, weights)
    assert reads.max() == plan.walks
    assert plan.space == model.space_


@pytest.mark.parametrize("memory", [1024, 0.002])
def test_powers_that_need_scaled_rows_are_a_proviso(memory, capfd):
    model = StretchyRegressor(c=1.0, k=1.02, a=-6.0)
    model, reads, plan = fitted(model, DATA["wide"], capfd, memory)
    assert "(up to 2 more if powers need scaled rows)" in plan.sentence
    assert reads.min() == reads.max() == plan.walks + plan.more == 4


BOUNDED = {
    "density": lambda: StretchyRegressor(c=1.0, density=0.6),
    "small density": lambda: StretchyRegressor(c=1.0, density=0.1),
    "classifier": lambda: StretchyClassifier(c=1.0, density=0.3),
    "densities": lambda: StretchyRegressorCV(cv=4, density_grid=(1.0, 0.3), **GRID),
    "all small": lambda: StretchyRegressorCV(cv=SHUFFLED, density_grid=(0.3,), **GRID),
    "large": lambda: StretchyRegressorCV(cv=4, density_grid=(0.8,), **GRID),
}


@pytest.mark.parametrize("memory", [1024, 0.002])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", BOUNDED)
def test_selections_read_no_more_than_planned(name, shape, memory, capfd):
    _, reads, plan = fitted(BOUNDED[name](), DATA[shape], capfd, memory)
    certain = sum(int(n) for n in re.findall(r"(?<!at most )\b(\d+) for ", plan.sentence))
    assert certain <= reads.max() <= plan.walks + plan.more
    if reads.max() < plan.walks:
        assert "at most" in plan.sentence


@pytest.mark.parametrize("memory", [1024, 0.002])
def test_folds_are_bounded_where_their_rows_do_not_fit(memory, capfd):
    _, reads, plan = fitted(StretchyRegressorCV(cv=4, **GRID), DATA["tall"], capfd, memory)
    assert ("at most" in plan.sentence) == (memory < 1)
    assert reads.max() <= plan.walks
    assert (reads.min() == reads.max() == plan.walks) or memory < 1


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("make", [StretchyRegressor, StretchyClassifier])
@pytest.mark.parametrize("solver", ["krylov", "auto"])
def test_krylov_has_a_plan_of_its_own(shape, make, solver, capfd, monkeypatch):
    monkeypatch.setattr(fit_module, "COSTLY_SIDE", 5)
    model, reads, plan = fitted(make(c=1.0, solver=solver), DATA[shape], capfd)
    assert model.solver_ == "krylov"
    assert plan.solvers == {"krylov"}
    assert plan.kind == "7 blocks of Dask"
    assert re.search(r"blocks: about 1 for moments, \d+ for products", plan.sentence)
    assert plan.walks / 2.5 < reads.max() < 2.5 * plan.walks
    assert re.search(r"9 tasks and at most \d+ kB between workers in a walk, workers of", plan.text)


def test_the_plan_tells_all_that_it_tells_of_data_in_memory(capfd):
    text = fitted(StretchyRegressorCV(**GRID), DATA["wide"], capfd)[2].text
    for part in (
        "skstretch: 24 x 70 float64, 7 blocks of Dask; dual form by LU, a 24 x 24 system",
        "8 cells; walks over the blocks: 1 for moments and K, 1 for coefficients, 27 kB; ",
        "9 tasks and at most 133 kB between workers in a walk, workers of 313 MiB; ",
        " of memory here and less than a second",
    ):
        assert part in text


def test_blocks_are_counted_as_they_are_done(capfd, monkeypatch):
    times = iter(range(0, 100_000, 20))
    monkeypatch.setattr(skstretch.designs.source.time, "monotonic", lambda: float(next(times)))
    X = np.random.default_rng(0).standard_normal((24, 70))
    blocks = da.from_array(X, chunks=(-1, 10))
    model = StretchyRegressor(verbose=1)
    with dask.config.set(scheduler="threads", num_workers=2):
        model.fit(blocks, X[:, 0])
    shown = capfd.readouterr().err
    # two walks over seven blocks
    assert shown.count("read 0.00 of about 0.00 GB") == 14
    assert shown.count("\n") == 15
    assert shown.endswith(" 0 s left\n")
    model.predict_interval(X[:3])
    assert capfd.readouterr().err == ""
