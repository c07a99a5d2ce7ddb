"""Dask arrays: recognised without importing Dask, and cut into blocks that a task can work on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.designs.dask_block import Block
from skstretch.designs.meter import Meter


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, or one that is already cut into blocks."""
    if isinstance(X, DaskArray):
        return True
    graph = getattr(X, "__dask_graph__", None)
    # what can hold Dask arrays but does not has no graph
    return graph is not None and graph() is not None


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
        Where walks tell which blocks are done.
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

    @property
    def dask(self) -> Any:
        """The graph behind the array: with it Dask's arrays are told from others."""
        return self.array.dask

    def __dask_graph__(self) -> Any:
        return self.array.__dask_graph__()

    def __len__(self) -> int:
        return self.shape[0]

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
        """What makes each block, with the graph optimised once for all walks."""
        delayed = self.array.to_delayed().ravel()
        sizes = self.array.chunks[1 if self.is_wide else 0]
        return [part for part, size in zip(delayed, sizes, strict=True) if size]

    def __getstate__(self) -> dict[str, Any]:
        # a meter belongs to the fit that it was shown in
        return {"array": self.array, "weights": self.weights, "meter": None}

    def __getitem__(self, rows: Any) -> Any:
        """Some rows in memory."""
        from skstretch.designs.dask_gather import gathered_rows

        index: Index = np.arange(self.shape[0])[rows]
        return gathered_rows(self, index)


def reference(part: Any) -> Any:
    """How a task names a block, also where the cluster has it already and the graph has not."""
    try:
        from dask._task_spec import TaskRef
    except ImportError:  # before Dask 2024.12 a key was its own reference
        return part.key
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
