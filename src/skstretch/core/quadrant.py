"""The first-quadrant transform: z-score, then ``exp(a z + b)``."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from skstretch.core.factors import power_of_two
from skstretch.core.features import ExpFeatures, PlainFeatures
from skstretch.core.stretch import is_safe
from skstretch.core.tiles import row_tiles, tile_of
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
    # halves, so that the difference of two huge numbers does not overflow
    half_range = largest / 2 - smallest / 2
    constant = half_range <= 4.0 * eps * np.maximum(np.abs(largest), np.abs(smallest))
    constant |= scale == 0
    # the mean of equal numbers is one of them but for rounding, which is large for large numbers
    mean, scale = np.where(constant, smallest, mean), np.where(constant, 1.0, scale)
    low, high = (smallest - mean) / scale, np.where(constant, 0.0, (largest - mean) / scale)
    return Moments(mean, scale, smallest, low, high, constant)


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


@dataclass(frozen=True)
class Quadrant:
    """How raw columns become features.

    ========  ======================  =======================================
    exp       ``P = exp(a z + b)``    z bounded when asked for new data
    linear    ``P = z``               the limit ``a -> 0``, bounded likewise
    identity  ``P = x``               for data that is already non-negative
    ========  ======================  =======================================
    """

    kind: Kind
    moments: Moments
    a: float
    b: Array

    @property
    def offset(self) -> float:
        """The constant that features are kept without."""
        return 1.0 if self.kind == "exp" else 0.0

    def take(self, columns: Columns) -> "Quadrant":
        """The transform of some columns."""
        return replace(self, moments=self.moments.take(columns), b=self.b[columns])

    def features(
        self, X: npt.NDArray[np.generic], columns: Columns, bounded: bool
    ) -> ExpFeatures | PlainFeatures:
        """Features of a block of raw columns X; `bounded` is for data not seen in training.

        X may also be one-dimensional, with the column of each of its entries.
        """
        if self.kind == "identity":
            return PlainFeatures(np.asarray(X, dtype=np.float64))
        mean, scale = self.moments.mean[columns], self.moments.scale[columns]
        Z = np.subtract(X, mean, dtype=np.float64)
        Z /= scale
        if bounded:
            low, high = self.moments.low[columns], self.moments.high[columns]
            np.clip(Z, low - (high - low), high + (high - low), out=Z)
        if self.kind == "linear":
            return PlainFeatures(Z)
        Z *= self.a
        if self.b.any():
            Z += self.b[columns]
        return ExpFeatures(Z)

    def inverse(self, P: Array) -> Array:
        """Raw columns from features ``exp(a z + b)``."""
        Z = (np.log(P) - self.b) / self.a
        return np.asarray(Z * self.moments.scale + self.moments.mean)

    def column_peaks(self) -> Array:
        """``log max |P|`` of every training column, from the moments alone; zero for a column of
        zeros."""
        m = self.moments
        if self.kind == "exp":
            return np.maximum(self.a * m.low, self.a * m.high) + self.b
        if self.kind == "linear":
            largest = np.maximum(np.abs(m.low), np.abs(m.high))
        else:
            largest = np.maximum(np.abs(m.smallest), np.abs(m.mean + m.high * m.scale))
        return np.log(np.where(largest > 0, largest, 1.0))

    def lowest_log(self) -> float:
        """A bound from below on the log-features of the training data (exp only)."""
        L = np.minimum(self.a * self.moments.low, self.a * self.moments.high) + self.b
        return float(L.min(initial=0.0))

    def is_safe(self, exponent: float) -> bool:
        """Whether the moments alone tell that training features can be raised to this power."""
        if self.kind != "exp":
            return False
        return is_safe(self.lowest_log(), float(self.column_peaks().max(initial=0.0)), exponent)

    def slope(self, coef: Array) -> Array:
        """Effect of one unit of each raw column at its mean, for coefficients (..., D)."""
        if self.kind == "identity":
            return coef
        if self.kind == "linear":
            return np.asarray(coef / self.moments.scale)
        return np.asarray(coef * (self.a * np.exp(self.b) / self.moments.scale))

    def overflowing(self) -> tuple[int, float] | None:
        """The column whose training features leave the range of float64 furthest, and its peak."""
        if self.kind != "exp":
            return None
        peaks = self.column_peaks()
        if not np.any(peaks > LARGEST_LOG_FEATURE):
            return None
        column = int(np.argmax(peaks))
        return column, float(peaks[column])
