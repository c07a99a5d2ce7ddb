"""Some columns of a sparse matrix as features: a rank-one part plus a matrix of X's own pattern.

A zero of X maps to the same feature in all rows of a column, so ``P**r = 1 u' + S`` where ``u_j``
is the feature of a zero (the *blank*) and S is zero wherever X is. A column that is stored in full
has no zero; any blank will do, and that of its mean is of the size of its features, where that of a
zero may be far outside (a column of years) and bury them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.features import ExpFeatures, Offset, PlainFeatures
from skstretch.core.gram import DualGram, Frame, PrimalGram
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.threads import (
    SHARED_SIZE,
    available_threads,
    parallel_map,
    working_bytes,
)

# bytes of a sparse product that are held at a time, as a share of the working memory
PRODUCT_SHARE = 8

# bytes of an entry of a sparse product: value and index, with room to grow
ENTRY_BYTES = 24

# pieces of a product for each thread
PIECES = 4


@dataclass(frozen=True)
class SparseBlock:
    """Columns `X` (CSC), their features at stored entries (nnz,) and at a zero (d,).

    In columns that are stored in `full`, `blank` holds the features at the mean.
    """

    X: Any
    stored: ExpFeatures | PlainFeatures
    blank: ExpFeatures | PlainFeatures

    @property
    def offset(self) -> Offset:
        return self.blank.offset

    @cached_property
    def counts(self) -> Index:
        """Stored entries of every column."""
        return np.asarray(np.diff(self.X.indptr), dtype=np.intp)

    @property
    def full(self) -> Mask:
        """Columns without a zero."""
        return np.asarray(self.counts == self.X.shape[0])

    def excess(self, r: float) -> tuple[Any, Array]:
        """``(S, u)`` with ``P**r - offset**r = 1 u' + S``."""
        u = self.blank.excess(r)
        values = self.stored.excess(r)
        values -= np.repeat(u, self.counts)
        return self._like(values), u

    def power(self, r: float, log_rows: Array, log_blank: float) -> tuple[Any, Array]:
        """``(S, u)`` with rows of ``P**r`` divided by ``exp(r log_rows)``: ``g**r u' + S``.

        ``g = exp(log_blank - log_rows)``, and u is divided by ``exp(r log_blank)``; minus infinity
        where every blank is zero. Full columns have no part in g: their u is zero.
        """
        shifts = log_rows[self.X.indices]
        values = self.stored.power(r, r * shifts)
        if np.isneginf(log_blank):
            return self._like(values), np.zeros(self.counts.size)
        with np.errstate(over="ignore"):
            u = np.where(self.full, 0.0, self.blank.power(r, np.full(1, r * log_blank)))
        values -= np.repeat(u, self.counts) * np.exp(r * (log_blank - shifts))
        return self._like(values), u

    def column_scaled(self, r: float, log_columns: Array | None) -> tuple[Any, Array]:
        """``(S, u)`` of ``P**r`` with column j divided by ``exp(log_columns_j)``."""
        if log_columns is None:
            return self.excess(r)
        u = self.blank.power(r, log_columns)
        values = self.stored.power(r, np.repeat(log_columns, self.counts))
        values -= np.repeat(u, self.counts)
        return self._like(values), u

    def _like(self, values: Array) -> Any:
        """A matrix of the pattern of X; the pattern itself is shared."""
        return sparse.csc_array((values, self.X.indices, self.X.indptr), shape=self.X.shape)


def sparse_block(X: Any, quadrant: Quadrant, columns: Index, bounded: bool) -> SparseBlock:
    """Features of columns X (CSC) whose places in the quadrant are `columns`."""
    counts = np.diff(X.indptr)
    stored = quadrant.features(X.data, np.repeat(columns, counts), bounded)
    # what stands for an entry that is not stored: zero, or the mean where all are
    blanks = np.where(counts == X.shape[0], quadrant.moments.mean[columns], 0.0)
    return SparseBlock(X, stored, quadrant.features(blanks, columns, bounded))


def log_sizes(features: ExpFeatures | PlainFeatures) -> Array:
    """``log |P|`` of every entry, minus infinity for a zero."""
    with np.errstate(divide="ignore"):
        return features.logs if isinstance(features, ExpFeatures) else np.log(np.abs(features.P))


def add_product(out: Array, left: Any, right: Any) -> None:
    """``out += left @ right`` for a CSR left and a sparse right.

    Threads share the rows, since scipy's products run side by side; no more rows at a time than the
    budget allows, and never the whole product as a sparse matrix.
    """
    (n_rows, n_columns), threads = out.shape, available_threads()
    budget = working_bytes() // (PRODUCT_SHARE * threads)
    size = max(1, budget // (ENTRY_BYTES * max(1, n_columns)))
    if out.size >= SHARED_SIZE:
        # rows differ in work: whoever is done takes the next few
        size = min(size, -(-n_rows // (PIECES * threads)))

    def add(rows: slice) -> None:
        out[rows] += (left[rows] @ right).toarray()

    parallel_map(add, [slice(at, min(n_rows, at + size)) for at in range(0, n_rows, size)])


def sparse_dual_grams(
    block: SparseBlock, exponents: Sequence[float], weights: Array, borders: bool
) -> list[DualGram]:
    """K about the weighted means, for every exponent.

    With ``Pc = S - 1 s'`` and ``Qc = T - 1 t'`` (s, t the means of S and T),
    ``Pc Qc' = S T' - (S t) 1' - 1 (T s)' + (s.t) 11'``.
    """
    S, u = block.excess(1.0)
    share = weights / weights.sum()
    s, left, M = S.T @ share, S.tocsr(), share.size
    grams = []
    for r in exponents:
        T, v = (S, u) if r == 1.0 else block.excess(r)
        t, K = T.T @ share, np.zeros((M, M))
        add_product(K, left, T.T)
        K -= (S @ t)[:, None]
        K += float(s @ t) - T @ s
        Pq, Qp, pq = np.zeros(M), np.zeros(M), 0.0
        if borders:
            p, q = u + s + block.offset, v + t + block.offset**r
            Pq, Qp, pq = S @ q - s @ q, T @ p - t @ p, float(p @ q)
        grams.append(DualGram(r, K, Pq, Qp, pq, u + s, None))
    return grams


def scaled_dual_gram(block: SparseBlock, r: float, log_rows: Array, log_blank: float) -> DualGram:
    """K of scaled rows: ``(u.v) g h' + g (T u)' + (S v) h' + S T'``, ``h = g**r``."""
    g = np.exp(log_blank - log_rows)
    h = np.exp(r * (log_blank - log_rows))
    S, u = block.power(1.0, log_rows, log_blank)
    T, v = block.power(r, log_rows, log_blank)
    K = np.outer(S @ v + float(u @ v) * g, h)
    K += np.outer(g, T @ u)
    add_product(K, S.tocsr(), T.T)
    zeros = np.zeros(log_rows.size)
    return DualGram(r, K, zeros, zeros, 0.0, np.zeros(u.size), log_rows)


def sparse_coefficients(
    block: SparseBlock,
    frame: Frame,
    log_blank: float,
    beta: Array,
    total: Array,
    weights: Array,
) -> Array:
    """``alpha = Q' beta`` of one block, shape (block, t); ``total = 1' beta``."""
    if frame.log_rows is not None:
        T, v = block.power(frame.r, frame.log_rows, log_blank)
        h = np.exp(frame.r * (log_blank - frame.log_rows))
        return np.asarray(T.T @ beta + np.outer(v, h @ beta))
    T, v = block.excess(frame.r)
    t = T.T @ (weights / weights.sum())
    alpha = T.T @ beta - np.outer(t, beta.sum(axis=0))
    return np.asarray(alpha + np.outer(v + t + block.offset**frame.r, total))


def sparse_cross(
    block: SparseBlock,
    new: SparseBlock,
    frame: Frame,
    centre: Array,
    log_blank: float,
    weights: Array,
    K: Array,
    Pq: Array,
) -> None:
    """Add one block to ``(P_new - p) Qc'`` and ``(P_new - p) q``, in place.

    With ``P_new - p = N + 1 d'``: ``N T' - (N t) 1' + 1 (T d)' - (d.t) 11'``.
    """
    N, d = new.excess(1.0)
    rows = N.tocsr()
    if frame.log_rows is not None:
        d = d + new.offset
        T, v = block.power(frame.r, frame.log_rows, log_blank)
        h = np.exp(frame.r * (log_blank - frame.log_rows))
        K += np.outer(N @ v + float(d @ v), h) + T @ d
        add_product(K, rows, T.T)
        return
    d = d - centre
    T, v = block.excess(frame.r)
    t = T.T @ (weights / weights.sum())
    K -= (N @ t)[:, None]
    K += T @ d - float(d @ t)
    add_product(K, rows, T.T)
    q = v + t + block.offset**frame.r
    Pq += N @ q + float(d @ q)


def sparse_primal_grams(
    block: SparseBlock,
    exponents: Sequence[float],
    weights: Array,
    log_columns: Sequence[Array | None],
) -> list[PrimalGram]:
    """C about the weighted means, for every exponent: ``T'W S - (sum w) t s'``."""
    total = float(weights.sum())
    S, u = block.excess(1.0)
    s = S.T @ (weights / total)
    right = weighted_rows(S, weights)
    grams = []
    for r, logs in zip(exponents, log_columns, strict=True):
        T, v = block.column_scaled(r, logs)
        t = T.T @ (weights / total)
        C = -total * np.outer(t, s)
        add_product(C, T.T, right)
        grams.append(PrimalGram(r, C, u + s, block.offset, v + t, logs, total))
    return grams


def weighted_rows(S: object, weights: Array) -> object:
    """``W S`` as a CSR matrix."""
    rows = S.tocsr()  # type: ignore[attr-defined]
    rows.data *= np.repeat(weights, np.diff(rows.indptr))
    return rows
