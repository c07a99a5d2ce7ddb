"""Data read in blocks: the products of the dense design, and clear errors for what went wrong."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context

from skstretch import StretchyRegressor
from skstretch.designs import Source, is_source, measure
from skstretch.designs.source import READ_BYTES
from tests.designs.products import (
    KINDS,
    assert_alike,
    design_of,
    plain_products,
    quadrant_of,
    scaled_products,
)
from tests.zoo import BLOCKED, CountingArray, contained, numbers, weights

SUBSETS = {
    "all": lambda M, D: {},
    "some": lambda M, D: {"rows": np.arange(M)[1::2], "columns": np.arange(D)[::2]},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("products", [plain_products, scaled_products])
def test_products_are_those_of_the_dense_design(kind, shape, subset, products):
    X = numbers(shape)
    chosen = SUBSETS[subset](*X.shape)
    quadrant = quadrant_of(X, kind)

    def found(array):
        new = array[::-1][:9] * 1.4
        held, held_new = (
            (array, new) if array is not X else (Source(CountingArray(v)) for v in (array, new))
        )
        columns = chosen.get("columns")
        design = design_of(held, kind, **chosen, quadrant=quadrant)
        after = design_of(held_new, kind, columns=columns, bounded=True, quadrant=quadrant)
        return products(design, kind, after)

    with config_context(working_memory=0.01):
        blocked = found(X)
    assert_alike(blocked, found(X.copy()))


@pytest.mark.parametrize("container", BLOCKED)
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_moments(container, dtype, shape, tmp_path):
    X = numbers(shape, dtype)
    source = Source(contained(container, X, tmp_path))
    for w in (np.ones(len(X)), weights(len(X))):
        with config_context(working_memory=0.01):
            found = measure(source, w)
        true = measure(X, w)
        for name in true.__dataclass_fields__:
            np.testing.assert_allclose(
                getattr(found, name), getattr(true, name), rtol=1e-12, atol=1e-13, err_msg=name
            )


def test_what_is_a_source(tmp_path):
    from scipy import sparse

    X = numbers("wide")
    for container in BLOCKED:
        assert is_source(contained(container, X, tmp_path))
    assert is_source(CountingArray(X))
    for other in (X, X[0], X.tolist(), sparse.csr_array(X), "text", None, 3.0):
        assert not is_source(other)


@pytest.mark.parametrize(
    "rows",
    [None, slice(2, 9), [0, 3, 4], [], [4, 5, 6], [0, 2, 1, 3], [7, 3, 5], [1, 1, 3], [6, 5, 4]],
    ids=str,
)
@pytest.mark.parametrize("columns", [slice(0, 70), slice(5, 6), np.array([1, 2, 40, 69])], ids=str)
def test_read(rows, columns):
    X, rows = numbers("wide"), np.array(rows, int) if isinstance(rows, list) else rows
    found = Source(CountingArray(X)).read(rows, columns)
    true = X[slice(None) if rows is None else rows][:, columns]
    np.testing.assert_array_equal(found, true)


def test_scattered_columns_are_read_in_bounded_pieces(monkeypatch):
    monkeypatch.setattr("skstretch.designs.source.READ_BYTES", 8 * 24 * 10)
    X = numbers("wide")
    array = CountingArray(X)
    columns = np.array([0, 1, 9, 10, 30, 69])
    np.testing.assert_array_equal(Source(array).read(None, columns), X[:, columns])
    assert array.reads.max() == 1
    assert array.reads[0].sum() < 30  # what lies between is not read
    assert READ_BYTES >= 1 << 20


# What can go wrong


def long_source(n_columns=4096):
    rng = np.random.default_rng(0)
    return rng.standard_normal((8, n_columns)), rng.standard_normal(8)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_named_by_column_and_row(value, monkeypatch):
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_BYTES", 8 * 8 * 64)
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_LENGTH", 64)
    X, y = long_source()
    column = 37 * 64 + 11  # in block 37
    X[5, column] = value
    word = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=rf"X contains {word} in column {column}, row 5"):
        StretchyRegressor().fit(CountingArray(X), y)


def test_a_bad_number_among_tall_rows_and_new_rows(monkeypatch):
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_BYTES", 8 * 8 * 16)
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_LENGTH", 16)
    X, _ = long_source(900)
    X = np.ascontiguousarray(X.T)
    y = X[:, 0]
    fitted = StretchyRegressor().fit(CountingArray(X), y)
    X[37 * 16 + 3, 6] = np.nan
    for work in (fitted.predict, lambda bad: StretchyRegressor().fit(bad, y)):
        with pytest.raises(ValueError, match="NaN in column 6, row 595"):
            work(CountingArray(X))


def test_a_bad_number_in_a_row_of_weight_zero_has_no_effect():
    X, y = long_source()
    X[5, 70] = np.nan
    others = np.arange(8) != 5
    found = StretchyRegressor().fit(CountingArray(X), y, others.astype(float))
    np.testing.assert_allclose(
        found.alpha_, StretchyRegressor().fit(X[others], y[others]).alpha_, rtol=1e-9
    )


def test_names_are_told():
    X, _ = long_source(40)
    X[3, 21] = np.nan
    source = Source(CountingArray(X), [f"gene{j}" for j in range(40)])
    with pytest.raises(ValueError, match=r"column 21 \('gene21'\), row 3"):
        source.read(None, slice(0, 40))


class Shifty(CountingArray):
    """Changes after some reads, as a file that is overwritten."""

    def __init__(self, X, change, after):
        super().__init__(X)
        self.change, self.left = change, after

    def __getitem__(self, key):
        self.left -= 1
        block = super().__getitem__(key)
        return self.change(block) if self.left < 0 else block


CHANGES = {
    "dtype": lambda block: block.astype(np.float32),
    "kind": lambda block: block.astype(complex),
    "rows": lambda block: block[:-1],
    "columns": lambda block: block[:, :-1],
    "axes": lambda block: block[0],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("tall", [False, True])
def test_an_array_that_changes_while_it_is_read(change, after, tall, monkeypatch):
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_BYTES", 8 * 8 * 64)
    monkeypatch.setattr("skstretch.designs.threads.BLOCK_LENGTH", 64)
    X, y = long_source(640)
    if tall:
        X, y = np.ascontiguousarray(X.T), X[0]
    model = StretchyRegressor()
    with pytest.raises(ValueError, match=r"was promised: the file has changed or is damaged"):
        model.fit(Shifty(X, CHANGES[change], after), y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_an_array_whose_shape_and_dtype_are_no_matrix():
    X, y = long_source(40)
    for bad, words in (
        (X[0], "2D array"),
        (X.astype(complex), "dtype complex128"),
        (X.astype(str), "dtype <U"),
        (X[:, :0], r"shape \(8, 0\)"),
        (X[:0], r"shape \(0, 40\)"),
    ):
        with pytest.raises(ValueError, match=words):
            StretchyRegressor().fit(CountingArray(bad), y[: len(bad)])


def test_a_read_that_fails_is_the_users_to_see():
    class Gone(CountingArray):
        def __getitem__(self, key):
            raise OSError("the disk is gone")

    X, y = long_source(40)
    model = StretchyRegressor()
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(Gone(X), y)
    assert not [name for name in vars(model) if name.endswith("_")]


TRUNCATED = """
import os, sys
import numpy as np
from skstretch import StretchyRegressor
from skstretch.designs.source import Source

original = Source._slice
for when in ("before", "view", "during"):
    path = os.path.join(sys.argv[1], when + ".npy")
    np.save(path, np.random.default_rng(0).standard_normal((30, 20_000)))
    X, reads = np.load(path, mmap_mode="r"), []
    X = X[:, ::2] if when == "view" else X
    y = np.arange(len(X), dtype=float)
    fitted = StretchyRegressor().fit(np.array(X), y)

    def cut_at_the_third(self, *args):
        reads.append(1)
        if len(reads) == 3:
            os.truncate(path, os.path.getsize(path) // 2)
        return original(self, *args)

    if when == "during":
        Source._slice = cut_at_the_third
    else:
        os.truncate(path, os.path.getsize(path) // 2)
    for work in (lambda: StretchyRegressor().fit(X, y), lambda: fitted.predict(X)):
        try:
            work()
        except ValueError as error:
            print(when, error)
"""


def test_a_map_of_a_file_that_was_cut_short(tmp_path):
    """An error in words, where a read beyond the end would end the process (SIGBUS)."""
    done = subprocess.run(
        [sys.executable, "-c", TRUNCATED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["before"] * 2 + ["view"] * 2 + ["during"] * 2
    for line in lines:
        assert re.search(r"behind X has [\d,]+ bytes, and [\d,]+ are mapped", line)
        assert "cut short after it was opened" in line


def test_a_map_whose_file_was_removed_or_has_grown_is_readable(tmp_path):
    X, y = long_source(400)
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    true = StretchyRegressor().fit(X, y).alpha_
    with open(path, "ab") as file:
        file.write(b"more")
    np.testing.assert_allclose(StretchyRegressor().fit(mapped, y).alpha_, true, rtol=1e-9)
    os.remove(path)
    np.testing.assert_allclose(StretchyRegressor().fit(mapped, y).alpha_, true, rtol=1e-9)


def test_a_map_is_not_written(tmp_path):
    X, y = long_source(400)
    path = tmp_path / "X.dat"
    mapped = np.memmap(path, dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    before = Path(path).read_bytes()
    StretchyRegressor(density=0.1).fit(mapped, y).predict(mapped)
    assert Path(path).read_bytes() == before
    np.testing.assert_array_equal(mapped, X)


def test_a_view_of_a_map_and_a_map_with_an_offset(tmp_path):
    X, y = long_source(400)
    path = tmp_path / "X.dat"
    path.write_bytes(b"header" + X.tobytes())
    mapped = np.memmap(path, dtype=np.float64, mode="r", offset=6, shape=X.shape)
    for view, true in (
        (mapped, X),
        (mapped[::-1, ::3], X[::-1, ::3]),
        (mapped[2:, 100:], X[2:, 100:]),
    ):
        np.testing.assert_allclose(
            StretchyRegressor().fit(view, y[: len(view)]).alpha_,
            StretchyRegressor().fit(true, y[: len(view)]).alpha_,
            rtol=1e-9,
        )


def test_a_copy_of_a_map_is_an_ordinary_array(tmp_path):
    X = np.random.default_rng(0).random((12, 40))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = StretchyRegressor().fit(X, X[:, 0]).alpha_
    for copy in (mapped.copy(), mapped.astype("f8"), pickle.loads(pickle.dumps(mapped))):
        assert isinstance(copy, np.memmap)
        np.testing.assert_array_equal(StretchyRegressor().fit(copy, X[:, 0]).alpha_, expected)


def test_a_pickled_fit_on_a_map_still_knows_its_rows(tmp_path):
    X = np.random.default_rng(0).random((12, 40))
    np.save(tmp_path / "X.npy", X)
    model = StretchyRegressor().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), X[:, 0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.coef_std(1.0), model.coef_std(1.0), rtol=1e-12)


def test_infinities_of_both_signs_are_named(tmp_path):
    X = np.random.default_rng(0).random((12, 40))
    X[3, 5], X[4, 5] = np.inf, -np.inf
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="infinity in column 5, row 3"):
        StretchyRegressor().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), np.arange(12.0))


def test_other_byte_order_stays_single(tmp_path):
    X = np.random.default_rng(0).random((12, 40)).astype(">f4")
    np.save(tmp_path / "X.npy", X)
    model = StretchyRegressor().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), X[:, 0])
    assert model.coef_.dtype == np.float32
