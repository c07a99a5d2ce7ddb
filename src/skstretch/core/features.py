"""A block of transformed features P, known well enough to take its powers accurately.

Two kinds. `ExpFeatures` holds ``L`` and a shift b of every column with ``P = exp(L + b)``, so that
``P**r - exp(r b) = exp(r b) expm1(r L)`` keeps its digits when ``L`` is small, and when b is far
from zero. `PlainFeatures` holds P itself. Large blocks are made in tiles that stay in the fast
cache of a core.

Weighted moments of columns: of all rows at once, of rows that come in blocks, or given.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from skstretch.core.factors import power_of_two
from skstretch.core.types import Array, Index, Mask

# what features are kept without
Offset = float | Array


def constant_part(offset: Offset, coef: Array) -> Array:
    """``offset' coef`` for coefficients (D, t): what prediction from `excess` leaves out."""
    if isinstance(offset, float):
        return np.asarray(offset * coef.sum(axis=0))
    return np.asarray(offset @ coef)


class Features(Protocol):
    """What the maths asks of a block of features."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def offset(self) -> Offset:
        """What `excess` leaves out of P: a number, or one for each column. Of ``P**r`` it is the
        r-th power."""
        ...

    def rows(self, rows: slice) -> "Features":
        """Some of the rows."""
        ...

    def excess(self, r: float, out: Array | None = None) -> Array:
        """``P**r - offset**r`` in a fresh array, or in `out`."""
        ...

    def power(self, r: float, log_shift: Array) -> Array:
        """A fresh array ``P**r * exp(-log_shift)``, with no overflow on the way."""
        ...

    def log_peaks(self, axis: int) -> Array:
        """``log max |P|`` along an axis; zero where all of P is zero."""
        ...


@dataclass(frozen=True)
class ExpFeatures:
    """``P = exp(L + shift)``; `shift` is one number for each column, None for zero.

    Of entries that stand in a row (L of one dimension) each has its own.
    """

    L: Array
    shift: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.L.shape[0], self.L.shape[1]

    @property
    def offset(self) -> Offset:
        return 1.0 if self.shift is None else np.exp(self.shift)

    @property
    def logs(self) -> Array:
        """``log P``."""
        return self.L if self.shift is None else self.L + self.shift

    def rows(self, rows: slice) -> "ExpFeatures":
        return ExpFeatures(self.L[rows], self.shift)

    def part(self, columns: slice) -> "ExpFeatures":
        """Some of the columns."""
        shift = None if self.shift is None else self.shift[columns]
        return ExpFeatures(self.L[:, columns], shift)

    def excess(self, r: float, out: Array | None = None) -> Array:
        if r == 1.0:
            excess = np.expm1(self.L, out=out)
        else:
            stretched = np.multiply(self.L, r, out=out)
            excess = np.expm1(stretched, out=stretched)
        if self.shift is not None:
            excess *= np.exp(r * self.shift)
        return excess

    def power(self, r: float, log_shift: Array) -> Array:
        stretched = self.L * r
        stretched -= log_shift if self.shift is None else log_shift - r * self.shift
        return np.exp(stretched, out=stretched)

    def log_peaks(self, axis: int) -> Array:
        return np.asarray(self.logs.max(axis=axis))


def shifts_beside(parts: Sequence[ExpFeatures]) -> Array | None:
    """The shifts of consecutive columns."""
    if all(part.shift is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(part.shape[1]) if part.shift is None else part.shift for part in parts]
    )


@dataclass(frozen=True)
class PlainFeatures:
    """P as it is: non-negative, or of any sign when only ``r = 1`` is asked for."""

    P: Array
    offset: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.P.shape[0], self.P.shape[1]

    def rows(self, rows: slice) -> "PlainFeatures":
        return PlainFeatures(self.P[rows])

    def part(self, columns: slice) -> "PlainFeatures":
        """Some of the columns."""
        return PlainFeatures(self.P[:, columns])

    def excess(self, r: float, out: Array | None = None) -> Array:
        if r != 1.0:
            return raised(self.P, r, out)
        return self.P.copy() if out is None else np.positive(self.P, out=out)

    def power(self, r: float, log_shift: Array) -> Array:
        scaled = self.P * np.exp(-log_shift / r)
        return scaled if r == 1.0 else np.power(scaled, r, out=scaled)

    def log_peaks(self, axis: int) -> Array:
        peaks = np.maximum(self.P.max(axis=axis), -self.P.min(axis=axis))
        return np.log(np.where(peaks > 0, peaks, 1.0))


def raised(P: Array, r: float, out: Array | None = None) -> Array:
    """``P**r``; small whole powers by a few products, which is several times faster."""
    if r not in (2.0, 3.0, 4.0):
        return np.power(P, r, out=out)
    out = np.square(P, out=out)
    if r == 3.0:
        out *= P
    elif r == 4.0:
        np.square(out, out=out)
    return out


# of a tile, whose passes need two or three arrays of this size at a time
TILE_BYTES = 1 << 21


def row_tiles(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows of float64 numbers, each of about a tile's size."""
    size = max(1, TILE_BYTES // (8 * max(1, n_columns)))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


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
    mean, variance, rest = (np.zeros(X.shape[1]) for _ in range(3))
    for rows in row_tiles(*X.shape):
        mean += share[rows] @ _floats(X[rows])
    for rows in row_tiles(*X.shape):
        deviations = np.subtract(X[rows], mean, dtype=np.float64)
        rest += share[rows] @ deviations
        variance += share[rows] @ np.square(deviations, out=deviations)
    # about the mean with its rest
    return mean, np.sqrt(np.maximum(variance - np.square(rest), 0.0)), rest


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
