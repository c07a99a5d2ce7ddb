"""Chunks are read whole, and once."""

import numpy as np
import pytest
from sklearn import config_context

from skstretch import StretchyRegressor
from skstretch.designs import Source


class Chunked:
    """An array in chunks that counts how many of them are loaded."""

    def __init__(self, array, chunks):
        self.array, self.chunks, self.loads = array, chunks, 0
        self.shape, self.dtype = array.shape, array.dtype

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        touched = [
            -(-part.stop // size) - part.start // size
            for part, size in zip(key, self.chunks, strict=True)
        ]
        self.loads += touched[0] * touched[1]
        return self.array[key]


@pytest.fixture
def X():
    return np.random.default_rng(0).random((300, 20_000))


@pytest.mark.parametrize("chunks", [(300, 5_000), (30, 2_000), (300, 333)])
def test_a_walk_loads_every_chunk_once(X, chunks):
    data = Chunked(X, chunks)
    model = StretchyRegressor().fit(data, X[:, 0])
    number = -(-300 // chunks[0]) * -(-20_000 // chunks[1])
    # two passes at most, in each of which two threads may both need the chunks between their
    # shares; a single thread may still hold all chunks of the first pass in the second
    assert number <= data.loads <= 2 * (number + -(-300 // chunks[0]))
    plain = StretchyRegressor().fit(X, X[:, 0])
    np.testing.assert_allclose(model.alpha_, plain.alpha_, rtol=1e-10, atol=1e-14)


def test_chunks_beyond_the_budget_are_not_held(X):
    data = Chunked(X, (300, 20_000))
    with config_context(working_memory=64):
        StretchyRegressor().fit(data, X[:, 0])
    assert data.loads > 10  # the only chunk, for every block


@pytest.mark.parametrize("chunks", [None, (7, 11), "auto", (3,)])
def test_any_block_is_right(chunks):
    X = np.arange(600.0).reshape(20, 30)
    data = Chunked(X, (7, 11))
    data.chunks = chunks
    if chunks != (7, 11):
        data.__class__ = type("Plain", (Chunked,), {"__getitem__": lambda s, k: s.array[k]})
    source = Source(data)
    for rows in (slice(0, 20), slice(3, 9), np.array([1, 5, 19]), None):
        for columns in (slice(0, 30), slice(10, 12), np.array([0, 12, 29])):
            expected = X[slice(None) if rows is None else rows][:, columns]
            np.testing.assert_array_equal(source.read(rows, columns), expected)
