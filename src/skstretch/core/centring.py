"""Features about their weighted means, made a few rows at a time.

In exact arithmetic centring changes no solution; in floating point it keeps the large constant
part of K from burying the rest. A block is transformed in tiles that stay in the fast cache of a
core: each of the many passes over a tile (conversion, z-score, exponential, means) would otherwise
wait for memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from skstretch.core.features import Features
from skstretch.core.quadrant import Quadrant
from skstretch.core.tiles import is_cached, row_tiles, tile_of
from skstretch.core.types import Array


class Rows(Protocol):
    """Features that can be had some rows at a time."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def offset(self) -> float: ...

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
    def offset(self) -> float:
        return self.quadrant.offset

    def rows(self, rows: slice) -> Features:
        return self.quadrant.features(tile_of(self.raw, rows), self.columns, self.bounded)


def centre_into(
    block: Rows,
    exponents: Sequence[float],
    weights: Array,
    outs: Sequence[Array],
    peaks: Array | None = None,
) -> list[Array]:
    """Write ``Qc`` of every exponent into `outs`; returns the means less the offset.

    ``Q = P**r = Qc + 1 (e + offset)'`` with the weighted mean e of ``Q - offset``. Where `peaks`
    is given, it is raised to the largest logs of every row.
    """
    n_rows, n_columns = block.shape
    means = [np.zeros(n_columns) for _ in exponents]
    for rows in row_tiles(n_rows, n_columns):
        tile = block.rows(rows)
        if peaks is not None:
            np.maximum(peaks[rows], tile.log_peaks(axis=1), out=peaks[rows])
        for r, out, mean in zip(exponents, outs, means, strict=True):
            mean += weights[rows] @ tile.excess(r, out[rows])
    for out, mean in zip(outs, means, strict=True):
        mean /= weights.sum()
        out -= mean
    return means


def centred(block: Rows, r: float, weights: Array) -> tuple[Array, Array]:
    """``(Qc, e)`` of one exponent, in fresh arrays."""
    if not is_cached(*block.shape):
        out = np.empty(block.shape)
        return out, centre_into(block, [r], weights, [out])[0]
    Q = block.rows(slice(None)).excess(r)
    mean = weights @ Q / weights.sum()
    Q -= mean
    return Q, mean
