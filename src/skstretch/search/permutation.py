"""Could the search have found this by chance? The same search on targets in random order.

Out-of-fold residuals of the closed forms are linear in y: one inverse a candidate serves all orders
of y, which stand side by side as if they were so many targets.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from skstretch.core.classes import log_losses, signed_targets
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design
from skstretch.search.candidates import Candidate, Outcome, Problem, leave_one_out
from skstretch.search.choice import class_weights, regression_weights, residual_moments
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
        The score of the mixture of closed forms on the data as they are, greater is better: minus
        the mean squared error, or minus the balanced log loss for classes.
    null_distribution : array of shape (n_permutations,)
        The same on targets in random order.
    pvalue : float
        ``(1 + number of null scores at least as good) / (1 + n_permutations)``.

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
    pvalue: float

    def __str__(self) -> str:
        n = self.null_distribution.size
        return (
            f"p = {self.pvalue:.3g}: of {n:,} random orders of the targets "
            f"{int(np.sum(self.null_distribution >= self.statistic)):,} did as well."
        )


@dataclass(frozen=True)
class Tested:
    """What is put in random order: targets Y (M, t), or the classes `codes` behind them."""

    Y: Array
    weights: Array
    intercept: Intercept
    codes: Index | None = None
    n_classes: int = 0

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
    M = len(tested.weights)
    whole = np.vstack([np.arange(M), permutations])
    t = tested.Y.shape[1]
    size = max(1, CHUNK_BYTES // (8 * M * t))
    scores = []
    for start in range(0, len(whole), size):
        Y, codes = tested.orders(whole[start : start + size])
        flat = Problem(Y.reshape(M, -1), tested.weights, tested.intercept, leave_one_out(M))
        candidates = evaluate_grid(grid, design_at, flat)
        scores.append(_mixture_scores(candidates, Y, codes, tested))
    found = np.concatenate(scores)
    statistic, null = float(found[0]), found[1:]
    pvalue = (1.0 + float(np.sum(null >= statistic))) / (1.0 + null.size)
    return PermutationTest(statistic, null, pvalue)


def _mixture_scores(
    candidates: Iterator[tuple[Candidate, Outcome]], Y: Array, codes: Index | None, tested: Tested
) -> Array:
    """The scores (q,) of the mixtures of all families, by order."""
    best: dict[tuple[float, float], tuple[Array, Array]] = {}
    M, q, t = Y.shape
    for candidate, outcome in candidates:
        if not outcome.usable:
            continue
        residuals = outcome.residuals.reshape(M, q, t).swapaxes(0, 1)
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
    n = float(tested.weights.sum())
    mixed = np.empty((q, M, t))
    for i in range(q):
        own = residuals[:, i]
        shares = (
            class_weights(losses[:, i], n)
            if codes is not None
            else regression_weights(residual_moments(own, tested.weights, bent), n)
        )
        mixed[i] = np.tensordot(shares, own, 1)
    return -_losses(mixed, Y, codes, tested.weights)


def _losses(residuals: Array, Y: Array, codes: Index | None, weights: Array) -> Array:
    """Squared errors, or log losses, (q,) of residuals (q, M, t)."""
    if codes is None:
        return np.asarray(np.square(residuals).mean(axis=2) @ weights / weights.sum())
    outputs = Y.swapaxes(0, 1) - residuals
    return log_losses(outputs, codes, np.tile(weights, (len(outputs), 1)))
