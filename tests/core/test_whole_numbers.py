"""Moments of bytes, whose sums float64 holds: against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from skstretch.core.moments import column_moments


def exact(column):
    """Mean and variance of a column of whole numbers."""
    numbers = [int(x) for x in column]
    mean = Fraction(sum(numbers), len(numbers))
    return mean, sum((x - mean) ** 2 for x in numbers) / len(numbers)


@pytest.mark.parametrize(("low", "high"), [(0, 256), (253, 256), (0, 2), (100, 130)])
@pytest.mark.parametrize("n", [3, 97, 980])
def test_means_and_deviations_are_rounded_once(low, high, n):
    X = np.random.default_rng(n).integers(low, high, (n, 5)).astype(np.uint8)
    X[0], X[1] = low, high - 1
    found = column_moments(X, np.full(n, 0.3))
    for j, column in enumerate(X.T):
        mean, variance = exact(column)
        assert abs(Fraction(found.mean[j]) - mean) <= Fraction(abs(found.mean[j]) * 2**-52)
        assert found.scale[j] == pytest.approx(float(variance) ** 0.5, rel=4e-16)
        # what rounding took from the mean
        left = mean - Fraction(found.mean[j]) - Fraction(found.rest[j])
        assert abs(left) <= Fraction(found.scale[j]) * Fraction(4e-15)


def test_zeros_and_ones_and_constant_columns():
    X = np.array([[1, 1], [0, 1], [1, 1]], dtype=np.uint8)
    found = column_moments(X, np.ones(3))
    np.testing.assert_allclose(found.mean, [2 / 3, 1.0], rtol=1e-15)
    np.testing.assert_allclose(found.scale[0], np.sqrt(2.0) / 3.0, rtol=1e-15)
    assert found.constant.tolist() == [False, True]


@pytest.mark.parametrize("weights", [np.ones(50), np.linspace(0.5, 2.0, 50)])
def test_the_same_as_those_of_floats(weights):
    X = np.random.default_rng(0).integers(0, 256, (50, 7)).astype(np.uint8)
    whole, floats = column_moments(X, weights), column_moments(X.astype(float), weights)
    for name in ("mean", "scale", "smallest", "low", "high"):
        np.testing.assert_allclose(getattr(whole, name), getattr(floats, name), rtol=4e-15)
