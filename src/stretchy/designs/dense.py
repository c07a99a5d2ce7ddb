"""Features of a numpy array, transformed block by block: X is neither copied nor changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stretchy.core.features import Features
from stretchy.core.gram import (
    DualGram,
    Frame,
    PrimalGram,
    dual_coefficients,
    primal_grams,
)
from stretchy.core.quadrant import Moments, Quadrant, column_moments
from stretchy.core.stretch import is_safe
from stretchy.core.types import Array, Index
from stretchy.designs.blocks import blocks_of, shares, working_bytes
from stretchy.designs.protocol import Design
from stretchy.designs.threads import SMALL_SYSTEM, available_threads, calm_blas, in_threads
from stretchy.designs.walks import crossed, threaded_grams

# targets whose coefficients may all be held at once
FEW_TARGETS = 16


@dataclass(frozen=True)
class DenseDesign:
    """Rows and columns of X, seen through a quadrant transform.

    Attributes
    ----------
    X : array of shape (n, d)
        A reference to the data, of any real dtype.
    quadrant : Quadrant
        The transform of the columns in use.
    columns, rows : index arrays or None
        What of X is in use; None for all.
    bounded : bool
        Whether z-scores are bounded, as they are for data not seen in training.
    """

    X: npt.NDArray[np.generic]
    quadrant: Quadrant
    columns: Index | None = None
    rows: Index | None = None
    bounded: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, self.quadrant.b.size

    @property
    def _n_rows(self) -> int:
        return self.X.shape[0] if self.rows is None else self.rows.size

    @property
    def offset(self) -> float:
        return 1.0 if self.quadrant.kind == "exp" else 0.0

    def take(self, columns: Index) -> "DenseDesign":
        kept = columns if self.columns is None else self.columns[columns]
        return replace(self, columns=kept, quadrant=self.quadrant.take(columns))

    def take_rows(self, rows: Index) -> "DenseDesign":
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def dot(self, coef: Array) -> Array:
        out = np.zeros((self.shape[0], coef.shape[1]))
        for columns, features in self.column_blocks():
            out += features.excess(1.0) @ coef[columns]
        return out

    def row_peaks(self, exponent: float) -> Array | None:
        bounds = self.quadrant.column_peaks()
        if bounds is not None:
            low, high = self.quadrant.lowest_log(), float(bounds.max(initial=0.0))
            if is_safe(low, high, exponent):
                return None
        peaks = np.full(self.shape[0], -np.inf)
        for _, features in self.column_blocks():
            np.maximum(peaks, features.log_peaks(axis=1), out=peaks)
        return None if is_safe(float(peaks.min()), float(peaks.max()), exponent) else peaks

    def gram(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None,
        borders: bool = True,
    ) -> list[DualGram]:
        return threaded_grams(self, exponents, weights, log_rows, borders)

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        def part(share: slice) -> list[tuple[slice, Array]]:
            return [
                (columns, dual_coefficients(features, frame, beta, total, weights))
                for columns, features in self.column_blocks(share)
            ]

        n_rows, n_columns = self.shape
        # threads hold all results at once: for a few targets only
        if n_rows <= SMALL_SYSTEM and beta.shape[1] <= FEW_TARGETS:
            with calm_blas(n_rows):
                parts = in_threads(part, shares(n_columns, available_threads(), n_rows))
            for blocks in parts:
                yield from blocks
        else:
            for columns, features in self.column_blocks():
                yield columns, dual_coefficients(features, frame, beta, total, weights)

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        peaks = self._column_peaks()
        low, high = float(peaks.min()), float(peaks.max())
        log_columns = [None if is_safe(low, high, r) else r * peaks for r in exponents]
        return primal_grams(self.row_blocks, exponents, weights, log_columns)

    def project(self, gram: PrimalGram, V: Array) -> Array:
        out = np.zeros((self.shape[1], V.shape[1]))
        for rows, features in self.row_blocks():
            out += gram.stretched(features).T @ V[rows]
        return out

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        out = np.zeros_like(gram.C)
        for rows, features in self.row_blocks():
            Q = gram.stretched(features)
            out += Q.T @ (weights[rows, None] * Q)
        return out

    def row_features(self, rows: Index) -> Features:
        return self.take_rows(rows)._features(slice(0, rows.size), slice(0, self.shape[1]))

    def row_slices(self) -> Iterator[slice]:
        return blocks_of(self.shape[0], self.shape[1])

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        return crossed(self, frame, weights, other)

    def in_memory(self) -> Features | None:
        n_rows, n_columns = self.shape
        # P, Q, the sorted copy and the orthogonal factor
        if 4 * 8 * n_rows * n_columns > working_bytes():
            return None
        return self._features(slice(0, n_rows), slice(0, n_columns))

    def _column_peaks(self) -> Array:
        peaks = self.quadrant.column_peaks()
        if peaks is not None:
            return peaks
        blocks = self.column_blocks()
        return np.concatenate([features.log_peaks(axis=0) for _, features in blocks])

    def column_blocks(self, within: slice | None = None) -> Iterator[tuple[slice, Features]]:
        """Features of blocks of columns."""
        n_rows, n_columns = self.shape
        for columns in blocks_of(n_columns, n_rows, within):
            yield columns, self._features(slice(0, n_rows), columns)

    def row_blocks(self) -> Iterator[tuple[slice, Features]]:
        """Features of blocks of rows."""
        n_rows, n_columns = self.shape
        for rows in blocks_of(n_rows, n_columns):
            yield rows, self._features(rows, slice(0, n_columns))

    def _features(self, rows: slice, columns: slice) -> Features:
        # a slice is a view, so only the block is ever copied
        kept = columns if self.columns is None else self.columns[columns]
        raw = self.X[rows][:, kept] if self.rows is None else self.X[:, kept][self.rows[rows]]
        return self.quadrant.features(raw, columns, self.bounded)


def dense_moments(X: npt.NDArray[np.generic], weights: Array) -> Moments:
    """Moments of all columns, block by block."""
    eps = float(np.finfo(np.float32 if X.dtype == np.float32 else np.float64).eps)

    def part(share: slice) -> list[Moments]:
        return [
            column_moments(np.asarray(X[:, columns], dtype=np.float64), weights, eps)
            for columns in blocks_of(X.shape[1], X.shape[0], share)
        ]

    with calm_blas(0):
        found = in_threads(part, shares(X.shape[1], available_threads(), X.shape[0]))
    parts = [moments for share in found for moments in share]
    return Moments(
        *(np.concatenate([getattr(p, f) for p in parts]) for f in Moments.__dataclass_fields__)
    )
