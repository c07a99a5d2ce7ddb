"""A run that is killed and resumed has the rows of one that was not, timings aside."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from stretchy.experiments.command import main
from stretchy.experiments.ledger import KEY, read_results

RUN = ["fig11", "--quick", "--datasets", "diabetes", "--trials", "8"]
SAME = [*KEY, "error", "measure", "nonzero", "seed", "versions"]


def start(out, *, jobs):
    command = [sys.executable, "-m", "stretchy.experiments", *RUN]
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    assert main([*RUN, "--out", str(out), "--jobs", "1"]) == 0
    return read_results(out / "results.csv")


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
    ordered = [
        table.sort_values(list(KEY))[SAME].reset_index(drop=True) for table in (resumed, whole)
    ]
    pd.testing.assert_frame_equal(*ordered, check_exact=False, rtol=1e-10)


def test_finished_run_computes_nothing(tmp_path, capsys, monkeypatch):
    assert main(["fig1", "--out", str(tmp_path)]) == 0
    before = (tmp_path / "curves.csv").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr("stretchy.experiments.run.compute", lambda *_: pytest.fail("computed"))
    assert main(["fig1", "--out", str(tmp_path)]) == 0
    assert "1 of 1 parts are there already" in capsys.readouterr().err
    assert (tmp_path / "curves.csv").read_bytes() == before


def test_failure_is_said_and_the_rest_goes_on(tmp_path, capsys, monkeypatch):
    from stretchy.experiments import tasks

    def broken():
        raise ArithmeticError("no luck")

    monkeypatch.setattr(tasks, "absolute_curves", broken)
    assert main(["fig1", "fig4", "--out", str(tmp_path), "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert "FAILED fig1: ArithmeticError: no luck" in said
    assert (tmp_path / "figures" / "fig4.png").exists()
    assert not (tmp_path / "figures" / "fig1.png").exists()
