"""Rows of a map go into a map, and its bytes go with it."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from reproduction.sets import take_rows


def test_rows_of_an_array_are_an_array():
    X = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(take_rows(X, np.array([2, 0])), X[[2, 0]])


def test_rows_of_a_map_are_a_map(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.arange(40, dtype=np.uint8).reshape(8, 5))
    X = np.load(path, mmap_mode="r")
    part = take_rows(X, np.array([7, 1, 1]))
    assert isinstance(part, np.memmap)
    assert part.dtype == np.uint8
    np.testing.assert_array_equal(part, np.array(X)[[7, 1, 1]])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the name of a mapped file")
def test_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "X.npy"
    np.save(path, np.ones((4, 3)))
    part = take_rows(np.load(path, mmap_mode="r"), np.array([0, 3]))
    assert not Path(part.filename).exists()
    assert os.listdir(tmp_path) == ["X.npy"]
    assert part.sum() == 6
