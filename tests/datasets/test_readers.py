"""Readers, on small files of the published formats that the tests write."""

import bz2
import zipfile

import numpy as np
import pytest
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from skstretch.datasets import find as readers


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def write_lines(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def challenge_files(folder, lines, labels):
    """Four files, in the order of the readers, from (train, valid) lines and labels."""
    paths = []
    for part, rows, marks in zip(("train", "valid"), lines, labels, strict=True):
        paths.append(write_lines(folder / f"{part}.data", rows))
        paths.append(write_lines(folder / f"{part}.labels", map(str, marks)))
    return paths


def test_dense_challenge_text(tmp_path, rng):
    X = rng.integers(0, 1000, (5, 4))
    # the originals end their lines with a space
    rows = [" ".join(map(str, row)) + " " for row in X]
    paths = challenge_files(tmp_path, (rows[:3], rows[3:]), ([1, -1, 1], [-1, -1]))
    sample = readers.read_dense_challenge(*paths)
    np.testing.assert_array_equal(sample.X, X)
    assert sample.X.dtype == np.float64
    np.testing.assert_array_equal(sample.y, [1, -1, 1, -1, -1])
    np.testing.assert_array_equal(sample.extras["split"], [0, 0, 0, 1, 1])


def test_sparse_challenge_text(tmp_path):
    train, valid = ["2:7 5:300 ", "", "1:1 "], ["4:9 3:8 "]
    paths = challenge_files(tmp_path, (train, valid), ([1, -1, 1], [-1]))
    sample = readers.read_sparse_challenge(*paths, n_features=5)
    assert sample.X.format == "csr"
    expected = [[0, 7, 0, 0, 300], [0] * 5, [1, 0, 0, 0, 0], [0, 0, 8, 9, 0]]
    np.testing.assert_array_equal(sample.X.toarray(), expected)
    assert sample.X.nnz == 5
    assert sample.X.has_sorted_indices


def test_binary_challenge_text(tmp_path):
    paths = challenge_files(tmp_path, (["1 3 ", "2 "], ["3 "]), ([1, -1], [-1]))
    sample = readers.read_sparse_challenge(*paths, n_features=3)
    np.testing.assert_array_equal(sample.X.toarray(), [[1, 0, 1], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(sample.y, [1, -1, -1])


def test_challenge_text_with_too_few_labels(tmp_path):
    paths = challenge_files(tmp_path, (["1 2", "3 4"], ["5 6"]), ([1], [-1]))
    with pytest.raises(ValueError, match=r"train\.data has 2 lines but its labels are 1"):
        readers.read_dense_challenge(*paths)


@pytest.mark.parametrize("index", ["0", "4"])
def test_challenge_text_with_a_strange_index(tmp_path, index):
    paths = challenge_files(tmp_path, ([index], ["1"]), ([1], [-1]))
    with pytest.raises(ValueError, match="between 1 and 3"):
        readers.read_sparse_challenge(*paths, n_features=3)


@pytest.mark.parametrize("packed", [True, False])
def test_tfidf_text(tmp_path, rng, packed):
    X = rng.random((6, 9)) * (rng.random((6, 9)) < 0.3)
    X[:, -2:] = 0  # as in the real test part, the last columns do not occur
    y = rng.standard_normal(6)
    path = tmp_path / "E2006.test"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    if packed:
        text, path = path.read_bytes(), tmp_path / "E2006.test.bz2"
        path.write_bytes(bz2.compress(text))
    sample = readers.read_tfidf(path, n_features=9)
    assert sample.X.format == "csr"
    assert sample.X.shape == (6, 9)
    assert sample.X.nnz == np.count_nonzero(X)
    np.testing.assert_allclose(sample.X.toarray(), X, rtol=1e-15)
    np.testing.assert_allclose(sample.y, y, rtol=1e-15)


def test_prostate_text(tmp_path):
    header = "\tlcavol\tlweight\tage\tlpsa\ttrain"
    lines = [header, "1\t-0.579818495\t2.769459\t50\t-0.4307829\tT", "2\t1\t2\t3\t4\tF"]
    sample = readers.read_prostate(write_lines(tmp_path / "prostate.data", lines))
    np.testing.assert_array_equal(sample.X, [[-0.579818495, 2.769459, 50], [1, 2, 3]])
    np.testing.assert_array_equal(sample.y, [-0.4307829, 4])
    assert list(sample.extras["feature_names"]) == ["lcavol", "lweight", "age"]
    assert list(sample.extras["train"]) == [1, 0]


@pytest.mark.parametrize("packed", [True, False])
def test_corn_mat(tmp_path, rng, packed):
    X, Y = rng.random((4, 6)), rng.random((4, 4))
    path = tmp_path / "corn.mat"
    savemat(path, {"m5spec": {"data": -X}, "mp6spec": {"data": X}, "propvals": {"data": Y}})
    if packed:
        archive = tmp_path / "corn.mat_.zip"
        with zipfile.ZipFile(archive, "w") as target:
            target.write(path, "corn.mat")
            target.writestr("__MACOSX/._corn.mat", b"\0")
        path = archive
    sample = readers.read_corn_mat(path, "mp6")
    np.testing.assert_array_equal(sample.X, X)
    np.testing.assert_array_equal(sample.y, Y[:, 0])
    np.testing.assert_array_equal(sample.extras["targets"], Y)
    assert list(sample.extras["wavelength_nm"]) == [1100, 1102, 1104, 1106, 1108, 1110]
