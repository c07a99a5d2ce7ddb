"""``python -m reproduction``: the real program in a temporary folder."""

import subprocess
import sys

import pytest

from reproduction import command


def run(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "reproduction", *words],
        cwd=cwd, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_table_one(tmp_path):
    done = run("table1", "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "quick" / "reproduction.md").read_text("utf-8")
    assert "# The paper, reproduced" in page
    assert "**A quick run**" in page


@pytest.mark.slow
def test_quick_and_full_keep_apart(tmp_path):
    assert run("fig1", "--quick", "--out", "here", cwd=tmp_path).returncode == 0
    done = run("fig1", "--out", "here", cwd=tmp_path)
    assert done.returncode == 2
    assert "quick and full runs do not mix" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--datasets", "corn,prostate"),
        ("--datasets", "corn", "prostate"),
        ("--datasets", "corn", "--datasets", "prostate"),
    ],
)
def test_data_sets_by_commas_apart_and_repeated(monkeypatch, words):
    seen = []
    monkeypatch.setattr(command, "execute", lambda request: seen.append(request) or 0)
    assert command.main(["fig9", *words]) == 0
    assert seen[0].datasets == ["corn", "prostate"]
    assert list(seen[0].pieces) == ["fig9"]


def test_typing_error(tmp_path):
    done = run("fig1", "--datasets", "madelone", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'madelon'?" in done.stderr
    assert not (tmp_path / "out").exists()
