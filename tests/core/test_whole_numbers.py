"""Moments of whole numbers: those of the same numbers as float64, bit by bit."""

import numpy as np
import pytest

from skstretch.core.features import column_moments


def test_zeros_and_ones_and_constant_columns():
    X = np.array([[1, 1], [0, 1], [1, 1]], dtype=np.uint8)
    found = column_moments(X, np.ones(3))
    np.testing.assert_allclose(found.mean, [2 / 3, 1.0], rtol=1e-15)
    np.testing.assert_allclose(found.scale[0], np.sqrt(2.0) / 3.0, rtol=1e-15)
    assert found.constant.tolist() == [False, True]


@pytest.mark.parametrize("weights", [np.ones(50), np.linspace(0.5, 2.0, 50)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_the_same_as_those_of_floats(weights, dtype):
    X = np.random.default_rng(0).integers(0, 256, (50, 7)).astype(dtype)
    whole, floats = column_moments(X, weights), column_moments(X.astype(float), weights)
    for name in ("mean", "scale", "smallest", "low", "high", "rest"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(floats, name))
