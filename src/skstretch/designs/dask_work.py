"""What a task does with one block of features, and how the results of several are merged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.features import ExpFeatures, Features, PlainFeatures
from skstretch.core.gram import DualGram, Frame, cross_block
from skstretch.core.pooled import pooled_features, pooled_sum
from skstretch.core.types import Array, Index
from skstretch.designs.dask_block import Block
from skstretch.designs.dask_lens import Lens, Place


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
