"""Could the search have found this by chance? The same search on targets in random order.

Out-of-fold residuals of the closed forms are linear in y: one inverse a candidate serves all orders
of y, which stand side by side as if they were so many targets.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.classes import log_losses, signed_targets
from skstretch.core.factors import power_of_two
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design
from skstretch.search.candidates import (
    Candidate,
    Folds,
    Outcome,
    Problem,
    folds_from_splits,
    leave_one_out,
)
from skstretch.search.choice import class_weights, fair_shares, regression_weights, squared_errors
from skstretch.search.grid import Grid, evaluate_grid

# bytes of residuals of one candidate that are held at a time
CHUNK_BYTES = 1 << 25


@dataclass(frozen=True)
class PermutationTest:
    """What a search gives on targets in random order.

    The method `permutation_test` of a search makes the object; ``print`` it for a sentence.

    Parameters
    ----------
    statistic : float
        The score of the average of ridge regression and the curved models on the data as they
        are, greater is better: minus the mean squared error, or for classes minus the balanced log
        loss.
    null_distribution : array of shape (n_permutations,)
        The same on targets in random order.
    correlation, null_correlations : float, array of shape (n_permutations,)
        The largest squared correlation of a feature with a target (or with one class against the
        rest), which sees a single true feature among many: on the data, and in random order.
    pvalue : float
        Of both together: of every order the lesser of its two p-values among all orders, and the
        share of orders, the data among them, whose lesser one is no larger than that of the data.

    See Also
    --------
    skstretch.StretchyRegressorCV : Its method `permutation_test` returns this.
    skstretch.StretchyClassifierCV : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = X[:60], y[:60]
    >>> model = StretchyRegressorCV(a_grid=(-0.2,))
    >>> print(model.fit(X, y).permutation_test(99))
    p = 0.01: of 99 random orders of the targets 0 did as well.
    """

    statistic: float
    null_distribution: Array
    correlation: float
    null_correlations: Array
    pvalue: float

    def __str__(self) -> str:
        n = self.null_distribution.size
        as_good = round(self.pvalue * (n + 1)) - 1
        return (
            f"p = {self.pvalue:.3g}: of {n:,} random orders of the targets {as_good:,} did as well."
        )


@dataclass(frozen=True)
class Tested:
    """What is put in random order: targets Y (M, t), or the classes `codes` behind them."""

    Y: Array
    weights: Array
    intercept: Intercept
    codes: Index | None = None
    n_classes: int = 0
    groups: Index | None = None

    @property
    def folds(self) -> Folds:
        """Leave one out, or one group."""
        if self.groups is None:
            return leave_one_out(len(self.Y))
        each = (self.groups == group for group in np.unique(self.groups))
        splits = ((np.flatnonzero(~held), np.flatnonzero(held)) for held in each)
        return folds_from_splits(splits, np.arange(len(self.Y)), len(self.Y))

    def orders(self, permutations: Index) -> tuple[Array, Index | None]:
        """Targets (M, q, t) and codes (q, M) of some orders (q, M)."""
        if self.codes is None:
            return np.moveaxis(self.Y[permutations], 0, 1), None
        codes = self.codes[permutations]
        flat = signed_targets(codes.T.ravel(), self.n_classes)
        return flat.reshape(len(self.weights), len(permutations), -1), codes


def permutation_test(
    grid: Grid,
    design_at: Callable[[float], Design],
    tested: Tested,
    permutations: Index,
) -> PermutationTest:
    """Scores of the closed forms of a grid, mixed, for every order (P, M) of the targets."""
    M, folds, unit = len(tested.weights), tested.folds, 1.0
    if tested.codes is None:  # squared errors stay in range
        unit = float(power_of_two(np.abs(tested.Y).max()))
        tested = replace(tested, Y=tested.Y / unit)
    whole = np.vstack([np.arange(M), permutations])
    t = tested.Y.shape[1]
    size = max(1, CHUNK_BYTES // (8 * M * t))
    scores, largest = [], []
    first = next(iter(grid.a)) if 0.0 not in grid.a else 0.0
    features = standardised(whole_features(design_at(first)), tested.weights)
    for start in range(0, len(whole), size):
        Y, codes = tested.orders(whole[start : start + size])
        flat = Problem(Y.reshape(M, -1), tested.weights, tested.intercept, folds)
        candidates = evaluate_grid(grid, design_at, flat)
        scores.append(_mixture_scores(candidates, Y, codes, tested, np.argsort(folds.tested)))
        largest.append(largest_correlations(features, Y, tested.weights))
    found, strongest = np.concatenate(scores), np.concatenate(largest)
    pvalue = combined_pvalue(found, strongest)
    found = unit * (unit * found)
    return PermutationTest(float(found[0]), found[1:], float(strongest[0]), strongest[1:], pvalue)


def combined_pvalue(*statistics: Array) -> float:
    """The p-value of the first of all orders by the best of several statistics (P + 1,).

    Exact: under the hypothesis the data are one of the orders like any other, in every statistic.
    """
    ranks = [[np.sum(values >= value) for value in values] for values in statistics]
    least = np.min(ranks, axis=0)
    return float(np.mean(least <= least[0]))


def whole_features(design: Design) -> Array:
    """All features (M, D), less their offset."""
    blocks = [np.arange(rows.start, rows.stop) for rows in design.row_slices()]
    return np.vstack([design.row_features(rows).excess(1.0) for rows in blocks])


def standardised(P: Array, weights: Array) -> Array:
    """Features (D, M) of mean zero and length one, times the roots of the weights."""
    P = np.sqrt(weights)[:, None] * (P - weights @ P / weights.sum())
    sizes = np.linalg.norm(P, axis=0)
    return np.asarray((P / np.where(sizes > 0.0, sizes, 1.0)).T)


def largest_correlations(features: Array, Y: Array, weights: Array) -> Array:
    """The largest squared correlation (q,) of features (D, M) with the targets Y (M, q, t)."""
    root = np.sqrt(weights)[:, None, None]
    Z = root * (Y - np.tensordot(weights, Y, 1) / weights.sum())
    sizes = np.linalg.norm(Z, axis=0)
    Z = Z / np.where(sizes > 0.0, sizes, 1.0)
    M, q, t = Y.shape
    found = np.zeros(q * t)
    step = max(1, CHUNK_BYTES // (8 * q * t))
    for start in range(0, len(features), step):
        products = np.square(features[start : start + step] @ Z.reshape(M, -1))
        found = np.maximum(found, products.max(axis=0, initial=0.0))
    # equal orders have equal correlations but for rounding
    return np.asarray(np.round(found.reshape(q, t).max(axis=1), 12))


def random_orders(
    rng: np.random.RandomState, n_orders: int, Y: Array, groups: Index | None, *, within: bool
) -> Index:
    """Orders (n_orders, M): of all samples, of whole groups, or within each group.

    Whole groups change places with others of their size, or with all where no target varies within
    a group.
    """
    M = len(Y)
    if groups is None:
        return np.array([rng.permutation(M) for _ in range(n_orders)])
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    constant = all((Y[rows] == Y[rows[0]]).all() for rows in members)
    sizes = np.array([0 if constant else rows.size for rows in members])
    if not within and np.unique(sizes).size == sizes.size:
        raise ValueError(
            f"no two of {sizes.size} groups have as many samples, so that none can take the place "
            "of another: use within=True if the samples of a group can be put in any order."
        )
    found = np.empty((n_orders, M), dtype=np.intp)
    for order in found:
        if within:
            for rows in members:
                order[rows] = rng.permutation(rows)
            continue
        for size in np.unique(sizes):
            same = np.flatnonzero(sizes == size)
            for to, source in zip(same, rng.permutation(same), strict=True):
                order[members[to]] = np.resize(members[source], members[to].size)
    return found


def check_no_copies(features: Array) -> None:
    """Refuse samples that are copies of each other: any order of targets parts them."""
    seen: dict[bytes, int] = {}
    for i, row in enumerate(features):
        j = seen.setdefault(row.tobytes(), i)
        if j != i:
            raise ValueError(
                f"samples {j} and {i} have the same features: replicates cannot be put in any "
                "order. Pass groups=..., with one group for each that was measured several times "
                "(or groups=np.arange(n_samples) if they only look alike)."
            )


def _mixture_scores(
    candidates: Iterator[tuple[Candidate, Outcome]],
    Y: Array,
    codes: Index | None,
    tested: Tested,
    places: Index,
) -> Array:
    """The scores (q,) of the mixtures of all families, by order; `places` of the samples among
    the residuals."""
    best: dict[tuple[float, float], tuple[Array, Array]] = {}
    M, q, t = Y.shape
    for candidate, outcome in candidates:
        if not outcome.usable:
            continue
        residuals = outcome.residuals[places].reshape(M, q, t).swapaxes(0, 1)
        losses = _losses(residuals, Y, codes, tested.weights)
        if (candidate.a, candidate.k) not in best:
            best[candidate.a, candidate.k] = losses, residuals.copy()
            continue
        least, kept = best[candidate.a, candidate.k]
        better = losses < least
        kept[better] = residuals[better]
        best[candidate.a, candidate.k] = np.minimum(least, losses), kept
    bent = np.array([float(a != 0.0) for a, _ in best])
    losses = np.array([least for least, _ in best.values()])
    residuals = np.stack([kept for _, kept in best.values()])
    n, fair = float(tested.weights.sum()), fair_shares([Candidate(*at, 1, 1, 1.0) for at in best])
    mixed = np.empty((q, M, t))
    for i in range(q):
        own = residuals[:, i]
        shares = (
            class_weights(losses[:, i], n)
            if codes is not None
            else regression_weights(squared_errors(own, tested.weights, bent, n), n, fair)
        )
        mixed[i] = np.tensordot(shares, own, 1)
    return -_losses(mixed, Y, codes, tested.weights)


def _losses(residuals: Array, Y: Array, codes: Index | None, weights: Array) -> Array:
    """Squared errors, or log losses, (q,) of residuals (q, M, t)."""
    if codes is None:
        return np.asarray(np.square(residuals).mean(axis=2) @ weights / weights.sum())
    outputs = Y.swapaxes(0, 1) - residuals
    return log_losses(outputs, codes, np.tile(weights, (len(outputs), 1)))
