"""Held-out samples: exact residuals from one inverse, intervals and paired comparisons of these.

Dual: with ``beta = G y`` the residuals of samples S by the model fitted without them solve
``G_SS r = beta_S``. The block-inverse proof never uses symmetry. Exact given the z-scores and a.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skstretch.core.dual import DualSolution, Inverse
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Fold:
    """One split: the samples that are not trained on, and those of them that are predicted."""

    held: Index
    tested: Index

    @property
    def positions(self) -> Index:
        """Where the tested samples stand among the held ones."""
        order = np.argsort(self.held)
        return order[np.searchsorted(self.held, self.tested, sorter=order)]


def loo_residuals(inverse: Inverse, solution: DualSolution) -> Array:
    """``beta_i / G_ii``: residuals of every sample by the model fitted without it, (M, t)."""
    return np.asarray(solution.beta / inverse.diagonal()[:, None])


def held_residuals(inverse: Inverse, solution: DualSolution, held: Index) -> Array:
    """Residuals of the held-out samples by the model fitted without them, (held, t)."""
    return np.asarray(np.linalg.solve(inverse.block(held), solution.beta[held]))


def without(inverse: Inverse, solution: DualSolution, held: Index) -> Array:
    """Dual coefficients of the model fitted without the held-out samples: zero on them, (M, t)."""
    residuals = held_residuals(inverse, solution, held)
    beta = solution.beta - inverse.columns(held) @ residuals
    beta[held] = 0.0
    return np.asarray(beta)


def out_of_fold(inverse: Inverse, solution: DualSolution, folds: Sequence[Fold] | None) -> Array:
    """Residuals of every tested sample, fold after fold; None stands for leave one out."""
    if folds is None:
        return loo_residuals(inverse, solution)
    parts = []
    for fold in folds:
        residuals = held_residuals(inverse, solution, fold.held)
        parts.append(residuals[fold.positions])
    return np.vstack(parts)


@dataclass(frozen=True)
class RowSystem:
    """The primal twin: predictions ``H y`` with ``H_ij = left_i B^-1 right_j w_j``.

    For the free intercept the constant is one of the columns of left and right.
    """

    B: Array
    inverse: Array

    def leverages(self, left: Array, right: Array, weights: Array) -> Array:
        """``H_ii`` for rows of left and right."""
        return np.asarray(weights * np.einsum("ij,ij->i", left @ self.inverse, right))

    def held_residuals(
        self, left: Array, right: Array, weights: Array, residuals: Array
    ) -> tuple[Array, Array, float]:
        """``(r, change, slack)``: residuals of held-out rows, and what leaving them out does to x.

        ``(I - H_SS) r = e``: through a system of the size of S, or of B, whichever is smaller.
        The slack ``1 / max_i |((I - H_SS)^-1)_ii|``, for one row ``|1 - H_ii|``, says how well the
        other rows determine x: errors of the inverse come out enlarged by its reciprocal.
        """
        weighted = right.T * weights
        if left.shape[0] <= left.shape[1]:
            H = left @ (self.inverse @ weighted)
            G = np.asarray(np.linalg.inv(np.eye(left.shape[0]) - H), dtype=np.float64)
            r, enlarged = G @ residuals, G.diagonal()
        else:
            through = np.linalg.solve(self.B - weighted @ left, weighted)
            r = residuals + left @ (through @ residuals)
            enlarged = 1.0 + np.einsum("ij,ji->i", left, through)
        slack = float(1.0 / np.abs(enlarged).max(initial=1.0))
        return r, -(self.inverse @ (weighted @ r)), slack


def ranks(n: int, coverage: float) -> tuple[int, int]:
    """Which of n sorted values bound from below and above, counted from 1.

    Below: ``floor((1 - coverage) (n + 1))``; above: ``ceil(coverage (n + 1))``. Zero and n + 1
    stand for minus and plus infinity.
    """
    # 0.9 * 10 is a hair above 9: coverages are meant in decimals
    return (
        math.floor(round((1.0 - coverage) * (n + 1), 9)),
        min(n + 1, math.ceil(round(coverage * (n + 1), 9))),
    )


def jackknife_plus(predictions: Array, residuals: Array, coverage: float) -> tuple[Array, Array]:
    """Bounds from leave-one-out predictions (N, M) at new points and residuals (M,).

    Lower: the ``floor((1 - coverage)(M + 1))`` smallest of ``prediction_i - |residual_i|``;
    upper: the ``ceil(coverage (M + 1))`` smallest of ``prediction_i + |residual_i|``.
    """
    n = residuals.size
    low, high = ranks(n, coverage)
    size = np.abs(residuals)
    lower = np.full(predictions.shape[0], -np.inf)
    upper = np.full(predictions.shape[0], np.inf)
    if low >= 1:
        lower = np.partition(predictions - size, low - 1, axis=1)[:, low - 1]
    if high <= n:
        upper = np.partition(predictions + size, high - 1, axis=1)[:, high - 1]
    return lower, upper


def residual_width(residuals: Array, coverage: float) -> float:
    """Half the width of an interval around a prediction: a quantile of ``|residual|``."""
    n = residuals.size
    _, high = ranks(n, coverage)
    return float(np.sort(np.abs(residuals))[high - 1]) if high <= n else math.inf


def paired_error(
    difference: Array, weights: Array, groups: npt.NDArray[np.generic] | None
) -> tuple[float, float]:
    """Weighted mean of paired differences of loss and its standard error.

    A weight counts repetitions; with groups, whole groups are the independent units.
    """
    total = weights.sum()
    mean = float(weights @ difference / total)
    deviations = difference - mean
    if groups is None:
        return mean, float(np.sqrt(weights @ np.square(deviations)) / total)
    _, codes = np.unique(groups, return_inverse=True)
    sums = np.bincount(codes, weights=weights * deviations)
    return mean, float(np.sqrt(np.sum(np.square(sums))) / total)
