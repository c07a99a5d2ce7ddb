"""Samples beside each other: whether one is like the rest, and whether they are independent.

Novelty. With the first A principal components v_a of n training samples and their variances
``e_a``, a sample of z-scores z has the scores ``t_a = v_a' z`` and

- the leverage ``(1 + sum_a t_a**2 / e_a) / n``: how far out it lies among the training samples;
- the distance ``||z - sum_a t_a v_a|| / sqrt(D)``: how much of it no training sample explains, in
  standard deviations of a feature.

Both are compared with those of training samples by means, deviations and components of samples
without them: the share that is no less is a conformal p-value.

Dependence. Tight groups, an order and gross errors, all from inner products of samples (n, n) and
from residuals of samples that were left out. The thresholds are strict: what is noticed should be
true, and much that is true is not noticed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtri, stdtrit

from skstretch.core.types import Array, Index

# parts of the variance that are rounding
ROUNDING = 1e-11


@dataclass(frozen=True)
class Space:
    """The first principal components `basis` (A, D) of z-scores, with their `variances` (A,).

    The basis is kept in single precision, as files have it.
    """

    basis: Array
    variances: Array

    def scores(self, Z: Array, total: float) -> tuple[Array, Array]:
        """Leverage, for samples of the weight `total`, and distance (N,) of z-scores (N, D)."""
        T = Z @ self.basis.T
        inside = np.square(T) @ (1.0 / self.variances)
        outside = np.square(Z - T @ self.basis).sum(axis=1)
        outside[outside <= ROUNDING * np.square(Z).sum(axis=1)] = 0.0
        return np.asarray((1.0 + inside) / total), np.sqrt(outside / max(1, Z.shape[1]))


@dataclass(frozen=True)
class Reference:
    """The space of the training samples, and what some of these are without their own help.

    Attributes
    ----------
    space : Space
        Of M training samples.
    leverage, distance : array of shape (M,)
        Of each of them, by the space of the others.
    masses : array of shape (M,)
        How much each of them counts.
    total : float
        Their weight.
    """

    space: Space
    leverage: Array
    distance: Array
    masses: Array
    total: float

    def p_values(self, leverage: Array, distance: Array) -> tuple[Array, Array, Array]:
        """Shares (N,) of samples that are as strange: by leverage, by distance, by either.

        The last is the rank of the lesser of both among the lesser ones of all samples, the new one
        among them.
        """
        masses, whole = self.masses, 1.0 + self.masses.sum()
        pairs = (self.leverage, leverage), (self.distance, distance)
        first, second = ((1.0 + _mass_above(old, masses, new)) / whole for old, new in pairs)
        own = [_mass_above(old, masses, old) for old, _ in pairs]
        either = np.empty(leverage.size)
        for i, lesser in enumerate(np.minimum(first, second)):
            ranks = [of + (new[i] >= old) for of, (old, new) in zip(own, pairs, strict=True)]
            either[i] = 1.0 + masses[np.minimum(*ranks) <= lesser * whole * (1.0 + 1e-12)].sum()
        return first, second, either / whole

    def own_p_values(self) -> Array:
        """Shares (M,) of the training samples that are as strange as each of them, by either."""
        sides = (self.leverage, self.distance)
        lesser = np.minimum(*(_mass_above(side, self.masses, side) for side in sides))
        return np.asarray(_mass_above(-lesser, self.masses, -lesser) / self.masses.sum())


def _mass_above(values: Array, masses: Array, new: Array) -> Array:
    """The mass of the values that are no less than each new one."""
    order = np.argsort(values)
    above = np.append(np.cumsum(masses[order][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(values[order], new, side="left")])


def dual_components(K: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Variances (A,) and dual vectors B (n, A) of the first components of centred z-scores Z.

    ``K = Z Z'``, and ``Z' B`` are the components, of length one.
    """
    root, n = np.sqrt(weights), weights.size
    S = root[:, None] * K * root
    found, U = eigh(S, subset_by_index=(max(0, n - count), n - 1))
    sound = found > ROUNDING * np.trace(S)
    values = found[sound][::-1]
    return values / weights.sum(), root[:, None] * U[:, sound][:, ::-1] / np.sqrt(values)


def moments_without(Z: Array, weights: Array, total: float) -> tuple[Array, Array]:
    """Means and variances (D,) of z-scores of the weight `total` without the rows Z of these."""
    left = total - weights.sum()
    mean = -(weights @ Z) / left
    variance = (total - weights @ np.square(Z)) / left - mean**2
    return mean, np.where(variance > ROUNDING, variance, 0.0)


def alike_order(norms: Array) -> Index:
    """Ranks of the norms (n,), the same for those that differ by rounding."""
    order = np.argsort(norms)
    steps = np.diff(norms[order], prepend=norms[order[:1]]) > 1e-9 * norms.max(initial=0.0)
    ranks = np.empty(norms.size, dtype=np.intp)
    ranks[order] = np.cumsum(steps)
    return ranks


# tight groups are at least so many, of a share of all samples
FEWEST_GROUPS, LEAST_SHARE = 5, 0.1
# pairs of near samples are whole groups where at most this part of two steps from pair to pair does
# not end in a pair; where nothing is grouped so many such ways are expected, at least
OPEN, EXPECTED_WAYS = 0.1, 24
# or where the next pair is so many times as far apart as these, at least so many
NEARER, FEWEST_PAIRS = 1.8, 5
# neighbours in the order of samples, so many steps away, are alike where their likeness is this
# large, and this many deviations above that of samples in random order
LAGS, ALIKE, DEVIATIONS, N_ORDERS = (1, 2, 3), 0.1, 4.0, 400
# part of the mean diagonal that keeps noise from counting as much as what varies
RIDGE = 0.1
# an order of samples that is that of their targets, by rank correlation
SORTED = 0.9
# gross errors are rarer than this where errors have tails like Student's t with so many degrees,
# and this many times the median of all errors
RARE, TAIL_DEGREES, LARGE = 0.015, 3.0, 5.0


def tight_groups(K: Array) -> Index:
    """Groups (n,) of samples that are nearer to each other than to others; -1 for samples alone.

    Of all pairs in the order of their distances, the first m are whole groups where they lead to
    each other: pairs (i, j) and (j, k) come with the pair (i, k). Without groups m random pairs
    make ``2 m**2 / n`` such ways, and of samples in one, two, three dimensions 1/4, 0.4, 0.5 of
    these are open; in more dimensions, more. Few pairs are groups where the next pair is `NEARER`
    times as far apart: in d dimensions that ratio is ``(1 + E / m)**(1/d)`` for an exponential E.
    """
    n = len(K)
    square = np.diag(K)[:, None] + np.diag(K) - 2.0 * K
    first, second = np.triu_indices(n, 1)
    square = square[first, second]
    most = min(square.size - 1, n * n // (2 * FEWEST_GROUPS))
    alone = np.full(n, -1, dtype=np.intp)
    if most < FEWEST_PAIRS:
        return alone
    nearest = np.argpartition(square, most)[: most + 1]
    nearest = nearest[np.argsort(square[nearest], kind="stable")]
    near = np.maximum(square[nearest], ROUNDING * square.mean())
    first, second = first[nearest], second[nearest]
    counts = np.arange(1, most + 1)
    gaps = (near[1:] >= NEARER**2 * near[:-1]) & (counts >= FEWEST_PAIRS)
    expected = 2.0 * counts * (counts - 1) / n
    parts = _open_ways(first[:most], second[:most], n, expected)
    whole = (parts <= OPEN) & (expected >= EXPECTED_WAYS)
    if not (gaps | whole).any():
        return alone
    count = int(np.flatnonzero(gaps)[-1] if gaps.any() else np.argmin(np.where(whole, parts, 1.0)))
    groups = _linked(first[: count + 1], second[: count + 1], n)
    enough = groups.max() + 1 >= FEWEST_GROUPS and np.mean(groups >= 0) >= LEAST_SHARE
    return groups if enough else alone


def _open_ways(first: Index, second: Index, n: int, expected: Array) -> Array:
    """Ways i, j, k along the first m pairs that have no pair (i, k), as a part of all ways.

    Of those that are `expected` where there are fewer. The neighbours of a sample are bits.
    """
    near, degree = [0] * n, [0] * n
    ways = np.empty((2, first.size))
    for m, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        common, joined = (near[i] & near[j]).bit_count(), degree[i] + degree[j]
        ways[:, m] = joined - 3 * common, joined
        near[i], near[j] = near[i] | 1 << j, near[j] | 1 << i
        degree[i], degree[j] = degree[i] + 1, degree[j] + 1
    still_open, every = np.cumsum(ways, axis=1)
    return np.asarray(still_open / np.maximum(np.maximum(every, expected), 1.0))


def _linked(first: Index, second: Index, n: int) -> Index:
    """Numbers of the groups that pairs make; -1 for samples in none."""
    labels = np.arange(n)
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        if labels[i] != labels[j]:
            labels[labels == max(labels[i], labels[j])] = min(labels[i], labels[j])
    sizes = np.bincount(labels, minlength=n)
    groups = np.full(n, -1, dtype=np.intp)
    paired = sizes[labels] > 1
    groups[paired] = np.unique(labels[paired], return_inverse=True)[1]
    return groups


def neighbours_alike(K: Array) -> bool:
    """Whether samples are like those that follow them, beyond what random orders give.

    `K` are inner products of centred samples. All directions count alike, however little the
    samples vary along them: batches are seen in what is left of a sample beside its large and true
    differences from others.
    """
    n, total = len(K), float(np.trace(K))
    if n <= 2 * max(LAGS) or total <= 0.0:
        return False
    given, orders = np.arange(n)[None], random_orders(n)
    plain = _likeness(K, given)[0] * n / total
    H = np.asarray(np.linalg.solve(K + RIDGE * total / n * np.eye(n), K), dtype=np.float64)
    H /= np.trace(H) / n
    found, by_chance = _likeness(H, given)[0], _likeness(H, orders)
    limit = by_chance.mean() + DEVIATIONS * by_chance.std()
    return bool(found > limit and max(found, plain) > ALIKE)


def products_of(residuals: Array) -> Array:
    """Inner products (n, n) of residuals (n, t), as normal scores: none is far from the others.

    Equal residuals have equal scores.
    """
    n, shares = len(residuals), np.empty(residuals.shape)
    for j, own in enumerate(residuals.T):
        _, place, counts = np.unique(own, return_inverse=True, return_counts=True)
        shares[:, j] = ((np.cumsum(counts) - 0.5 * counts) / n)[place]
    scores = ndtri(shares)
    return np.asarray(scores @ scores.T)


def random_orders(n: int) -> Index:
    """Orders (N_ORDERS, n) of n samples, always the same."""
    return np.argsort(np.random.RandomState(0).random_sample((N_ORDERS, n)), axis=1)


def _likeness(H: Array, orders: Index) -> Array:
    """The mean of H (n, n) over neighbours, for every order of the samples."""
    means = [H[orders[:, :-lag], orders[:, lag:]].mean(axis=1) for lag in LAGS]
    return np.asarray(np.mean(means, axis=0))


def is_sorted(Y: Array) -> bool:
    """Whether the order of the samples is that of a target, up or down."""
    order = np.arange(len(Y))
    for y in Y.T:
        ranks = np.searchsorted(np.sort(y), y)
        spread = float(ranks.std() * order.std())
        if spread > 0 and abs(np.mean(ranks * (order - order.mean()))) >= SORTED * spread:
            return True
    return False


def in_blocks(codes: Index) -> bool:
    """Whether samples of every class stand together."""
    return int(np.count_nonzero(np.diff(codes))) < 2 * np.unique(codes).size


def gross_errors(residuals: Array) -> Index:
    """Samples whose residual (n, t) is gross for some target, the largest first.

    The j largest are gross where they are so many times as large as the next one that j errors
    beyond that one would all be with a probability of at most p, if errors had tails like
    Student's t: ``q(p**(1/j) (j + 1) / n) / q((j + 1) / n)`` times, q the quantile, and p
    ``RARE / (2**j t)``, in all `RARE`.
    """
    n, t = residuals.shape
    sizes = np.abs(residuals - np.median(residuals, axis=0))
    j = np.arange(1, max(2, n // 10))
    ends = 0.5 * (RARE / t) ** (1.0 / j) * (j + 1) / n, (j + 1) / n
    far, near = (stdtrit(TAIL_DEGREES, 1.0 - 0.5 * end) for end in ends)
    found = np.zeros(n)
    for own in sizes.T:
        order, middle = np.argsort(-own, kind="stable"), np.median(own)
        if middle <= 1e-9 * own.max(initial=0.0):
            continue  # nearly all are rounding
        times = own[order[j - 1]] > np.maximum(far / near * own[order[j]], LARGE * middle)
        gross = order[: j[times].max(initial=0)]
        found[gross] = np.maximum(found[gross], own[gross] / middle)
    return np.argsort(-found, kind="stable")[: np.count_nonzero(found)]
