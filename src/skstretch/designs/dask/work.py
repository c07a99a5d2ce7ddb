"""What a task does with one block of features, and how the results of several are merged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.dual_gram import DualGram, Frame, cross_block, pooled_features
from skstretch.core.features import ExpFeatures, Features, PlainFeatures
from skstretch.core.moments import Kind, pooled_sum
from skstretch.core.primal_gram import PrimalGram, RowProduct, pooled_rows
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.as_design import as_design, measure
from skstretch.designs.dask.array import Block, DaskArray
from skstretch.designs.protocol import Design

# How one block of features is seen by its task: through which transform, which part of it.


@dataclass(frozen=True, eq=False)
class Place:
    """The columns in use of one block.

    `use` are their places among all columns in use, `own` their places in the block (None for
    all). Either their `quadrant` is told, or the block measures itself and only `b` is, if not 0.
    """

    number: int
    use: slice
    own: Index | None
    quadrant: Quadrant | None
    b: Array | None


@dataclass(frozen=True, eq=False)
class Lens:
    """What all blocks are told; `weights` are those that a block measures its columns by."""

    kind: Kind
    a: float
    weights: Array | None
    rows: Index | None
    bounded: bool

    def design(self, X: Any, place: Place) -> Design:
        """The block as a design of its own."""
        n_columns = X.shape[1]
        own = np.arange(n_columns) if place.own is None else place.own
        quadrant = place.quadrant
        if quadrant is None:
            assert self.weights is not None
            moments = measure(X, self.weights).take(own)
            b = np.zeros(own.size) if place.b is None else place.b
            quadrant = Quadrant(self.kind, moments, self.a, b)
        return as_design(
            X, spread(quadrant, own, n_columns), rows=self.rows, columns=own, bounded=self.bounded
        )


def spread(quadrant: Quadrant, own: Index, n_columns: int) -> Quadrant:
    """The transform of some columns as one of all: the others are never looked at."""
    if own.size == n_columns:
        return quadrant
    place = np.zeros(n_columns, dtype=np.intp)
    place[own] = np.arange(own.size)
    return quadrant.take(place)


def lens_for(array: DaskArray, quadrant: Quadrant, rows: Index | None, bounded: bool) -> Lens:
    """The lens through which all blocks of an array are seen."""
    return Lens(quadrant.kind, quadrant.a, array.weights, rows, bounded)


@dataclass(frozen=True, eq=False)
class Dot:
    """``(P - offset) coef`` of the block."""

    lens: Lens

    def __call__(self, X: Any, block: Block, own: tuple[Place, Array]) -> Array:
        place, coef = own
        return self.lens.design(X, place).dot(coef)


@dataclass(frozen=True, eq=False)
class Peaks:
    """``log max |P|`` of every row of the block."""

    lens: Lens

    def __call__(self, X: Any, block: Block, own: Place) -> Array:
        return row_peaks(self.lens.design(X, own))


def row_peaks(design: Any) -> Array:
    """Peaks whether they are safe or not: no exponent is safe when it is infinite."""
    peaks = design.row_peaks(np.inf)
    return np.zeros(design.shape[0]) if peaks is None else np.asarray(peaks)


def largest(parts: Sequence[Array]) -> Array:
    """The largest by row."""
    return np.asarray(np.maximum.reduce(parts))


@dataclass(frozen=True, eq=False)
class Grams:
    """K of every exponent."""

    lens: Lens
    exponents: Sequence[float]
    weights: Array
    log_rows: Array | None
    borders: bool

    def __call__(self, X: Any, block: Block, own: Place) -> list[DualGram]:
        design = self.lens.design(X, own)
        return design.gram(self.exponents, self.weights, self.log_rows, self.borders)


def joined_grams(parts: Sequence[list[DualGram]]) -> list[DualGram]:
    """Gram matrices of consecutive blocks of features, exponent by exponent."""
    return [pooled_features(grams) for grams in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """``alpha = Q' beta`` of the block."""

    lens: Lens
    frame: Frame
    beta: Array
    total: Array
    weights: Array

    def __call__(self, X: Any, block: Block, own: Place) -> Array:
        design = self.lens.design(X, own)
        parts = design.coefficients(self.frame, self.beta, self.total, self.weights)
        return np.vstack([alpha for _, alpha in parts])


@dataclass(frozen=True, eq=False)
class Scattered:
    """Coefficients of all columns of the block, zero for those that are not in use."""

    coefficients: Coefficients

    def __call__(self, X: Any, block: Block, own: Place | None) -> Array:
        out = np.zeros((block.shape[1], self.coefficients.beta.shape[1]))
        if own is not None:
            out[slice(None) if own.own is None else own.own] = self.coefficients(X, block, own)
        return out


@dataclass(frozen=True, eq=False)
class Cross:
    """``(P_new - p) Qc'`` and ``(P_new - p) q`` of the block, for new rows that came with it."""

    lens: Lens
    frame: Frame
    weights: Array

    def __call__(
        self, X: Any, block: Block, own: tuple[Place, Features, Array]
    ) -> tuple[Array, Array]:
        place, new, centre = own
        design: Any = self.lens.design(X, place)
        K, Pq = np.zeros((new.shape[0], design.shape[0])), np.zeros(new.shape[0])
        for columns, strip in design.column_strips():
            part = some_columns(new, columns)
            cross_block(strip, part, self.frame, centre[columns], self.weights, K, Pq)
        return K, Pq


def summed_pairs(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Sums of both."""
    return pooled_sum([K for K, _ in parts]), pooled_sum([Pq for _, Pq in parts])


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """All features of some rows of the block."""

    lens: Lens

    def __call__(self, X: Any, block: Block, own: tuple[Place, Index]) -> Features:
        place, rows = own
        return self.lens.design(X, place).row_features(rows)


def beside(parts: Sequence[Any]) -> Features:
    """Features of the same rows and consecutive columns."""
    if isinstance(parts[0], ExpFeatures):
        return ExpFeatures(np.hstack([part.L for part in parts]))
    return PlainFeatures(np.hstack([part.P for part in parts]))


def some_columns(features: Any, columns: slice) -> Features:
    """Features of some columns."""
    if isinstance(features, ExpFeatures):
        return ExpFeatures(features.L[:, columns])
    return PlainFeatures(features.P[:, columns])


# What a task does with one block of rows, and how the results of several are merged.


@dataclass(frozen=True, eq=False)
class RowPlace:
    """The rows in use of one block.

    `use` are their places among all rows in use, `own` their places in the block (None for all).
    """

    number: int
    use: slice
    own: Index | None


@dataclass(frozen=True, eq=False)
class RowLens:
    """What all blocks of rows are told: the transform of the columns in use."""

    quadrant: Quadrant
    columns: Index | None
    n_columns: int
    bounded: bool

    def design(self, X: Any, place: RowPlace, used: Index | None = None) -> Design:
        """The block as a design of its own; `used` picks some of its rows in use."""
        rows = place.own
        if used is not None:
            rows = used if rows is None else rows[used]
        columns = np.arange(self.n_columns) if self.columns is None else self.columns
        quadrant = spread(self.quadrant, columns, self.n_columns)
        return as_design(X, quadrant, rows=rows, columns=columns, bounded=self.bounded)


@dataclass(frozen=True, eq=False)
class RowDot:
    """``(P - offset) coef`` of the rows of the block."""

    lens: RowLens
    coef: Array

    def __call__(self, X: Any, block: Block, own: RowPlace) -> Array:
        return self.lens.design(X, own).dot(self.coef)


@dataclass(frozen=True, eq=False)
class RowPeaks:
    """``log max |P|`` of every row of the block."""

    lens: RowLens

    def __call__(self, X: Any, block: Block, own: RowPlace) -> Array:
        return row_peaks(self.lens.design(X, own))


@dataclass(frozen=True, eq=False)
class RowCoefficients:
    """``Qc' beta`` over the rows of the block, about their own mean."""

    lens: RowLens
    frame: Frame

    def __call__(self, X: Any, block: Block, own: tuple[RowPlace, Array, Array]) -> RowProduct:
        place, beta, weights = own
        design = self.lens.design(X, place)
        zero, none = np.zeros(beta.shape[1]), np.zeros((len(beta), 1))
        parts = design.coefficients(self.frame, beta, zero, weights)
        product = np.vstack([alpha for _, alpha in parts])
        means = design.coefficients(self.frame, none, np.ones(1), weights)
        q = np.concatenate([alpha[:, 0] for _, alpha in means])
        return RowProduct(float(weights.sum()), q, product, beta.sum(axis=0))


@dataclass(frozen=True, eq=False)
class ColumnGrams:
    """C of every exponent, about the means of the block's own rows."""

    lens: RowLens
    exponents: Sequence[float]

    def __call__(self, X: Any, block: Block, own: tuple[RowPlace, Array]) -> list[PrimalGram]:
        place, weights = own
        used = np.flatnonzero(weights > 0)
        return self.lens.design(X, place, used).column_grams(self.exponents, weights[used])


def pooled_column_grams(parts: Sequence[list[PrimalGram]]) -> list[PrimalGram]:
    """Gram matrices of blocks of rows, exponent by exponent."""
    return [pooled_rows(grams) for grams in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class Projected:
    """``Qc' V`` of the rows of the block, about the common mean."""

    lens: RowLens
    gram: PrimalGram

    def __call__(self, X: Any, block: Block, own: tuple[RowPlace, Array]) -> Array:
        place, V = own
        return self.lens.design(X, place).project(self.gram, V)


@dataclass(frozen=True, eq=False)
class StretchedGram:
    """``Qc' W Qc`` of the rows of the block, about the common mean."""

    lens: RowLens
    gram: PrimalGram

    def __call__(self, X: Any, block: Block, own: tuple[RowPlace, Array]) -> Array:
        place, weights = own
        design = self.lens.design(X, place)
        out = np.zeros((design.shape[1], design.shape[1]))
        for rows in design.row_slices():
            Q = self.gram.stretched(design.row_features(np.arange(rows.start, rows.stop)))
            out += Q.T @ (weights[rows, None] * Q)
        return out
