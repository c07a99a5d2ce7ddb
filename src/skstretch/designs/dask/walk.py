"""A walk over the blocks of a Dask array: one task a block, and an ordered tree that merges."""

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config

from skstretch.core.types import Index
from skstretch.designs.blocks import lone_thread, working_bytes
from skstretch.designs.dask.array import Block, DaskArray, opened, reference, tree
from skstretch.designs.dask.run import run
from skstretch.designs.source import Source


class Work(Protocol):
    """What is done with one block: `X` its numbers, `own` what is told to this block alone."""

    def __call__(self, X: Any, block: Block, own: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Shared:
    """What all tasks of a walk are told: one node of the graph."""

    work: Work
    working_memory: float


@dataclass(frozen=True, eq=False)
class Own:
    """What one task is told."""

    block: Block
    value: Any


def work_on(chunk: Any, shared: Shared, own: Own) -> Any:
    """The task of one block, in place: it runs through sub-blocks of the chunk that it is given."""
    try:
        with lone_thread(), config_context(working_memory=shared.working_memory):
            return shared.work(opened(chunk, own.block), own.block, own.value)
    except Exception as error:
        error.add_note(f"in {own.block}")
        raise


def walk_graph(
    array: DaskArray,
    work: Work,
    owns: Sequence[Any],
    numbers: Sequence[int],
    merge: Callable[..., Any] | None,
) -> list[Any]:
    """The results of some blocks, or the one that they merge to, as delayed values.

    `owns` has one entry for each block in `numbers`. Data is only referred to: what the graph
    holds is the work, and `owns`.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    name = f"skstretch-{type(work).__name__.lower()}-{uuid.uuid4().hex}"
    shared = f"{name}-shared"
    tasks: dict[Any, Any] = {shared: Shared(work, get_config()["working_memory"])}
    keys = []
    for number, value in zip(numbers, owns, strict=True):
        key = (name, number)
        chunk = reference(array.parts[number])
        tasks[key] = (work_on, chunk, shared, Own(array.blocks[number], value))
        keys.append(key)
    if merge is not None:
        merging, root = tree(name, keys, merge)
        tasks.update(merging)
        keys = [root]
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=array.parts[:1])
    return [cast(Any, Delayed)(key, graph, layer=name) for key in keys]


def walked(
    array: DaskArray,
    work: Work,
    owns: Sequence[Any] | None = None,
    numbers: Sequence[int] | None = None,
    merge: Callable[..., Any] | None = None,
    need: int = 0,
) -> Any:
    """Walk now: a list of results, or the merged one.

    `need` is the number of bytes that the parts to be merged take, for the check of the workers'
    memory.
    """
    numbers = range(len(array.blocks)) if numbers is None else numbers
    owns = [None] * len(numbers) if owns is None else owns
    results = run(walk_graph(array, work, owns, numbers, merge), array, need)
    return results if merge is None else results[0]


# Rows or columns of a Dask array, brought into memory.


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


# Columns of a Dask array that were selected before: neighbouring selections share most of them.


class SelectedColumns:
    """Columns in memory; only those that were never asked for are read.

    At most a quarter of the working memory is kept between selections. Pickles are empty.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: Index = np.zeros(0, dtype=np.intp)
        self._raw: Any = None

    def __reduce__(self) -> tuple[type["SelectedColumns"], tuple[()]]:
        return SelectedColumns, ()

    def of(self, array: DaskArray, columns: Index) -> Any:
        """Increasing columns of the array, as an array of their own."""
        with self._lock:
            missing = np.setdiff1d(columns, self._index, assume_unique=True)
            if self._raw is None or self._is_full(array, missing.size):
                self._index, self._raw = columns, gathered_columns(array, columns)
            elif missing.size:
                together = stacked([self._raw, gathered_columns(array, missing)], 1)
                index = np.concatenate([self._index, missing])
                order = np.argsort(index)
                self._index, self._raw = index[order], together[:, order]
            return self._raw[:, np.searchsorted(self._index, columns)]

    def _is_full(self, array: DaskArray, more: int) -> bool:
        size = (self._index.size + more) * array.shape[0] * array.dtype.itemsize
        return more > 0 and size > working_bytes() // 4
