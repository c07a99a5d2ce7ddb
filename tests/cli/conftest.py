"""Folders with data, and the program."""

import pytest

from tests.cli.program import Caller
from tests.cli.samples import NAMES, diabetes, tumours, write_csv


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with diabetes.csv and tumours.csv, made the current one."""
    X, y = diabetes()
    write_csv(tmp_path / "diabetes.csv", X, {"progression": y.tolist()}, names=NAMES)
    X, y = tumours()
    write_csv(tmp_path / "tumours.csv", X, {"kind": y.tolist()})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def call(folder, monkeypatch, capfd):
    """The program in this process and that folder."""
    return Caller(monkeypatch, capfd)
