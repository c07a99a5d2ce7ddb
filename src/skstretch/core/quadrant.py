"""The first-quadrant transform: z-score, then ``exp(a z + b)``; its features about their means.

The additive shares of single features in a prediction.

Predictions are ``f(x) = level + sum_j alpha_j P_j(x_j)``, a sum of one curve a feature. About the
means p of the features over some background,

``phi_j(x) = alpha_j (P_j(x_j) - p_j)``  and  ``f(x) = base + sum_j phi_j(x)``

with ``base = level + sum_j alpha_j p_j``, the mean prediction of the background. Nothing in f
depends on two features at once, so that every order in which features become known gives the same
shares: they are the Shapley values of f for independent features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skstretch.core.features import (
    LARGEST_LOG_FEATURE,
    Columns,
    ExpFeatures,
    Features,
    Kind,
    Moments,
    Offset,
    PlainFeatures,
    row_tiles,
)
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
        ends = self.lowest_log(), self.column_peaks().max(initial=0.0)
        return is_safe(np.array(ends), exponent)

    def slope(self, coef: Array) -> Array:
        """Effect of one unit of each raw column at its mean, for coefficients (..., D)."""
        if self.kind == "identity":
            return coef
        if self.kind == "linear":
            return np.asarray(coef / self.moments.scale)
        return np.asarray(coef * (self.a * np.exp(self.b) / self.moments.scale))

    def at_zero(self, coef: Array) -> Array:
        """What linear features add to outputs where all raw columns are zero, (...)."""
        slope = self.slope(coef)
        if self.kind == "identity":
            return np.zeros(slope.shape[:-1])
        return np.asarray(-(slope @ self.moments.mean) - slope @ self.moments.rest)

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
        return self.quadrant.features(self.raw[rows], self.columns, self.bounded)


def centre_into(
    block: Rows,
    exponents: Sequence[float],
    weights: Array,
    outs: Sequence[Array] | Array,
) -> list[Array]:
    """Write ``Qc`` of every exponent into `outs`; returns the means less the offsets.

    ``Q = P**r = Qc + 1 (e + offset**r)'``, e the weighted mean of ``Q - offset**r``.
    """
    n_rows, n_columns = block.shape
    means = [np.zeros(n_columns) for _ in exponents]
    for rows in row_tiles(n_rows, n_columns):
        tile = block.rows(rows)
        for r, out, mean in zip(exponents, outs, means, strict=True):
            mean += weights[rows] @ tile.excess(r, out[rows])
    for out, mean in zip(outs, means, strict=True):
        mean /= weights.sum()
        out -= mean
    return means


def centred(block: Rows, r: float, weights: Array) -> tuple[Array, Array]:
    """``(Qc, e)`` of one exponent, in fresh arrays."""
    out = np.empty(block.shape)
    return out, centre_into(block, [r], weights, [out])[0]


# roundings of size eps that a sum of products leaves
ROUNDINGS = 8.0


def feature_shares(features: Features, means: Array, coef: Array) -> Array:
    """``alpha_j (P_ij - p_j)``, (n, d, t), for coefficients (t, d); means p less the offset."""
    excess = features.excess(1.0)
    excess -= means
    out = np.empty((*excess.shape, coef.shape[0]))
    for target, own in enumerate(coef):
        np.multiply(excess, own, out=out[:, :, target])
    return out


def base_values(level: Array, terms: Sequence[tuple[Array, Array]]) -> Array:
    """``level + sum_j alpha_j p_j``, (t,), for pairs of means (D,) and coefficients (t, D).

    What rounding leaves of zero, as the mean score of balanced classes, is zero.
    """
    total = level + sum(coef @ means for means, coef in terms)
    size = np.abs(level) + sum(np.abs(coef) @ np.abs(means) for means, coef in terms)
    return np.where(np.abs(total) <= ROUNDINGS * np.finfo(np.float64).eps * size, 0.0, total)
