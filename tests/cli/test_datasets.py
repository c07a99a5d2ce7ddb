"""`skstretch datasets`: the list of the API, and files that read back exactly."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_svmlight_file

from skstretch.datasets import list_datasets, make_spectra
from tests.cli.program import run
from tests.cli.samples import floats, read_csv


def test_real_program(folder):
    done = run("datasets", "--json", cwd=folder)
    assert (done.code, done.err) == (0, "")
    *paper, spectra = json.loads(done.out)
    assert paper == list_datasets()
    assert (spectra["name"], spectra["where"]) == ("spectra", "generated")


def test_table(call):
    lines = call("datasets").out.splitlines()
    for row in list_datasets():
        (line,) = [line for line in lines if line.strip().startswith(f"{row['name']} ")]
        assert f"{row['features']:,}" in line


def test_a_set_as_csv(call, folder):
    done = call("datasets", "diabetes", "-o", "set.csv")
    assert done.err == "wrote 442 rows to set.csv; the target is 'target'\n"
    columns = read_csv((folder / "set.csv").read_text())
    frame, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    assert list(columns) == [*frame.columns, "target"]
    np.testing.assert_array_equal(floats(columns["target"]), y)
    np.testing.assert_array_equal(floats(columns["bmi"]), frame["bmi"])


def test_a_sparse_set_as_svmlight(call, folder, data_dir):
    from skstretch.datasets import fetch_dexter

    done = call("datasets", "dexter", "-o", "set.svm")
    assert done.err == "wrote 600 rows to set.svm; the target is the label\n"
    X, y = load_svmlight_file(str(folder / "set.svm"), n_features=20_000, zero_based=False)
    ours, labels = fetch_dexter(return_X_y=True)
    assert abs(X - ours).nnz == 0
    np.testing.assert_array_equal(y, labels)


def refused(*args, **keywords):
    raise ConnectionError("no network in this test")


def test_without_a_network(call, monkeypatch, tmp_path):
    import socket

    monkeypatch.setenv("SKSTRETCH_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    done = call("datasets", "arcene", "-o", "a.csv", "--quiet")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: the data set Arcene was not found. Tried:\n")
    assert "By hand: fetch" in done.err
    assert not done.err.endswith("..\n")
    assert "Warning" not in done.err
    assert "warn(" not in done.err
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dibetes", "-o", "x.csv"), "there is no data set 'dibetes'; did you mean 'diabetes'?"),
        (("diabetes",), "say where to write it: skstretch datasets diabetes -o diabetes.csv"),
        (("diabetes", "-o", "x.svm"), "diabetes is dense: name a .csv file."),
        (("-o", "x.csv"), "-o goes with the name of a set: skstretch datasets NAME -o FILE."),
    ],
)
def test_mistakes(call, words, message):
    done = call("datasets", *words)
    assert (done.code, done.out, done.err) == (2, "", f"error: {message}\n")


def test_generated_spectra_are_those_of_the_api(call, folder):
    done = call("datasets", "spectra", "-o", "spectra.csv")
    assert done.code == 0
    rows = np.loadtxt("spectra.csv", delimiter=",", skiprows=1)
    X, y = make_spectra(return_X_y=True)
    np.testing.assert_array_equal(rows, np.column_stack([X, y]))
    row = json.loads(call("datasets", "--json").out)[-1]
    assert (row["samples"], row["features"]) == X.shape
