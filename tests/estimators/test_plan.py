"""What `plan_` says, and a search with ``verbose=1`` prints, is what the fitted model tells."""

import re

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.designs import dask_plan, tidy
from skstretch.solve.choose import SEARCHES
from tests.budgets import quick_up_to

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

rng = np.random.default_rng(0)
SHAPES = {"wide": (24, 70), "tall": (70, 9), "square": (30, 30), "one more": (31, 30)}
DATA = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
# closed forms: Newton's method has no part in what the plan of a search says
GRID = {"combine": "best", "a_grid": (-0.2, 0.1), "k_grid": (1.1, 2.0), "c_grid": (0.1, 1.0)}
LINE = re.compile(
    r"skstretch: (?P<shape>[\d,]+ samples × [\d,]+ features)"
    r"(?: \((?P<used>\d+) of positive weight\))?"
    r"(?:, up to (?P<candidates>[\d,]+) models to try)?(?:, about (?P<seconds>\d+ (?:s|min|h)))?; "
    r"float64 (?P<kind>[^;,]*), (?P<pass>[\d.]+ [kMG]B)(?:, (?P<traffic>[^;]+))?; "
    r"(?P<solver>LU or QR|LU|QR|Krylov|Newton) on a (?P<space>dual|primal) system of "
    r"(?P<side>\d+) x \d+(?: of (?P<need>[^;,]+))?(?P<first>, then again on selected features)?"
    r"(?:; tries (?P<tries>.+?))?(?:; left out: (?P<left_out>.+))?"
)
NAMES = {
    "LU": {"dual", "primal"}, "QR": {"qr"}, "LU or QR": {"dual", "primal", "qr"},
    "Krylov": {"krylov"}, "Newton": {"newton"},
}  # fmt: skip
MODELS = {
    "fit": lambda: StretchyRegressor(c=1.0),
    "no intercept": lambda: StretchyRegressor(c=1.0, fit_intercept=False),
    "little penalty": lambda: StretchyRegressor(c=1e14),
    "dual": lambda: StretchyRegressor(c=1.0, solver="dual"),
    "primal": lambda: StretchyRegressor(c=1.0, solver="primal"),
    "qr": lambda: StretchyRegressor(c=1.0, solver="qr"),
    "krylov": lambda: StretchyRegressor(c=1.0, solver="krylov"),
    "newton": lambda: StretchyRegressor(c=1.0, a=0.0, k=1.3),
    "classifier": lambda: StretchyClassifier(c=1.0),
    "search": lambda: StretchyRegressorCV(**GRID),
    "classes": lambda: StretchyClassifierCV(**GRID),
}


def fitted(model, X, capfd, weights=None):
    """The model, and its plan, of a search as it printed it, taken apart."""
    y = X[:, :4].sum(axis=1) + 0.3 * np.random.default_rng(1).standard_normal(X.shape[0])
    y = np.asarray(y.compute() if isinstance(y, da.Array) else y).ravel()
    if "Classifier" in type(model).__name__:
        y = y > np.median(y)
    if "CV" in type(model).__name__:
        model.set_params(verbose=1).fit(X, y, sample_weight=weights)
        line = capfd.readouterr().err.split("\n")[0]
    else:
        line = f"skstretch: {model.fit(X, y, sample_weight=weights).plan_}"
    found = LINE.fullmatch(line)
    assert found, line
    return model, found


def assert_true(model, line):
    """What was printed is `plan_`, and the choices in it are those of the fitted model."""
    design, plan = model._state.model.design, model.plan_
    assert line[0].startswith("skstretch: ")
    assert line["space"] == plan.space == model._state.space
    assert int(line["side"]) == plan.side == design.shape[0 if model._state.space == "dual" else 1]
    assert line["solver"] == plan.method
    assert model.solver_ in NAMES[plan.method]
    assert (line["need"] is None) == plan.matrix_free == (model.solver_ == "krylov")
    assert line["first"] is None
    assert not plan.selects
    results = getattr(model, "cv_results_", {"params": [None]})
    assert int(line["candidates"] or 1) == plan.n_candidates == len(results["params"])
    assert line["left_out"] is None
    assert plan.left_out == ()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_the_plan_is_what_is_done(shape, name, capfd):
    model, line = fitted(MODELS[name](), DATA[shape], capfd)
    assert_true(model, line)
    assert line["shape"] == "{} samples × {} features".format(*SHAPES[shape])
    assert (line["kind"], line["used"], line["traffic"]) == ("in memory", None, None)
    assert line["pass"] == f"{DATA[shape].nbytes / 1e3:.0f} kB"
    assert line[0] == f"skstretch: {model.plan_}"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_second_pass_is_not_foretold(shape, capfd):
    """The plan is that of the fit on all features; the second system depends on the first."""
    _, whole = fitted(StretchyRegressor(c=1.0), DATA[shape], capfd)
    _, plan = fitted(StretchyRegressor(c=1.0, density=0.3), DATA[shape], capfd)
    assert plan["first"]
    assert plan[0].replace(", then again on selected features", "") == whole[0]
    _, plan = fitted(
        StretchyRegressorCV(cv=3, n_features_to_select=[0.3, 1.0], **GRID), DATA[shape], capfd
    )
    assert plan["first"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["fit", "classifier", "search"])
def test_samples_of_weight_zero_are_no_samples(shape, name, capfd):
    weights = np.where(np.arange(SHAPES[shape][0]) % 4 == 1, 0.0, 1.5)
    model, plan = fitted(MODELS[name](), DATA[shape], capfd, weights)
    assert_true(model, plan)
    assert int(plan["used"]) == np.count_nonzero(weights)


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("name", ["fit", "krylov", "search"])
def test_blocks_of_dask(shape, name, capfd):
    chunks = (-1, 10) if shape == "wide" else (10, -1)
    X = da.from_array(DATA[shape], chunks=chunks)
    model, plan = fitted(MODELS[name](), X, capfd)
    assert_true(model, plan)
    assert plan["kind"] == "7 blocks of Dask"
    # what is printed tells what a pass costs the cluster
    assert plan["traffic"] == (str(dask_plan(tidy(X), 4)) if name == "search" else None)


def test_sparse_data_is_what_is_stored(capfd):
    X = sparse.random_array(
        (30, 90), density=0.1, format="csc", random_state=np.random.default_rng(2)
    )
    model, plan = fitted(StretchyRegressor(c=1.0), X, capfd)
    assert_true(model, plan)
    nbytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert (plan["kind"], plan["pass"]) == ("sparse", f"{nbytes / 1e3:.0f} kB")


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("make", [StretchyRegressor, StretchyClassifier])
def test_a_system_that_is_too_large_is_never_formed(shape, make, capfd, monkeypatch):
    quick_up_to(monkeypatch, 5)
    model, plan = fitted(make(c=1.0), DATA[shape], capfd)
    assert model.solver_ == "krylov"
    assert_true(model, plan)


def test_memory_of_the_system(capfd):
    X = np.random.default_rng(3).standard_normal((300, 800))
    model, plan = fitted(StretchyRegressor(), X, capfd)
    assert_true(model, plan)
    assert (plan["pass"], plan["need"]) == ("1.9 MB", "2.2 MB")


def test_a_search_says_what_it_tries(capfd):
    """Every a and k of the table of results stands in the line, and the features kept."""
    X = DATA["wide"]
    grid = {"a_grid": (0.0, -0.2), "k_grid": (1.25, 2.0), "n_features_to_select": [1.0, 7]}
    search = StretchyRegressorCV(verbose=1, **grid).fit(X, X[:, 0])
    line = capfd.readouterr().err.split("\n")[0]
    assert search.plan_.searched == (
        "sparse linear models (a = 0; k = 1.25), ridge, curved models (a = -0.2; k = 1.25, 2) on "
        "all and on 7 selected features"
    )
    assert line.endswith(f", then again on selected features; tries {search.plan_.searched}")
    table = search.cv_results_
    tried = set(zip(table["param_a"].tolist(), table["param_k"].tolist(), strict=True))
    assert tried == {(0.0, 1.25), (0.0, 2.0), (-0.2, 1.25), (-0.2, 2.0)}


@pytest.mark.parametrize("shape", [(60, 400), (400, 60)])
def test_seconds_are_those_of_what_is_asked(shape):
    """More values take longer, fewer take less."""
    X = np.random.default_rng(0).standard_normal(shape)

    def seconds(**grid):
        return StretchyRegressorCV(1.0, **grid).fit(X, X[:, 0]).plan_.seconds

    ridge = seconds(a_grid=(0.0,), k_grid=(2.0,))
    curved = seconds(a_grid=(-0.2, 0.0), k_grid=(1.5, 2.0), c_grid=(0.1, 1.0))
    more = seconds(a_grid=(-0.2, 0.0), k_grid=(1.5, 2.0), c_grid=(0.1, 1.0, 2.0, 4.0, 8.0))
    assert 0 < ridge < curved < more


def test_features_as_they_are_are_not_called_curved():
    X = np.abs(DATA["wide"])
    search = StretchyRegressorCV(quadrant="identity", k_grid=(1.5, 2.0)).fit(X, X[:, 0])
    assert search.plan_.searched == "linear models (k = 1.5, 2)"


def searched(X, **params):
    """A default search and what it tried: powers at a = 0 and elsewhere, numbers of features."""
    rng = np.random.default_rng(1)
    model = StretchyRegressorCV(**params).fit(X, rng.standard_normal(X.shape[0]))
    table = model.cv_results_
    linear, whole = table["param_a"] == 0, table["param_density"] == 1.0
    found = (table["param_k"][linear & whole], table["param_k"][~linear])
    counts = np.unique(table["param_density"][~whole].astype(int))
    return model.plan_, *(tuple(np.unique(each).tolist()) for each in found), tuple(counts.tolist())


def test_a_whole_search_leaves_nothing_out():
    plan, linear, k, counts = searched(DATA["wide"])
    whole = SEARCHES[0]
    assert (linear, k) == (whole.linear_k, whole.k)
    assert counts == tuple(count for count in whole.counts if 4 * count <= 70)
    assert plan.left_out == ()
    assert "left out" not in str(plan)
    assert 0 < plan.seconds < 60


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.LongSearchWarning")
def test_a_costly_search_names_what_it_leaves_out(monkeypatch):
    quick_up_to(monkeypatch, 20)
    plan, linear, k, counts = searched(DATA["wide"])
    least = SEARCHES[-1]
    assert (linear, k, counts) == (least.linear_k, least.k, ())
    assert plan.left_out == (least.left_out,)
    assert str(plan).endswith(f"; left out: {least.left_out}")
    assert (plan.method, plan.matrix_free) == ("Krylov", True)
    given, linear, _, _ = searched(DATA["wide"], a_grid=(0.0,), k_grid=(1.5,), c_grid=(0.1,))
    assert linear == (1.5,)
    assert given.left_out == ()  # what is asked for is searched


@pytest.mark.parametrize("chunks", [(10, -1), (-1, 10)])
def test_blocks_that_fit_the_memory_are_searched_in_it(chunks):
    X = DATA["tall" if chunks[1] == -1 else "wide"]
    plan, *found = searched(da.from_array(X, chunks=chunks))
    here, *expected = searched(X)
    assert found == expected
    assert plan.left_out == here.left_out == ()
    assert (plan.into_memory, here.into_memory) == (True, False)


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.SmallerSearchWarning")
def test_files_that_do_not_fit_leave_selections_out(tmp_path):
    np.save(tmp_path / "X.npy", DATA["wide"])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    with config_context(working_memory=0.001):
        plan, linear, k, counts = searched(X)
    assert plan.storage.kind == "read in blocks"
    assert (linear, k, counts) == (SEARCHES[2].linear_k, SEARCHES[2].k, ())
    assert plan.left_out == (SEARCHES[2].left_out,)
    assert searched(X)[0].left_out == ()
