"""What the page in the browser runs: its Python part, on tables as visitors have them."""

import csv
import importlib.util
import io

import numpy as np
import pytest

from skstretch.datasets import make_spectra
from tests.site.build import ROOT

SPEC = importlib.util.spec_from_file_location("page", ROOT / "docs" / "_static" / "try.py")
page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(page)


def as_text(X, y, target="yield"):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([target, *(f"band {j}" for j in range(X.shape[1]))])
    writer.writerows([value, *row] for value, row in zip(y, X, strict=True))
    return out.getvalue()


def test_numbers_get_intervals():
    X, y = make_spectra(30, 20, return_X_y=True)
    summary, rows = page.answer(as_text(X, y), "yield")
    head, *found = csv.reader(io.StringIO(rows))
    assert head == ["yield", "predicted without this row", "lower", "upper"]
    values = np.array(found, dtype=float)
    assert np.array_equal(values[:, 0], y)
    assert ((values[:, 2] <= y) & (y <= values[:, 3])).mean() > 0.8
    assert "band " in summary


def test_words_get_probabilities():
    X, y = make_spectra(30, 20, return_X_y=True)
    labels = np.where(y > 0.5, "high", "low")
    _, rows = page.answer(as_text(X, labels, "kind"), "kind")
    head, *found = csv.reader(io.StringIO(rows))
    assert head == ["kind", "probability high", "probability low"]
    sums = np.array([row[1:] for row in found], dtype=float).sum(axis=1)
    assert np.allclose(sums, 1.0)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no column 'z'; there are: y, a"):
        page.answer("y,a\n1,2\n", "z")
    with pytest.raises(ValueError, match="row 2, column 'a': 'red' is no number"):
        page.answer("y,a\n1,2\n3,red\n", "y")


def test_columns_are_those_of_the_first_line():
    assert page.columns_of('"a, b",c\n1,2\n') == ["a, b", "c"]
