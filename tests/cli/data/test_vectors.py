"""Targets in files of their own."""

import gzip
import re

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from skstretch.cli.data.files import Form
from skstretch.cli.data.matrices import read_vector
from skstretch.exceptions import DataError

Y = np.array([1.5, 0.0, -2.0, 4.0])


def written(folder, name, values):
    path = folder / name
    scipy_io.mmwrite(path, values)
    return str(path)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4)])
@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array])
def test_matrix_market(tmp_path, shape, form):
    path = written(tmp_path, "y.mtx", form(Y.reshape(shape)))
    np.testing.assert_array_equal(read_vector(path, 4, Form()), Y)


def test_npy_by_its_content(tmp_path):
    with open(tmp_path / "target", "wb") as file:
        np.save(file, Y[:, None])
    np.testing.assert_array_equal(read_vector(str(tmp_path / "target"), 4, Form()), Y)
    (tmp_path / "y.npy.gz").write_bytes(gzip.compress((tmp_path / "target").read_bytes()))
    np.testing.assert_array_equal(read_vector(str(tmp_path / "y.npy.gz"), 4, Form()), Y)


def test_text_of_a_classification(tmp_path):
    (tmp_path / "y.txt").write_text('"kind"\n"a b"\nc\n\nc\n')
    assert read_vector(str(tmp_path / "y.txt"), 4, Form()) == ["a b", "c", "", "c"]


def refused(path, n_rows=4):
    with pytest.raises(DataError) as caught:
        read_vector(str(path), n_rows, Form())
    return str(caught.value)


def test_what_is_no_vector(tmp_path):
    path = written(tmp_path, "y.mtx", Y.reshape(2, 2))
    way_out = "write the target as .npy, .mtx or text, one value a row."
    assert refused(path) == f"--target {path!r} has shape (2, 2): {way_out}"
    path = written(tmp_path, "y.mtx", Y[:3, None])
    assert refused(path) == f"--target {path!r} has 3 values, and the data have 4 rows."
    (tmp_path / "y.csv").write_text("id,y\n1,2\n2,3\n")
    assert refused(tmp_path / "y.csv", 2) == (
        f"--target {str(tmp_path / 'y.csv')!r} has the line '1,2': {way_out}"
    )
    np.savez(tmp_path / "y.npz", y=Y)
    assert refused(tmp_path / "y.npz") == (
        f"--target {str(tmp_path / 'y.npz')!r} is a npz file: {way_out}"
    )
    (tmp_path / "y.bin").write_bytes(b"\0\1\2")
    assert "is a binary file" in refused(tmp_path / "y.bin")
    (tmp_path / "y.mtx").write_text("%%MatrixMarket matrix\n")
    assert re.search("is not a sound Matrix Market file", refused(tmp_path / "y.mtx"))
