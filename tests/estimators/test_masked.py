"""Masked arrays hide values: they are refused, never fitted as if they were data."""

import dask.array as da
import numpy as np
import pytest

from skstretch import (
    FirstQuadrant,
    GaussianBasis,
    RandomNetwork,
    StretchyClassifier,
    StretchyRegressor,
    StretchyRegressorCV,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 6))
y = X[:, 0] - X[:, 1]
HIDDEN = np.zeros(X.shape, dtype=bool)
HIDDEN[3, 2] = HIDDEN[9, 4] = True
WAY_OUT = r"hides 2 of 120 values: fill them first.*filled\(np\.nan\).*SimpleImputer"


def masked(values=X, hidden=HIDDEN):
    return np.ma.MaskedArray(values, hidden)


def in_blocks(values):
    return da.from_array(values, chunks=(7, -1), asarray=False)


class Variable:
    """Numbers of a file that come masked where they are missing, as netCDF's do."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __getitem__(self, index):
        return masked()[index]


@pytest.mark.parametrize("held", [masked(), Variable()], ids=["numpy", "variable"])
@pytest.mark.parametrize("estimator", [StretchyRegressor(), StretchyRegressorCV()], ids=str)
def test_hidden_values_of_X(estimator, held):
    with pytest.raises(ValueError, match=WAY_OUT):
        estimator.fit(held, y)
    fitted = StretchyRegressor().fit(X, y)
    with pytest.raises(ValueError, match=WAY_OUT):
        fitted.predict(held)


def test_hidden_values_of_a_dask_array():
    blocks = in_blocks(masked())
    assert isinstance(blocks.compute(), np.ma.MaskedArray)
    for fit in (StretchyRegressor().fit, StretchyRegressor().partial_fit):
        with pytest.raises(ValueError, match=r"hides 1 of 42 values.*dask\.array\.ma\.filled"):
            fit(blocks, y)
    fitted = StretchyRegressor().fit(X, y)
    with pytest.raises(ValueError, match="hides 1 of 42 values"):
        fitted.predict(blocks).compute()
    filled = da.ma.filled(blocks, 0.0)
    expected = StretchyRegressor().fit(np.where(HIDDEN, 0.0, X), y)
    np.testing.assert_allclose(StretchyRegressor().fit(filled, y).alpha_, expected.alpha_)


@pytest.mark.parametrize(
    "transformer", [FirstQuadrant(), RandomNetwork(3), GaussianBasis(3)], ids=str
)
def test_transformers(transformer):
    with pytest.raises(ValueError, match=WAY_OUT):
        transformer.fit(masked())
    fitted = transformer.fit(X)
    with pytest.raises(ValueError, match=WAY_OUT):
        fitted.transform(masked())
    with pytest.raises(ValueError, match="hides 1 of 42 values"):
        fitted.transform(in_blocks(masked())).compute()
    with pytest.raises(ValueError, match="hides 1 of 42 values"):
        transformer.fit(in_blocks(masked()))


def test_targets_and_weights():
    hidden = np.arange(20) == 5
    for model in (StretchyRegressor(), StretchyRegressorCV()):
        with pytest.raises(ValueError, match="y is a masked array that hides 1 of 20 values"):
            model.fit(X, masked(y, hidden))
        with pytest.raises(ValueError, match="y is a masked array that hides 1 of 20 values"):
            model.fit(X, da.from_array(masked(y, hidden), chunks=7, asarray=False))
    with pytest.raises(ValueError, match="y is a masked array"):
        StretchyClassifier().fit(X, masked((y > 0).astype(int), hidden))
    for model in (StretchyRegressor(), FirstQuadrant()):
        with pytest.raises(ValueError, match="sample_weight is a masked array"):
            model.fit(X, y, sample_weight=masked(np.ones(20), hidden))


def test_a_mask_that_hides_nothing_is_no_reason():
    found = StretchyRegressor().fit(np.ma.MaskedArray(X), np.ma.MaskedArray(y))
    np.testing.assert_array_equal(found.alpha_, StretchyRegressor().fit(X, y).alpha_)
