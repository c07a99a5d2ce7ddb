"""The bounds on false selections against the published formulas, computed another way."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from skstretch.core.stability import (
    complementary_halves,
    false_selections,
    least_threshold,
    tail,
)


@pytest.mark.parametrize(("p", "q"), [(1000, 28), (50, 4), (9, 3)])
@pytest.mark.parametrize("threshold", [0.6, 0.75, 0.9, 1.0])
def test_without_assumptions_it_is_the_bound_of_meinshausen_and_buehlmann(p, q, threshold):
    expected = min(p, q**2 / (p * (2 * threshold - 1)))
    assert false_selections(threshold, q, p, 50, "none") == pytest.approx(expected)


def largest_unimodal_tail(mean, at, n_steps):
    """max P(N >= at) over unimodal N in 0 .. n_steps with E N <= mean, by linear programmes."""
    steps, best = np.arange(n_steps + 1), 0.0
    for mode in steps:
        falls = np.zeros((n_steps, n_steps + 1))
        for i in range(n_steps):
            up, down = (i, i + 1) if i < mode else (i + 1, i)
            falls[i, up], falls[i, down] = 1.0, -1.0
        bounds = np.append(np.zeros(n_steps), mean)
        found = linprog(
            -(steps >= at).astype(float),
            np.vstack([falls, steps]),
            bounds,
            np.ones((1, n_steps + 1)),
            [1.0],
        )
        best = max(best, -found.fun) if found.status == 0 else best
    return best


@pytest.mark.parametrize("share", [0.6, 0.7, 0.75, 0.85, 1.0])
def test_the_unimodal_bound_is_the_largest_tail_of_a_unimodal_distribution(share):
    n_pairs, p, q = 20, 100, 10
    # the share of pairs that select a feature twice has a mean of at most theta squared, and must
    # be at least 2 threshold - 1
    at = round(2 * n_pairs * share) - n_pairs
    largest = largest_unimodal_tail((q / p) ** 2 * n_pairs, at, n_pairs)
    bound = false_selections(share, q, p, n_pairs, "unimodal") / p
    assert largest <= bound * (1 + 1e-9)
    assert bound <= largest * 1.05  # the theorem is nearly sharp


def lines(mean, at, n_steps, r):
    """The published extremal family on a fine grid of a, in place of a search."""
    total, best = mean * n_steps, 0.0
    a = np.exp(np.linspace(-12, 6, 100_000))
    for last in range(max(math.ceil(2 * total) + 1, at - 1), n_steps):
        mass = (a[:, None] + np.arange(last + 2)) ** (1 / r)
        inner = mass[:, :-1].sum(axis=1)
        own = mass[:, :-1] @ np.arange(last + 1) / inner
        x = (total - own) / (last + 1 - own)  # mass at last + 1 that gives the mean
        allowed = (x >= 0) & (x <= mass[:, -1] / (inner + mass[:, -1]))
        tails = 1 - (1 - x) * mass[:, :at].sum(axis=1) / inner
        best = max(best, tails[allowed].max(initial=0.0))
    return best


@pytest.mark.parametrize(("mean", "at", "n_steps", "r"), [(0.02, 4, 12, -0.5), (0.1, 9, 14, -0.25)])
def test_the_tail_of_r_concave_distributions_is_the_published_one(mean, at, n_steps, r):
    found, expected = tail(mean, at, n_steps, r), lines(mean, at, n_steps, r)
    assert expected <= found * (1 + 1e-9)  # the grid has no better one than the search
    assert found <= expected * 1.001


@pytest.mark.parametrize(("mean", "at", "r"), [(0.05, 3, -0.5), (0.1, 4, -0.25)])
def test_no_r_concave_distribution_has_a_heavier_tail(mean, at, r):
    """Brute force over convex sequences whose 1/r-th power is the distribution."""
    n_steps = 8
    steps, best = np.arange(n_steps + 1), 0.0
    rng = np.random.default_rng(0)

    def mass(x):
        # g = f^r: a value and slope at 0 and second differences, none negative
        g = 1e-6 + np.exp(x[0]) + steps * x[1]
        g = g + np.maximum(steps[:, None] - steps[1:-1], 0) @ np.exp(x[2:])
        g = np.maximum(g, 1e-6) ** (1 / r)
        return g / g.sum()

    for _ in range(12):
        start = rng.normal(-5, 1, n_steps + 1)
        start[:2] = rng.normal(0, 1), rng.uniform(0, 2)
        found = minimize(
            lambda x: -mass(x)[at:].sum(),
            start,
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x: mean * n_steps - mass(x) @ steps},
            options={"maxiter": 300},
        )
        own = mass(found.x)
        if own @ steps <= mean * n_steps * (1 + 1e-9):
            best = max(best, own[at:].sum())
    bound = tail(mean, at, n_steps, r)
    assert 0.5 * bound < best <= bound * (1 + 1e-6)


def test_bounds_fall_with_the_threshold_and_grow_with_the_features_selected():
    shares = np.arange(51, 101) / 100
    for bound in ("r-concave", "unimodal", "none"):
        falls = [false_selections(s, 10, 200, 50, bound) for s in shares[::5]]
        assert (np.diff(falls) <= 1e-12).all()
        grows = [false_selections(0.8, q, 200, 50, bound) for q in (1, 5, 20, 80)]
        assert (np.diff(grows) >= 0).all()
    order = [false_selections(0.7, 10, 200, 50, b) for b in ("r-concave", "unimodal", "none")]
    assert order == sorted(order)


@pytest.mark.parametrize("bound", ["r-concave", "unimodal", "none"])
def test_the_threshold_is_the_least_that_keeps_the_promise(bound):
    share = least_threshold(1.0, 15, 300, 50, bound)
    assert false_selections(share, 15, 300, 50, bound) <= 1.0
    assert false_selections(share - 0.01, 15, 300, 50, bound) > 1.0
    assert least_threshold(0.001, 150, 300, 50, bound) is None


@pytest.mark.parametrize("n", [10, 11])
def test_halves_are_complementary_whole_in_units_and_even_in_strata(n):
    units, strata = np.repeat(np.arange(n), 3), np.repeat(np.arange(n) % 2, 3)
    pairs = complementary_halves(units, strata, 40, np.random.RandomState(0))
    assert pairs.shape == (40, 2, 3 * n)
    assert not (pairs[:, 0] & pairs[:, 1]).any()
    assert (pairs.sum(axis=2) == 3 * (n // 2)).all()
    by_unit = pairs.reshape(40, 2, n, 3)
    assert (by_unit.all(axis=3) == by_unit.any(axis=3)).all()
    ones = (pairs * strata).sum(axis=2) / 3
    assert abs(ones - n // 2 / 2).max() <= 1
