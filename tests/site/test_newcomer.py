"""The path of a newcomer as the guide has it: six commands, five minutes, a fresh machine.

Every run of the tests passes the path in this process, without the installation; the slow tests
make a fresh environment and run the lines as they are.
"""

import csv
import os
import re
import shlex
import subprocess
import sys
from time import perf_counter

import pytest

from tests.cli.program import Caller
from tests.site.build import ROOT

MARKED = re.compile(r"<!-- begin: newcomer -->\n```sh\n(.*?)```\n<!-- end: newcomer -->", re.DOTALL)
MINUTES, COMMANDS = 5, 6


def path_of_a_newcomer():
    text = (ROOT / "docs" / "guide" / "start.md").read_text("utf-8")
    return MARKED.search(text)[1].splitlines()


def test_the_path_is_short():
    lines = path_of_a_newcomer()
    assert 1 < len(lines) <= COMMANDS
    assert all(line.split()[0] in ("pip", "skstretch") for line in lines)


def test_the_front_page_leads_to_the_path():
    assert "](guide/start.md)" in (ROOT / "docs" / "index.md").read_text("utf-8")


def own_table(folder):
    """A file of one's own: other names, other sizes, the same name of the target."""
    from skstretch.datasets import make_spectra

    X, y = make_spectra(40, 30, random_state=5, return_X_y=True)
    with (folder / "my.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"channel {j}" for j in range(30)), "target"])
        writer.writerows([[*row, value] for row, value in zip(X, y, strict=True)])


def check_what_was_made(folder, n_rows, seconds):
    """Predictions with bounds for every row, a report, and within the time."""
    with (folder / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == n_rows
    assert all(float(r["lower"]) < float(r["prediction"]) < float(r["upper"]) for r in rows)
    assert "<html" in (folder / "report.html").read_text("utf-8")
    assert seconds < 60 * MINUTES, f"{seconds:.0f} s"


def test_the_commands_lead_from_an_own_file_to_a_report(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    call = Caller(monkeypatch, capfd)
    own_table(tmp_path)
    start = perf_counter()
    for line in path_of_a_newcomer():
        if line.startswith(("pip", "skstretch datasets")):
            continue
        done = call(*shlex.split(line)[1:])
        assert done.code == 0, f"{line}: {done.err}"
    check_what_was_made(tmp_path, 40, perf_counter() - start)


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True], ids=["generated", "own file"])
def test_the_path_leads_to_predictions_and_a_report(own, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    path = os.pathsep.join([str(tmp_path / "env" / "bin"), os.environ["PATH"]])
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    start = perf_counter()
    for line in path_of_a_newcomer():
        if own and line.startswith("skstretch datasets"):
            own_table(tmp_path)
            continue
        command = line.replace("'.[", f"'{ROOT}[")
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=without | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
    seconds = perf_counter() - start
    print(f"{len(path_of_a_newcomer())} commands, {seconds:.0f} s")
    check_what_was_made(tmp_path, 40 if own else 60, seconds)
