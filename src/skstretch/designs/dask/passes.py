"""A pass over the blocks of a Dask array: one task a block, and an ordered tree that merges.

A block of a design is a design: the task opens it as one, and asks it for a product by its name.

Passes of the exact minimiser over a wide Dask array: one task a block of features.

A task answers all trials for its columns; an ordered tree adds what the blocks have summed, so that
the sums have the same bits whichever worker did what.

Outputs for new data in a Dask array are not computed before they are asked for.
"""

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config

from skstretch.core.bridge_products import DenseProducts, Trial, TrialResult, phi
from skstretch.core.features import Kind, pooled_sum
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.dask.array import (
    Block,
    DaskArray,
    check_known,
    gram_bytes,
    opened,
    reference,
    tree,
)
from skstretch.designs.dask.run import run
from skstretch.designs.local import local_design, local_moments
from skstretch.designs.minimiser_products import added, kept_by
from skstretch.designs.protocol import LocalDesign, is_dask
from skstretch.designs.source import Source
from skstretch.designs.threads import lone_thread, working_bytes


class Work(Protocol):
    """What is done with one block: `X` its numbers, `own` what is told to this block alone."""

    def __call__(self, X: Any, block: Block, own: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Shared:
    """What all tasks of a pass are told: one node of the graph."""

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


def pass_graph(
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

    kind = work.product if isinstance(work, Ask) else type(work).__name__.lower()
    name = f"skstretch-{kind}-{uuid.uuid4().hex}"
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


def iterated(
    array: DaskArray,
    work: Work,
    owns: Sequence[Any] | None = None,
    numbers: Sequence[int] | None = None,
    merge: Callable[..., Any] | None = None,
    need: int = 0,
) -> Any:
    """Pass now: a list of results, or the merged one.

    `need` is the number of bytes that the parts to be merged take, for the check of the workers'
    memory.
    """
    numbers = range(len(array.blocks)) if numbers is None else numbers
    owns = [None] * len(numbers) if owns is None else owns
    results = run(pass_graph(array, work, owns, numbers, merge), array, need)
    return results if merge is None else results[0]


@dataclass(frozen=True, eq=False)
class Place:
    """The columns (or rows) in use of one block.

    `use` are their places among all that are in use, `own` their places in the block (None for
    all). A block of features is either told their `quadrant`, or measures itself and is told only
    `b`, if that is not 0, and `log_scale`, if there is one.
    """

    number: int
    use: slice
    own: Index | None
    quadrant: Quadrant | None = None
    b: Array | None = None
    log_scale: Array | None = None


def batches(places: Sequence[Place], n_vectors: int) -> Iterator[list[Place]]:
    """Blocks for which so many numbers of every column fit the working memory together."""
    limit = max(1, working_bytes() // (2 * 8 * max(1, n_vectors)))
    batch: list[Place] = []
    for place in places:
        if batch and place.use.stop - batch[0].use.start > limit:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class Lens(Protocol):
    """How all blocks are seen: what they share of the transform and of the selection."""

    def design(self, X: Any, place: Place) -> LocalDesign:
        """The block as a design of its own."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureLens:
    """For blocks of features; `weights` are those that a block measures its columns by."""

    kind: Kind
    a: float
    unit: float
    weights: Array | None
    rows: Index | None
    bounded: bool

    def design(self, X: Any, place: Place) -> LocalDesign:
        n_columns = X.shape[1]
        own = np.arange(n_columns) if place.own is None else place.own
        quadrant = place.quadrant
        if quadrant is None:
            assert self.weights is not None
            moments = local_moments(X, self.weights).take(own)
            b = np.zeros(own.size) if place.b is None else place.b
            quadrant = Quadrant(self.kind, moments, self.a, b, self.unit, place.log_scale)
        whole = spread(quadrant, own, n_columns)
        return local_design(X, whole, rows=self.rows, columns=own, bounded=self.bounded)


@dataclass(frozen=True, eq=False)
class RowLens:
    """For blocks of rows, which are told the transform of the columns in use."""

    quadrant: Quadrant
    columns: Index | None
    n_columns: int
    bounded: bool

    def design(self, X: Any, place: Place) -> LocalDesign:
        columns = np.arange(self.n_columns) if self.columns is None else self.columns
        whole = spread(self.quadrant, columns, self.n_columns)
        return local_design(X, whole, rows=place.own, columns=columns, bounded=self.bounded)


def spread(quadrant: Quadrant, own: Index, n_columns: int) -> Quadrant:
    """The transform of some columns as one of all: the others are never looked at."""
    if own.size == n_columns:
        return quadrant
    place = np.zeros(n_columns, dtype=np.intp)
    place[own] = np.arange(own.size)
    return quadrant.take(place)


@dataclass(frozen=True, eq=False)
class Ask:
    """Work: a product of the block's own design, by the name that it has in `Design`.

    `known` are the arguments that all blocks are told; each brings its place and the others.
    """

    lens: Lens
    product: str
    known: Mapping[str, Any]

    def __call__(self, X: Any, block: Block, own: tuple[Place, Mapping[str, Any]]) -> Any:
        place, more = own
        found = getattr(self.lens.design(X, place), self.product)(**self.known, **more)
        if not isinstance(found, Iterator):
            return found
        # coefficients of several systems come a few columns at a time
        return [np.vstack(parts) for parts in zip(*(each for _, each in found), strict=True)]


@dataclass(frozen=True, eq=False)
class PickColumns:
    """Some columns of a block of features, and of these some rows."""

    rows: Index | None = None

    def __call__(self, X: Any, block: Block, own: Index) -> Any:
        picked = X.read(None, own) if isinstance(X, Source) else X[:, own]
        if self.rows is not None:
            return picked[self.rows]
        # a copy: what is read may be a view that keeps the whole chunk
        return np.array(picked) if _is_dense(picked) else picked


@dataclass(frozen=True, eq=False)
class PickRows:
    """Some rows of a block of rows."""

    def __call__(self, X: Any, block: Block, own: Index) -> Any:
        return np.array(X[own]) if isinstance(X, Source) else X[own]


def gathered_columns(array: DaskArray, columns: Index) -> Any:
    """Increasing columns of an array; blocks of features that have none of them are not read."""
    if not array.is_wide:
        return stacked(iterated(array, PickColumns(), [columns] * len(array.blocks)), 0)
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
    return stacked(iterated(array, work, [places[i][1] for i in numbers], numbers), axis)


def stacked(parts: Sequence[Any], axis: int) -> Any:
    """Parts side by side, dense or sparse (by columns)."""
    if all(_is_dense(part) for part in parts):
        return np.concatenate(parts, axis=axis)
    stack = sparse.hstack if axis else sparse.vstack
    return stack(parts, format="csc")


def _is_dense(part: Any) -> bool:
    return isinstance(part, np.ndarray)


class SelectedColumns:
    """Columns in memory; only those that were never asked for are read.

    Neighbouring selections of a search share most of theirs. At most a quarter of the working
    memory is kept between selections. Pickles are empty.
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


class FeatureBlocks(Protocol):
    """As much of a design in blocks of features as a pass asks for."""

    @property
    def X(self) -> DaskArray: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def lens(self) -> Lens: ...

    @property
    def places(self) -> list[Place]: ...


@dataclass(frozen=True, eq=False)
class Answers:
    """Work: all trials over the columns of one block, which is given its part of their bases."""

    lens: Lens
    trials: Sequence[Trial]

    def __call__(
        self, X: Any, block: Block, own: tuple[Place, Sequence[Array | None]]
    ) -> list[TrialResult]:
        place, bases = own
        trials = [replace(t, base=base) for t, base in zip(self.trials, bases, strict=True)]
        return self.lens.design(X, place).minimiser_products(once=True).step(trials)


@dataclass(frozen=True, eq=False)
class Transposed:
    """Work: ``Z'V`` of one block."""

    lens: Lens
    V: Array

    def __call__(self, X: Any, block: Block, own: Place) -> Array:
        return self.lens.design(X, own).minimiser_products(once=True).transposed(self.V)


@dataclass(frozen=True, eq=False)
class Added:
    """Merge: the answers of consecutive blocks as one."""

    trials: Sequence[Trial]

    def __call__(self, parts: Sequence[list[TrialResult]]) -> list[TrialResult]:
        return added(self.trials, parts)


class BlockProducts:
    """Passes over the blocks of features of a Dask array, on its workers.

    v comes to this process only where it takes at most a quarter of its working memory.
    """

    def __init__(self, design: FeatureBlocks) -> None:
        self.design = design

    def step(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """All trials in one pass."""
        n_rows, n_columns = self.design.shape
        if not self.design.places:
            return DenseProducts(np.empty((n_rows, 0))).step(trials)
        kept = kept_by(trials, n_columns)
        asked = [replace(trial, keep=i in kept, base=None) for i, trial in enumerate(trials)]
        need = gram_bytes(self.design.X, sum(trial.gram for trial in trials))
        places = self.design.places
        found: list[TrialResult] = iterated(
            self.design.X,
            Answers(self.design.lens, asked),
            [
                (place, [t.base if t.base is None else t.base[place.use] for t in trials])
                for place in places
            ],
            [place.number for place in places],
            Added([replace(trial, x=np.zeros(0)) for trial in asked]),
            need,
        )
        return found

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """``phi(Z'x)`` (D)."""
        v = self.transposed(trial.x[:, None])[:, 0] if v is None else v
        return phi(v, trial.k, trial.lam)[0]

    def transposed(self, X: Array) -> Array:
        """``Z'X`` (D x n), as many blocks at a time as fit the working memory."""
        out = np.empty((self.design.shape[1], X.shape[1]))
        work = Transposed(self.design.lens, X)
        for places in batches(self.design.places, X.shape[1]):
            numbers = [place.number for place in places]
            parts = iterated(self.design.X, work, places, numbers)
            for place, part in zip(places, parts, strict=True):
                out[place.use] = part
        return out


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
