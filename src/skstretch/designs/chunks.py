"""Reading data that is stored in chunks, each chunk once a walk."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from skstretch.designs.blocks import working_bytes

Raw = npt.NDArray[np.generic]
Load = Callable[[slice, slice], Raw]
# share of the working memory that the chunks at hand may take, for every thread
CHUNK_SHARE = 16


class ChunkReader:
    """Blocks of an array, put together from whole chunks.

    A chunk of zarr or h5py is read and decompressed as a whole, however little of it is asked for.
    So the chunks that were read last stay at hand, for every thread its own.
    """

    def __init__(self, shape: tuple[int, int], itemsize: int, chunks: Any) -> None:
        self.shape, self.itemsize = shape, itemsize
        is_known = isinstance(chunks, tuple) and all(isinstance(size, int) for size in chunks)
        self.chunks: tuple[int, int] | None = chunks if is_known and len(chunks) == 2 else None
        self._held = threading.local()

    def read(self, load: Load, rows: slice, columns: slice) -> Raw:
        """The block, through `load` or from chunks at hand."""
        if self.chunks is None:
            return load(rows, columns)
        tall, wide = self.chunks
        down = range(rows.start // tall, -(-rows.stop // tall))
        across = range(columns.start // wide, -(-columns.stop // wide))
        if len(down) * len(across) * tall * wide * self.itemsize > self._budget:
            return load(rows, columns)
        strips = [
            np.concatenate([self._part(load, i, j, rows, columns) for j in across], axis=1)
            for i in down
        ]
        return np.concatenate(strips) if strips else load(rows, columns)

    @property
    def _budget(self) -> int:
        return working_bytes() // CHUNK_SHARE

    def _part(self, load: Load, i: int, j: int, rows: slice, columns: slice) -> Raw:
        """What chunk (i, j) has of a block."""
        (top, _), (left, _) = self._edges(i, 0), self._edges(j, 1)
        chunk = self._chunk(load, i, j)
        return chunk[
            max(rows.start - top, 0) : rows.stop - top,
            max(columns.start - left, 0) : columns.stop - left,
        ]

    def _chunk(self, load: Load, i: int, j: int) -> Raw:
        held: OrderedDict[tuple[int, int], Raw] = self._held.__dict__.setdefault(
            "chunks", OrderedDict()
        )
        if (i, j) in held:
            held.move_to_end((i, j))
            return held[i, j]
        chunk = held[i, j] = load(slice(*self._edges(i, 0)), slice(*self._edges(j, 1)))
        while sum(old.nbytes for old in held.values()) > self._budget:
            held.popitem(last=False)
        return chunk

    def _edges(self, number: int, axis: int) -> tuple[int, int]:
        assert self.chunks is not None
        size = self.chunks[axis]
        return number * size, min((number + 1) * size, self.shape[axis])
