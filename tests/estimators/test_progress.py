"""The plan, the bar and the meter on stderr."""

import io

import dask
import dask.array as da
import numpy as np
import pytest

import skstretch.designs.source
import skstretch.estimators.progress
from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
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
    fitted(search, verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    plan, tried, err = err.split("\n", 2)
    assert plan.startswith("skstretch: ")
    assert "primal form by LU or QR" in plan
    assert "8 cells" in plan
    assert tried.startswith("searches a = ")
    assert err.startswith("\r")
    assert err.endswith("\n")
    last = err.rstrip("\n").split("\r")[-1]
    assert last.startswith("cells " + "█" * 30 + " 8/8")


def test_bar_ends_its_line_when_interrupted(capfd, monkeypatch):
    def slowly():
        times = iter(range(1000))
        return lambda: float(next(times))

    calls = []

    def broken(estimator, X, y):
        calls.append(1)
        if len(calls) == 21:  # five a cell: the score, and four for its rounding error
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(skstretch.estimators.progress.time, "monotonic", slowly())
    with pytest.raises(KeyboardInterrupt):
        fitted(StretchyRegressorCV, verbose=1, scoring=broken)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.split("\r")[-1].startswith("cells " + "█" * 15 + "·" * 15 + " 4/8")
    assert err.endswith("\n")


def test_time_that_is_left(monkeypatch):
    clock = iter([0.0, 2.0, 2.05, 6.0])
    monkeypatch.setattr(skstretch.estimators.progress.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    progress = Progress(4, "cells", 1, stream)
    for _ in range(3):
        progress.step()
    drawn = stream.getvalue().split("\r")[1:]
    # the second step follows too closely to be drawn
    assert [line.split()[2:] for line in drawn] == [
        ["1/4,", "6", "s", "left"],
        ["3/4,", "2", "s", "left"],
    ]


def test_nothing_to_end(capfd):
    Progress(4, "cells", 1).close()
    assert capfd.readouterr() == ("", "")


def plan_of(capfd, model, X, y):
    model.set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    return err


def test_plan_of_a_single_fit(capfd):
    X, y = np.random.default_rng(0).standard_normal((12, 40)), np.arange(12.0)
    plan = plan_of(capfd, StretchyRegressor(), X, y)
    assert plan == (
        "skstretch: 12 x 40 float64, in memory, 4 kB a walk; dual form by LU or QR, "
        "a 12 x 12 system (3 kB), 1 cell\n"
    )


def test_plan_and_meter_of_data_read_in_blocks(capfd, tmp_path, monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((12, 40)), np.arange(12.0)
    np.save(tmp_path / "X.npy", X)
    times = iter(range(0, 10_000, 20))
    monkeypatch.setattr(skstretch.designs.source.time, "monotonic", lambda: float(next(times)))
    shown = plan_of(capfd, StretchyRegressor(), np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    plan, *lines = shown.splitlines()
    assert ", read in blocks, 4 kB a walk; " in plan
    assert lines == [f"read 0.00 GB, {walks} walks over the data" for walks in ("1.0", "2.0")]


def test_meter_of_blocks_of_dask(capfd, monkeypatch):
    times = iter(range(0, 100_000, 20))
    monkeypatch.setattr(skstretch.designs.source.time, "monotonic", lambda: float(next(times)))
    X = np.random.default_rng(0).standard_normal((24, 70))
    model = StretchyRegressor()
    with dask.config.set(scheduler="threads", num_workers=2):
        shown = plan_of(capfd, model, da.from_array(X, chunks=(-1, 10)), X[:, 0])
    # two walks over seven blocks
    assert len(shown.splitlines()) == 1 + 14
    assert shown.endswith("read 0.00 GB, 2.0 walks over the data\n")
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
    shown = ["read 1.00 GB, 0.2 walks over the data ", "read 2.00 GB, 0.5 walks over the data \n"]
    assert screen.getvalue() == "".join("\r" + line for line in shown)
