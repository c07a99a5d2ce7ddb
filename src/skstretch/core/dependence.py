"""Signs that samples are not what cross-validation takes them for: copies, an order, gross errors.

All from inner products of samples (n, n), and from residuals of samples that were left out. The
thresholds are strict: what is noticed should be true, and much that is true is not noticed.
"""

import numpy as np

from skstretch.core.types import Array, Index

# copies are this many times nearer to each other than any other two samples, at least so many pairs
# of them, in at least so many groups and a share of all samples
NEARER, FEWEST_PAIRS, FEWEST_GROUPS, LEAST_SHARE = 1.8, 5, 5, 0.1
# squared distances, relative to their mean, that are rounding
ROUNDING = 1e-12
# neighbours in the order of samples, so many steps away, are alike where their likeness is this
# large, and this many deviations above that of samples in random order
LAGS, ALIKE, DEVIATIONS, N_ORDERS = (1, 2, 3), 0.1, 4.5, 400
# part of the mean diagonal that keeps noise from counting as much as what varies
RIDGE = 0.1
# an order of samples that is that of their targets, by rank correlation
SORTED = 0.9
# residuals beyond so many robust standard deviations are gross
GROSS = 5.5


def near_copies(K: Array) -> Index:
    """Groups (n,) of samples that are copies of each other but for little; -1 for samples alone.

    Of all pairs in the order of their distances, the first m are copies where the next pair is
    `NEARER` times as far apart. In any smooth distribution such a gap after the fifth pair is
    rare: in d dimensions the ratio is ``(1 + E / m)**(1/d)`` for an exponential E.
    """
    n = len(K)
    alone = np.full(n, -1, dtype=np.intp)
    square = np.diag(K)[:, None] + np.diag(K) - 2.0 * K
    first, second = np.triu_indices(n, 1)
    square = square[first, second]
    most = min(square.size - 1, n * n // (2 * FEWEST_GROUPS))
    if most < FEWEST_PAIRS:
        return alone
    nearest = np.argpartition(square, most)[: most + 1]
    nearest = nearest[np.argsort(square[nearest])]
    near = np.maximum(square[nearest], ROUNDING * square.mean())
    gaps = near[FEWEST_PAIRS:] >= NEARER**2 * near[FEWEST_PAIRS - 1 : -1]
    if not gaps.any():
        return alone
    count = FEWEST_PAIRS + int(np.flatnonzero(gaps)[-1])
    groups = _linked(first[nearest[:count]], second[nearest[:count]], n)
    enough = groups.max() + 1 >= FEWEST_GROUPS and np.mean(groups >= 0) >= LEAST_SHARE
    return groups if enough else alone


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
    """Inner products (n, n) of residuals (n, t), every target in its own unit."""
    spread = residuals.std(axis=0)
    scaled = (residuals - residuals.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(scaled @ scaled.T)


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
    """Samples whose residual (n, t) is gross for some target, the largest first."""
    middle = np.median(residuals, axis=0)
    sizes = np.abs(residuals - middle)
    scale = 1.4826 * np.median(sizes, axis=0)
    known = scale > 1e-9 * sizes.max(axis=0, initial=0.0)
    times = (sizes[:, known] / scale[known]).max(axis=1, initial=0.0)
    order = np.argsort(-times, kind="stable")
    return np.asarray(order[times[order] > GROSS], dtype=np.intp)
