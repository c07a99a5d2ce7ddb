"""Every format from standard input, as from a file."""

import gzip
import io
import sys

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from skstretch.cli.models import read_model
from tests.cli.program import run
from tests.cli.samples import NAMES, diabetes, write_csv

X, Y = diabetes(40)


def as_csv(path):
    write_csv(path, X, {"y": Y.tolist()}, names=NAMES)


def as_parquet(path):
    frame().to_parquet(path)


def as_feather(path):
    frame().to_feather(path)


def frame():
    import pandas as pd

    return pd.DataFrame(np.column_stack([X, Y]), columns=[*NAMES, "y"])


def as_npz(path):
    np.savez(path, X=X, y=Y)


def as_mtx(path):
    scipy_io.mmwrite(path, sparse.coo_array(np.column_stack([X, Y])))


def as_svmlight(path):
    dump_svmlight_file(X, Y, str(path), zero_based=False)


FORMATS = {
    "csv": (as_csv, ("-t", "y")),
    "parquet": (as_parquet, ("-t", "y")),
    "feather": (as_feather, ("-t", "y")),
    "npz": (as_npz, ()),
    "mtx": (as_mtx, ("-t", "11")),
    "svmlight": (as_svmlight, ()),
}
GRID = ("--k", "2", "--a", "0", "--c", "0.1,1", "-o", "m.stretchy", "-q")


@pytest.fixture
def piped(call, monkeypatch):
    """Calls the program with bytes on its standard input."""

    def with_input(data, *words):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return call(*words)

    return with_input


def fitted():
    """What m.stretchy holds, but for the time that the fit took."""
    header = read_model("m.stretchy").header
    assert header["about"].pop("seconds") > 0
    return header


def check(folder, call, piped, name, packed, options):
    write, target = FORMATS[name]
    path = folder / f"data.{name}"
    write(path)
    given = gzip.compress(path.read_bytes()) if packed else path.read_bytes()
    done = piped(given, "fit", "-", *target, *GRID, *options)
    assert done.code == 0, done.err
    from_input = fitted()
    assert call("fit", path, *target, *GRID).code == 0
    assert from_input == fitted()


@pytest.mark.parametrize("name", FORMATS)
def test_formats(folder, call, piped, name):
    check(folder, call, piped, name, False, ("--format", name))


@pytest.mark.parametrize("name", FORMATS)
def test_packed_and_found_out(folder, call, piped, name):
    check(folder, call, piped, name, True, ())


def test_real_program(tmp_path):
    as_parquet(tmp_path / "data.parquet")
    given = (tmp_path / "data.parquet").read_bytes()
    done = run("fit", "-", "-t", "y", *GRID, "--format", "parquet", cwd=tmp_path, stdin=given)
    assert (done.code, done.err) == (0, "")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data.parquet", "m.stretchy"]


@pytest.mark.parametrize("name", ["parquet", "feather", "npz", "mtx", "svmlight"])
def test_what_is_not_the_format_that_was_named(piped, name):
    done = piped(b"a,y\n1,2\n", "fit", "-", "-t", "y", *GRID, "--format", name)
    assert done.code == 2
    assert done.err.startswith("error: '-' is not a sound "), done.err


def test_nothing(piped):
    done = piped(b"", "fit", "-", "-t", "y", *GRID)
    assert (done.code, done.err) == (2, "error: '-' is empty.\n")
