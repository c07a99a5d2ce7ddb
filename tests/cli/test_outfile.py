"""No command replaces a file that it reads, or one output with another."""

import numpy as np
import pytest

from skstretch import StretchyRegressorCV, save
from tests.cli.program import run

WORDS = "would replace a file that this command also uses: choose another name."


@pytest.fixture
def place(tmp_path):
    X = np.random.default_rng(0).random((20, 3))
    rows = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    np.savetxt(tmp_path / "d.tsv", rows, delimiter="\t", header="a\tb\tc\ty", comments="")
    save(StretchyRegressorCV(c_grid=(1.0, 10.0, 100.0)).fit(X, rows[:, 3]), tmp_path / "m.stretchy")
    return tmp_path


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["fit", "d.tsv", "-t", "y", "-o", "d.tsv"], "-o 'd.tsv'"),
        (["fit", "d.tsv", "-t", "y", "-o", "z.stretchy", "--report", "d.tsv"], "--report 'd.tsv'"),
        (
            ["fit", "d.tsv", "-t", "y", "-o", "z.stretchy", "--report", "./z.stretchy"],
            "--report 'z.stretchy'",
        ),
        (["predict", "m.stretchy", "d.tsv", "-o", "d.tsv"], "-o 'd.tsv'"),
        (["report", "m.stretchy", "-o", "m.stretchy"], "-o 'm.stretchy'"),
    ],
    ids=["data", "report over data", "report over model", "predictions", "model"],
)
def test_inputs_are_not_replaced(place, words, named):
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    done = run(*words, cwd=place)
    assert done.code == 2
    assert done.err == f"error: {named} {WORDS}\n"
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
