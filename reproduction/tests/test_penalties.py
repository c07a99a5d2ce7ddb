"""MATLAB's penalty sequences against their definition, written out."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from reproduction.lasso import as_glmnet, largest_penalty, penalty_sequence


def literal_largest(X, y, mixing):
    """max_j |sum_i z_ij (y_i - mean)| / (n mixing), z with the divisor n."""
    n, d = X.shape
    mean_y = sum(y) / n
    largest = 0.0
    for j in range(d):
        mean = sum(X[:, j]) / n
        deviation = math.sqrt(sum((x - mean) ** 2 for x in X[:, j]) / n)
        if deviation == 0:
            continue
        product = sum((X[i, j] - mean) / deviation * (y[i] - mean_y) for i in range(n))
        largest = max(largest, abs(product) / (n * mixing))
    return largest


@pytest.mark.parametrize("mixing", [1.0, 0.25, 0.0001])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_largest_penalty(mixing, container):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (12, 6)).astype(float)
    X[:, 2] = 3.0
    y = rng.normal(5, 2, 12)
    found = largest_penalty(container(X), y, mixing)
    assert found == pytest.approx(literal_largest(X, y, mixing), rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_sequence_is_geometric_from_the_largest_to_its_ratio(count):
    found = penalty_sequence(3.0, count)
    steps = range(count)
    literal = [math.exp(math.log(3.0) + i / max(count - 1, 1) * math.log(1e-4)) for i in steps]
    assert found.shape == (count,)
    np.testing.assert_allclose(found, literal, rtol=1e-12)


def test_one_penalty_is_the_largest():
    assert penalty_sequence(7.5, 1).tolist() == [7.5]


def test_no_penalty_is_refused():
    with pytest.raises(ValueError, match="count=0: a sequence has at least one"):
        penalty_sequence(1.0, 0)


def test_mapping_keeps_both_weights():
    deviation, mixing = 40.0, 0.3
    penalties, share = as_glmnet(np.array([2.0, 0.5]), mixing, deviation)
    np.testing.assert_allclose(penalties * share, np.array([2.0, 0.5]) * mixing / deviation)
    np.testing.assert_allclose(penalties * (1 - share), np.array([2.0, 0.5]) * (1 - mixing))
