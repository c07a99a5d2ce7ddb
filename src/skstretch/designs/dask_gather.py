"""Rows or columns of a Dask array, brought into memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.types import Index
from skstretch.designs.dask_array import DaskArray
from skstretch.designs.dask_block import Block
from skstretch.designs.dask_walk import walked
from skstretch.designs.source import Source


@dataclass(frozen=True, eq=False)
class PickColumns:
    """Some columns of a block of features, and of these some rows."""

    rows: Index | None = None

    def __call__(self, X: Any, block: Block, own: Index) -> Any:
        picked = X.read(None, own) if isinstance(X, Source) else X[:, own]
        return np.array(picked) if self.rows is None and _is_dense(picked) else self._some(picked)

    def _some(self, picked: Any) -> Any:
        return picked if self.rows is None else picked[self.rows]


@dataclass(frozen=True, eq=False)
class PickRows:
    """Some rows of a block of rows."""

    def __call__(self, X: Any, block: Block, own: Index) -> Any:
        return np.array(X.read(None, slice(0, X.shape[1]))[own]) if _is_chunk(X) else X[own]


def gathered_columns(array: DaskArray, columns: Index) -> Any:
    """Increasing columns of an array; blocks of features that have none of them are not read."""
    if not array.is_wide:
        return stacked(walked(array, PickColumns(), [columns] * len(array.blocks)), 0)
    return _gathered(array, PickColumns(), columns, 1)


def gathered_rows(array: DaskArray, rows: Index) -> Any:
    """Rows of an array, in any order."""
    if array.is_wide:
        return _gathered(array, PickColumns(rows), np.arange(array.shape[1]), 1)
    order = np.argsort(rows, kind="stable")
    found = _gathered(array, PickRows(), rows[order], 0)
    back = np.argsort(order, kind="stable")
    return found if np.array_equal(back, np.arange(back.size)) else found[back]


def _gathered(array: DaskArray, work: Any, index: Index, axis: int) -> Any:
    places = [block.within(index, block.columns if axis else block.rows) for block in array.blocks]
    numbers = [number for number, (_, own) in enumerate(places) if own.size]
    if not numbers:
        shape = (array.shape[0], 0) if axis else (0, array.shape[1])
        return np.zeros(shape, dtype=array.dtype)
    return stacked(walked(array, work, [places[i][1] for i in numbers], numbers), axis)


def stacked(parts: Sequence[Any], axis: int) -> Any:
    """Parts side by side, dense or sparse (by columns)."""
    if all(_is_dense(part) for part in parts):
        return np.concatenate(parts, axis=axis)
    stack = sparse.hstack if axis else sparse.vstack
    return stack(parts, format="csc")


def _is_dense(part: Any) -> bool:
    return isinstance(part, np.ndarray)


def _is_chunk(X: Any) -> bool:
    return isinstance(X, Source)
