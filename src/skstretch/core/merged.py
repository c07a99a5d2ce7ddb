"""Moments of columns whose rows come in blocks."""

from dataclasses import replace

import numpy as np

from skstretch.core.quadrant import SMALLEST_SCALE, Moments
from skstretch.core.types import Array, Mask

# relative difference up to which two numbers may be the rounded mean of the same column
SAME_VALUE = 1e-6


class MergedMoments:
    """Weighted moments that grow with every block of rows.

    Two sets of rows with weights ``u, v``, means ``m, n`` and sums of squares ``s, t`` about them
    have together the mean ``m + d v/(u+v)`` and ``s + t + d**2 uv/(u+v)``, ``d = n - m``.
    """

    def __init__(self, n_features: int) -> None:
        self.total = 0.0
        self.mean, self.squares = np.zeros(n_features), np.zeros(n_features)
        self.smallest = np.full(n_features, np.inf)
        self.largest = np.full(n_features, -np.inf)

    def add(self, X: Array, weights: Array) -> None:
        """More rows, of positive weight."""
        if not weights.size:
            return
        added = float(weights.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = weights @ X / added
            squares = weights @ np.square(X - mean)
            together = self.total + added
            shift = mean - self.mean
            self.squares += squares + np.square(shift) * (self.total * added / together)
            self.mean += shift * (added / together)
        self.total = together
        np.minimum(self.smallest, X.min(axis=0), out=self.smallest)
        np.maximum(self.largest, X.max(axis=0), out=self.largest)

    def moments(self, eps: float) -> tuple[Moments, Mask]:
        """The moments, and which columns must be measured again: their squares left float64."""
        with np.errstate(invalid="ignore"):
            scale = np.sqrt(self.squares / self.total)
        smallest, largest = self.smallest, self.largest
        half_range = largest / 2 - smallest / 2
        constant = half_range <= 4.0 * eps * np.maximum(np.abs(largest), np.abs(smallest))
        extreme = ~constant & ~(np.isfinite(scale) & (scale >= SMALLEST_SCALE))
        mean, scale = np.where(constant, smallest, self.mean), np.where(constant, 1.0, scale)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            low, high = (smallest - mean) / scale, (largest - mean) / scale
        high = np.where(constant, 0.0, high)
        return Moments(mean, scale, smallest.copy(), low, high, constant), extreme


def fixed_moments(mean: Array, scale: Array) -> Moments:
    """Moments that are given, before any row was seen; a scale of zero marks a constant column."""
    constant = scale == 0.0
    unseen = np.where(constant, 0.0, np.inf)
    smallest = np.where(constant, mean, np.inf)
    return Moments(mean, np.where(constant, 1.0, scale), smallest, unseen, -unseen, constant)


def widened(moments: Moments, rows: Moments) -> Moments:
    """Fixed means and scales, with the range of more rows: `rows` are their own moments."""
    mean, scale = moments.mean, moments.scale
    largest = rows.mean + rows.high * rows.scale
    with np.errstate(over="ignore"):
        low, high = (rows.smallest - mean) / scale, (largest - mean) / scale
    return replace(
        moments,
        smallest=np.minimum(moments.smallest, rows.smallest),
        low=np.where(moments.constant, 0.0, np.minimum(moments.low, low)),
        high=np.where(moments.constant, 0.0, np.maximum(moments.high, high)),
    )


def awakened(moments: Moments, rows: Moments) -> Mask:
    """Columns that count as constant and yet vary in `rows`, or from what they were."""
    size = np.maximum(np.abs(rows.smallest), np.abs(moments.mean))
    moved = np.abs(rows.smallest - moments.mean) > SAME_VALUE * size
    return np.asarray(moments.constant & (moved | ~rows.constant))
