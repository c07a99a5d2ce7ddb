"""What a task does with one block of rows, and how the results of several are merged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.gram import Frame, PrimalGram
from skstretch.core.pooled import RowProduct, pooled_rows
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.as_design import as_design
from skstretch.designs.dask_block import Block
from skstretch.designs.dask_lens import spread
from skstretch.designs.dask_work import row_peaks
from skstretch.designs.protocol import Design


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
