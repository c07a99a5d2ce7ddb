"""Some columns of a sparse matrix as features: a rank-one part plus a matrix of X's own pattern.

A zero of X maps to the same feature in all rows of a column, so ``P**r = 1 u' + S`` where ``u_j``
is the feature of a zero (the *blank*) and S is zero wherever X is. A column that is stored in full
has no zero; any blank will do, and that of its mean is of the size of its features, where that of a
zero may be far outside (a column of years) and bury them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
    ordered_map,
    parallel_map,
    working_bytes,
)

# scipy's own routines, which add to what they are given and count nothing first; where they are not
# there its public products serve
tools: Any = getattr(sparse, "_sparsetools", None)

# bytes of a sparse product that are held at a time, as a share of the working memory
PRODUCT_SHARE = 8

# bytes of an entry of a sparse product: value and index, with room to grow
ENTRY_BYTES = 24

# pieces of a product for each thread
PIECES = 4

# entries of several matrices that are laid side by side at a time
ENTRIES = 1 << 14


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
    blank = quadrant.features(blank_values(X.shape[0], counts, quadrant, columns), columns, bounded)
    return SparseBlock(X, stored, blank)


def blank_values(n_rows: int, counts: Index, quadrant: Quadrant, columns: Index) -> Array:
    """What stands for an entry that is not stored: zero, or the mean where all are."""
    return np.where(counts == n_rows, quadrant.moments.mean[columns], 0.0)


def log_sizes(features: ExpFeatures | PlainFeatures) -> Array:
    """``log |P|`` of every entry, minus infinity for a zero."""
    with np.errstate(divide="ignore"):
        return features.logs if isinstance(features, ExpFeatures) else np.log(np.abs(features.P))


def add_product(out: Array, left: Any, right: Any) -> None:
    """``out += left @ right`` for a CSR left and a sparse right."""

    def add(rows: slice) -> None:
        out[rows] += (left[rows] @ right).toarray()

    _by_rows(add, *out.shape)


def side_by_side(values: Sequence[Array]) -> Array:
    """Values (entries,) of several matrices as one array (entries, 1, n)."""
    n_entries = values[0].size
    out = np.empty((n_entries, 1, len(values)))

    def part(entries: slice) -> None:
        for i, one in enumerate(values):
            out[entries, 0, i] = one[entries]

    # few enough at a time to stay in the cache
    parallel_map(part, [slice(at, at + ENTRIES) for at in range(0, n_entries, ENTRIES)])
    return out


def products_of(left: Any, right: Any, values: Array) -> list[Array]:
    """``left @ right`` for a CSR left and several CSR rights of one pattern, in one pass over it.

    Their `values` (entries, 1, n) travel side by side, as blocks of one row: which entries meet is
    found out once.
    """
    n, n_columns = values.shape[-1], right.shape[1]
    outs = [np.empty((left.shape[0], n_columns)) for _ in range(n)]

    def fill(rows: slice) -> None:
        data, *pattern = _joint_product(left[rows], right, values)
        size = rows.stop - rows.start, n_columns
        for i, out in enumerate(outs):
            part = np.ascontiguousarray(data[:, i])
            sparse.csr_array((part, *pattern), shape=size).toarray(out=out[rows])

    _by_rows(fill, left.shape[0], n * n_columns)
    return outs


def _joint_product(left: Any, right: Any, values: Array) -> tuple[Array, Any, Any]:
    """``(data, indices, indptr)`` of the products, data (entries, n).

    They are nearly full as a rule: so room is made for all of them, and nobody counts them first.
    """
    n, (n_rows, n_columns) = values.shape[-1], (left.shape[0], right.shape[1])
    kinds = {array.dtype for array in (left.indptr, left.indices, right.indptr, right.indices)}
    if tools is None or len(kinds) > 1 or n_rows * n_columns > np.iinfo(np.int32).max:
        blocks = (left.data[:, None, None], left.indices, left.indptr)
        joint = (values, right.indices, right.indptr), (right.shape[0], n * n_columns)
        found = sparse.bsr_array(blocks, shape=left.shape) @ sparse.bsr_array(*joint)
        return found.data[:, 0], found.indices, found.indptr
    indptr, most = np.empty_like(left.indptr), n_rows * n_columns
    indices, data = np.empty(most, dtype=indptr.dtype), np.empty(n * most)
    tools.bsr_matmat(
        most, n_rows, n_columns, 1, n, 1, left.indptr, left.indices, left.data,
        right.indptr, right.indices, values.ravel(), indptr, indices, data,
    )  # fmt: skip
    last = int(indptr[-1])
    return data.reshape(most, n)[:last], indices[:last], indptr


def _by_rows(add: Callable[[slice], None], n_rows: int, n_columns: int) -> None:
    """Make the rows of a product, shared among threads: scipy's products run side by side.

    No more rows at a time than the budget allows, and never the whole product as a sparse matrix.
    """
    threads = available_threads()
    budget = working_bytes() // (PRODUCT_SHARE * threads)
    size = max(1, budget // (ENTRY_BYTES * max(1, n_columns)))

    if n_rows * n_columns >= SHARED_SIZE:
        # rows differ in work: whoever is done takes the next few
        size = min(size, -(-n_rows // (PIECES * threads)))
    parallel_map(add, [slice(at, min(n_rows, at + size)) for at in range(0, n_rows, size)])


def sparse_dual_grams(
    block: SparseBlock, exponents: Sequence[float], weights: Array, borders: bool
) -> list[DualGram]:
    """K about the weighted means, for every exponent.

    With ``Pc = S - 1 s'`` and ``Qc = T - 1 t'`` (s, t the means of S and T),
    ``Pc Qc' = S T' - (S t) 1' - 1 (T s)' + (s.t) 11'``.
    """
    threads = available_threads()
    plain = S, _ = block.excess(1.0)
    others = [r for r in exponents if r != 1.0]
    left, *made = ordered_map([S.tocsr, *(partial(block.excess, r) for r in others)], threads)
    known = dict(zip(others, made, strict=True)) | {1.0: plain}
    powers = [known[r] for r in exponents]
    sums = products_of(left, S.T, side_by_side([T.data for T, _ in powers]))
    how = block.offset, weights / weights.sum(), borders
    tasks = [
        partial(_about_means, r, K, plain, stretched, *how)
        for r, K, stretched in zip(exponents, sums, powers, strict=True)
    ]
    return [*ordered_map(tasks, threads)]


def _about_means(
    r: float,
    K: Array,
    plain: tuple[Any, Array],
    stretched: tuple[Any, Array],
    offset: Offset,
    share: Array,
    borders: bool,
) -> DualGram:
    """The Gram matrix of one exponent from ``K = S T'``, which is overwritten."""
    (S, u), (T, v), M = plain, stretched, share.size
    s, t = S.T @ share, T.T @ share
    K -= (S @ t)[:, None]
    K += float(s @ t) - T @ s
    Pq, Qp, pq = np.zeros(M), np.zeros(M), 0.0
    if borders:
        p, q = u + s + offset, v + t + offset**r
        Pq, Qp, pq = S @ q - s @ q, T @ p - t @ p, float(p @ q)
    return DualGram(r, K, Pq, Qp, pq, u + s, None)


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
