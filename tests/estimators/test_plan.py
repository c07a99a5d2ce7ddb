"""What ``verbose=1`` says before a fit is what the fitted model then tells of itself."""

import re

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.designs import dask_plan, tidy
from skstretch.solve import choose

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

rng = np.random.default_rng(0)
SHAPES = {"wide": (24, 70), "tall": (70, 9), "square": (30, 30), "one more": (31, 30)}
DATA = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
# closed forms: Newton's method has no part in what the plan of a search says
GRID = {"rule": "guarded", "a_grid": (-0.2, 0.1), "k_grid": (1.1, 2.0), "c_grid": (0.1, 1.0)}
LINE = re.compile(
    r"skstretch: (?P<shape>[\d,]+ x [\d,]+) float64(?: \((?P<used>\d+) of positive weight\))?, "
    r"(?P<kind>[^;]*), (?P<walk>[\d.]+ [kMG]B) a walk(?:, (?P<traffic>[^;]+))?; "
    r"(?P<space>dual|primal) form by (?P<solver>LU or QR|LU|QR|Krylov)"
    r"(?P<first> in the first pass)?, a (?P<side>\d+) x \d+ system \((?P<need>[^)]+)\), "
    r"(?P<cells>\d+) cells?"
)
NAMES = {
    "LU": {"dual", "primal"}, "QR": {"qr"}, "LU or QR": {"dual", "primal", "qr"},
    "Krylov": {"krylov"},
}  # fmt: skip
MODELS = {
    "fit": lambda: StretchyRegressor(c=1.0),
    "no intercept": lambda: StretchyRegressor(c=1.0, fit_intercept=False),
    "little penalty": lambda: StretchyRegressor(c=1e14),
    "dual": lambda: StretchyRegressor(c=1.0, solver="dual"),
    "primal": lambda: StretchyRegressor(c=1.0, solver="primal"),
    "qr": lambda: StretchyRegressor(c=1.0, solver="qr"),
    "krylov": lambda: StretchyRegressor(c=1.0, solver="krylov"),
    "classifier": lambda: StretchyClassifier(c=1.0),
    "search": lambda: StretchyRegressorCV(**GRID),
    "classes": lambda: StretchyClassifierCV(**GRID),
}


def fitted(model, X, capfd, weights=None):
    """The model, and the line that it printed first, taken apart."""
    y = X[:, :4].sum(axis=1) + 0.3 * np.random.default_rng(1).standard_normal(X.shape[0])
    y = np.asarray(y.compute() if isinstance(y, da.Array) else y).ravel()
    if "Classifier" in type(model).__name__:
        y = y > np.median(y)
    model.set_params(verbose=1).fit(X, y, sample_weight=weights)
    line = capfd.readouterr().err.split("\n")[0]
    found = LINE.fullmatch(line)
    assert found, line
    return model, found


def assert_true(model, plan):
    """The choices in the plan are those of the fitted model."""
    design = model._state.model.design
    assert plan["space"] == model.space_
    assert model.solver_ in NAMES[plan["solver"]]
    assert int(plan["side"]) == design.shape[0 if model.space_ == "dual" else 1]
    assert plan["first"] is None
    assert (plan["need"] == "never formed") == (model.solver_ == "krylov")
    results = getattr(model, "cv_results_", {"params": [None]})
    assert int(plan["cells"]) == len(results["params"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_the_plan_is_what_is_done(shape, name, capfd):
    model, plan = fitted(MODELS[name](), DATA[shape], capfd)
    assert_true(model, plan)
    assert plan["shape"] == "{} x {}".format(*SHAPES[shape])
    assert (plan["kind"], plan["used"], plan["traffic"]) == ("in memory", None, None)
    assert plan["walk"] == f"{DATA[shape].nbytes / 1e3:.0f} kB"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_second_pass_is_not_foretold(shape, capfd):
    """The plan is that of the fit on all features; the second system depends on the first."""
    _, whole = fitted(StretchyRegressor(c=1.0), DATA[shape], capfd)
    _, plan = fitted(StretchyRegressor(c=1.0, density=0.3), DATA[shape], capfd)
    assert plan["first"]
    assert plan[0].replace(" in the first pass", "") == whole[0]
    _, plan = fitted(StretchyRegressorCV(cv=3, density_grid=(0.3, 1.0), **GRID), DATA[shape], capfd)
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
    n_transforms = 4 if name == "search" else 1
    traffic = None if name == "krylov" else str(dask_plan(tidy(X), n_transforms))
    assert plan["traffic"] == traffic


def test_sparse_data_is_what_is_stored(capfd):
    X = sparse.random_array(
        (30, 90), density=0.1, format="csc", random_state=np.random.default_rng(2)
    )
    model, plan = fitted(StretchyRegressor(c=1.0), X, capfd)
    assert_true(model, plan)
    nbytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert (plan["kind"], plan["walk"]) == ("sparse", f"{nbytes / 1e3:.0f} kB")


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("make", [StretchyRegressor, StretchyClassifier])
def test_a_system_that_is_too_large_is_never_formed(shape, make, capfd, monkeypatch):
    monkeypatch.setattr(choose, "COSTLY_SIDE", 5)
    model, plan = fitted(make(c=1.0), DATA[shape], capfd)
    assert model.solver_ == "krylov"
    assert_true(model, plan)


def test_memory_of_the_system(capfd):
    X = np.random.default_rng(3).standard_normal((300, 800))
    model, plan = fitted(StretchyRegressor(), X, capfd)
    assert_true(model, plan)
    assert (plan["walk"], plan["need"]) == ("1.9 MB", "2.2 MB")


def test_a_search_says_what_it_tries(capfd):
    """Every a and k of the table of results stands in the second line, and the features kept."""
    X = DATA["wide"]
    grid = {"a_grid": (0.0, -0.2), "k_grid": (1.25, 2.0), "density_grid": (1.0, 7)}
    search = StretchyRegressorCV(verbose=1, nested=False, **grid).fit(X, X[:, 0])
    line = capfd.readouterr().err.split("\n")[1]
    assert line == (
        "searches a = 0: exact minimisers of k = 1.25 and closed forms of k = 2; a = -0.2: closed "
        "forms of k = 1.25, 2, whole and on the 7 strongest features"
    )
    table = search.cv_results_
    tried = set(zip(table["param_a"].tolist(), table["param_k"].tolist(), strict=True))
    assert tried == {(0.0, 1.25), (0.0, 2.0), (-0.2, 1.25), (-0.2, 2.0)}
