"""Features of a sparse matrix: sparse plus rank one, frequent columns through dense BLAS."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.bridge_products import MinimiserProducts
from skstretch.core.features import (
    Features,
    Moments,
    column_moments,
    from_range,
    is_constant,
    left_range,
    resolution,
    side_by_side,
)
from skstretch.core.gram import DualGram, Frame, PrimalGram, joined, primal_grams
from skstretch.core.quadrant import Strip
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design, LocalDesign, Products
from skstretch.designs.sparse_products import (
    SparseBlock,
    SparseProducts,
    add_product,
    backward,
    log_sizes,
    scaled_dual_gram,
    some_columns,
    sparse_block,
    sparse_coefficients,
    sparse_cross,
    sparse_dual_grams,
    sparse_primal_grams,
    weighted_rows,
)
from skstretch.designs.threads import (
    COPIES,
    FEW_TARGETS,
    available_threads,
    blocks_of,
    parallel_map,
    shares,
    working_bytes,
)

# a multiplication of the sparse product takes as long as this many of BLAS
SPARSE_COST = 150

# the exponential of a number, likewise
EXP_COST = 150

# bytes per stored entry that a block takes: values, patterns and copies of both
BLOCK_ENTRY_BYTES = 96

# bytes of a stored entry that is kept: its value in P and in Q
KEPT_ENTRY_BYTES = 16

# numbers of a product below which it takes less time than starting threads does
LEAST_SHARED = 1 << 18


@dataclass(frozen=True)
class Part:
    """Some columns: ``P - offset = S + 1 u'``, and ``Qc = T - 1 t'`` with the means t of T."""

    columns: slice
    S: Any
    u: Array
    T: Any
    t: Array

    def trace(self, share: Array) -> float:
        """``sum_ij w_i Pc_ij Qc_ij / sum(w)`` of these columns."""
        stored = float(share[self.S.indices] @ (self.S.data * self.T.data))
        return stored - float((self.S.T @ share) @ self.t)


@dataclass(frozen=True)
class KeptProducts:
    """`Products` of S and T that are made once; threads share the columns."""

    n_columns: int
    weights: Array
    shares: list[list[Part]]

    def forward(self, alpha: Array) -> Array:
        def part(some: list[Part]) -> Any:
            return sum(p.S @ alpha[p.columns] + p.u @ alpha[p.columns] for p in some)

        found = self._by_share(part, alpha.shape[1])
        return np.asarray(sum(found[1:], start=found[0]))

    def back(self, V: Array) -> Array:
        out, V = np.empty((self.n_columns, V.shape[1])), np.ascontiguousarray(V)

        def part(some: list[Part]) -> None:
            for p in some:
                out[p.columns] = backward(p.T.T, -p.t, V)

        self._by_share(part, V.shape[1])
        return out

    def trace(self) -> float:
        total = float(self.weights.sum())
        share = self.weights / total
        return total * sum(part.trace(share) for some in self.shares for part in some)

    def _by_share(self, part: Any, n_vectors: int) -> list[Any]:
        stored = sum(p.S.nnz for some in self.shares for p in some)
        if len(self.shares) == 1 or n_vectors * stored < LEAST_SHARED:
            return [part(some) for some in self.shares]
        return parallel_map(part, self.shares)


@dataclass(frozen=True, eq=False)
class SparseDesign(LocalDesign):
    """A design of a scipy CSC array or matrix without duplicate entries.

    `rows` stays None: a selection of rows is cut out at once, and is sparse again.
    """

    def take_rows(self, rows: Index) -> "SparseDesign":
        X = self._raw(np.arange(self.shape[1]))[rows].tocsc()
        return replace(self, X=X, columns=None)

    def dot(self, coef: Array) -> Array:
        out = np.zeros((self.shape[0], coef.shape[1]))
        for columns, block in self.blocks():
            S, u = block.excess(1.0)
            out += S @ coef[columns] + u @ coef[columns]
        return out

    def weighted_sum(self, weights: Array) -> Array:
        out, total = np.empty(self.shape[1]), weights.sum()
        for columns, block in self.blocks():
            S, u = block.excess(1.0)
            out[columns] = S.T @ weights + total * u
        return out

    def _peaks(self) -> Array:
        peaks = np.full(self.shape[0], self.log_blank)
        for _, block in self.blocks():
            np.maximum.at(peaks, block.X.indices, log_sizes(block.stored))
        peaks[np.isneginf(peaks)] = 0.0
        return peaks

    @cached_property
    def log_blank(self) -> float:
        """The largest log-feature of a zero; minus infinity where all of them are zero."""
        gaps = np.flatnonzero(self.counts < self.shape[0])
        blank = self.quadrant.features(np.zeros(gaps.size), gaps, self.bounded)
        return float(np.max(log_sizes(blank), initial=-np.inf))

    def _sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        if not exponents:  # a moments and Gram matrices for moments alone
            return []
        centre = np.zeros(self.shape[1])
        total: list[DualGram] = []
        for columns, grams in self._parts(exponents, weights, log_rows, borders):
            centre[columns] = grams[0].centre
            pairs = zip(total, grams, strict=True) if total else ()
            total = [joined(pair, overwrite=True) for pair in pairs] or grams
            del grams
        return [replace(gram, centre=centre) for gram in total]

    def _parts(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> Iterator[tuple[Index, list[DualGram]]]:
        """Gram matrices of the frequent columns, then of blocks of rare ones."""
        frequent, rare = self.split
        if frequent.size or not rare.size:
            some = self.narrowed(frequent)
            yield frequent, LocalDesign._sums(some, exponents, weights, log_rows, borders)
        for columns, block in self.blocks(rare):
            index = rare[columns]
            if log_rows is None:
                yield index, sparse_dual_grams(block, exponents, weights, borders)
            else:
                blank = self.log_blank
                yield index, [scaled_dual_gram(block, r, log_rows, blank) for r in exponents]

    def several_coefficients(
        self, systems: Sequence[tuple[Frame, Array, Array]], weights: Array
    ) -> Iterator[tuple[slice, list[Array]]]:
        def one(block: SparseBlock, frame: Frame, beta: Array, total: Array) -> Array:
            log_blank = self.log_blank if frame.log_rows is not None else -np.inf
            return sparse_coefficients(block, frame, log_blank, beta, total, weights)

        def part(share: slice) -> list[tuple[slice, list[Array]]]:
            return [
                (columns, [one(block, *system) for system in systems])
                for columns, block in self.blocks(within=share)
            ]

        n_columns, few = self.shape[1], sum(b.shape[1] for _, b, _ in systems) <= FEW_TARGETS
        threads = available_threads() if few else 1
        for found in parallel_map(part, shares(n_columns, threads, int(self.counts.mean()))):
            yield from found

    def _column_sums(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        log_columns = self.column_scales(exponents)
        if not self._rows_are_sparse:
            return primal_grams(self.row_blocks(), exponents, weights, log_columns)
        return sparse_primal_grams(self._block, exponents, weights, log_columns)

    def project(self, gram: PrimalGram, V: Array) -> Array:
        T, v = self._block.column_scaled(gram.r, gram.log_columns)
        return np.asarray(T.T @ V - np.outer(gram.q_centre - v, V.sum(axis=0)))

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        """With ``Qc = T - 1 t'``, m the mean of T: ``T'W T - w mm' + w (t - m)(t - m)'``.

        That is ``T'W T + w tt' - s t' - t s'``, ``s = T'W 1 = w m``, for the means t of any rows;
        where they are those of these rows, nothing is left to cancel.
        """
        if not self._rows_are_sparse:
            return super().stretched_gram(gram, weights)
        total = float(weights.sum())
        if total == 0.0:
            return np.zeros((self.shape[1], self.shape[1]))
        T, v = self._block.column_scaled(gram.r, gram.log_columns)
        m = T.T @ (weights / total)
        away = gram.q_centre - v - m
        out = total * (np.outer(away, away) - np.outer(m, m))
        add_product(out, T.T, weighted_rows(T, weights))
        return out

    def minimiser_products(self, once: bool = False) -> MinimiserProducts:
        return SparseProducts(self, once)

    def products(self, exponent: float, weights: Array) -> Products:
        if KEPT_ENTRY_BYTES * int(self.counts.sum()) > working_bytes() // 4:
            return super().products(exponent, weights)
        share, (n_rows, n_columns) = weights / weights.sum(), self.shape

        def made(span: slice) -> Iterator[Part]:
            for columns, block in self.blocks(within=span):
                S, u = block.excess(1.0)
                T = S if exponent == 1.0 else block.excess(exponent)[0]
                yield Part(columns, S, u, T, T.T @ share)

        spans = shares(n_columns, available_threads(), n_rows)
        return KeptProducts(n_columns, weights, [list(made(span)) for span in spans])

    def row_features(self, rows: Index) -> Features:
        everything = np.arange(self.shape[1])
        return self.quadrant.features(
            self._raw(everything)[rows].toarray(), slice(None), self.bounded
        )

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        if not isinstance(other, SparseDesign):
            return super().cross(frame, weights, other)
        K, Pq = np.zeros((other.shape[0], self.shape[0])), np.zeros(other.shape[0])
        for columns, block in self.blocks():
            new = other._block_of(np.arange(columns.start, columns.stop))
            centre = frame.centre[columns]
            sparse_cross(block, new, frame, centre, self.log_blank, weights, K, Pq)
        return K, Pq

    def column_strips(
        self, within: slice | None = None, copies: int = COPIES
    ) -> Iterator[tuple[slice, Strip]]:
        n_rows, n_columns = self.shape
        for columns in blocks_of(n_columns, n_rows, within, copies):
            raw = self._raw(np.arange(columns.start, columns.stop)).toarray()
            yield columns, Strip(raw, self.quadrant, columns, self.bounded)

    def row_blocks(self) -> Iterator[tuple[slice, Features]]:
        raw = self._raw(np.arange(self.shape[1])).tocsr()
        for rows in self.row_slices():
            yield rows, self.quadrant.features(raw[rows].toarray(), slice(None), self.bounded)

    @cached_property
    def counts(self) -> Index:
        """Stored entries of every column in use."""
        counts: Index = np.asarray(np.diff(self.X.indptr), dtype=np.intp)
        return counts if self.columns is None else counts[self.columns]

    @cached_property
    def split(self) -> tuple[Index, Index]:
        """The columns that BLAS takes in less time than the sparse product does, and the rest.

        A column of n stored entries takes ``M (M + exp)`` multiplications by BLAS and ``n**2`` slow
        ones by the sparse product.
        """
        M = float(self.shape[0])
        frequent = SPARSE_COST * np.square(self.counts.astype(float)) > M * (M + EXP_COST)
        return np.flatnonzero(frequent), np.flatnonzero(~frequent)

    @property
    def _rows_are_sparse(self) -> bool:
        """Whether ``Q'P`` is cheaper as a sparse product than by BLAS."""
        D = float(self.shape[1])
        per_row = np.bincount(self._raw(np.arange(self.shape[1])).indices, minlength=self.shape[0])
        products = float(np.square(per_row.astype(float)).sum())
        return SPARSE_COST * products < self.shape[0] * D * (D + EXP_COST)

    @property
    def _block(self) -> SparseBlock:
        return self._block_of(np.arange(self.shape[1]))

    def _block_of(self, index: Index) -> SparseBlock:
        return sparse_block(self._raw(index), self.quadrant, index, self.bounded)

    def blocks(
        self, index: Index | None = None, within: slice | None = None
    ) -> Iterator[tuple[slice, SparseBlock]]:
        """Blocks of some columns, as many at a time as fit the working memory.

        `within` are the places of those that are asked for.
        """
        index = np.arange(self.shape[1]) if index is None else index
        limit = max(1, working_bytes() // (4 * BLOCK_ENTRY_BYTES))
        filled = np.cumsum(self.counts[index] + 1)
        start, end = (0, index.size) if within is None else (within.start, within.stop)
        while start < end:
            reached = filled[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(filled, reached + limit, side="right")))
            yield slice(start, min(stop, end)), self._block_of(index[start : min(stop, end)])
            start = stop

    def _raw(self, index: Index) -> Any:
        """Columns of the data itself."""
        kept = index if self.columns is None else self.columns[index]
        return self.X if kept.size == self.X.shape[1] else self.X[:, kept]


def sparse_moments(X: Any, weights: Array) -> Moments:
    """Moments of all columns of X (CSC, no duplicate entries); zeros count and are not stored."""

    def part(columns: slice) -> Moments:
        return _moments(some_columns(X, columns.start, columns.stop), weights)

    each = -(-X.nnz // max(1, X.shape[1]))
    return side_by_side(parallel_map(part, shares(X.shape[1], available_threads(), each)))


def _moments(X: Any, weights: Array) -> Moments:
    """Those of some columns."""
    eps = resolution(X.dtype)
    total, counts = weights.sum(), np.diff(X.indptr)
    share = weights[X.indices] / total
    values = X.data.astype(np.float64, copy=False)
    gaps = counts < X.shape[0]
    smallest = _extreme(np.minimum, values, X.indptr, gaps)
    largest = _extreme(np.maximum, values, X.indptr, gaps)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _column_sums(share * values, X.indptr)
        deviations = values - np.repeat(mean, counts)
        # only columns without zeros lie far from them
        left = np.where(gaps, 0.0, _column_sums(share * deviations, X.indptr))
        # the share of the zeros, exactly none where there are none
        rest = np.where(gaps, np.maximum(1.0 - _column_sums(share, X.indptr), 0.0), 0.0)
        scale = np.sqrt(
            _column_sums(share * np.square(deviations), X.indptr) + rest * np.square(mean)
        )
    constant = is_constant(smallest, largest, eps)
    moments = from_range(mean, scale, smallest, largest, constant, left)
    extreme = np.flatnonzero(left_range(scale, constant))
    # the few columns whose squares leave the range of float64 are measured again, densely
    for block in blocks_of(extreme.size, X.shape[0]):
        some = extreme[block]
        dense = X[:, some].toarray().astype(np.float64)
        moments.put(some, column_moments(dense, weights, eps))
    return moments


def _column_sums(values: Array, indptr: Any) -> Array:
    """Sums of the entries of every column."""
    # differences of one running sum would lose digits: reduceat adds column by column
    return _reduced(np.add, values, indptr, 0.0)


def _extreme(best: np.ufunc, values: Array, indptr: Any, gaps: Any) -> Array:
    found = _reduced(best, values, indptr, 0.0)
    return np.where(gaps, best(found, 0.0), found)


def _reduced(ufunc: np.ufunc, values: Array, indptr: Any, empty: float) -> Array:
    """``ufunc.reduceat`` over columns, with a value for columns without entries."""
    out = np.full(indptr.size - 1, empty)
    filled = np.flatnonzero(np.diff(indptr))
    if filled.size:
        out[filled] = ufunc.reduceat(values, indptr[filled])
    return out
