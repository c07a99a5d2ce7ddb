"""Outputs for new data in a Dask array: nothing is computed before it is asked for."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np

from skstretch.core.features import pooled_sum
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.dask.array import Block, check_known, opened, reference, tree
from skstretch.designs.dask.passes import spread
from skstretch.designs.local import local_design
from skstretch.designs.protocol import is_dask
from skstretch.designs.threads import lone_thread

Check = Callable[[Array, int], None]


@dataclass(frozen=True, eq=False)
class PartialDot:
    """``(P - offset) coef`` of the columns of one chunk that have coefficients."""

    quadrant: Quadrant
    own: Index
    coef: Array

    def __call__(self, chunk: Any, block: Block) -> Array:
        try:
            return self._dot(opened(chunk, block))
        except Exception as error:
            error.add_note(f"in rows {_span(block.rows)}, columns {_span(block.columns)} of X")
            raise

    def _dot(self, X: Any) -> Array:
        if not self.own.size:
            return np.zeros((X.shape[0], self.coef.shape[1]))
        quadrant = spread(self.quadrant, self.own, X.shape[1])
        design = local_design(X, quadrant, columns=self.own, bounded=True)
        # the check of the outputs has the last word
        with lone_thread(), np.errstate(over="ignore", invalid="ignore"):
            return design.dot(self.coef)


def _span(places: slice) -> str:
    return f"{places.start} to {places.stop - 1}"


@dataclass(frozen=True, eq=False)
class Finish:
    """From sums to outputs; `check` is told the first row."""

    level: Array
    dtype: Any
    check: Check

    def __call__(self, total: Array, first_row: int) -> Array:
        outputs = total + self.level
        self.check(outputs, first_row)
        return np.asarray(outputs.astype(self.dtype, copy=False))


def lazy_outputs(
    X: Any, quadrant: Quadrant, coef: Array, level: Array, dtype: Any, check: Check
) -> Any:
    """A Dask array (n, t) of ``(P - offset) coef' + level`` for coefficients (t, d).

    Chunks of X may be split by rows, by columns or both: the columns of a row chunk are added up
    by an ordered tree. Chunks in which no column has a coefficient are not read, but for the first
    of each row chunk.
    """
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    check_known(X)
    name = f"skstretch-outputs-{uuid.uuid4().hex}"
    delayed = X.to_delayed()
    rows, columns = (spans(sizes) for sizes in X.chunks)
    dots = [_partial_dot(quadrant, coef, span) for span in columns]
    used = [j for j, dot in enumerate(dots) if dot.own.size] or [0]
    tasks: dict[Any, Any] = {(f"{name}-dot", j): dots[j] for j in used}
    tasks[f"{name}-finish"] = Finish(level, dtype, check)
    for i, span in enumerate(rows):
        keys = []
        for j in used:
            block = Block(i, len(rows), span, columns[j], "row")
            key = (f"{name}-part", i, j)
            tasks[key] = (call, (f"{name}-dot", j), reference(delayed[i, j]), Held(block))
            keys.append(key)
        merging, root = tree(f"{name}-{i}", keys, pooled_sum)
        tasks.update(merging)
        tasks[(name, i, 0)] = (call, f"{name}-finish", root, Held(span.start))
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[*delayed.ravel()[:1]])
    chunks = (X.chunks[0], (coef.shape[0],))
    return cast(Any, da.Array)(graph, name, chunks, meta=np.empty((0, 0), dtype=dtype))


@dataclass(frozen=True, eq=False)
class Held:
    """A value that Dask must not look into."""

    value: Any


def call(function: Callable[[Any, Any], Any], first: Any, second: Held) -> Any:
    """The task behind an output."""
    return function(first, second.value)


def _partial_dot(quadrant: Quadrant, coef: Array, columns: slice) -> PartialDot:
    own = np.flatnonzero(coef[:, columns].any(axis=0))
    used = own + columns.start
    return PartialDot(quadrant.take(used), own, coef[:, used].T.astype(np.float64))


def spans(sizes: Sequence[int]) -> list[slice]:
    """The slice of every chunk along one axis."""
    return [slice(start, stop) for start, stop in pairwise(np.cumsum([0, *sizes]).tolist())]


def lazily(function: Callable[[Array], Any], outputs: Any) -> Any:
    """``function(outputs)``; for a Dask array (n, t) by row chunks, when it is asked for.

    What comes out of one row of zeros tells dtype and shape.
    """
    if not is_dask(outputs):
        return function(outputs)
    like = function(np.zeros((1, outputs.shape[1]), outputs.dtype))[:0]
    if like.ndim == 1:
        return outputs.map_blocks(function, drop_axis=1, dtype=like.dtype, meta=like)
    chunks = (outputs.chunks[0], (like.shape[1],))
    return outputs.map_blocks(function, chunks=chunks, dtype=like.dtype, meta=like)
