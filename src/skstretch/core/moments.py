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

# of a scale: a mean that is known so well leaves z-scores to their own rounding
LEAST_REST = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Moments:
    """Weighted statistics of the training columns, each of shape (D,).

    `smallest` is the smallest raw value; `low` and `high` are the extreme z-scores. Columns that
    are constant within rounding have scale 1 and take no part in a fit.

    `rest` is what the mean has beyond its own float64. Where a column lies far from zero (1e8 and
    a scale of 1), the mean of its z-scores would else be 1e-8 and not 0, which a fit without
    intercept takes for a part of the data. Zero where it is below the rounding of z-scores.
    """

    mean: Array
    scale: Array
    smallest: Array
    low: Array
    high: Array
    constant: Mask
    rest: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.rest is None:
            object.__setattr__(self, "rest", np.zeros(self.mean.shape))

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
    mean: Array, scale: Array, smallest: Array, largest: Array, constant: Mask, rest: Array
) -> Moments:
    """Moments with the extreme z-scores that follow."""
    # the mean of equal numbers is one of them but for rounding, which is large for large numbers
    mean, scale = np.where(constant, smallest, mean), np.where(constant, 1.0, scale)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        low, high = (smallest - mean) / scale, np.where(constant, 0.0, (largest - mean) / scale)
        counts = ~constant & np.isfinite(rest) & (np.abs(rest) > LEAST_REST * scale)
    return Moments(mean, scale, smallest, low, high, constant, np.where(counts, rest, 0.0))


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
        mean, scale, rest = _mean_and_scale(X, share)
    # squares that overflow, or vanish although the column varies
    if not np.isfinite(scale).all() or np.any((scale < SMALLEST_SCALE) & (smallest < largest)):
        mean, scale = _scaled_moments(_floats(X), share)
        rest = np.zeros_like(mean)
    constant = is_constant(smallest, largest, eps) | (scale == 0)
    return from_range(mean, scale, smallest, largest, constant, rest)


def _mean_and_scale(X: npt.NDArray[np.generic], share: Array) -> tuple[Array, Array, Array]:
    """Weighted mean, deviation, and what is left of the mean, a few rows at a time."""
    if _sums_are_whole(X, share):
        return _of_whole_sums(X)
    mean, variance, rest = (np.zeros(X.shape[1]) for _ in range(3))
    for rows in row_tiles(*X.shape):
        mean += share[rows] @ _floats(tile_of(X, rows))
    for rows in row_tiles(*X.shape):
        deviations = np.subtract(tile_of(X, rows), mean, dtype=np.float64)
        rest += share[rows] @ deviations
        variance += share[rows] @ np.square(deviations, out=deviations)
    # about the mean with its rest
    return mean, np.sqrt(np.maximum(variance - np.square(rest), 0.0)), rest


def _sums_are_whole(X: npt.NDArray[np.generic], share: Array) -> bool:
    """Whether sums of squares of all rows, times their number, are whole numbers of float64.

    Asked of bytes, the pixels of images, of which there are many; other numbers have the bits that
    they have as float64.
    """
    if X.dtype != np.uint8 or np.ptp(share) > 0.0:
        return False
    return bool((X.shape[0] * 2**8) ** 2 < 2**53)


def _of_whole_sums(X: npt.NDArray[np.generic]) -> tuple[Array, Array, Array]:
    """`_mean_and_scale` of equal weights in one pass: ``n^2 variance = n sum x^2 - (sum x)^2``,
    which is exact."""
    n, one = len(X), np.ones(len(X))
    total, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in row_tiles(*X.shape):
        numbers = np.array(tile_of(X, rows), dtype=np.float64)
        total += one[rows] @ numbers
        squares += one[rows] @ np.square(numbers, out=numbers)
    mean = total / n
    # the remainder of the division, which float64 holds
    high = np.floor(mean)
    rest = ((total - n * high) - n * (mean - high)) / n
    return mean, np.sqrt(n * squares - np.square(total)) / n, rest


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
    have together the mean ``m + d v/(u+v)`` and ``s + t + d**2 uv/(u+v)``, ``d = n - m``. What
    rounding leaves of the mean is kept in `rest`.
    """

    def __init__(self, n_features: int) -> None:
        self.total = 0.0
        self.mean, self.squares, self.rest = (np.zeros(n_features) for _ in range(3))
        self.smallest = np.full(n_features, np.inf)
        self.largest = np.full(n_features, -np.inf)

    def add(self, X: Array, weights: Array) -> None:
        """More rows, of positive weight."""
        if not weights.size:
            return
        added = float(weights.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = weights @ X / added
            deviations = X - mean
            rest = weights @ deviations / added
            squares = weights @ np.square(deviations)
            squares = np.maximum(squares - added * np.square(rest), 0.0)
            self.squares = self.squares + (squares + self.join_means(added, mean, rest))
        np.minimum(self.smallest, X.min(axis=0), out=self.smallest)
        np.maximum(self.largest, X.max(axis=0), out=self.largest)

    def join_means(self, added: float, mean: Array, rest: Array) -> Array:
        """The mean with more rows; returns the squares that the way between the means adds."""
        together = self.total + added
        shift, share = mean - self.mean, added / together
        more = rest - self.rest
        whole = shift + np.where(np.abs(more) > LEAST_REST * np.abs(shift), more, 0.0)
        spread = np.square(whole) * (self.total * added / together)
        step = shift * share
        moved = self.mean + step
        # the two-sum: exactly what rounding took from mean + step
        back = moved - self.mean
        lost = (self.mean - (moved - back)) + (step - back)
        self.rest = self.rest * (1.0 - share) + rest * share + lost
        self.mean, self.total = moved, together
        return spread

    def moments(self, eps: float) -> tuple[Moments, Mask]:
        """The moments, and which columns must be measured again: their squares left float64."""
        with np.errstate(invalid="ignore"):
            scale = np.sqrt(self.squares / self.total)
        constant = is_constant(self.smallest, self.largest, eps)
        found = from_range(
            self.mean, scale, self.smallest.copy(), self.largest, constant, self.rest
        )
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


def pooled_sum(parts: Sequence[Array], overwrite: bool = False) -> Array:
    """The sum of arrays, added in their order into one new array, or into the first of them."""
    total = parts[0] if overwrite else parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def pooled_moments(parts: Sequence[MergedMoments]) -> MergedMoments:
    """Moments of the rows of all parts; see `MergedMoments` for the formula."""
    pooled = copy(parts[0])
    for part in parts[1:]:
        with np.errstate(over="ignore", invalid="ignore"):
            spread = pooled.join_means(part.total, part.mean, part.rest)
            pooled.squares = pooled.squares + part.squares + spread
        pooled.smallest = np.minimum(pooled.smallest, part.smallest)
        pooled.largest = np.maximum(pooled.largest, part.largest)
    return pooled
