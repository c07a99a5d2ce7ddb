"""The command: bad requests name what was meant, good ones end with 0."""

import pytest

from reproduction.command import Request, main, split_names
from reproduction.sets import STANDINS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel1"], "unknown piece 'tabel1'. Did you mean 'table1'?"),
        (["fig1", "--datasets", "arcen"], "unknown data set 'arcen'. Did you mean 'arcene'?"),
        (["fig1", "--trials", "0"], "trials=0: at least one trial is needed."),
        (["fig1", "--jobs", "0"], "jobs=0: at least one process is needed."),
    ],
)
def test_bad_requests(tmp_path, capsys, words, message):
    out = tmp_path / "out"
    assert main([*words, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_stand_ins_are_part_of_a_full_run_alone():
    def standins(**asked):
        return [entry.name for entry in Request(**asked).sets() if entry.standin]

    assert standins() == standins(quick=True, pieces=("standins",)) == [*STANDINS]
    assert standins(quick=True) == []
    assert standins(datasets=["tfidf-standin", "corn"]) == ["tfidf-standin"]


def test_named_set_that_is_not_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SKSTRETCH_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("skstretch.datasets.find.fetch_files", _no_network)
    assert main(["fig11", "--datasets", "prostate", "--out", str(tmp_path / "out")]) == 2
    assert "prostate" in capsys.readouterr().err.lower()


def _no_network(*_):
    raise OSError("no network")


def test_names_by_comma_or_apart():
    assert split_names(["a,b", "c"]) == ["a", "b", "c"]
    assert split_names(None) is None


def test_one_figure(tmp_path, capsys):
    assert main(["fig4", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "figures" / "fig4.png").stat().st_size > 1000
    assert "![Fig. 4" in (tmp_path / "reproduction.md").read_text("utf-8")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[1/1] fig4" in captured.err
