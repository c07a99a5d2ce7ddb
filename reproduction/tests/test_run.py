"""A run that is killed and resumed has the rows of one that was not, timings aside.

One test kills real processes, at whatever moment that is. The others stop a run of every family
and of the curves after each of its tasks, by an error that no part of the run expects.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from reproduction.command import main
from reproduction.files import KEY, CurveBook, Ledger, read_curves, read_results
from reproduction.plan import CurveTask, make_plan
from reproduction.run import missing_tasks, run_plan
from reproduction.sets import SETS, choose_sets
from reproduction.settings import QUICK

RUN = ["fig11", "--quick", "--datasets", "diabetes", "--trials", "8"]
SAME = [*KEY, "error", "measure", "nonzero", "seed", "versions"]


def start(out, *, jobs):
    command = [sys.executable, "-m", "reproduction", *RUN]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "--out", str(out), "--jobs", str(jobs)],
        stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def stop_in_the_middle(process, path, number):
    """Send the signal once some units are written, and say how many lines there are."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") > 1:
            break
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)
    process.send_signal(number)
    process.wait(60)
    return path.read_bytes().count(b"\n") - 1


def assert_same_rows(found, expected):
    ordered = [
        table.sort_values(list(KEY))[SAME].reset_index(drop=True) for table in (found, expected)
    ]
    pd.testing.assert_frame_equal(*ordered, check_exact=False, rtol=1e-10)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    assert main([*RUN, "--out", str(out), "--jobs", "1"]) == 0
    return read_results(out / "results.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "jobs", "code"), [(signal.SIGKILL, 1, -9), (signal.SIGINT, 2, 130)]
)
def test_resumed_run_has_the_same_rows(tmp_path, whole, number, jobs, code):
    process = start(tmp_path, jobs=jobs)
    written = stop_in_the_middle(process, tmp_path / "results.csv", number)
    assert process.returncode == code
    assert 0 < written < len(whole), "the run was not stopped in its middle"
    if number == signal.SIGKILL:  # as if the last write had been cut short
        content = (tmp_path / "results.csv").read_bytes()
        (tmp_path / "results.csv").write_bytes(content[:-7])
    else:
        assert "the same command goes on from here" in process.stderr.read()
    process.stderr.close()
    assert main([*RUN, "--out", str(tmp_path), "--jobs", "1"]) == 0
    resumed = read_results(tmp_path / "results.csv")
    assert_same_rows(resumed, whole)


def test_finished_run_computes_nothing(tmp_path, capsys, monkeypatch):
    assert main(["fig1", "--out", str(tmp_path)]) == 0
    before = (tmp_path / "curves.csv").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr("reproduction.run.compute", lambda *_: pytest.fail("computed"))
    assert main(["fig1", "--out", str(tmp_path)]) == 0
    assert "1 of 1 parts are there already" in capsys.readouterr().err
    assert (tmp_path / "curves.csv").read_bytes() == before


def test_failure_is_said_and_the_rest_goes_on(tmp_path, capsys, monkeypatch):
    from reproduction import run

    def broken():
        raise ArithmeticError("no luck")

    monkeypatch.setattr(run, "absolute_curves", broken)
    assert main(["fig1", "fig4", "--out", str(tmp_path), "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert "FAILED fig1: ArithmeticError: no luck" in said
    assert (tmp_path / "figures" / "fig4.png").exists()
    assert not (tmp_path / "figures" / "fig1.png").exists()


class Stopped(BaseException):
    """What ends a run from outside: no part of it catches this."""


SMALL = replace(
    QUICK, powers=(1.25, 2.0), strengths=(1e2, 1e100), densities=(1.0, 0.5), mixings=(1.0, 0.5),
    searched_counts=(1, 5), search_folds=2, trials=2, other_draws=2,
    projection_powers=((20, (1.5, 2.0)),),
)  # fmt: skip


def small_madelon():
    rng = np.random.default_rng(0)
    y = np.tile([-1.0, 1.0], 30)
    X = rng.normal(480, 10, (60, 12))
    X[:, 3] += 8 * y
    return Bunch(data=X, target=y)


@pytest.fixture
def small_sets(monkeypatch):
    """A small set in the place of Madelon, which need not be here."""
    from reproduction.sets import load_set

    monkeypatch.setitem(SETS, "madelon", replace(SETS["madelon"], load=small_madelon))
    load_set.cache_clear()
    yield
    load_set.cache_clear()


class Folder:
    """The two files of a run, and a run in them that is stopped after some tasks."""

    def __init__(self, path, plan):
        self.path, self.plan = path, plan

    def go_on(self, monkeypatch, tasks):
        """Run until so many tasks are written; the next one is begun and lost."""
        from reproduction import run

        ledger, book = Ledger(self.path / "results.csv"), CurveBook(self.path / "curves.csv")
        left = [tasks]

        def compute(task, settings, true=run.compute):
            if left[0] == 0:
                raise Stopped
            left[0] -= 1
            return true(task, settings)

        with monkeypatch.context() as patch:
            patch.setattr(run, "compute", compute)
            try:
                return run_plan(self.plan, SMALL, ledger, book, jobs=1, say=lambda _: None)
            except Stopped:
                return None

    def missing(self):
        ledger, book = Ledger(self.path / "results.csv"), CurveBook(self.path / "curves.csv")
        return missing_tasks(self.plan, ledger, book)


def every_family():
    sets = choose_sets(["diabetes", "madelon"])
    return make_plan(["fig9", "madelon", "fig3", "fig4", "fig7", "table2", "table3"], sets, SMALL)


@pytest.mark.parametrize("step", [1, 4])
def test_every_family_and_curve_resumes_to_the_same_rows(tmp_path, monkeypatch, small_sets, step):
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
    plan = every_family()
    assert {unit.family for unit in plan.units} == {"SR", "LASSO", "LASSOCV", "RPN"}
    assert {task.figure for task in plan.curves} == {
        "fig3", "fig4", "fig7", "compression", "datasets"
    }  # fmt: skip
    total = len(plan.units) + len(plan.curves)
    once, often = Folder(tmp_path / "once", plan), Folder(tmp_path / "often", plan)
    assert once.go_on(monkeypatch, total) == []
    for done in range(step, total, step):
        assert often.go_on(monkeypatch, step) is None
        assert len(often.missing()) == total - done
        with open(often.path / "results.csv", "ab") as file:
            file.write(b"study,diabetes,LASSO1,,,,1.0")  # the task that was begun
    assert often.go_on(monkeypatch, total) == []
    assert often.missing() == []
    assert_same_rows(*(read_results(f.path / "results.csv") for f in (often, once)))
    key = ["figure", "panel", "series", "x"]
    curves = [
        read_curves(f.path / "curves.csv").sort_values([*key, "y"]).reset_index(drop=True)
        for f in (often, once)
    ]
    pd.testing.assert_frame_equal(*curves, check_exact=False, rtol=1e-10)


def test_a_stop_within_a_unit_leaves_none_of_its_rows(tmp_path, monkeypatch, small_sets):
    """Rows are written unit by unit: an error in the last cell of a unit leaves no row of it."""
    from reproduction import study

    plan = make_plan(["madelon"], choose_sets(["madelon"]), SMALL)
    unit = next(unit for unit in plan.units if unit.family == "RPN")
    folder = Folder(tmp_path, plan)
    calls, true = [], study.fit_projection

    def fit(*arguments, **options):
        calls.append(options)
        if len(calls) == len(unit.cells):
            raise Stopped
        return true(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(study, "fit_projection", fit)
        assert folder.go_on(monkeypatch, len(plan.units)) is None
    assert len(calls) == len(unit.cells) > 1
    written = read_results(tmp_path / "results.csv")
    assert set(written["method"]) == {"SR"}
    assert folder.missing()[0] == unit


def test_curve_task_is_known_by_its_data_set():
    """The start of one set's name is not taken for another's."""
    assert CurveTask("datasets", "gaze").prefix == "gaze: "
    assert not "gaze-standin: loaded".startswith(CurveTask("datasets", "gaze").prefix)
