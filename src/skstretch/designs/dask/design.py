"""The design of a Dask array: every product is a pass over its blocks.

Wide arrays lie in blocks of features, and what the blocks return is added up; tall ones lie in
blocks of rows, and what they return stands one below the other, or is pooled about a common mean.

Moments of a wide array come with the Gram matrices that a search needs, in one pass.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.bridge_products import MinimiserProducts
from skstretch.core.features import (
    ExpFeatures,
    Features,
    MergedMoments,
    Moments,
    PlainFeatures,
    column_moments,
    pooled_moments,
    pooled_sum,
    resolution,
    shifts_beside,
)
from skstretch.core.gram import (
    DualGram,
    Frame,
    PrimalGram,
    RowProduct,
    pooled_product,
    pooled_rows,
)
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.dask.array import Block, DaskArray, fits_here, gram_bytes
from skstretch.designs.dask.passes import (
    Ask,
    BlockProducts,
    FeatureLens,
    Lens,
    Place,
    RowLens,
    SelectedColumns,
    batches,
    gathered_columns,
    gathered_rows,
    iterated,
    pass_graph,
)
from skstretch.designs.dense import row_moments
from skstretch.designs.local import (
    Measured,
    Transform,
    joined_grams,
    local_design,
    measured,
    merged,
)
from skstretch.designs.protocol import Design, QuadrantDesign, Ready, stacked_factor
from skstretch.designs.source import dense_values
from skstretch.designs.threads import working_bytes

# what one block alone is given
Own = Callable[[Place], Mapping[str, Any]]


def parts_of(**arrays: Array) -> Own:
    """Of every array what belongs to the rows (or columns) of a block that are in use."""
    return lambda place: {name: array[place.use] for name, array in arrays.items()}


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
        own: Own | None = None,
        merge: Callable[..., Any] | None = None,
        need: int = 0,
    ) -> Any:
        """A product of every block: the list of them, or what they merge to."""
        owns = [(place, {} if own is None else own(place)) for place in self.places]
        numbers = [place.number for place in self.places]
        return iterated(self.X, Ask(self.lens, product, known), owns, numbers, merge, need)

    def take(self, columns: Index) -> Design:
        """Some columns; in memory where they take little of it."""
        if not self._fits(columns.size):
            return self.narrowed(columns)
        kept = columns if self.columns is None else self.columns[columns]
        return self._of_columns(kept, self.quadrant.take(columns))

    @abstractmethod
    def _fits(self, n_columns: int) -> bool:
        """Whether so many columns may be held in memory."""

    def _used(self) -> Iterator[tuple[int, slice, Index | None]]:
        """Blocks with something in use: its places among all of it, and in the block."""
        for number, block in enumerate(self.X.blocks):
            axis, index = block.rows, self.rows
            if self.X.is_wide:
                axis, index = block.columns, self.columns
            use, own = (axis, None) if index is None else block.within(index, axis)
            if use.stop > use.start:
                yield number, use, own

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

    def _fits(self, n_columns: int) -> bool:
        """A selection no wider than it is tall is no larger than K."""
        return n_columns <= self.shape[0]

    def dot(self, coef: Array) -> Array:
        if not self.places:
            return np.zeros((self.shape[0], coef.shape[1]))
        result: Array = self._ask("dot", {}, parts_of(coef=coef), pooled_sum)
        return result

    def weighted_sum(self, weights: Array) -> Array:
        parts = self._ask("weighted_sum", {"weights": weights})
        return np.concatenate([np.zeros(0), *parts])

    def _peaks(self) -> Array:
        # no exponent is safe when it is infinite: blocks tell their peaks whatever they are
        peaks: Array = self._ask("row_peaks", {"exponent": np.inf}, merge=np.maximum.reduce)
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

    def several_coefficients(
        self, systems: Sequence[tuple[Frame, Array, Array]], weights: Array
    ) -> Iterator[tuple[slice, list[Array]]]:
        work = self._coefficients(systems, weights)
        for places in batches(self.places, sum(beta.shape[1] for _, beta, _ in systems)):
            numbers = [place.number for place in places]
            results = iterated(self.X, work, [(place, {}) for place in places], numbers)
            yield from zip([place.use for place in places], results, strict=True)

    def lazy_coefficients(self, frame: Frame, beta: Array, total: Array, weights: Array) -> Any:
        """`coefficients` of all columns of X as a Dask array (d, t); zero where not in use."""
        import dask.array

        da: Any = dask.array
        work = Scattered(self._coefficients([(frame, beta, total)], weights), beta.shape[1])
        owns = {place.number: place for place in self.places}
        numbers = range(len(self.X.blocks))
        parts = pass_graph(self.X, work, [owns.get(i) for i in numbers], numbers, None)
        shapes = [(block.shape[1], beta.shape[1]) for block in self.X.blocks]
        return da.concatenate(
            [da.from_delayed(p, s, dtype=np.float64) for p, s in zip(parts, shapes, strict=True)]
        )

    def _coefficients(self, systems: Sequence[tuple[Frame, Array, Array]], weights: Array) -> Ask:
        known = {"systems": [(bare(one[0]), *one[1:]) for one in systems], "weights": weights}
        return Ask(self.lens, "several_coefficients", known)

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

            found.append(self._ask("cross", {"weights": weights}, own, summed))
        return np.vstack([K for K, _ in found]), np.concatenate([Pq for _, Pq in found])

    def row_features(self, rows: Index) -> Features:
        return beside(self._ask("row_features", {"rows": rows}))

    def _column_sums(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        return self._gathered.column_grams(exponents, weights)

    def project(self, gram: PrimalGram, V: Array) -> Array:
        return self._gathered.project(gram, V)

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        return self._gathered.stretched_gram(gram, weights)

    def minimiser_products(self, once: bool = False) -> MinimiserProducts:
        return BlockProducts(self)

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
        for number, use, own in self._used():
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

    def _fits(self, n_columns: int) -> bool:
        return fits_here(self.X, n_columns)

    def dot(self, coef: Array) -> Array:
        return np.concatenate(self._ask("dot", {"coef": coef}))

    def weighted_sum(self, weights: Array) -> Array:
        result: Array = self._ask("weighted_sum", {}, parts_of(weights=weights), pooled_sum)
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
        found: RowProduct = iterated(self.X, work, owns, numbers, pooled_product)
        yield slice(0, self.shape[1]), found.product + np.outer(found.q, total)

    def _column_sums(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        """About the means of the rows of positive weight; blocks that have none are not read."""
        used = np.flatnonzero(weights > 0)
        some = self if used.size == weights.size else replace(self, rows=self._rows(used))
        known, own = {"exponents": [*exponents]}, parts_of(weights=weights[used])
        need = gram_bytes(self.X, len(exponents))
        grams: list[PrimalGram] = some._ask("column_grams", known, own, pooled_column_grams, need)
        return grams

    def project(self, gram: PrimalGram, V: Array) -> Array:
        return self.projections([gram], [V])[0]

    def projections(self, grams: Sequence[PrimalGram], V: Sequence[Array]) -> list[Array]:
        def own(place: Place) -> Mapping[str, Any]:
            return {"V": [v[place.use] for v in V]}

        known = {"grams": [without_square(gram) for gram in grams]}
        found: list[Array] = self._ask("projections", known, own, summed)
        return found

    @property
    def shares_passes(self) -> bool:
        return True

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        known, own = {"gram": without_square(gram)}, parts_of(weights=weights)
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

    def minimiser_products(self, once: bool = False) -> MinimiserProducts:
        return self._gathered.minimiser_products(once)

    def row_factor(self, root: Array) -> Array:
        own, need = parts_of(root=root), gram_bytes(self.X, 1)
        factor: Array = self._ask("row_factor", {}, own, stacked_factor, need)
        return factor

    @cached_property
    def lens(self) -> RowLens:
        return RowLens(self.quadrant, self.columns, self.X.shape[1], self.bounded)

    @cached_property
    def places(self) -> list[Place]:
        return [Place(*used) for used in self._used()]

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

    def _rows(self, rows: Index) -> Index:
        """The numbers that rows have in X."""
        return rows if self.rows is None else self.rows[rows]

    def _of_rows(self, rows: Index) -> Design:
        """Some rows of X in memory."""
        raw = gathered_rows(self.X, self._rows(rows))
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
            [out[columns]] = self.coefficients(X, block, (own, {}))
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


def pooled_column_grams(parts: Sequence[list[PrimalGram]]) -> list[PrimalGram]:
    """Gram matrices of blocks of rows, exponent by exponent."""
    return [pooled_rows(grams) for grams in zip(*parts, strict=True)]


def summed(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Sums of the arrays of all blocks, one by one."""
    return [pooled_sum(arrays) for arrays in zip(*parts, strict=True)]


def beside(parts: Sequence[Any]) -> Features:
    """Features of the same rows and consecutive columns."""
    if isinstance(parts[0], ExpFeatures):
        return ExpFeatures(np.hstack([part.L for part in parts]), shifts_beside(parts))
    return PlainFeatures(np.hstack([part.P for part in parts]))


@dataclass(frozen=True, eq=False)
class MomentsAndGrams:
    """Measure a block of features, then see it through every transform while it is at hand."""

    transforms: Sequence[Transform]
    weights: Array
    borders: bool

    def __call__(self, X: Any, block: Block, own: None) -> Measured:
        return measured(X, block.columns, self.weights, self.transforms, self.borders)


def dask_moments_and_grams(
    array: DaskArray, weights: Array, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """Moments of all columns, and for every transform K of what is safe."""
    work = MomentsAndGrams(transforms, weights, borders)
    need = gram_bytes(array, sum(len(transform.exponents) for transform in transforms))
    found: Measured = iterated(array, work, merge=merged, need=need)
    return found.moments, found.ready(weights[weights > 0], borders)


def dask_moments(array: DaskArray, weights: Array) -> Moments:
    """Moments of all columns, in one pass."""
    if array.is_wide:
        return dask_moments_and_grams(array, weights, [], False)[0]
    owns = [weights[block.rows] for block in array.blocks]
    numbers = [number for number, own in enumerate(owns) if own.any()]
    parts = [owns[number] for number in numbers]
    pooled: MergedMoments = iterated(array, RowMoments(), parts, numbers, pooled_moments)
    eps = resolution(array.dtype)
    moments, extreme = pooled.moments(eps)
    columns = np.flatnonzero(extreme)
    if columns.size:
        raw = dense_values(gathered_columns(array, columns))
        used = np.flatnonzero(weights > 0)
        moments.put(columns, column_moments(raw[used], weights[used], eps))
    return moments


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Moments of the rows of positive weight of a block of rows."""

    def __call__(self, X: Any, block: Block, own: Array) -> MergedMoments:
        return row_moments(X, own)
