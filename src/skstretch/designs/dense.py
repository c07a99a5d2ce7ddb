"""Features of a numpy array, transformed block by block: X is neither copied nor changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from skstretch.core.bridge_products import MinimiserProducts
from skstretch.core.features import (
    Features,
    MergedMoments,
    Moments,
    column_moments,
    resolution,
    side_by_side,
)
from skstretch.core.gram import (
    Frame,
    PrimalGram,
    dual_coefficients,
    primal_grams,
)
from skstretch.core.quadrant import Strip
from skstretch.core.types import Array, Index
from skstretch.designs.minimiser_products import StripProducts, resident_products
from skstretch.designs.protocol import LocalDesign
from skstretch.designs.source import Source, dense_values
from skstretch.designs.threads import (
    COPIES,
    FEW_TARGETS,
    SHARED_ROWS,
    available_threads,
    blocks_of,
    parallel_map,
    shares,
    single_blas_thread,
    threads_for_rows,
)


@dataclass(frozen=True, eq=False)
class DenseDesign(LocalDesign):
    """A design of an array in memory or of a Source, of any real dtype, read block by block."""

    X: npt.NDArray[np.generic] | Source

    def dot(self, coef: Array) -> Array:
        out = np.zeros((self.shape[0], coef.shape[1]))
        for rows, columns, features in self.tiles():
            out[rows] += features.excess(1.0) @ coef[columns]
        return out

    def _peaks(self) -> Array:
        peaks = np.full(self.shape[0], -np.inf)
        for rows, _, features in self.tiles():
            np.maximum(peaks[rows], features.log_peaks(axis=1), out=peaks[rows])
        return peaks

    def several_coefficients(
        self, systems: Sequence[tuple[Frame, Array, Array]], weights: Array
    ) -> Iterator[tuple[slice, list[Array]]]:
        def of(strip: Strip) -> list[Array]:
            return [dual_coefficients(strip, *system, weights) for system in systems]

        def part(share: slice) -> list[tuple[slice, list[Array]]]:
            return [(columns, of(strip)) for columns, strip in self.column_strips(share)]

        n_rows, n_columns = self.shape
        # threads hold all results at once: for a few targets only
        n_targets = sum(beta.shape[1] for _, beta, _ in systems)
        if n_rows <= SHARED_ROWS and n_targets <= FEW_TARGETS:
            with threads_for_rows(n_rows) as threads:
                parts = parallel_map(part, shares(n_columns, threads, n_rows))
            for blocks in parts:
                yield from blocks
        else:
            for columns, strip in self.column_strips():
                yield columns, of(strip)

    def _column_sums(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        log_columns = self.column_scales(exponents)
        return primal_grams(self.row_blocks(), exponents, weights, log_columns)

    def project(self, gram: PrimalGram, V: Array) -> Array:
        out = np.zeros((self.shape[1], V.shape[1]))
        for rows, features in self.row_blocks():
            out += gram.stretched(features).T @ V[rows]
        return out

    def minimiser_products(self, once: bool = False) -> MinimiserProducts:
        resident = None if once else resident_products(self)
        return StripProducts(self) if resident is None else resident

    def row_features(self, rows: Index) -> Features:
        index = rows if self.rows is None else self.rows[rows]
        some = replace(self, rows=index, ready=None)
        return some._features(slice(0, rows.size), slice(0, self.shape[1]))

    def _everything(self) -> Features:
        return self._features(slice(0, self.shape[0]), slice(0, self.shape[1]))

    def column_strips(
        self, within: slice | None = None, copies: int = COPIES
    ) -> Iterator[tuple[slice, Strip]]:
        n_rows, n_columns = self.shape
        for columns in blocks_of(n_columns, n_rows, within, copies):
            raw = self._read(slice(0, n_rows), columns)
            yield columns, Strip(raw, self.quadrant, columns, self.bounded)

    def row_blocks(self) -> Iterator[tuple[slice, Features]]:
        n_rows, n_columns = self.shape
        for rows in blocks_of(n_rows, n_columns):
            yield rows, self._features(rows, slice(0, n_columns))

    def _features(self, rows: slice, columns: slice) -> Features:
        return self.quadrant.features(self._read(rows, columns), columns, self.bounded)

    def _read(self, rows: slice, columns: slice) -> npt.NDArray[np.generic]:
        """Raw numbers; a slice of an array is a view, so only the block is ever copied."""
        kept = columns if self.columns is None else self.columns[columns]
        if isinstance(self.X, Source):
            return self.X.read(rows if self.rows is None else self.rows[rows], kept)
        return self.X[rows, kept] if self.rows is None else self.X[:, kept][self.rows[rows]]


def dense_moments(X: npt.NDArray[np.generic] | Source, weights: Array) -> Moments:
    """Moments of all columns, block by block; rows of a source may have weight zero."""
    eps = resolution(X.dtype)
    used = np.flatnonzero(weights > 0)
    if isinstance(X, Source) and X.shape[0] >= X.shape[1]:
        moments, extreme = row_moments(X, weights).moments(eps)
        for column in np.flatnonzero(extreme):
            one = slice(column, column + 1)
            moments.put(one, column_moments(X.read(used, one), weights[used], eps))
        return moments

    def block(columns: slice) -> Moments:
        raw = X.read(used, columns) if isinstance(X, Source) else X[:, columns]
        return column_moments(raw, weights[used], eps)

    def part(share: slice) -> list[Moments]:
        return [block(columns) for columns in blocks_of(X.shape[1], X.shape[0], share)]

    with single_blas_thread(0):
        found = parallel_map(part, shares(X.shape[1], available_threads(), X.shape[0]))
    parts = [moments for share in found for moments in share]
    return side_by_side(parts)


def row_moments(X: Any, weights: Array) -> MergedMoments:
    """Moments of the rows of positive weight of a Source or a sparse matrix, in one pass."""
    found, used = MergedMoments(X.shape[1]), np.flatnonzero(weights > 0)
    for some in blocks_of(used.size, X.shape[1]):
        rows = used[some]
        found.add(dense_values(X, rows), weights[rows])
    return found
