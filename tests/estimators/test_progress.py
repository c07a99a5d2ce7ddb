"""The plan, the bar and the meter on stderr."""

import io
import re
from concurrent.futures import ThreadPoolExecutor

import dask
import dask.array as da
import numpy as np
import pytest

import skstretch.designs.source
import skstretch.estimators.progress
from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.core.factors import counting, factorise
from skstretch.designs.threads import parallel_map
from skstretch.estimators.progress import Progress
from tests.estimators.samples import problem

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
GRIDS = {"a_grid": (-0.2, 0.0), "k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0), "cv": 3}
searches = pytest.mark.parametrize("search", [StretchyRegressorCV, StretchyClassifierCV])


def fitted(search, **params):
    X, y = problem((40, 5))
    y = y > np.median(y) if search is StretchyClassifierCV else y
    return search(**GRIDS, **params).fit(X, y)


@searches
def test_silent(search, capfd):
    fitted(search)
    fitted(search, verbose=0)
    assert capfd.readouterr() == ("", "")


@searches
def test_bar(search, capfd):
    model = fitted(search, verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    plan, err = err.split("\n", 1)
    assert plan.startswith("skstretch: 40 samples × 5 features, up to 8 models to try, about 1 s; ")
    assert "; LU or QR on a primal system of 5 x 5 of 1 kB; tries " in plan
    assert err.startswith("\r")
    assert err.endswith("\n")
    grid, models = err.rstrip("\n").rsplit("\n", 1)[0].split("\n")
    assert grid.split("\r")[-1].startswith("candidates " + "█" * 30 + " 8/8")
    # what is left after the grid: the best made exact, and the models of the average
    n = 1 + len(model.weights_)
    assert models.split("\r")[-1].startswith("models " + "█" * 30 + f" {n}/{n}")
    done = err.rstrip("\n").rsplit("\n", 1)[1]
    assert done.startswith("skstretch: ")


def test_bar_ends_its_line_when_interrupted(capfd, monkeypatch):
    def slowly():
        times = iter(range(1000))
        return lambda: float(next(times))

    calls = []

    def broken(estimator, X, y):
        calls.append(1)
        if len(calls) == 17:  # four a candidate: the score, and three for its rounding error
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(skstretch.estimators.progress.time, "monotonic", slowly())
    with pytest.raises(KeyboardInterrupt):
        fitted(StretchyRegressorCV, verbose=1, scoring=broken)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.split("\r")[-1].startswith("candidates " + "█" * 15 + "·" * 15 + " 4/8")
    assert err.endswith("\n")


def test_time_that_is_left(monkeypatch):
    clock = iter([0.0, 2.0, 2.05, 6.0])
    monkeypatch.setattr(skstretch.estimators.progress.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    progress = Progress(4, "candidates", 1, stream)
    for _ in range(3):
        progress.step()
    drawn = stream.getvalue().split("\r")[1:]
    # the second step follows too closely to be drawn
    assert [line.split()[2:] for line in drawn] == [
        ["1/4,", "6", "s", "left"],
        ["3/4,", "2", "s", "left"],
    ]


def test_nothing_to_end(capfd):
    Progress(4, "candidates", 1).close()
    assert capfd.readouterr() == ("", "")


def plan_of(capfd, model, X, y):
    model.set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    return err


# a search of one candidate
ONE = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (100.0,), "n_features_to_select": 1.0}


def test_plan_of_a_single_fit(capfd):
    X, y = np.random.default_rng(0).standard_normal((12, 40)), np.arange(12.0)
    model = StretchyRegressor().fit(X, y)
    assert str(model.plan_) == (
        "12 samples × 40 features; float64 in memory, 4 kB; LU or QR on a dual system "
        "of 12 x 12 of 3 kB"
    )
    assert capfd.readouterr() == ("", "")


def test_plan_and_meter_of_data_read_in_blocks(capfd, tmp_path, monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((12, 40)), np.arange(12.0)
    np.save(tmp_path / "X.npy", X)
    times = iter(range(0, 10_000, 20))
    monkeypatch.setattr(skstretch.designs.source.time, "monotonic", lambda: float(next(times)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    plan, *lines = plan_of(capfd, StretchyRegressorCV(**ONE), X, y).splitlines()
    assert "; float64 read in blocks, 4 kB; " in plan
    assert [line for line in lines if line.startswith("read")] == [
        f"read 0.00 GB, {products} passes over the data" for products in ("1.0", "2.0")
    ]


def test_meter_of_blocks_of_dask(capfd, monkeypatch):
    times = iter(range(0, 100_000, 20))
    monkeypatch.setattr(skstretch.designs.source.time, "monotonic", lambda: float(next(times)))
    X = np.random.default_rng(0).standard_normal((24, 70))
    model = StretchyRegressorCV(**ONE)
    with dask.config.set(scheduler="threads", num_workers=2):
        shown = plan_of(capfd, model, da.from_array(X, chunks=(-1, 10)), X[:, 0])
    # two passes over seven blocks
    read = [line for line in shown.splitlines() if line.startswith("read")]
    assert len(read) == 14
    assert read[-1] == "read 0.00 GB, 2.0 passes over the data"
    model.predict_interval(X[:3])
    assert capfd.readouterr().err == ""


def test_meter_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    times = iter(range(100))
    monkeypatch.setattr(skstretch.designs.source.time, "monotonic", lambda: float(next(times)))
    screen = Terminal()
    meter = skstretch.designs.source.Meter(4_000_000_000, screen)
    meter.add(1_000_000_000)
    meter.add(1_000_000_000)
    meter.close()
    shown = ["read 1.00 GB, 0.2 passes over the data ", "read 2.00 GB, 0.5 passes over the data \n"]
    assert screen.getvalue() == "".join("\r" + line for line in shown)


FAR = (0.01, 0.1, 1.0, 10.0)
COUNTED = {
    # an LU for every c at k = 1.5, one eigendecomposition for all c at k = 2
    "wide": ((12, 40), {"c_grid": FAR}, "4 LU factorisations, 1 eigendecomposition"),
    "one c": ((12, 40), {"c_grid": (0.5,)}, "1 LU factorisation, 1 eigendecomposition"),
    "folds": ((12, 40), {"c_grid": FAR, "cv": 3}, "4 LU factorisations, 1 eigendecomposition"),
    # systems of features have an LU for every candidate
    "tall": ((60, 5), {"c_grid": FAR}, "8 LU factorisations"),
}


@pytest.mark.parametrize("case", COUNTED)
@searches
def test_factorisations_are_counted(search, case, capfd):
    shape, grid, expected = COUNTED[case]
    X, y = problem(shape)
    y = y > np.median(y) if search is StretchyClassifierCV else y
    search(a_grid=(-0.2,), k_grid=(1.5, 2.0), combine="best", verbose=1, **grid).fit(X, y)
    done = capfd.readouterr().err.rstrip("\n").split("\n")[-1]
    assert sorted(done.removeprefix("skstretch: ").split(", ")) == sorted(expected.split(", "))


def test_newton_steps_are_counted(capfd):
    """Every penalty of every power takes some, and more penalties take more."""
    X, y = problem((20, 30))
    grid, steps = {"a_grid": (0.0,), "k_grid": (1.25, 1.5), "combine": "best"}, []
    for cs in ((0.1,), (0.1, 1.0)):
        StretchyRegressorCV(verbose=1, c_grid=cs, **grid).fit(X, y)
        done = capfd.readouterr().err.split("\n")[-2]
        steps.append(int(re.search(r"(\d+) Newton steps", done)[1]))
    assert 2 <= steps[0] < steps[1]


def test_threads_count_for_the_search_that_started_them():
    """Two at a time, each with threads of its own, and one inside the other."""
    A = np.eye(3)

    def search(times):
        with counting() as tally:
            parallel_map(lambda _: factorise(A.copy(order="F")), range(times))
            with counting() as inner:
                factorise(A.copy(order="F"))
        return tally.counts["LU factorisation"], inner.counts["LU factorisation"]

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(search, (5, 9))] == [(6, 1), (10, 1)]
    factorise(A.copy(order="F"))


def test_models_without_each_sample_are_counted_once(capfd):
    X, y = problem((40, 5))
    model = StretchyRegressorCV(a_grid=(0.0,), k_grid=(1.25, 2.0), verbose=1).fit(X, y)
    n = len(model.weights_)
    assert n > 1
    bar = f"models without each sample {'█' * 30} {n}/{n}"
    capfd.readouterr()
    model.predict_interval(X)
    assert bar in capfd.readouterr().err
    model.influence()
    model.predict_interval(X)
    assert capfd.readouterr().err == ""
    again = model.set_params(verbose=0).fit(X, y)
    again.influence()
    assert capfd.readouterr().err == ""
    again.fit(X, y).set_params(verbose=1).influence()
    assert bar in capfd.readouterr().err
