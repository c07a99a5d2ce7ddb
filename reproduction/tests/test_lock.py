"""Two runs do not share a folder; a lock ends with its process."""

import os
import subprocess
import sys

import pytest

from reproduction.command import main
from reproduction.files import LOCK, FolderInUseError, only_run

HOLD = """
import sys, pathlib
from reproduction.files import only_run
with only_run(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_second_run_is_told_who_holds_the_folder(tmp_path, holder, capsys):
    assert main(["fig1", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"is in use by another run (process {holder.pid})" in said
    assert "choose another folder with --out" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == [LOCK]


def test_killed_process_leaves_no_lock(tmp_path, holder):
    with pytest.raises(FolderInUseError), only_run(tmp_path):
        pass
    holder.kill()
    holder.wait()
    assert (tmp_path / LOCK).exists()
    with only_run(tmp_path):
        assert (tmp_path / LOCK).read_bytes() == f"\n{os.getpid()}\n".encode()


def test_folder_is_free_after_the_block_and_after_an_error(tmp_path):
    with pytest.raises(ArithmeticError), only_run(tmp_path / "new"):
        raise ArithmeticError
    with only_run(tmp_path / "new"):
        pass


def test_drawing_needs_no_lock(tmp_path, capsys):
    assert main(["fig1", "--out", str(tmp_path)]) == 0
    before = (tmp_path / "results.csv").read_bytes()
    with open(tmp_path / "results.csv", "ab") as file:
        file.write(b"study,diabetes,SR")  # as while a run is writing
    with only_run(tmp_path):
        assert main(["fig1", "--out", str(tmp_path), "--draw-only"]) == 0
    assert (tmp_path / "results.csv").read_bytes() == before + b"study,diabetes,SR"


def test_nothing_to_draw_from_is_an_error(tmp_path, capsys):
    assert main(["fig1", "--out", str(tmp_path / "none"), "--draw-only"]) == 2
    assert "holds no run" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
