"""Streams that are closed, signals at any moment, and text that a terminal would act upon."""

import os
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import skstretch
from skstretch.cli.console import printable
from tests.cli.program import environment, program, run
from tests.cli.samples import NAMES, diabetes, write_csv

PROGRAM = shlex.join([sys.executable, "-m", "skstretch.cli"])
GRID = "--k 2 --a 0 --c 0.1,1"


def shell(line, folder):
    """A line of the shell, with {} for the program."""
    done = subprocess.run(
        ["sh", "-c", line.replace("{}", PROGRAM)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


def test_standard_input_is_closed(folder):
    code, out, err = shell("{} fit - -t y -o m.stretchy <&-", folder)
    assert (code, out) == (2, "")
    assert err == "error: standard input is closed: name a file in place of -.\n"


@pytest.mark.parametrize("command", ["version", "inspect m.stretchy", "predict m.stretchy d.csv"])
def test_standard_output_is_closed(folder, command):
    X, y = diabetes(20)
    skstretch.save(skstretch.StretchyRegressor().fit(X, y), folder / "m.stretchy")
    write_csv(folder / "d.csv", X, names=NAMES)
    code, _, err = shell(f"{{}} {command} >&-", folder)
    assert (code, err) == (1, "error: standard output is closed: the result has nowhere to go.\n")


def test_all_streams_are_closed(folder):
    """The model is no file that a stream was mistaken for."""
    line = f"{{}} fit diabetes.csv -t progression -o m.stretchy -q {GRID} <&- >&- 2>&-"
    assert shell(line, folder)[0] == 0
    assert skstretch.load(folder / "m.stretchy").n_features_in_ == 10
    assert shell("{} fit nothing.csv -t y -o n.stretchy <&- >&- 2>&-", folder)[0] == 2


@pytest.mark.parametrize(
    "delay", [0.1, 0.3, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.05, 0.15, 0.2, 0.5))]
)
def test_interrupted_early(folder, delay):
    """Ctrl-C while packages are imported: no traceback, from our first line on."""
    code = (
        "from skstretch.cli import main\nimport os, sys, threading\n"
        f"threading.Timer({delay}, os.kill, (os.getpid(), 2)).start()\n"
        "sys.argv[0] = 'skstretch'\nmain()"
    )
    words = ("fit", "-", "-t", "y", "-o", "m.stretchy")
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    # a standard input that never ends
    process.wait(timeout=600)
    err = process.stderr.read().decode()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    assert (process.returncode, err) == (130, "error: interrupted.\n")


def test_an_interrupt_that_a_package_turned_into_an_error(call, monkeypatch):
    from skstretch.cli import models

    def broken(path):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("numpy could not be imported") from None

    monkeypatch.setattr(models, "read_model", broken)
    done = call("inspect", "m.stretchy")
    assert (done.code, done.err) == (130, "error: interrupted.\n")


def test_an_ignored_interrupt_stays_ignored(folder):
    """As in the background of a script."""
    line = f"trap '' INT; {{}} fit diabetes.csv -t progression -o m.stretchy -q {GRID} & "
    line += "sleep 0.5; kill -INT $!; wait $!"
    assert shell(line, folder) == (0, "", "")


def test_hang_up(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "skstretch.cli", "fit", "-", "-t", "y", "-o", "m.stretchy"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    process.stdin.write(b"a,y\n" + b"1,2\n" * 50_000)  # returns when the program reads
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (128 + signal.SIGHUP, b"")
    assert sorted(os.listdir(folder)) == ["diabetes.csv", "tumours.csv"]


EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b"


def test_printable():
    assert printable("a b é 漢") == "a b é 漢"
    assert printable(EVIL) == r"\x1b]0;owned\x07\x1b[2J\u202e\x9b"
    assert printable("a\nb\t\r", "\n\t") == "a\nb\t\\r"


def clean(text):
    assert text
    assert all(char.isprintable() or char in "\n" for char in text), ascii(text)


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_no_text_of_a_model_file_acts_on_the_terminal(call, folder):
    from skstretch.io import header

    X, y = diabetes(30)
    words = np.array([f"{EVIL}1", f"{EVIL}2"])[(y > 150).astype(int)]
    model = skstretch.StretchyClassifierCV(c_grid=(0.1, 1.0, 10.0)).fit(X, words)
    model.feature_names_in_ = np.array([f"{name}{EVIL}" for name in NAMES], dtype=object)
    skstretch.save(model, "m.stretchy", about={"target": EVIL, "cv": EVIL})
    found = header.read_header

    def forged(archive):
        fields = found(archive)
        return {**fields, "versions": {EVIL: EVIL}, "notes": [EVIL]}

    header.read_header = forged
    try:
        done = call("inspect", "m.stretchy")
    finally:
        header.read_header = found
    assert done.code == 0, done.err
    clean(done.out)
    assert done.out.count(r"\x1b[2J") > 10
    clean(call("inspect", "m.stretchy", "--json").out)


def test_no_text_of_a_data_file_acts_on_the_terminal(call, folder):
    X, y = diabetes(30)
    names = [f"{name}{EVIL}" for name in NAMES]
    write_csv(folder / "e.csv", X, {EVIL: ["x" + EVIL] * 30, "y": y}, names=names)
    save = ("-o", "m.stretchy", *GRID.split())
    for words in (("-t", "y"), ("-t", "zzz"), ("-t", "y", "--drop", "zzz"), ("-t", EVIL)):
        done = call("fit", "e.csv", *words, *save)
        assert done.code == 2
        clean(done.err)
    done = call("fit", "e.csv", "-t", "y", "--drop", EVIL, *save)
    assert done.code == 0, done.err
    clean(done.out)
    write_csv(folder / "more.csv", X, {EVIL: range(30)}, names=names)
    done = call("predict", "m.stretchy", "more.csv")
    assert done.code == 0
    clean(done.err)
    (folder / f"{EVIL}.csv").write_text("")
    clean(call("fit", f"{EVIL}.csv", "-t", "y", *save).err)


def test_predictions_on_a_terminal(folder):
    """Into a file or a pipe text goes as it is."""
    pty = pytest.importorskip("pty", reason="needs a system with pseudo-terminals")
    X, y = diabetes(20)
    skstretch.save(skstretch.StretchyRegressor().fit(X, y), folder / "m.stretchy")
    write_csv(folder / "d.csv", X, {"who": [EVIL] * 20}, names=NAMES)
    words = ("predict", "m.stretchy", "d.csv", "--id", "who")
    assert EVIL in run(*words, cwd=folder).out
    ours, theirs = pty.openpty()
    command = [*program(), *words]
    done = subprocess.run(command, cwd=folder, stdout=theirs, env=environment(), timeout=600)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode().replace("\r\n", "\n")
    os.close(ours)
    assert done.returncode == 0
    clean(shown)
    assert r"\x1b[2J" in shown


@pytest.mark.parametrize(
    ("encoding", "terminal", "found"),
    [
        ("cp1252", False, "utf-8"),
        ("cp1252", True, None),
        ("utf-8", False, None),
        (None, False, None),
    ],
)
def test_pipes_of_windows_get_utf_8(encoding, terminal, found):
    """Its code pages have no − and no ±, which results have."""
    from skstretch.cli.app import _encoding

    assert _encoding(SimpleNamespace(encoding=encoding, isatty=lambda: terminal)) == found


def test_a_code_page_of_windows(folder):
    """The program on a stream with such a page, which Python opens where it is told to."""
    (folder / "d.csv").write_text("größe,y\n" + "".join(f"{i},{i % 5 - 2}\n" for i in range(20)))
    words = ("fit", "d.csv", "-t", "y", "-o", "m.stretchy", "--c", "0.1", "--no-nested")
    command = [sys.executable, "-m", "skstretch.cli", *words]
    page = environment(PYTHONIOENCODING="cp1252")
    done = subprocess.run(command, cwd=folder, capture_output=True, env=page, timeout=600)
    assert done.returncode == 0, done.stderr
    text = (done.stdout + done.stderr).decode("utf-8")
    assert "\\u" not in text
