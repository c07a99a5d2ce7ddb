"""One block of a Dask array, as the task that works on it sees it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.types import Index
from skstretch.designs.source import Raw, Source


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


@dataclass(frozen=True)
class Chunk(Source):
    """A block in memory; errors name rows and columns of the whole X."""

    first_row: int = 0
    first_column: int = 0

    def _check_finite(self, block: Raw, rows: slice | Index | None, columns: slice | Index) -> None:
        whole = slice(0, self.shape[0]) if rows is None else rows
        super()._check_finite(
            block, _shifted(whole, self.first_row), _shifted(columns, self.first_column)
        )


def _shifted(index: slice | Index, by: int) -> slice | Index:
    if isinstance(index, slice):
        return slice(index.start + by, index.stop + by)
    return index + by


def opened(chunk: Any, block: Block) -> Any:
    """The numbers of a block as the designs want them, after a look at what came."""
    if sparse.issparse(chunk):
        return _opened_sparse(chunk, block)
    raw = np.asarray(chunk)
    _check_shape(raw, block)
    return Chunk(raw, first_row=block.rows.start, first_column=block.columns.start)


def _opened_sparse(chunk: Any, block: Block) -> Any:
    from skstretch.designs.as_design import tidy

    _check_shape(chunk, block)
    X = tidy(chunk)
    if not np.isfinite(X.data).all():
        place = int(np.flatnonzero(~np.isfinite(X.data))[0])
        column = int(np.searchsorted(X.indptr, place, side="right")) - 1 + block.columns.start
        row = int(X.indices[place]) + block.rows.start
        value = "NaN" if np.isnan(X.data[place]) else "infinity"
        raise ValueError(
            f"X contains {value} in column {column}, row {row}: fill or drop such values first."
        )
    return X


def _check_shape(chunk: Any, block: Block) -> None:
    if chunk.shape != block.shape:
        raise ValueError(
            f"{block} has shape {chunk.shape}, and {block.shape} was promised: the data has "
            "changed since X was made, or its chunks are not what they say."
        )
    if chunk.dtype.kind not in "iufb":
        raise ValueError(f"{block} has dtype {chunk.dtype}: real numbers are needed.")
