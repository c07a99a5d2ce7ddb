"""Pieces of a block that stay in the fast cache of a core."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

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
