"""Dask arrays, cut into blocks that a task can work on, and what a pass over them costs.

Parts are added up by an ordered tree: which are added to which never depends on who comes first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.types import Array, Index
from skstretch.designs.local import by_columns
from skstretch.designs.protocol import check_unmasked
from skstretch.designs.source import Meter, Source, check_finite
from skstretch.designs.threads import BLOCK_BYTES, BLOCK_LENGTH, working_bytes

# parts that one task adds up
FAN_IN = 8

# a worker with this library loaded and nothing to do
IDLE_BYTES = 250 * 2**20

# Dask lets a worker start nothing new above this share of its limit
PAUSE_SHARE = 0.8

# a sub-block, its z-scores, its features and a product; its powers come on top
SUB_BLOCK_COPIES = 4


@dataclass(frozen=True, eq=False)
class Block:
    """Where a block lies in X, and its number among all of them."""

    number: int
    count: int
    rows: slice
    columns: slice
    kind: str

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    def __str__(self) -> str:
        axis, name = (self.columns, "columns") if self.kind == "feature" else (self.rows, "rows")
        place = f"{name} {axis.start} to {axis.stop - 1}"
        return f"{self.kind} block {self.number} of {self.count} ({place} of X)"

    def within(self, index: Index, axis: slice) -> tuple[slice, Index]:
        """Which entries of an increasing index lie in the block, and their places in it."""
        first, last = np.searchsorted(index, [axis.start, axis.stop]).tolist()
        return slice(first, last), index[first:last] - axis.start


def opened(chunk: Any, block: Block) -> Any:
    """The numbers of a block as the local designs want them, after a look at what came."""
    if sparse.issparse(chunk):
        _check_shape(chunk, block)
        X = by_columns(chunk)
        check_finite(X, block.rows, block.columns)
        return X
    check_unmasked(chunk)
    raw = np.asarray(chunk)
    _check_shape(raw, block)
    return Source(raw, first_row=block.rows.start, first_column=block.columns.start)


def _check_shape(chunk: Any, block: Block) -> None:
    if chunk.shape != block.shape:
        raise ValueError(
            f"{block} has shape {chunk.shape}, and {block.shape} was promised: the data has "
            "changed since X was made, or its chunks are not what they say."
        )
    if chunk.dtype.kind not in "iufb":
        raise ValueError(f"{block} has dtype {chunk.dtype}: real numbers are needed.")


@dataclass(frozen=True, eq=False)
class DaskArray:
    """A Dask array in blocks of features (all rows in each) or of rows (all columns in each).

    Attributes
    ----------
    array : dask.array.Array of shape (n, d)
    weights : array of shape (n,) or None
        The weights by which its own columns were measured: every block of features can then
        measure itself again, and no statistics have to travel. None for data not measured.
    meter : Meter or None
        Where passes tell which blocks are done.
    """

    array: Any
    weights: Array | None = None
    meter: Meter | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.array.shape[0]), int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    @property
    def ndim(self) -> int:
        return 2

    def __dask_graph__(self) -> Any:
        return self.array.__dask_graph__()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Rows for splitters that look at them, unchecked; ours come from `rows_in_memory`."""
        return self.array[np.arange(self.shape[0])[rows]].compute()

    @property
    def is_wide(self) -> bool:
        """Whether blocks are blocks of features."""
        return self.shape[0] <= self.shape[1]

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """The blocks in their order; those without any row or column are left out."""
        n_rows, n_columns = self.shape
        sizes = self.array.chunks[1 if self.is_wide else 0]
        edges = [*pairwise(np.cumsum([0, *sizes]).tolist())]
        spans = [slice(start, stop) for start, stop in edges if stop > start]
        count = len(spans)
        if self.is_wide:
            rows = slice(0, n_rows)
            return [Block(i, count, rows, s, "feature") for i, s in enumerate(spans)]
        columns = slice(0, n_columns)
        return [Block(i, count, s, columns, "row") for i, s in enumerate(spans)]

    @cached_property
    def parts(self) -> Sequence[Any]:
        """What makes each block, with the graph optimised once for all passes."""
        delayed = self.array.to_delayed().ravel()
        sizes = self.array.chunks[1 if self.is_wide else 0]
        return [part for part, size in zip(delayed, sizes, strict=True) if size]

    def __getstate__(self) -> dict[str, Any]:
        # a meter belongs to the fit that it was shown in
        return {"array": self.array, "weights": self.weights, "meter": None}


def reference(part: Any) -> Any:
    """How a task names a block, also where the cluster has it already and the graph has not."""
    from dask._task_spec import TaskRef

    return TaskRef(part.key)


def cut(X: Any) -> DaskArray:
    """A Dask array in blocks, or an error that says how to rechunk it."""
    if isinstance(X, DaskArray):
        return X
    check_known(X)
    rows, columns = X.numblocks
    wide = X.shape[0] <= X.shape[1]
    if wide and rows > 1:
        raise ValueError(
            f"X of shape {X.shape} has its rows in {rows} chunks: with no more rows than columns a "
            "block must hold all rows of its columns. Use X.rechunk({0: -1, 1: 'auto'})."
        )
    if not wide and columns > 1:
        raise ValueError(
            f"X of shape {X.shape} has its columns in {columns} chunks: with more rows than "
            "columns a block must hold all columns of its rows. "
            "Use X.rechunk({0: 'auto', 1: -1})."
        )
    return DaskArray(X)


def check_known(X: Any) -> None:
    """Refuse collections that are no arrays, and arrays that do not know their shape."""
    if not isinstance(getattr(X, "chunks", None), tuple):
        raise TypeError(
            f"X is a Dask {type(X).__name__}: pass a Dask array; of a data frame it is "
            "X.to_dask_array(lengths=True)."
        )
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got one of shape {X.shape}: X needs rows and columns."
        )
    if any(np.isnan(size) for size in X.shape):
        raise ValueError(
            f"X has chunks of unknown size (its shape is {X.shape}): call X.compute_chunk_sizes() "
            "first."
        )


def computed_rows(X: Any) -> Iterator[Any]:
    """The row chunks of a Dask array, computed one after the other."""
    for number, size in enumerate(X.chunks[0]):
        if size:
            yield X.blocks[number].compute()


def tree(name: str, keys: Sequence[Any], merge: Callable[..., Any]) -> tuple[dict[Any, Any], Any]:
    """Tasks of a Dask graph that merge neighbours, eight at a time, and the key of the root.

    `merge` takes a list of parts in their order.
    """
    tasks: dict[Any, Any] = {}
    level, row = 0, list(keys)
    while len(row) > 1:
        groups = [row[start : start + FAN_IN] for start in range(0, len(row), FAN_IN)]
        row = []
        for number, group in enumerate(groups):
            if len(group) == 1:
                row.append(group[0])
                continue
            key = (f"{name}-level{level}", number)
            tasks[key] = (merge, group)
            row.append(key)
        level += 1
    return tasks, row[0]


@dataclass(frozen=True)
class DaskPlan:
    """The cost of a pass.

    Attributes
    ----------
    n_blocks : int
    n_tasks : int
        Tasks of the pass that sums the Gram matrices, without those that read the data.
    bytes_moved : int
        Upper bound of what that pass moves between workers: every part, once.
    worker_bytes : int
        The memory limit that a worker with one thread needs.
    """

    n_blocks: int
    n_tasks: int
    bytes_moved: int
    worker_bytes: int

    def __str__(self) -> str:
        unit, scale = ("MB", 1e6) if self.bytes_moved >= 1e6 else ("kB", 1e3)
        return (
            f"{self.n_tasks:,} tasks and at most {self.bytes_moved / scale:,.0f} {unit} between "
            f"workers in a pass, workers of {self.worker_bytes / 2**20:,.0f} MiB"
        )


def dask_plan(array: DaskArray, n_transforms: int = 1) -> DaskPlan:
    """The plan of the pass that sums the Gram matrices of `n_transforms` pairs of a and k."""
    n_blocks, sums = len(array.blocks), gram_bytes(array, n_transforms)
    merging, _ = tree("", range(n_blocks), list)
    depth = len({level for level, _ in merging})
    # of every column six moments and a mean climb the tree
    small_parts = 7 * 8 * array.shape[1] * depth if array.is_wide else 0
    moved = (n_blocks + len(merging) - 1) * sums + small_parts
    return DaskPlan(n_blocks, n_blocks + len(merging) + 1, moved, worker_bytes(array, sums, 1))


def gram_bytes(array: DaskArray, n_transforms: int) -> int:
    """Bytes of the square matrices that one block returns."""
    return 8 * n_transforms * min(array.shape) ** 2


def worker_bytes(array: DaskArray, sums: int, threads: int) -> int:
    """The memory limit that a worker needs, for blocks that return `sums` bytes each.

    ``(idle + (threads + 1) chunk + threads (sub-blocks + sums) + 9 sums) / 0.8``: a chunk for
    every thread and one read ahead, the sums that grow, and a merge with its eight parts. Chunks
    of a sparse array are not counted: how much they hold is not known before they are read.
    """
    n_rows, n_columns = max((block.shape for block in array.blocks), key=lambda s: s[0] * s[1])
    length, other = (n_columns, n_rows) if array.is_wide else (n_rows, n_columns)
    chunk = 0 if is_sparse(array) else array.dtype.itemsize * n_rows * n_columns
    width = min(length, max(BLOCK_LENGTH, BLOCK_BYTES // (8 * max(1, other))))
    copies = SUB_BLOCK_COPIES + sums // gram_bytes(array, 1)
    sub = min(copies * 8 * other * width, working_bytes())
    peak = IDLE_BYTES + (threads + 1) * chunk + threads * (sub + sums) + (FAN_IN + 1) * sums
    return int(peak / PAUSE_SHARE)


def fits_here(array: DaskArray, n_columns: int) -> bool:
    """Whether so many columns take at most a quarter of this process's working memory."""
    return 8 * array.shape[0] * n_columns <= working_bytes() // 4


def is_sparse(array: DaskArray) -> bool:
    """Whether the array says that its chunks are sparse."""
    return bool(sparse.issparse(getattr(array.array, "_meta", None)))
