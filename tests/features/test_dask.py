"""Transformers on Dask arrays: lazy outputs, equal to those of data in memory."""

import dask.array as da
import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from skstretch import FirstQuadrant, GaussianBasis, RandomNetwork, StretchyRegressor
from skstretch.designs import is_dask
from tests.dask_arrays import as_dask, tall, wide

TRANSFORMERS = [
    FirstQuadrant(),
    RandomNetwork(7, random_state=0),
    GaussianBasis(5, random_state=0),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("X", "chunks"), [(wide(), (11, 37)), (tall(), (41, 4))])
def test_fit_and_transform(transformer, X, chunks, dtype):
    X = X.astype(dtype)
    blocks = as_dask(X, chunks)
    here, there = clone(transformer).fit(X), clone(transformer).fit(blocks)
    lazy = there.transform(blocks)
    assert isinstance(lazy, da.Array)
    expected = here.transform(X)
    assert lazy.shape == expected.shape
    assert lazy.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(lazy.compute(), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(there.transform(X), expected, rtol=0, atol=tolerance)


def test_weights_and_numbers_that_are_not_finite():
    X = tall()
    weights = np.arange(len(X)) % 3.0
    here = FirstQuadrant().fit(X, sample_weight=weights)
    there = FirstQuadrant().fit(as_dask(X, (41, 4)), sample_weight=weights)
    np.testing.assert_allclose(there.mean_, here.mean_, atol=1e-14)
    X[60, 7] = np.nan
    bad = as_dask(X, (41, 4))
    for transformer in TRANSFORMERS[:2]:
        with pytest.raises(ValueError, match="NaN in column 7, row 60"):
            clone(transformer).fit(bad)
    for transformer in TRANSFORMERS:
        lazy = clone(transformer).fit(tall()).transform(bad)
        with pytest.raises(ValueError, match="NaN in column 7, row 60"):
            lazy.compute()
    with pytest.raises(ValueError, match="X has 8 features"):
        here.transform(bad[:, 1:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_inverse_transform_is_lazy(dtype):
    X = tall().astype(dtype)
    quadrant = FirstQuadrant().fit(X)
    P = quadrant.transform(X)
    back = quadrant.inverse_transform(as_dask(P, (41, 4)))
    assert isinstance(back, da.Array)
    assert back.dtype == dtype
    assert np.array_equal(back.compute(), quadrant.inverse_transform(P))
    P[60, 7] = -1.0
    lazy = quadrant.inverse_transform(as_dask(P, (41, 4)))
    with pytest.raises(ValueError, match="entry -1 in rows 41 to 81"):
        lazy.compute()
    with pytest.raises(ValueError, match="X has 8 features"):
        quadrant.inverse_transform(as_dask(P, (41, 4))[:, 1:])


def test_unknown_chunks_and_other_collections():
    X = da.from_array(tall(), chunks=(41, -1))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        FirstQuadrant().fit(X[X[:, 0] > 0])
    fitted = FirstQuadrant().fit(X)
    with pytest.raises(TypeError, match="to_dask_array"):
        fitted.transform(X.to_delayed()[0, 0])


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_new_data_of_unknown_length(transformer):
    X = tall()
    blocks = da.from_array(X, chunks=(41, -1))
    fitted = clone(transformer).fit(X)
    lazy = fitted.transform(blocks[blocks[:, 0] > 0])
    np.testing.assert_allclose(lazy.compute(), fitted.transform(X[X[:, 0] > 0]), rtol=1e-13)


class Labelled:
    """A container of numbers that can hold a Dask array, as xarray's can, but holds numpy's."""

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __dask_graph__(self):
        return None

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return Labelled(self.values[index])

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_a_container_that_could_hold_dask_but_does_not_is_data_in_memory(transformer):
    X = tall()
    assert not is_dask(Labelled(X))
    here, there = clone(transformer).fit(X), clone(transformer).fit(Labelled(X))
    found = there.transform(Labelled(X))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, here.transform(X))


def test_such_a_container_in_inverse_transform_and_in_an_estimator():
    X = tall()
    quadrant = FirstQuadrant().fit(X)
    P = quadrant.transform(X)
    np.testing.assert_array_equal(
        quadrant.inverse_transform(Labelled(P)), quadrant.inverse_transform(P)
    )
    y = X[:, 0] - X[:, 1]
    with sklearn.config_context(working_memory=0.01):
        found = StretchyRegressor().fit(Labelled(X), y).predict(Labelled(X))
    np.testing.assert_allclose(found, StretchyRegressor().fit(X, y).predict(X), rtol=1e-12)
