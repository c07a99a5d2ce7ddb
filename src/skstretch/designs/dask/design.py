"""The design of a Dask array: by blocks of features or of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.dual_gram import DualGram, Frame
from skstretch.core.features import Features
from skstretch.core.moments import pooled_sum
from skstretch.core.primal_gram import PrimalGram, RowProduct, pooled_product
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import is_safe
from skstretch.core.types import Array, Index
from skstretch.designs.as_design import as_design
from skstretch.designs.blocks import blocks_of, working_bytes
from skstretch.designs.dask.array import DaskArray, fits_here, gram_bytes
from skstretch.designs.dask.walk import SelectedColumns, Work, gathered_rows, walk_graph, walked
from skstretch.designs.dask.work import (
    Coefficients,
    ColumnGrams,
    Cross,
    Dot,
    Grams,
    Lens,
    Peaks,
    Place,
    Projected,
    RowCoefficients,
    RowDot,
    RowFeatures,
    RowLens,
    RowPeaks,
    RowPlace,
    Scattered,
    StretchedGram,
    beside,
    joined_grams,
    largest,
    lens_for,
    pooled_column_grams,
    summed_pairs,
)
from skstretch.designs.protocol import Design
from skstretch.designs.survey import Ready

# Features of a wide Dask array: every product is a walk over blocks of features.


@dataclass(frozen=True, eq=False)
class WideDesign:
    """Rows and columns of a Dask array in blocks of features.

    Attributes
    ----------
    X : DaskArray
    quadrant : Quadrant
        The transform of the columns in use.
    columns, rows : increasing index arrays or None
        What of X is in use; None for all.
    bounded : bool
        Whether z-scores are bounded, as they are for data not seen in training.
    ready : Ready or None
        Gram matrices that an earlier walk has left.
    selected : SelectedColumns
        Columns that are in memory.
    """

    X: DaskArray
    quadrant: Quadrant
    columns: Index | None = None
    rows: Index | None = None
    bounded: bool = False
    ready: Ready | None = None
    selected: SelectedColumns = field(default_factory=SelectedColumns)

    @property
    def shape(self) -> tuple[int, int]:
        n_rows = self.X.shape[0] if self.rows is None else self.rows.size
        return n_rows, self.quadrant.b.size

    @property
    def offset(self) -> float:
        return 1.0 if self.quadrant.kind == "exp" else 0.0

    def take(self, columns: Index) -> Design:
        """Some columns; a selection no wider than it is tall is no larger than K: in memory."""
        kept = columns if self.columns is None else self.columns[columns]
        if columns.size <= self.shape[0]:
            return self._local(kept, self.quadrant.take(columns))
        return replace(self, columns=kept, quadrant=self.quadrant.take(columns), ready=None)

    def take_rows(self, rows: Index) -> Design:
        return replace(self, rows=rows if self.rows is None else self.rows[rows], ready=None)

    def dot(self, coef: Array) -> Array:
        if not self.places:
            return np.zeros((self.shape[0], coef.shape[1]))
        owns = [(place, coef[place.use]) for place in self.places]
        result: Array = self._walk(Dot(self.lens), owns, pooled_sum)
        return result

    def row_peaks(self, exponent: float) -> Array | None:
        if self.ready is not None and exponent in self.ready.grams:
            return None
        if self.quadrant.is_safe(exponent):
            return None
        peaks: Array = self._walk(Peaks(self.lens), self.places, largest)
        return None if is_safe(float(peaks.min()), float(peaks.max()), exponent) else peaks

    def gram(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None,
        borders: bool = True,
    ) -> list[DualGram]:
        if self.ready is not None:
            known = self.ready.find(exponents, weights, log_rows, borders)
            if known is not None:
                return known
        work = Grams(self.lens, [*exponents], weights, log_rows, borders)
        need = gram_bytes(self.X, len(exponents))
        grams: list[DualGram] = self._walk(work, self.places, joined_grams, need)
        return grams

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        bare = replace(frame, centre=np.zeros(0))
        work = Coefficients(self.lens, bare, beta, total, weights)
        for places in self._batches(beta.shape[1]):
            numbers = [place.number for place in places]
            results = walked(self.X, work, places, numbers)
            yield from zip([place.use for place in places], results, strict=True)

    def lazy_coefficients(self, frame: Frame, beta: Array, total: Array, weights: Array) -> Any:
        """`coefficients` of all columns of X as a Dask array (d, t); zero where not in use."""
        import dask.array

        da: Any = dask.array
        bare = replace(frame, centre=np.zeros(0))
        work = Scattered(Coefficients(self.lens, bare, beta, total, weights))
        owns = {place.number: place for place in self.places}
        numbers = range(len(self.X.blocks))
        parts = walk_graph(self.X, work, [owns.get(i) for i in numbers], numbers, None)
        shapes = [(block.shape[1], beta.shape[1]) for block in self.X.blocks]
        return da.concatenate(
            [da.from_delayed(p, s, dtype=np.float64) for p, s in zip(parts, shapes, strict=True)]
        )

    def _batches(self, n_targets: int) -> Iterator[list[Place]]:
        """Blocks whose coefficients fit the working memory together."""
        limit = max(1, working_bytes() // (2 * 8 * max(1, n_targets)))
        batch: list[Place] = []
        for place in self.places:
            if batch and place.use.stop - batch[0].use.start > limit:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        """New rows travel to the blocks: as many at a time as fit the working memory."""
        batch = max(1, working_bytes() // (4 * 8 * max(1, self.shape[1])))
        work = Cross(self.lens, replace(frame, centre=np.zeros(0)), weights)
        found = []
        for start in range(0, other.shape[0], batch):
            rows = np.arange(start, min(other.shape[0], start + batch))
            owns = []
            for place in self.places:
                columns = np.arange(place.use.start, place.use.stop)
                new = other.take(columns).row_features(rows)
                owns.append((place, new, frame.centre[place.use]))
            found.append(self._walk(work, owns, summed_pairs))
        return np.vstack([K for K, _ in found]), np.concatenate([Pq for _, Pq in found])

    def row_features(self, rows: Index) -> Features:
        owns = [(place, rows) for place in self.places]
        return beside(self._walk(RowFeatures(self.lens), owns))

    def row_slices(self) -> Iterator[slice]:
        return blocks_of(*self.shape)

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        return self._gathered.column_grams(exponents, weights)

    def project(self, gram: PrimalGram, V: Array) -> Array:
        return self._gathered.project(gram, V)

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        return self._gathered.stretched_gram(gram, weights)

    def in_memory(self) -> Features | None:
        n_rows, n_columns = self.shape
        # P, Q, the sorted copy and the orthogonal factor
        if 4 * 8 * n_rows * n_columns > working_bytes():
            return None
        return self.row_features(np.arange(n_rows))

    @cached_property
    def lens(self) -> Lens:
        """How a block is seen, told to all blocks."""
        return lens_for(self.X, self.quadrant, self.rows, self.bounded)

    @cached_property
    def places(self) -> list[Place]:
        """The blocks that have columns in use, and which."""
        given = self.X.weights is None
        found = []
        for number, block in enumerate(self.X.blocks):
            use, own = block.columns, None
            if self.columns is not None:
                use, own = block.within(self.columns, block.columns)
            if use.stop > use.start:
                quadrant = self.quadrant.take(use) if given else None
                b = None if given or not self.quadrant.b.any() else self.quadrant.b[use]
                found.append(Place(number, use, own, quadrant, b))
        return found

    def _walk(self, work: Work, owns: Sequence[Any], merge: Any = None, need: int = 0) -> Any:
        numbers = [place.number for place in self.places]
        return walked(self.X, work, owns, numbers, merge, need)

    @cached_property
    def _gathered(self) -> Design:
        """All of it in memory, where the primal form is asked for: it is nearly square then."""
        n_rows, n_columns = self.shape
        if n_columns > 2 * n_rows:
            raise ValueError(
                f"the primal form of {n_rows} samples and {n_columns} features would need the "
                'whole X in memory: use solver="auto" or "dual" on a wide Dask array.'
            )
        columns = np.arange(n_columns) if self.columns is None else self.columns
        return self._local(columns, self.quadrant)

    def _local(self, columns: Index, quadrant: Quadrant) -> Design:
        raw = self.selected.of(self.X, columns)
        return as_design(raw, quadrant, rows=self.rows, bounded=self.bounded)


# Features of a tall Dask array: every product is a walk over blocks of rows.


@dataclass(frozen=True, eq=False)
class TallDesign:
    """Rows and columns of a Dask array in blocks of rows.

    Attributes
    ----------
    X : DaskArray
    quadrant : Quadrant
        The transform of the columns in use.
    columns, rows : increasing index arrays or None
        What of X is in use; None for all.
    bounded : bool
        Whether z-scores are bounded, as they are for data not seen in training.
    selected : SelectedColumns
        Columns that are in memory.
    """

    X: DaskArray
    quadrant: Quadrant
    columns: Index | None = None
    rows: Index | None = None
    bounded: bool = False
    selected: SelectedColumns = field(default_factory=SelectedColumns)

    @property
    def shape(self) -> tuple[int, int]:
        n_rows = self.X.shape[0] if self.rows is None else self.rows.size
        return n_rows, self.quadrant.b.size

    @property
    def offset(self) -> float:
        return 1.0 if self.quadrant.kind == "exp" else 0.0

    def take(self, columns: Index) -> Design:
        """Some columns; in memory where they take little of it."""
        kept = columns if self.columns is None else self.columns[columns]
        if fits_here(self.X, columns.size):
            return self._of_columns(kept, self.quadrant.take(columns))
        return replace(self, columns=kept, quadrant=self.quadrant.take(columns))

    def take_rows(self, rows: Index) -> Design:
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def dot(self, coef: Array) -> Array:
        return np.concatenate(self._walk(RowDot(self.lens, coef), self.places))

    def row_peaks(self, exponent: float) -> Array | None:
        if self.quadrant.is_safe(exponent):
            return None
        peaks = np.concatenate(self._walk(RowPeaks(self.lens), self.places))
        return None if is_safe(float(peaks.min()), float(peaks.max()), exponent) else peaks

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        if frame.log_rows is not None:
            yield from self._gathered.coefficients(frame, beta, total, weights)
            return
        work = RowCoefficients(self.lens, replace(frame, centre=np.zeros(0)))
        owns = [(place, beta[place.use], weights[place.use]) for place in self.places]
        found: RowProduct = self._walk(work, owns, pooled_product)
        yield slice(0, self.shape[1]), found.product + np.outer(found.q, total)

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        work = ColumnGrams(self.lens, [*exponents])
        owns = [(place, weights[place.use]) for place in self.places]
        numbers = [i for i, (_, own) in enumerate(owns) if own.any()]
        need = gram_bytes(self.X, len(exponents))
        found: list[PrimalGram] = walked(
            self.X,
            work,
            [owns[i] for i in numbers],
            [self.places[i].number for i in numbers],
            pooled_column_grams,
            need,
        )
        return found

    def project(self, gram: PrimalGram, V: Array) -> Array:
        owns = [(place, V[place.use]) for place in self.places]
        bare = replace(gram, C=np.zeros((0, 0)))
        out: Array = self._walk(Projected(self.lens, bare), owns, pooled_sum)
        return out

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        owns = [(place, weights[place.use]) for place in self.places]
        work = StretchedGram(self.lens, replace(gram, C=np.zeros((0, 0))))
        out: Array = self._walk(work, owns, pooled_sum, gram_bytes(self.X, 1))
        return out

    def row_features(self, rows: Index) -> Features:
        if self._resident is not None:
            return self._resident.row_features(rows)
        return self._local(rows).row_features(np.arange(rows.size))

    def row_slices(self) -> Iterator[slice]:
        """The rows of one block at a time: a block is not read twice."""
        return iter([place.use for place in self.places])

    def gram(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None,
        borders: bool = True,
    ) -> list[DualGram]:
        return self._gathered.gram(exponents, weights, log_rows, borders)

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        return self._gathered.cross(frame, weights, other)

    def in_memory(self) -> Features | None:
        n_rows, n_columns = self.shape
        # P, Q, the sorted copy and the orthogonal factor
        if 4 * 8 * n_rows * n_columns > working_bytes():
            return None
        return self.row_features(np.arange(n_rows))

    @cached_property
    def lens(self) -> RowLens:
        """How a block is seen, told to all blocks."""
        return RowLens(self.quadrant, self.columns, self.X.shape[1], self.bounded)

    @cached_property
    def places(self) -> list[RowPlace]:
        """The blocks that have rows in use, and which."""
        found = []
        for number, block in enumerate(self.X.blocks):
            use, own = block.rows, None
            if self.rows is not None:
                use, own = block.within(self.rows, block.rows)
            if use.stop > use.start:
                found.append(RowPlace(number, use, own))
        return found

    def _walk(self, work: Work, owns: Sequence[Any], merge: Any = None, need: int = 0) -> Any:
        numbers = [place.number for place in self.places]
        return walked(self.X, work, owns, numbers, merge, need)

    @cached_property
    def _gathered(self) -> Design:
        """All of it in memory, where the dual form is asked for: it is nearly square then."""
        n_rows, n_columns = self.shape
        if n_rows > 2 * n_columns + 2:
            raise ValueError(
                f"the dual form of {n_rows} samples and {n_columns} features would need the whole "
                'X in memory: use solver="auto" or "primal" on a tall Dask array.'
            )
        return self._local(np.arange(n_rows))

    @cached_property
    def _resident(self) -> Design | None:
        """All of it in memory, for a search that looks at the same rows again and again."""
        n_columns = self.shape[1]
        if not fits_here(self.X, n_columns):
            return None
        columns = np.arange(n_columns) if self.columns is None else self.columns
        return self._of_columns(columns, self.quadrant)

    def _of_columns(self, columns: Index, quadrant: Quadrant) -> Design:
        raw = self.selected.of(self.X, columns)
        return as_design(raw, quadrant, rows=self.rows, bounded=self.bounded)

    def _local(self, rows: Index) -> Design:
        raw = gathered_rows(self.X, rows if self.rows is None else self.rows[rows])
        if self.columns is not None:
            raw = raw[:, self.columns]
        return as_design(raw, self.quadrant, bounded=self.bounded)


def dask_design(
    X: DaskArray,
    quadrant: Quadrant,
    rows: Index | None,
    columns: Index | None,
    bounded: bool,
    ready: Ready | None,
) -> WideDesign | TallDesign:
    """See `as_design`; nothing is read yet."""
    if columns is not None and columns.size < X.shape[1]:
        quadrant = quadrant.take(columns)
    else:
        columns = None
    if X.is_wide:
        return WideDesign(X, quadrant, columns, rows, bounded, ready)
    return TallDesign(X, quadrant, columns, rows, bounded)
