"""Copies, orders and gross errors: what is noticed, and what is not."""

import numpy as np
import pytest

from skstretch.core.samples import (
    _open_ways,
    gross_errors,
    in_blocks,
    is_sorted,
    neighbours_alike,
    products_of,
    tight_groups,
)

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 30))


def products(X):
    Z = X - X.mean(axis=0)
    return Z @ Z.T


def test_copies_are_put_together():
    whole = np.vstack([X[:20], X[:12] + 0.01 * RNG.normal(size=(12, 30))])
    found = tight_groups(products(whole))
    np.testing.assert_array_equal(found[:12], found[20:])
    assert len(set(found[:12].tolist())) == 12
    assert (found[12:20] == -1).all()


@pytest.mark.parametrize("D", [2, 5, 30])
def test_samples_of_a_smooth_distribution_are_no_copies(D):
    assert (tight_groups(products(X[:, :D])) == -1).all()


def test_few_copies_are_left_alone():
    """As in many sets of data: two or three rows that are the same."""
    assert (tight_groups(products(np.vstack([X, X[:4]]))) == -1).all()


def test_noisy_copies_and_batches_in_any_order_are_tight_groups():
    codes = RNG.permutation(np.repeat(np.arange(10), 6))
    centres = RNG.normal(size=(10, 60))
    for noise in (0.0, 0.3, 0.6):
        found = tight_groups(products(centres[codes] + noise * RNG.normal(size=(60, 60))))
        assert len({*zip(found.tolist(), codes.tolist(), strict=True)}) == 10
        assert (found >= 0).all()


def test_a_few_large_classes_are_no_tight_groups():
    centres = 3 * RNG.normal(size=(4, 30))
    assert (tight_groups(products(X + centres[np.arange(60) % 4])) == -1).all()


def open_ways(pairs, n):
    """Of all ways of two pairs, those whose ends are no pair."""
    near = {frozenset(pair) for pair in pairs}
    ways = [
        (i, k)
        for j in range(n)
        for i in range(n)
        for k in range(i)
        if {frozenset((i, j)), frozenset((j, k))} <= near and len({i, j, k}) == 3
    ]
    return sum(frozenset(way) not in near for way in ways), len(ways)


def test_open_ways_are_counted_as_pairs_come():
    n, pairs = 9, [(0, 1), (1, 2), (3, 4), (0, 2), (2, 5), (4, 6), (3, 6), (1, 5), (7, 8)]
    first, second = np.array(pairs).T
    found = _open_ways(first, second, n, np.zeros(len(pairs)))
    for m in range(1, len(pairs) + 1):
        still_open, every = open_ways(pairs[:m], n)
        assert found[m - 1] == still_open / max(every, 1)


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
    residuals[7, 0], residuals[30, 1] = 40.0, -90.0
    assert gross_errors(residuals).tolist() == [30, 7]
    assert gross_errors(np.zeros((60, 1))).size == 0
    assert gross_errors(np.eye(60)[:, :1]).size == 0  # nothing to compare with


def test_several_gross_errors_need_not_lie_as_far_out_as_one():
    residuals = RNG.normal(size=(80, 1))
    residuals[3] = 9.0
    assert gross_errors(residuals).size == 0
    residuals[[10, 20, 30]] = -8.0
    assert sorted(gross_errors(residuals).tolist()) == [3, 10, 20, 30]


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 80, 500])
def test_heavy_tails_are_no_gross_errors(n):
    rng = np.random.default_rng(n)
    found = [gross_errors(rng.standard_t(3, (n, 1))).size > 0 for _ in range(2000)]
    assert np.mean(found) <= 0.02


def test_far_residuals_do_not_make_an_order():
    residuals = RNG.standard_t(2, (60, 1))
    residuals[[4, 5]] = 1e6
    assert not neighbours_alike(products_of(residuals))
