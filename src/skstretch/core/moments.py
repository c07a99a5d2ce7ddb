"""Weighted moments of columns: of all rows at once, of rows that come in blocks, or given."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from skstretch.core.factors import power_of_two
from skstretch.core.features import row_tiles, tile_of
from skstretch.core.types import Array, Index, Mask

Kind = Literal["exp", "identity", "linear"]
Columns = slice | Index

# exp(600) squared with a few coefficients still is a float64
LARGEST_LOG_FEATURE = 600.0

# below this the squares of deviations lose digits
SMALLEST_SCALE = 1e-140


@dataclass(frozen=True)
class Moments:
    """Weighted statistics of the training columns, each of shape (D,).

    `smallest` is the smallest raw value; `low` and `high` are the extreme z-scores. Columns that
    are constant within rounding have scale 1 and take no part in a fit.
    """

    mean: Array
    scale: Array
    smallest: Array
    low: Array
    high: Array
    constant: Mask

    def take(self, columns: Columns) -> "Moments":
        """The moments of some columns."""
        return Moments(*(getattr(self, f)[columns] for f in self.__dataclass_fields__))

    def put(self, columns: Columns, other: "Moments") -> None:
        """Overwrite the moments of some columns."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[columns] = getattr(other, name)


def side_by_side(parts: Sequence[Moments]) -> Moments:
    """The moments of consecutive columns."""
    names = Moments.__dataclass_fields__
    return Moments(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def is_constant(smallest: Array, largest: Array, eps: float) -> Mask:
    """Which columns vary by no more than the rounding of their own numbers."""
    # halves, so that the difference of two huge numbers does not overflow
    half_range = largest / 2 - smallest / 2
    return np.asarray(half_range <= 4.0 * eps * np.maximum(np.abs(largest), np.abs(smallest)))


def from_range(
    mean: Array, scale: Array, smallest: Array, largest: Array, constant: Mask
) -> Moments:
    """Moments with the extreme z-scores that follow."""
    # the mean of equal numbers is one of them but for rounding, which is large for large numbers
    mean, scale = np.where(constant, smallest, mean), np.where(constant, 1.0, scale)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        low, high = (smallest - mean) / scale, np.where(constant, 0.0, (largest - mean) / scale)
    return Moments(mean, scale, smallest, low, high, constant)


def left_range(scale: Array, constant: Mask) -> Mask:
    """Columns whose squares left the range of float64: they must be measured again, scaled."""
    return np.asarray(~constant & ~(np.isfinite(scale) & (scale >= SMALLEST_SCALE)))


def resolution(dtype: object) -> float:
    """The relative spacing of the numbers of a storage: that of float32, or of float64."""
    return float(np.finfo(np.float32 if dtype == np.float32 else np.float64).eps)


def column_moments(
    X: npt.NDArray[np.generic], weights: Array, eps: float = float(np.finfo(float).eps)
) -> Moments:
    """Moments of a block of columns; `eps` is the resolution of the data's own dtype."""
    share = weights / weights.sum()
    smallest, largest = _floats(X.min(axis=0)), _floats(X.max(axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = _mean_and_scale(X, share)
    # squares that overflow, or vanish although the column varies
    if not np.isfinite(scale).all() or np.any((scale < SMALLEST_SCALE) & (smallest < largest)):
        mean, scale = _scaled_moments(_floats(X), share)
    constant = is_constant(smallest, largest, eps) | (scale == 0)
    return from_range(mean, scale, smallest, largest, constant)


def _mean_and_scale(X: npt.NDArray[np.generic], share: Array) -> tuple[Array, Array]:
    """Weighted mean and deviation, a few rows at a time."""
    mean, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in row_tiles(*X.shape):
        mean += share[rows] @ _floats(tile_of(X, rows))
    for rows in row_tiles(*X.shape):
        deviations = np.subtract(tile_of(X, rows), mean, dtype=np.float64)
        variance += share[rows] @ np.square(deviations, out=deviations)
    return mean, np.sqrt(variance)


def _floats(X: npt.NDArray[np.generic]) -> Array:
    return np.asarray(X, dtype=np.float64)


def _scaled_moments(X: Array, share: Array) -> tuple[Array, Array]:
    """Mean and scale of columns whose squares leave the range of float64."""
    size = power_of_two(np.abs(X).max(axis=0))
    scaled = X / size
    mean = share @ scaled
    return mean * size, np.sqrt(share @ np.square(scaled - mean)) * size


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
        constant = is_constant(self.smallest, self.largest, eps)
        found = from_range(self.mean, scale, self.smallest.copy(), self.largest, constant)
        return found, left_range(scale, constant)


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


def pooled_sum(parts: Sequence[Array]) -> Array:
    """The sum of arrays, added in their order into one new array."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def pooled_moments(parts: Sequence[MergedMoments]) -> MergedMoments:
    """Moments of the rows of all parts; see `MergedMoments` for the formula."""
    pooled = copy(parts[0])
    for part in parts[1:]:
        total = pooled.total + part.total
        with np.errstate(over="ignore", invalid="ignore"):
            shift = part.mean - pooled.mean
            spread = np.square(shift) * (pooled.total * part.total / total)
            pooled.squares = pooled.squares + part.squares + spread
            pooled.mean = pooled.mean + shift * (part.total / total)
        pooled.total = total
        pooled.smallest = np.minimum(pooled.smallest, part.smallest)
        pooled.largest = np.maximum(pooled.largest, part.largest)
    return pooled
