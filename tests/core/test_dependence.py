"""Copies, orders and gross errors: what is noticed, and what is not."""

import numpy as np
import pytest

from skstretch.core.dependence import (
    gross_errors,
    in_blocks,
    is_sorted,
    near_copies,
    neighbours_alike,
)

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 30))


def products(X):
    Z = X - X.mean(axis=0)
    return Z @ Z.T


def test_copies_are_put_together():
    whole = np.vstack([X[:20], X[:12] + 0.01 * RNG.normal(size=(12, 30))])
    found = near_copies(products(whole))
    np.testing.assert_array_equal(found[:12], found[20:])
    assert len(set(found[:12].tolist())) == 12
    assert (found[12:20] == -1).all()


@pytest.mark.parametrize("D", [2, 5, 30])
def test_samples_of_a_smooth_distribution_are_no_copies(D):
    assert (near_copies(products(X[:, :D])) == -1).all()


def test_few_copies_are_left_alone():
    """As in many sets of data: two or three rows that are the same."""
    assert (near_copies(products(np.vstack([X, X[:4]]))) == -1).all()


def test_neighbours():
    batches = X + np.repeat(RNG.normal(size=(10, 30)), 6, axis=0)
    assert not neighbours_alike(products(X))
    assert neighbours_alike(products(batches))
    assert not neighbours_alike(products(batches[RNG.permutation(60)]))


def test_units_of_products_do_not_matter():
    batches = products(X + np.repeat(RNG.normal(size=(10, 30)), 6, axis=0))
    assert neighbours_alike(1e-200 * batches)
    assert neighbours_alike(1e200 * batches)


def test_sorted_targets():
    y = RNG.normal(size=(60, 1))
    assert not is_sorted(y)
    assert is_sorted(np.sort(y, axis=0))
    assert is_sorted(np.hstack([y, -np.sort(y, axis=0)]))
    assert in_blocks(np.repeat([2, 0, 1], 20))
    assert not in_blocks(np.tile([2, 0, 1], 20))


def test_gross_errors_come_first():
    residuals = RNG.normal(size=(60, 2))
    assert gross_errors(residuals).size == 0
    residuals[7, 0], residuals[30, 1] = 20.0, -90.0
    assert gross_errors(residuals).tolist() == [30, 7]
    assert gross_errors(np.zeros((60, 1))).size == 0
