"""``stretchy reproduce`` through the program."""

import pytest

pytest.importorskip("typer", reason="typer is not installed (extra cli)")

from typer.testing import CliRunner

from stretchy.cli.app import program


def invoke(*words):
    return CliRunner().invoke(program(), ["reproduce", *map(str, words)])


def test_table_one(tmp_path):
    result = invoke("table1", "--quick", "--out", tmp_path)
    assert result.exit_code == 0
    assert "# The paper, reproduced" in (tmp_path / "reproduction.md").read_text("utf-8")


def test_typing_error(tmp_path):
    result = invoke("fig1", "--datasets", "madelone", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "Did you mean 'madelon'?" in result.stderr
    assert not (tmp_path / "out").exists()
