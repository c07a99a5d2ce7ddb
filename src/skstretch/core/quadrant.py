"""The first-quadrant transform: z-score, then ``exp(a z + b)``; its features about their means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skstretch.core.features import (
    ExpFeatures,
    Features,
    Offset,
    PlainFeatures,
    doubled,
    is_cached,
    row_tiles,
    tile_of,
)
from skstretch.core.moments import LARGEST_LOG_FEATURE, Columns, Kind, Moments
from skstretch.core.stretch import Intercept, checked_number, is_safe
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Quadrant:
    """How raw columns become features.

    ========  ======================  =======================================
    exp       ``P = exp(a z + b)``    z bounded when asked for new data
    linear    ``P = z``               the limit ``a -> 0``, bounded likewise
    identity  ``P = x``               for data that is already non-negative
    ========  ======================  =======================================

    With a `unit`, features are those of the table divided by ``exp(unit)``, and b is less than the
    user's by it: the user's coefficients are ``exp(-unit)`` times those of the features.

    A `log_scale` (D,) makes linear and identity features ``exp(log_scale_j)`` times as large; for
    exp that is part of b.
    """

    kind: Kind
    moments: Moments
    a: float
    b: Array
    unit: float = 0.0
    log_scale: Array | None = None

    @property
    def offset(self) -> Offset:
        """What features are kept without: ``exp(b)``, one number where no column has a b."""
        if self.kind != "exp":
            return 0.0
        return np.exp(self.b) if self.b.any() else 1.0

    def outer(self, coef: Array, times: float = 1.0) -> Array:
        """``coef exp(-times unit)``: the user's coefficients from those of the features."""
        return coef if self.unit == 0.0 else coef * np.exp(-times * self.unit)

    def inner(self, coef: Array) -> Array:
        """Coefficients of the features from the user's."""
        return self.outer(coef, -1.0)

    def take(self, columns: Columns) -> "Quadrant":
        """The transform of some columns."""
        logs = None if self.log_scale is None else self.log_scale[columns]
        moments, b = self.moments.take(columns), self.b[columns]
        return replace(self, moments=moments, b=b, log_scale=logs)

    def scaled(self, log_scale: Array) -> "Quadrant":
        """The transform whose feature j is ``exp(log_scale_j)`` times as large."""
        if self.kind == "exp":
            return replace(self, b=self.b + log_scale)
        logs = log_scale if self.log_scale is None else self.log_scale + log_scale
        return replace(self, log_scale=logs)

    def features(
        self, X: npt.NDArray[np.generic], columns: Columns, bounded: bool
    ) -> ExpFeatures | PlainFeatures:
        """Features of a block of raw columns X; `bounded` is for data not seen in training.

        X may also be one-dimensional, with the column of each of its entries.
        """
        if self.kind == "identity":
            return self._plain(np.asarray(X, dtype=np.float64), columns)
        mean, scale = self.moments.mean[columns], self.moments.scale[columns]
        Z = np.subtract(X, mean, dtype=np.float64)
        if self.moments.rest.any():
            Z -= self.moments.rest[columns]
        if self.kind == "linear":
            Z /= scale
            return self._plain(self._clipped(Z, columns, 1.0) if bounded else Z, columns)
        # one pass for both
        Z *= self.a / scale
        L = self._clipped(Z, columns, self.a) if bounded else Z
        return ExpFeatures(L, self.b[columns] if self.b.any() else None)

    def _clipped(self, Z: Array, columns: Columns, a: float) -> Array:
        """``a`` times z-scores, held within the training range and a range-width on each side."""
        low, high = self.moments.low[columns], self.moments.high[columns]
        ends = a * (low - (high - low)), a * (high + (high - low))
        return np.clip(Z, *(ends if a > 0 else ends[::-1]), out=Z)

    def _plain(self, P: Array, columns: Columns) -> PlainFeatures:
        return PlainFeatures(P if self.log_scale is None else P * np.exp(self.log_scale[columns]))

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
        peaks = np.log(np.where(largest > 0, largest, 1.0))
        return peaks if self.log_scale is None else peaks + self.log_scale

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
        peaks = self.column_peaks() + self.unit
        if not np.any(peaks > LARGEST_LOG_FEATURE):
            return None
        column = int(np.argmax(peaks))
        return column, float(peaks[column])


def common_unit(b: Any, n_features: int, intercept: Intercept) -> float:
    """The largest b: ``exp`` of it is taken out of all features, which then are of order one.

    The penalised column of ones stands beside the features as they are: nothing is taken out.
    """
    if intercept is Intercept.COLUMN:
        return 0.0
    return float(checked_offsets(b, n_features).max())


def checked_quadrant(
    quadrant: Any, a: Any, b: Any, moments: Moments, unit: float = 0.0
) -> Quadrant:
    """The transform that the parameters stand for, its features in a common unit."""
    n_features = moments.mean.size
    if quadrant not in ("exp", "identity"):
        raise ValueError(
            f'quadrant={quadrant!r} is not known: use "exp" (z-score, then exp(a z + b)) or '
            '"identity" for data that is already non-negative.'
        )
    a = checked_number("a", a, "pass a finite number; the paper's is -0.2, 0 is the linear limit.")
    if not np.isfinite(a):
        raise ValueError(f"a={a!r} must be finite; the paper's is -0.2, 0 is the linear limit.")
    offsets = checked_offsets(b, n_features)
    kind: Kind = "identity" if quadrant == "identity" else "linear" if a == 0 else "exp"
    unit = unit if kind == "exp" else 0.0
    return Quadrant(kind, moments, a, np.broadcast_to(offsets, (n_features,)) - unit, unit)


def checked_offsets(b: Any, n_features: int) -> Array:
    """A finite number, or one for each feature."""
    hint = f"pass a finite number, or one for each of the {n_features} features."
    offsets = np.asarray(b)
    if offsets.dtype.kind not in "iuf":
        raise TypeError(f"b={b!r} is not a number: {hint}")
    if offsets.shape not in ((), (n_features,)):
        raise ValueError(f"b has shape {offsets.shape}: {hint}")
    if not np.isfinite(offsets).all():
        raise ValueError(f"b has an entry {offsets[~np.isfinite(offsets)].flat[0]}: {hint}")
    return offsets.astype(np.float64)


def active_columns(quadrant: Quadrant, intercept: Intercept) -> Index:
    """The columns that take part: those that vary.

    Without intercept, raw non-negative columns may be constant: one of them may be the
    intercept.
    """
    if quadrant.kind == "identity" and intercept is Intercept.NONE:
        return np.arange(quadrant.b.size)
    return np.flatnonzero(~quadrant.moments.constant)


def check_range(quadrant: Quadrant, names: Any, first: int = 0) -> None:
    """Refuse negative data for ``quadrant="identity"``, and transforms that overflow.

    `first` is the number of the first column that the quadrant transforms.
    """
    smallest = quadrant.moments.smallest
    if quadrant.kind == "identity" and smallest.min(initial=0.0) < 0:
        column = int(np.argmin(smallest))
        raise ValueError(
            f"column {column_name(names, first + column)} has a negative value "
            f"({smallest[column]:g}), "
            'and quadrant="identity" needs non-negative data. Use quadrant="exp", or shift the '
            "column."
        )
    overflowing = quadrant.overflowing()
    if overflowing is not None:
        column, peak = overflowing
        raise ValueError(
            f"exp(a z + b) reaches exp({peak:.0f}) in column {column_name(names, first + column)} "
            f"at a={quadrant.a:g}, beyond the range of float64. Use a smaller |a|, or look at the "
            "outlying values of that column."
        )


def column_name(names: Any, column: int) -> str:
    """The number of a column, and its name where it has one."""
    return str(column) if names is None else f"{column} ({names[column]!r})"


class Rows(Protocol):
    """Features that can be had some rows at a time."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def offset(self) -> Offset: ...

    def rows(self, rows: slice) -> Features: ...

    def part(self, columns: slice) -> "Rows":
        """Some of the columns."""
        ...


@dataclass(frozen=True)
class Strip:
    """All rows of some raw columns, of any real dtype, transformed when they are asked for."""

    raw: npt.NDArray[np.generic]
    quadrant: Quadrant
    columns: slice
    bounded: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.raw.shape[0], self.raw.shape[1]

    @property
    def offset(self) -> Offset:
        offset = self.quadrant.offset
        return offset if isinstance(offset, float) else offset[self.columns]

    def rows(self, rows: slice) -> Features:
        return self.quadrant.features(tile_of(self.raw, rows), self.columns, self.bounded)

    def part(self, columns: slice) -> "Strip":
        first = self.columns.start or 0
        span = slice(first + columns.start, first + columns.stop)
        return replace(self, raw=self.raw[:, columns], columns=span)

    def middle(self, r: float) -> Array:
        """``P**r - offset**r`` of a sample at the mean of every column."""
        mean = self.quadrant.moments.mean[None, self.columns]
        return np.asarray(self.quadrant.features(mean, self.columns, self.bounded).excess(r)[0])


# columns of the parts of a block that is one tile: few enough for their powers to stay in the
# cache, enough for a product (measured)
PART_COLUMNS = 1 << 8


def column_parts(block: Rows) -> Iterator[Rows]:
    """A block that is one tile, transformed, some columns at a time; a larger one as it is."""
    n_columns = block.shape[1]
    if n_columns <= PART_COLUMNS or not is_cached(*block.shape):
        yield block
        return
    # one pass over long rows takes less than many over short ones
    features = block.rows(slice(None))
    size = -(-n_columns // round(n_columns / PART_COLUMNS))
    for start in range(0, n_columns, size):
        yield features.part(slice(start, min(n_columns, start + size)))


def centre_into(
    block: Rows,
    exponents: Sequence[float],
    weights: Array,
    outs: Sequence[Array],
    peaks: Array | None = None,
    left: Sequence[float] = (),
) -> list[Array]:
    """Write ``Qc`` of every exponent into `outs`; returns the means less the offsets.

    ``Q = P**r = Qc + 1 (e + offset**r)'``, e the weighted mean of ``Q - offset**r``. Where `peaks`
    is given, it is raised to the largest logs of every row. Exponents of `left` are left about the
    offset (e = 0); one that is twice an earlier one takes a product in place of an exponential.
    """
    n_rows, n_columns = block.shape
    means = [np.zeros(n_columns) for _ in exponents]
    halves = [_half(exponents[:i], r) for i, r in enumerate(exponents)]
    for rows in row_tiles(n_rows, n_columns):
        tile = block.rows(rows)
        if peaks is not None:
            np.maximum(peaks[rows], tile.log_peaks(axis=1), out=peaks[rows])
        for r, half, out, mean in zip(exponents, halves, outs, means, strict=True):
            if half is None:
                Q = tile.excess(r, out[rows])
            else:
                Q = doubled(outs[half][rows], block.offset ** exponents[half], out[rows])
            if r not in left:
                mean += weights[rows] @ Q
    for r, out, mean in zip(exponents, outs, means, strict=True):
        if r not in left:
            mean /= weights.sum()
            out -= mean
    return means


def _half(earlier: Sequence[float], r: float) -> int | None:
    """The place of r / 2 among earlier exponents; P itself is never made of its root."""
    return earlier.index(r / 2) if r > 1.0 and r / 2 in earlier else None


def centred(block: Rows, r: float, weights: Array) -> tuple[Array, Array]:
    """``(Qc, e)`` of one exponent, in fresh arrays."""
    if not is_cached(*block.shape):
        out = np.empty(block.shape)
        return out, centre_into(block, [r], weights, [out])[0]
    Q = block.rows(slice(None)).excess(r)
    mean = weights @ Q / weights.sum()
    Q -= mean
    return Q, mean
