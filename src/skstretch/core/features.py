"""A block of transformed features P, known well enough to take its powers accurately.

Two kinds. `ExpFeatures` holds ``L`` and a shift b of every column with ``P = exp(L + b)``, so that
``P**r - exp(r b) = exp(r b) expm1(r L)`` keeps its digits when ``L`` is small, and when b is far
from zero. `PlainFeatures` holds P itself. Large blocks are made in tiles that stay in the fast
cache of a core.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from skstretch.core.types import Array

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

    def part(self, columns: slice) -> "Features":
        """Some of the columns."""
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


def doubled(excess: Array, offset: Offset, out: Array) -> Array:
    """``P**2r - offset**2r`` from `excess`, ``P**r - offset**r``, and the r-th power of the offset.

    ``E (E + 2 offset**r)``: no digits are lost, since ``E + offset**r`` is not negative.
    """
    if isinstance(offset, float) and offset == 0.0:
        return np.square(excess, out=out)
    np.add(excess, 2.0 * offset, out=out)
    return np.multiply(out, excess, out=out)


Scalar = TypeVar("Scalar", bound=np.generic)


# of a tile, whose passes need two or three arrays of this size at a time
TILE_BYTES = 1 << 19


# of a block that is fast enough without tiles
CACHED_BYTES = 4 * TILE_BYTES


def is_cached(n_rows: int, n_columns: int) -> bool:
    """Whether a block of float64 numbers is one tile."""
    return 8 * n_rows * n_columns <= CACHED_BYTES


def row_tiles(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows of float64 numbers, each of about a tile's size."""
    size = max(1, TILE_BYTES // (8 * max(1, n_columns)))
    size = max(1, n_rows) if is_cached(n_rows, n_columns) else size
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


def tile_of(X: npt.NDArray[Scalar], rows: slice) -> npt.NDArray[Scalar]:
    """Some rows of X; where the numbers of a row do not lie side by side, a copy where they do.

    All rows together are left as they lie.
    """
    tile = X[rows]
    is_whole, lies_so = len(tile) == len(X), X.shape[1] < 2 or X.strides[1] == X.itemsize
    return tile if is_whole or lies_so else np.ascontiguousarray(tile)
