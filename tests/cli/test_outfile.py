"""No command replaces a file that it reads, one output with another, a device or a pipe."""

import os
import shlex
import stat
import subprocess

import numpy as np
import pytest

from skstretch import StretchyRegressorCV, load, save
from tests.cli.program import environment, program

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
WORDS = "would replace a file that this command also uses: choose another name."


@pytest.fixture
def place(tmp_path):
    X = np.random.default_rng(0).random((20, 3))
    rows = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    np.savetxt(tmp_path / "d.tsv", rows, delimiter="\t", header="a\tb\tc\ty", comments="")
    save(StretchyRegressorCV(c_grid=(1.0, 10.0, 100.0)).fit(X, rows[:, 3]), tmp_path / "m.stretchy")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["fit", "d.tsv", "-t", "y", "-o", "d.tsv"], "-o 'd.tsv'"),
        (["fit", "d.tsv", "-t", "y", "-o", "z.stretchy", "--report", "d.tsv"], "--report 'd.tsv'"),
        (
            ["fit", "d.tsv", "-t", "y", "-o", "z.stretchy", "--report", "./z.stretchy"],
            "--report 'z.stretchy'",
        ),
        (["predict", "m.stretchy", "d.tsv", "-o", "d.tsv"], "-o 'd.tsv'"),
        (["report", "m.stretchy", "-o", "m.stretchy"], "-o 'm.stretchy'"),
    ],
    ids=["data", "report over data", "report over model", "predictions", "model"],
)
def test_inputs_are_not_replaced(place, call, monkeypatch, words, named):
    monkeypatch.chdir(place)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    done = call(*words)
    assert done.code == 2
    assert done.err == f"error: {named} {WORDS}\n"
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def shell(line, folder):
    """A line of the shell, with {} for the program."""
    done = subprocess.run(
        ["sh", "-c", line.replace("{}", shlex.join(program()))],
        cwd=folder,
        capture_output=True,
        env=environment(),
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr.decode()


GRID = "--k 2 --a 0 --c 0.1,1"


def test_a_model_into_a_pipe(place):
    """The summary goes to stderr then: the model alone is on stdout."""
    line = f"{{}} fit d.tsv -t y -o /dev/stdout {GRID} | cat"
    code, out, err = shell(line, place)
    assert code == 0, err
    (place / "piped.stretchy").write_bytes(out)
    assert load(place / "piped.stretchy").n_features_in_ == 3
    assert "20 rows, 3 features" in err


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("predict m.stretchy d.tsv --drop y -o /dev/stdout", b"prediction\n"),
        ("datasets diabetes -o /dev/stdout", b"age,sex,"),
        ("report m.stretchy -o /dev/stdout", b"<!"),
    ],
)
def test_other_results_into_a_pipe(place, words, start):
    code, out, err = shell(f"{{}} {words} | cat", place)
    assert code == 0, err
    assert out.lstrip().startswith(start)


def test_what_stdout_held_before_stays(place):
    """`>>` appends; a file that took the place of the log would lose it."""
    code, _, err = shell(
        "echo before > log; {} predict m.stretchy d.tsv --drop y -o /dev/stdout >> log", place
    )
    assert code == 0, err
    lines = (place / "log").read_text().splitlines()
    assert lines[:2] == ["before", "prediction"]
    assert len(lines) == 22


def test_two_results_on_stdout_are_refused(place):
    _, out, err = shell("{} predict m.stretchy d.tsv --drop y --json -o /dev/stdout | cat", place)
    assert out == b""
    assert err == "error: --json and -o '/dev/stdout' would both go to stdout: name a file.\n"


def test_a_named_pipe_stays_one(place):
    os.mkfifo(place / "pipe")
    code, out, err = shell("cat pipe & {} predict m.stretchy d.tsv --drop y -o pipe; wait", place)
    assert code == 0, err
    assert out.startswith(b"prediction\n")
    assert stat.S_ISFIFO((place / "pipe").stat().st_mode)


def test_a_device_stays_one(place):
    if os.geteuid() != 0:
        pytest.skip("only root can make a device; run the tests as root")
    os.mknod(place / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    for words in (f"fit d.tsv -t y -o null {GRID} -q", "predict m.stretchy d.tsv --drop y -o null"):
        code, _, err = shell(f"{{}} {words}", place)
        assert code == 0, err
    assert stat.S_ISCHR((place / "null").stat().st_mode)


@pytest.mark.slow
def test_data_from_a_named_pipe(place):
    """A path that cannot be read twice, as the shell's <(...) is one."""
    os.mkfifo(place / "pipe")
    line = "cat d.tsv > pipe & {} predict m.stretchy pipe --drop y"
    code, out, err = shell(line, place)
    assert code == 0, err
    assert out == shell("{} predict m.stretchy d.tsv --drop y", place)[1]
