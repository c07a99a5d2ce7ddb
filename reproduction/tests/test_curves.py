"""The file of curves: parts are replaced, gaps in lines and empty names survive."""

import numpy as np
import pytest

from reproduction.files import CurveBook, join, read_curves, series


@pytest.fixture
def book(tmp_path):
    return CurveBook(tmp_path / "curves.csv")


def test_put_replaces_only_its_own_panels(book):
    book.put("fig7", "corn: ", series("fig7", "corn: SR", "k=2", [1, 2], [3.0, 4.0]))
    book.put("fig7", "diabetes: ", series("fig7", "diabetes: SR", "k=2", [1], [5.0]))
    book.put("fig7", "corn: ", series("fig7", "corn: SR", "k=2", [1], [6.0]))
    table = read_curves(book.path)
    assert table[["panel", "y"]].values.tolist() == [["diabetes: SR", 5.0], ["corn: SR", 6.0]]
    assert book.has("fig7", "corn: ")
    assert not book.has("fig8", "corn: ")
    assert not book.has("fig7", "prostate: ")


def test_everything_survives_the_file(book):
    table = join(
        [
            series("fig1", "", "NA", [0.1, np.nan, 1e300], [1 / 3, np.nan, -0.0]),
            series("fig2", "a, b", 'c "d"', 1e-300, 2.0),
        ]
    )
    book.put("fig1", "", table[table["figure"] == "fig1"])
    book.put("fig2", "", table[table["figure"] == "fig2"])
    again = read_curves(book.path)
    assert again[["figure", "panel", "series"]].equals(table[["figure", "panel", "series"]])
    np.testing.assert_array_equal(again[["x", "y"]], table[["x", "y"]])
    assert CurveBook(book.path).has("fig1", "")


def test_file_of_other_columns_is_refused(tmp_path):
    path = tmp_path / "curves.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="move the file away, or name another output folder"):
        read_curves(path)
