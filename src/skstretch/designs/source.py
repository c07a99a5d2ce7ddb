"""Data that is read in blocks: memory maps, and whatever slices like an array (zarr, h5py).

It is read whole chunks at a time, and checked as it comes.
"""

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skstretch.core.types import Array, Index
from skstretch.designs.protocol import check_unmasked
from skstretch.designs.threads import working_bytes

Raw = npt.NDArray[np.generic]
Load = Callable[[slice, slice], Raw]

# share of the working memory that the chunks at hand may take, for every thread
CHUNK_SHARE = 16

# bytes that are read at a time to pick scattered columns from
READ_BYTES = 1 << 24


def check_finite(
    block: Any, rows: slice | Index | None, columns: slice | Index, names: Any = None
) -> None:
    """Refuse a block, dense or sparse by columns, with NaN or infinity in it.

    `rows` and `columns` are its places in X (None for all rows), `names` those of X's columns.
    """
    values = block.data if sparse.issparse(block) else block
    if values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)
    if np.isfinite(total) or np.isfinite(values).all():  # else the sum alone has overflowed
        return
    if sparse.issparse(block):
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        i, j = block.indices[place], np.searchsorted(block.indptr, place, side="right") - 1
        value = values[place]
    else:
        i, j = np.argwhere(~np.isfinite(block))[0]
        value = block[i, j]
    row = i + rows.start if isinstance(rows, slice) else i if rows is None else rows[i]
    column = j + columns.start if isinstance(columns, slice) else columns[j]
    name = "" if names is None else f" ({names[column]!r})"
    raise ValueError(
        f"X contains {'NaN' if np.isnan(value) else 'infinity'} in column {column}{name}, row "
        f"{row}: fill or drop such values first, for instance with sklearn.impute.SimpleImputer."
    )


# columns that a message names
NAMED = 5


def where_not_finite(X: Any, names: Any = None) -> str | None:
    """Which columns of X in memory hold NaN or infinity, and the way out; None where none does."""
    if sparse.issparse(X):
        found = X.tocoo()
        rows, columns, values = found.row, found.col, found.data
        rows, columns = (index[~np.isfinite(values)] for index in (rows, columns))
        values = values[~np.isfinite(values)]
    else:
        try:
            X = np.asarray(X, dtype=np.float64)
        except TypeError:  # missing values of pandas, which has no such number
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        rows, columns = np.nonzero(~np.isfinite(X))
        values = X[rows, columns]
    if not values.size:
        return None
    missing = np.isnan(values) if np.isnan(values).any() else ~np.isnan(values)
    what = "NaN" if np.isnan(values).any() else "infinity"
    places: list[int] = np.unique(columns[missing]).tolist()
    told = [str(j) if names is None else repr(names[j]) for j in places[:NAMED]]
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    n, s = int(missing.sum()), "s" * (len(places) != 1)
    first = int(rows[missing].min())
    return (
        f"X contains {what} in column{s} {', '.join(told)}{more} ({n:,} value{'s' * (n != 1)}, the "
        f"first in row {first}): fill or drop such values first, for instance with "
        "sklearn.impute.SimpleImputer."
    )


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


class Meter:
    """A line on stderr that tells how much of the data was read; threads may share it.

    `pass` is what one pass over the data reads.
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done = max(1, total), 0
        self.stream = sys.stderr if stream is None else stream
        # a log file gets a line now and then, a terminal one line that moves
        self.moving = self.stream.isatty()
        self.interval = 0.2 if self.moving else 15.0
        self.start = self.last = time.monotonic()
        self.closed = False
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """So many bytes more; what is read after the end is not shown."""
        with self._lock:
            if self.closed:
                return
            self.done += nbytes
            now = time.monotonic()
            if now - self.last > self.interval:
                self.last = now
                self._draw()

    def _draw(self) -> None:
        line = f"read {self.done / 1e9:.2f} GB, {self.done / self.total:.1f} passes over the data"
        self.stream.write(f"\r{line} " if self.moving else f"{line}\n")
        self.stream.flush()

    def close(self) -> None:
        """End the line, if there is one."""
        self.closed = True
        if self.moving and self.last > self.start:
            self.stream.write("\n")
            self.stream.flush()


@dataclass(frozen=True)
class Source:
    """Blocks of an array, checked as they are read.

    Where the array is itself a part of X, `first_row` and `first_column` tell where it starts:
    errors name rows and columns of X.
    """

    array: Any
    names: Any = None
    meter: Meter | None = None
    first_row: int = 0
    first_column: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.array.shape[0]), int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers, in the byte order of this machine."""
        dtype: np.dtype[Any] = np.dtype(self.array.dtype).newbyteorder("=")
        return dtype

    @property
    def ndim(self) -> int:
        return len(self.array.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Raw:
        """Some rows in memory."""
        return self.read(np.arange(self.shape[0])[rows], slice(0, self.shape[1]))

    def read(self, rows: slice | Index | None, columns: slice | Index) -> Raw:
        """A block in memory, finite."""
        if isinstance(columns, slice):
            block = self._slice(rows, columns)
        else:
            block = np.concatenate(
                [self._slice(rows, span)[:, pick] for span, pick in self._spans(columns)], axis=1
            )
        whole = slice(0, self.shape[0]) if rows is None else rows
        check_finite(
            block,
            _shifted(whole, self.first_row),
            _shifted(columns, self.first_column),
            self.names,
        )
        if self.meter is not None:
            self.meter.add(block.nbytes)
        return block

    def __getstate__(self) -> dict[str, Any]:
        # a meter belongs to the fit that it was shown in
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**kept, "meter": None}

    def _slice(self, rows: slice | Index | None, columns: slice) -> Raw:
        self._check_file()
        if rows is None or isinstance(rows, slice):
            return self._chunks.read(self._whole, rows or slice(0, self.shape[0]), columns)
        first, last = (int(rows.min()), int(rows.max()) + 1) if rows.size else (0, 0)
        block = self._chunks.read(self._whole, slice(first, last), columns)
        # rows come in any order, some of them twice: folds may
        is_run = rows.size == last - first and bool(np.all(np.diff(rows) == 1))
        return block if is_run else block[rows - first]

    @cached_property
    def _chunks(self) -> ChunkReader:
        return ChunkReader(self.shape, self.dtype.itemsize, getattr(self.array, "chunks", None))

    def _whole(self, rows: slice, columns: slice) -> Raw:
        """A slice as the storage gives it, of the type and shape that it promised."""
        block = self.array[rows, columns]
        check_unmasked(block)  # as netCDF's variables give where numbers are missing
        block = np.asarray(block)
        expected = (rows.stop - rows.start, columns.stop - columns.start)
        if block.shape != expected or block.dtype != np.dtype(self.array.dtype):
            raise ValueError(
                f"columns {columns.start} to {columns.stop - 1} of X were read as {block.dtype} of "
                f"shape {block.shape}, and {self.array.dtype} of shape {expected} was promised: "
                "the file has changed or is damaged."
            )
        return block

    def _spans(self, columns: Index) -> Iterator[tuple[slice, Index]]:
        """Slices that cover increasing columns, and what to pick from each."""
        width = max(1, READ_BYTES // (self.dtype.itemsize * self.shape[0]))
        start = 0
        while start < columns.size:
            first = int(columns[start])
            stop = int(np.searchsorted(columns, first + width))
            yield slice(first, int(columns[stop - 1]) + 1), columns[start:stop] - first
            start = stop

    def _check_file(self) -> None:
        """A map of a file that has shrunk would end the process at the first read."""
        if not isinstance(self.array, np.memmap):
            return
        size = _size_of_file(self.array)
        if size is None:
            return
        need = _end_of_map(self.array)
        if size < need:
            raise ValueError(
                f"the file {str(self.array.filename)!r} behind X has {size:,} bytes, and "
                f"{need:,} are mapped: it was cut short after it was opened."
            )


def dense_values(X: Any, rows: slice | Index = slice(None)) -> Array:
    """Rows of validated X that is not Dask's, in one array of float64."""
    raw = X[rows]
    return np.asarray(raw.toarray() if sparse.issparse(raw) else raw, dtype=np.float64)


def _shifted(index: slice | Index, by: int) -> slice | Index:
    if isinstance(index, slice):
        return slice(index.start + by, index.stop + by)
    return index + by if by else index


def _size_of_file(array: np.memmap[Any, Any]) -> int | None:
    """Bytes of the file that is mapped, even if its name is gone or another file's by now."""
    mapped = getattr(array, "_mmap", None)
    return None if mapped is None else int(mapped.size())


def _end_of_map(array: np.memmap[Any, Any]) -> int:
    """Bytes that the file must have for this (view of a) map to be readable."""
    base: Any = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    begin: int = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    extent: int = sum((n - 1) * max(s, 0) for n, s in zip(array.shape, array.strides, strict=True))
    return int(getattr(base, "offset", 0) or 0) + begin + extent + array.itemsize
