"""The design of a Dask array: every product is a walk over its blocks.

Wide arrays lie in blocks of features, and what the blocks return is added up; tall ones lie in
blocks of rows, and what they return stands one below the other, or is pooled about a common mean.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skstretch.core.bridge_walks import Walks
from skstretch.core.dual_gram import DualGram, Frame, joined
from skstretch.core.features import ExpFeatures, Features, PlainFeatures, shifts_beside
from skstretch.core.lazy import cached_property
from skstretch.core.moments import pooled_sum
from skstretch.core.primal_gram import (
    PrimalGram,
    RowProduct,
    pooled_product,
    pooled_rows,
)
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import working_bytes
from skstretch.designs.dask.array import Block, DaskArray, fits_here, gram_bytes
from skstretch.designs.dask.walk import (
    Ask,
    AskAll,
    FeatureLens,
    Lens,
    Place,
    RowLens,
    SelectedColumns,
    batches,
    gathered_rows,
    walk_graph,
    walked,
)
from skstretch.designs.dask.walks import BlockWalks
from skstretch.designs.local import local_design
from skstretch.designs.protocol import Design, QuadrantDesign, Ready, stacked_factor

# what one block alone is told
Own = Callable[[Place], Mapping[str, Any]]


def nothing(place: Place) -> Mapping[str, Any]:
    """All that a block has to know is told to all of them."""
    return {}


@dataclass(frozen=True, eq=False)
class BlockDesign(QuadrantDesign):
    """Rows and columns of a Dask array; `selected` holds columns that are in memory."""

    X: DaskArray
    selected: SelectedColumns = field(default_factory=SelectedColumns)

    @property
    @abstractmethod
    def lens(self) -> Lens:
        """How a block is seen, told to all blocks."""

    @property
    @abstractmethod
    def places(self) -> list[Place]:
        """The blocks that have something in use, and what."""

    def _ask(
        self,
        product: str,
        known: Mapping[str, Any],
        own: Own = nothing,
        merge: Callable[..., Any] | None = None,
        need: int = 0,
    ) -> Any:
        """A product of every block: the list of them, or what they merge to."""
        owns = [(place, own(place)) for place in self.places]
        numbers = [place.number for place in self.places]
        return walked(self.X, Ask(self.lens, product, known), owns, numbers, merge, need)

    def _of_columns(self, columns: Index, quadrant: Quadrant) -> Design:
        """Some columns of X in memory."""
        raw = self.selected.of(self.X, columns)
        return local_design(raw, quadrant, rows=self.rows, bounded=self.bounded)

    @property
    def _used_columns(self) -> Index:
        return np.arange(self.shape[1]) if self.columns is None else self.columns


@dataclass(frozen=True, eq=False)
class WideDesign(BlockDesign):
    """Rows and columns of a Dask array in blocks of features."""

    def take(self, columns: Index) -> Design:
        """Some columns; a selection no wider than it is tall is no larger than K: in memory."""
        if columns.size <= self.shape[0]:
            kept = columns if self.columns is None else self.columns[columns]
            return self._of_columns(kept, self.quadrant.take(columns))
        return self.narrowed(columns)

    def dot(self, coef: Array) -> Array:
        if not self.places:
            return np.zeros((self.shape[0], coef.shape[1]))
        result: Array = self._ask("dot", {}, lambda place: {"coef": coef[place.use]}, pooled_sum)
        return result

    def weighted_sum(self, weights: Array) -> Array:
        parts = self._ask("weighted_sum", {"weights": weights})
        return np.concatenate([np.zeros(0), *parts])

    def _peaks(self) -> Array:
        # no exponent is safe when it is infinite: blocks tell their peaks whatever they are
        peaks: Array = self._ask("row_peaks", {"exponent": np.inf}, merge=largest)
        return peaks

    def _sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        known = {"exponents": [*exponents], "weights": weights, "log_rows": log_rows}
        need = gram_bytes(self.X, len(exponents))
        grams: list[DualGram] = self._ask(
            "gram", {**known, "borders": borders}, merge=joined_grams, need=need
        )
        return grams

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        for columns, (alpha,) in self.several_coefficients([(frame, beta, total)], weights):
            yield columns, alpha

    def several_coefficients(
        self, systems: Sequence[tuple[Frame, Array, Array]], weights: Array
    ) -> Iterator[tuple[slice, list[Array]]]:
        work = AskAll([self._coefficients(*system, weights) for system in systems])
        for places in batches(self.places, sum(beta.shape[1] for _, beta, _ in systems)):
            numbers = [place.number for place in places]
            results = walked(self.X, work, [(place, {}) for place in places], numbers)
            yield from zip([place.use for place in places], results, strict=True)

    def lazy_coefficients(self, frame: Frame, beta: Array, total: Array, weights: Array) -> Any:
        """`coefficients` of all columns of X as a Dask array (d, t); zero where not in use."""
        import dask.array

        da: Any = dask.array
        work = Scattered(self._coefficients(frame, beta, total, weights), beta.shape[1])
        owns = {place.number: place for place in self.places}
        numbers = range(len(self.X.blocks))
        parts = walk_graph(self.X, work, [owns.get(i) for i in numbers], numbers, None)
        shapes = [(block.shape[1], beta.shape[1]) for block in self.X.blocks]
        return da.concatenate(
            [da.from_delayed(p, s, dtype=np.float64) for p, s in zip(parts, shapes, strict=True)]
        )

    def _coefficients(self, frame: Frame, beta: Array, total: Array, weights: Array) -> Ask:
        known = {"frame": bare(frame), "beta": beta, "total": total, "weights": weights}
        return Ask(self.lens, "coefficients", known)

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        """New rows travel to the blocks: as many at a time as fit the working memory."""
        batch = max(1, working_bytes() // (4 * 8 * max(1, self.shape[1])))
        found = []
        for start in range(0, other.shape[0], batch):
            rows = np.arange(start, min(other.shape[0], start + batch))

            def own(place: Place, rows: Index = rows) -> Mapping[str, Any]:
                columns = np.arange(place.use.start, place.use.stop)
                new = other.take(columns).row_features(rows)
                about = replace(frame, centre=frame.centre[place.use])
                return {"frame": about, "other": NewRows(new)}

            found.append(self._ask("cross", {"weights": weights}, own, summed_pairs))
        return np.vstack([K for K, _ in found]), np.concatenate([Pq for _, Pq in found])

    def row_features(self, rows: Index) -> Features:
        return beside(self._ask("row_features", {"rows": rows}))

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        return self._gathered.column_grams(exponents, weights)

    def project(self, gram: PrimalGram, V: Array) -> Array:
        return self._gathered.project(gram, V)

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        return self._gathered.stretched_gram(gram, weights)

    def walks(self, once: bool = False) -> Walks:
        return BlockWalks(self)

    def row_factor(self, root: Array) -> Array:
        return self._gathered.row_factor(root)

    @cached_property
    def lens(self) -> FeatureLens:
        kind, a, unit = self.quadrant.kind, self.quadrant.a, self.quadrant.unit
        return FeatureLens(kind, a, unit, self.X.weights, self.rows, self.bounded)

    @cached_property
    def places(self) -> list[Place]:
        given, logs = self.X.weights is None, self.quadrant.log_scale
        found = []
        for number, block in enumerate(self.X.blocks):
            use, own = block.columns, None
            if self.columns is not None:
                use, own = block.within(self.columns, block.columns)
            if use.stop > use.start:
                quadrant = self.quadrant.take(use) if given else None
                b = None if given or not self.quadrant.b.any() else self.quadrant.b[use]
                scales = None if given or logs is None else logs[use]
                found.append(Place(number, use, own, quadrant, b, scales))
        return found

    @cached_property
    def _gathered(self) -> Design:
        """All of it in memory, where the primal form is asked for: it is nearly square then."""
        n_rows, n_columns = self.shape
        if n_columns > 2 * n_rows:
            raise ValueError(
                f"the primal form of {n_rows} samples and {n_columns} features would need the "
                'whole X in memory: use solver="auto" or "dual" on a wide Dask array.'
            )
        return self._of_columns(self._used_columns, self.quadrant)


@dataclass(frozen=True, eq=False)
class TallDesign(BlockDesign):
    """Rows and columns of a Dask array in blocks of rows."""

    def take(self, columns: Index) -> Design:
        """Some columns; in memory where they take little of it."""
        if fits_here(self.X, columns.size):
            kept = columns if self.columns is None else self.columns[columns]
            return self._of_columns(kept, self.quadrant.take(columns))
        return self.narrowed(columns)

    def dot(self, coef: Array) -> Array:
        return np.concatenate(self._ask("dot", {"coef": coef}))

    def weighted_sum(self, weights: Array) -> Array:
        own: Own = lambda place: {"weights": weights[place.use]}  # noqa: E731
        result: Array = self._ask("weighted_sum", {}, own, pooled_sum)
        return result

    def _peaks(self) -> Array:
        # no exponent is safe when it is infinite: blocks tell their peaks whatever they are
        return np.concatenate(self._ask("row_peaks", {"exponent": np.inf}))

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        if frame.log_rows is not None:
            yield from self._gathered.coefficients(frame, beta, total, weights)
            return
        owns = [(place, beta[place.use], weights[place.use]) for place in self.places]
        numbers = [place.number for place in self.places]
        work = RowCoefficients(self.lens, bare(frame))
        found: RowProduct = walked(self.X, work, owns, numbers, pooled_product)
        yield slice(0, self.shape[1]), found.product + np.outer(found.q, total)

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        """About the means of the rows of positive weight; blocks that have none are not read."""
        used = np.flatnonzero(weights > 0)
        if used.size < weights.size:
            index = used if self.rows is None else self.rows[used]
            return replace(self, rows=index).column_grams(exponents, weights[used])
        grams: list[PrimalGram] = self._ask(
            "column_grams",
            {"exponents": [*exponents]},
            lambda place: {"weights": weights[place.use]},
            pooled_column_grams,
            gram_bytes(self.X, len(exponents)),
        )
        return grams

    def project(self, gram: PrimalGram, V: Array) -> Array:
        own: Own = lambda place: {"V": V[place.use]}  # noqa: E731
        out: Array = self._ask("project", {"gram": without_square(gram)}, own, pooled_sum)
        return out

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        known = {"gram": without_square(gram)}
        own: Own = lambda place: {"weights": weights[place.use]}  # noqa: E731
        out: Array = self._ask("stretched_gram", known, own, pooled_sum, gram_bytes(self.X, 1))
        return out

    def row_features(self, rows: Index) -> Features:
        if self._resident is not None:
            return self._resident.row_features(rows)
        return self._of_rows(rows).row_features(np.arange(rows.size))

    def row_slices(self) -> Iterator[slice]:
        """The rows of one block at a time: a block is not read twice."""
        return iter([place.use for place in self.places])

    def _sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        return self._gathered.gram(exponents, weights, log_rows, borders)

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        return self._gathered.cross(frame, weights, other)

    def walks(self, once: bool = False) -> Walks:
        return self._gathered.walks(once)

    def row_factor(self, root: Array) -> Array:
        own: Own = lambda place: {"root": root[place.use]}  # noqa: E731
        factor: Array = self._ask("row_factor", {}, own, stacked_factor, gram_bytes(self.X, 1))
        return factor

    @cached_property
    def lens(self) -> RowLens:
        return RowLens(self.quadrant, self.columns, self.X.shape[1], self.bounded)

    @cached_property
    def places(self) -> list[Place]:
        found = []
        for number, block in enumerate(self.X.blocks):
            use, own = block.rows, None
            if self.rows is not None:
                use, own = block.within(self.rows, block.rows)
            if use.stop > use.start:
                found.append(Place(number, use, own))
        return found

    @cached_property
    def _gathered(self) -> Design:
        """All of it in memory, where the dual form is asked for: it is nearly square then."""
        n_rows, n_columns = self.shape
        if n_rows > 2 * n_columns + 2:
            raise ValueError(
                f"the dual form of {n_rows} samples and {n_columns} features would need the whole "
                'X in memory: use solver="auto" or "primal" on a tall Dask array.'
            )
        return self._of_rows(np.arange(n_rows))

    @cached_property
    def _resident(self) -> Design | None:
        """All of it in memory, for a search that looks at the same rows again and again."""
        if not fits_here(self.X, self.shape[1]):
            return None
        return self._of_columns(self._used_columns, self.quadrant)

    def _of_rows(self, rows: Index) -> Design:
        """Some rows of X in memory."""
        raw = gathered_rows(self.X, rows if self.rows is None else self.rows[rows])
        if self.columns is not None:
            raw = raw[:, self.columns]
        return local_design(raw, self.quadrant, bounded=self.bounded)


def dask_design(
    X: DaskArray,
    quadrant: Quadrant,
    *,
    rows: Index | None = None,
    columns: Index | None = None,
    bounded: bool = False,
    ready: Ready | None = None,
) -> BlockDesign:
    """See `as_design`; nothing is read yet."""
    if rows is not None and rows.size == X.shape[0]:
        rows = None
    if columns is not None and columns.size < X.shape[1]:
        quadrant = quadrant.take(columns)
    else:
        columns = None
    kind = WideDesign if X.is_wide else TallDesign
    return kind(X, quadrant, columns, rows, bounded, ready)


@dataclass(frozen=True)
class NewRows:
    """Features at hand: as much of a design as `cross` asks of new rows."""

    features: Any

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.features.shape
        return rows, columns

    def take(self, columns: Index) -> "NewRows":
        """Consecutive columns."""
        span = slice(int(columns[0]), int(columns[-1]) + 1)
        return NewRows(self.features.part(span))

    def row_features(self, rows: Index) -> Features:
        """All rows: `cross` asks for no others."""
        features: Features = self.features
        return features


@dataclass(frozen=True, eq=False)
class Scattered:
    """Coefficients of all columns of a block, zero for those that are not in use."""

    coefficients: Ask
    n_targets: int

    def __call__(self, X: Any, block: Block, own: Place | None) -> Array:
        out = np.zeros((block.shape[1], self.n_targets))
        if own is not None:
            columns = slice(None) if own.own is None else own.own
            out[columns] = self.coefficients(X, block, (own, {}))
        return out


@dataclass(frozen=True, eq=False)
class RowCoefficients:
    """``Qc' beta`` over the rows of the block, about their own mean."""

    lens: RowLens
    frame: Frame

    def __call__(self, X: Any, block: Block, own: tuple[Place, Array, Array]) -> RowProduct:
        place, beta, weights = own
        design = self.lens.design(X, place)
        zero, none = np.zeros(beta.shape[1]), np.zeros((len(beta), 1))
        parts = design.coefficients(self.frame, beta, zero, weights)
        product = np.vstack([alpha for _, alpha in parts])
        means = design.coefficients(self.frame, none, np.ones(1), weights)
        q = np.concatenate([alpha[:, 0] for _, alpha in means])
        return RowProduct(float(weights.sum()), q, product, beta.sum(axis=0))


def bare(frame: Frame) -> Frame:
    """A frame without its centre, which coefficients do not need: less to send."""
    return replace(frame, centre=np.zeros(0))


def without_square(gram: PrimalGram) -> PrimalGram:
    """The means of a Gram matrix alone: less to send."""
    return replace(gram, C=np.zeros((0, 0)))


def largest(parts: Sequence[Array]) -> Array:
    """The largest by row."""
    return np.asarray(np.maximum.reduce(parts))


def joined_grams(parts: Sequence[list[DualGram]]) -> list[DualGram]:
    """Gram matrices of consecutive blocks of features, exponent by exponent."""
    return [joined(grams) for grams in zip(*parts, strict=True)]


def pooled_column_grams(parts: Sequence[list[PrimalGram]]) -> list[PrimalGram]:
    """Gram matrices of blocks of rows, exponent by exponent."""
    return [pooled_rows(grams) for grams in zip(*parts, strict=True)]


def summed_pairs(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Sums of both."""
    return pooled_sum([K for K, _ in parts]), pooled_sum([Pq for _, Pq in parts])


def beside(parts: Sequence[Any]) -> Features:
    """Features of the same rows and consecutive columns."""
    if isinstance(parts[0], ExpFeatures):
        return ExpFeatures(np.hstack([part.L for part in parts]), shifts_beside(parts))
    return PlainFeatures(np.hstack([part.P for part in parts]))
