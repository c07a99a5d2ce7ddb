"""Pieces of a block that stay in the fast cache of a core."""

from collections.abc import Iterator

# of a tile, whose passes need two or three arrays of this size at a time
TILE_BYTES = 1 << 19


def row_tiles(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows of float64 numbers, each of about a tile's size."""
    size = max(1, TILE_BYTES // (8 * max(1, n_columns)))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))
