"""The file of results: what counts as done, and what survives a bad end."""

import pytest

from reproduction.files import COLUMNS, Ledger, read_results
from reproduction.settings import Cell, Unit

CELLS = (Cell("study", "SR", k=1.1, c=1e100, density=1.0), Cell("study", "LASSO1", mixing=0.0001))
UNIT = Unit("diabetes", "SR", 0, 1, CELLS)


def line(cell, error=0.5, **other):
    values = {"piece": cell.piece, "method": cell.method, "k": cell.k, "c": cell.c}
    values |= {"density": cell.density, "mixing": cell.mixing, "size": cell.size}
    place = {"dataset": "diabetes", "trial": 0, "fold": 1, "seed": 0}
    return {**values, **place, "error": error, "measure": "mse", "cpu": 0.1, **other}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "results.csv"


def test_unit_is_done_when_all_cells_are(path):
    ledger = Ledger(path)
    assert not ledger.has(UNIT)
    ledger.append([line(CELLS[0])])
    assert not ledger.has(UNIT)
    assert not Ledger(path).has(UNIT)
    ledger.append([line(CELLS[1])])
    assert ledger.has(UNIT)
    assert Ledger(path).has(UNIT)
    assert not ledger.has(Unit("diabetes", "SR", 0, 0, CELLS))


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_torn_last_line_is_dropped(path, cut):
    Ledger(path).append([line(CELLS[0]), line(CELLS[1])])
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    ledger = Ledger(path)
    assert not ledger.has(UNIT)
    assert path.read_bytes().count(b"\n") == 2
    ledger.append([line(CELLS[1])])
    assert path.read_bytes() == content


def test_line_of_other_length_does_not_count(path):
    Ledger(path).append([line(CELLS[0])])
    with open(path, "a") as file:
        file.write("study,diabetes,LASSO1\n")
    assert not Ledger(path).has(UNIT)
    assert len(read_results(path)) == 1


def test_last_line_of_a_cell_counts(path):
    ledger = Ledger(path)
    ledger.append([line(CELLS[0], error=0.5)])
    ledger.append([line(CELLS[0], error=0.25)])
    table = ledger.table()
    assert table["error"].tolist() == [0.25]
    assert table["c"].tolist() == [1e100]
    assert table["mixing"].isna().all()


def test_messages_with_breaks_stay_in_a_line(path):
    Ledger(path).append([line(CELLS[0], commit='a\nb,"c"')])
    assert read_results(path)["commit"].tolist() == ['a b,"c"']


def test_file_of_other_columns_is_refused(path):
    path.parent.mkdir()
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has the columns a,b, not those of this version"):
        Ledger(path)
    assert path.read_text() == "a,b\n1,2\n"


def test_columns_are_the_contract():
    assert ",".join(COLUMNS) == (
        "piece,dataset,method,k,c,density,mixing,size,trial,fold,error,measure,cpu,wall,nonzero,"
        "seed,versions,commit"
    )
