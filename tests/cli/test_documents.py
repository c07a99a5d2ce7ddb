"""The commands in README and docs/cli.md work as they stand, in an empty folder.

With the packages of the extras cli and report alone, which is what these pages have installed.
"""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.program import run_afresh

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# rows of the data that the commands of each page begin with
ROWS = {"docs/cli.md": 442, "README.md": 60}


def blocks_of(page: str) -> list[str]:
    """What a page shows of a shell: commands, and what they print."""
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [block for language, block in found if language in ("", "sh")]


def commands(page: str) -> list[list[str]]:
    """The lines of a page that start with `skstretch`, in words."""
    lines = [line for block in blocks_of(page) for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("skstretch ")]


def shown(page: str) -> str:
    """What a page says that `fit` prints."""
    return next(block for block in blocks_of(page) if block.startswith("found "))


def labels(printed: str) -> list[str]:
    """The names at the beginning of lines, and how many lines follow each; figures may differ."""
    return [line[:10].strip() for line in printed.splitlines()]


OTHERS = (
    "pandas", "polars", "dask", "distributed", "matplotlib", "onnx", "onnxruntime", "glmnet",
    "PIL", "zarr", "h5py",
)  # fmt: skip


@pytest.fixture
def bare(tmp_path_factory, monkeypatch):
    """No package that neither the library nor the extras cli and report bring."""
    folder = tmp_path_factory.mktemp("absent")
    for name in OTHERS:
        (folder / f"{name}.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page == "docs/cli.md")) for page in ROWS],
)
def test_commands(page, tmp_path, bare):
    listed = commands(page)
    assert {words[0] for words in listed} - {"inspect"} == {"datasets", "fit", "predict", "report"}
    for words in listed:
        printed = words[0] == "fit" and page == "docs/cli.md"
        # which is what fit does by itself, and the other tests leave out
        done = run_afresh(*words, *(["--nested"] if printed else []), cwd=tmp_path)
        assert done.code == 0, f"{words}: {done.err}"
        if printed:
            assert labels(done.out) == labels(shown(page)), "show what it prints"
    header, *rows = (tmp_path / "predictions.csv").read_text().splitlines()
    assert header == "prediction,lower,upper"
    assert len(rows) == ROWS[page]
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
