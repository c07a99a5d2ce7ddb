"""Leverage, distance and conformal ranks against their definitions."""

import numpy as np
import pytest

from skstretch.core.samples import (
    Reference,
    Space,
    alike_order,
    dual_components,
    moments_without,
)

RNG = np.random.default_rng(5)
Z = RNG.normal(size=(30, 50))
Z -= Z.mean(axis=0)


def space_of(Z, count):
    variances, B = dual_components(Z @ Z.T, np.ones(len(Z)), count)
    return Space((Z.T @ B).T, variances)


def test_components_are_those_of_the_singular_value_decomposition():
    found, (_, s, V) = space_of(Z, 6), np.linalg.svd(Z)
    np.testing.assert_allclose(found.variances, s[:6] ** 2 / 30, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.basis @ V[:6].T), np.eye(6), atol=1e-10)


def test_all_components_have_the_leverage_of_least_squares():
    """Of training samples by all components it is the diagonal of the hat matrix."""
    narrow = Z[:, :7] - Z[:, :7].mean(axis=0)
    variances, B = dual_components(narrow @ narrow.T, np.ones(30), 10)
    space = Space((narrow.T @ B).T, variances)
    leverage, distance = space.scores(narrow, 30.0)
    A = np.column_stack([np.ones(30), narrow])
    np.testing.assert_allclose(leverage, np.diag(A @ np.linalg.pinv(A)), rtol=1e-10)
    assert (distance == 0).all()


def test_weights_are_repetitions():
    weights = RNG.integers(1, 4, 30)
    whole = np.repeat(Z, weights, axis=0)
    centred = Z - np.average(Z, axis=0, weights=weights)
    ours = dual_components(centred @ centred.T, weights.astype(float), 5)
    theirs = dual_components(
        (whole - whole.mean(axis=0)) @ (whole - whole.mean(axis=0)).T, np.ones(len(whole)), 5
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)


def test_p_values_are_ranks_among_all_samples():
    """The new sample is one of all: literal counting, ties and masses included."""
    leverage, distance = RNG.integers(0, 9, (2, 20)).astype(float)
    masses = RNG.integers(1, 3, 20).astype(float)
    reference = Reference(space_of(Z, 2), leverage, distance, masses, 20.0)
    new = RNG.integers(0, 10, (2, 40)).astype(float)
    found = reference.p_values(*new)
    for i, (lev, dist) in enumerate(new.T):
        old = np.append(leverage, lev), np.append(distance, dist)
        mass = np.append(masses, 1.0)
        ranks = [[mass[values >= value].sum() for value in values] for values in old]
        least = np.min(ranks, axis=0)
        expected = ranks[0][-1], ranks[1][-1], mass[least <= least[-1]].sum()
        np.testing.assert_allclose([p[i] for p in found], np.array(expected) / mass.sum())


@pytest.mark.parametrize("order", [np.arange(6), np.array([3, 1, 5, 0, 2, 4])])
def test_equal_norms_have_one_rank(order):
    norms = np.array([3.0, 1.0, 3.0 + 1e-13, 2.0, 1.0, 5.0])
    assert alike_order(norms[order]).tolist() == np.array([2, 0, 2, 1, 0, 3])[order].tolist()


def test_moments_without_some_rows():
    weights = RNG.integers(1, 4, 30).astype(float)
    mean = np.average(Z, axis=0, weights=weights)
    scale = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weights))
    own = (Z - mean) / scale
    own[5:, 3] = own[5, 3]  # does not vary without the first rows
    own[:, 3] -= np.average(own[:, 3], weights=weights)
    own[:, 3] /= np.sqrt(np.average(own[:, 3] ** 2, weights=weights))
    found = moments_without(own[:5], weights[:5], weights.sum())
    rest = np.average(own[5:], axis=0, weights=weights[5:])
    np.testing.assert_allclose(found[0], rest, atol=1e-14)
    spread = np.average((own[5:] - rest) ** 2, axis=0, weights=weights[5:])
    np.testing.assert_allclose(found[1], spread, atol=1e-13)
    assert found[1][3] == 0.0
