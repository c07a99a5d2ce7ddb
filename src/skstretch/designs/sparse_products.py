"""Some columns of a sparse matrix as features: a rank-one part plus a matrix of X's own pattern.

A zero of X maps to the same feature in all rows of a column, so ``P**r = 1 u' + S`` where ``u_j``
is the feature of a zero (the *blank*) and S is zero wherever X is. A column that is stored in full
has no zero; any blank will do, and that of its mean is of the size of its features, where that of a
zero may be far outside (a column of years) and bury them.

Gram matrices of such blocks, and passes of the exact minimiser over ``Z = S + 1 t'``, which is
never dense as a whole: ``v = S'x + t (1'x)``, ``Z alpha = S alpha + (t'alpha) 1``, and with weights
w of the columns ``Z W Z' = S W S' + (S W t) 1' + 1 (S W t)' + (t'W t) 11'``, frequent columns
through dense BLAS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skstretch.core.bridge_products import (
    PRUNE,
    Share,
    Trial,
    TrialResult,
    phi,
    serial_map,
    signed_power,
)
from skstretch.core.features import ExpFeatures, Offset, PlainFeatures
from skstretch.core.gram import DualGram, Frame, PrimalGram
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.minimiser_products import (
    LEAST_SIDE,
    GramSum,
    added,
    answer,
    kept_by,
    waiting_columns,
    within,
)
from skstretch.designs.threads import (
    BLOCK_BYTES,
    SHARED_SIZE,
    available_threads,
    blocks_of,
    halt_point,
    parallel_map,
    shares,
    working_bytes,
)

# bytes of a sparse product that are held at a time, as a share of the working memory
PRODUCT_SHARE = 8

# bytes of an entry of a sparse product: value and index, with room to grow
PRODUCT_ENTRY_BYTES = 24

# pieces of a product for each thread
PIECES = 4

# bytes of a stored entry of S: value and row
ENTRY_BYTES = 16
# vectors that a product takes at a time: what it adds to, M numbers each, stays in the cache
WIDTH = 32
# numbers of v below which a pass takes less time than starting threads does
LEAST_SHARED = 1 << 20
# what rounding leaves of a sum that is zero, relative to the sum of sizes
ROUNDED = 4.0 * float(np.finfo(np.float64).eps)


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
    size = max(1, budget // (PRODUCT_ENTRY_BYTES * max(1, n_columns)))
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


# some columns: where they are among those in use, S (CSC) and t
Part = tuple[slice, Any, Array]


class SparseColumns(Protocol):
    """As much of a sparse design as a pass asks for."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def counts(self) -> Index:
        """Stored entries of every column in use."""
        ...

    @property
    def split(self) -> tuple[Index, Index]:
        """The columns for dense BLAS, and the rest."""
        ...

    def blocks(self, index: Index | None = None) -> Iterator[tuple[slice, SparseBlock]]:
        """Blocks of some columns, as many at a time as fit the working memory."""
        ...


class SparseProducts:
    """S and t are made once where they take at most a quarter of the working memory."""

    def __init__(self, design: SparseColumns, once: bool = False) -> None:
        self.design = design
        self.size = np.full(design.shape[1], np.nan)
        self.held: list[list[Part]] | None = None
        if not once and ENTRY_BYTES * int(design.counts.sum()) <= working_bytes() // 4:
            threads = available_threads()
            spans = shares(design.shape[1], threads, design.shape[0])
            self.held = [list(self._made(span)) for span in spans]
        # what is made on the way takes the memory of one thread
        self.shares = range(1 if self.held is None else len(self.held))
        few = self.held is None or design.shape[0] < LEAST_SIDE
        self.share: Share = serial_map if few else parallel_map

    def step(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """All trials in one pass; the columns that matter are then looked at once more."""
        n_columns = self.design.shape[1]
        V = {i: np.empty(n_columns) for i in kept_by(trials, n_columns)}
        slopes = {i: np.empty(n_columns) for i, t in enumerate(trials) if t.gram}
        X = np.stack([trial.x for trial in trials], axis=1)

        def part(share: int) -> list[TrialResult]:
            fitted, energy = np.zeros(X.shape), np.zeros(len(trials))
            for some, columns, S, t in self._tiles(share, len(trials)):
                own = np.ascontiguousarray(X[:, some])
                v = backward(S.T, t, own)
                alpha = np.empty_like(v)
                for at, i in enumerate(range(some.start, some.stop)):
                    trial = trials[i]
                    if trial.base is not None:
                        v[:, at] += trial.base[columns]
                    alpha[:, at], slope, terms = phi(v[:, at], trial.k, trial.lam)
                    with np.errstate(over="ignore"):
                        energy[i] += terms.sum()
                    if i in slopes:
                        slopes[i][columns] = slope
                    if i in V:
                        V[i][columns] = v[:, at]
                # a trial that overflows is refused, whatever it fits
                with np.errstate(over="ignore", invalid="ignore"):
                    fitted[:, some] += S @ alpha + t @ alpha
            return [answer(t, fitted[:, i], energy[i], None, None) for i, t in enumerate(trials)]

        alone = len(trials) * n_columns < LEAST_SHARED or available_threads() == 1
        parts = [part(share) for share in self.shares] if alone else parallel_map(part, self.shares)
        found = added(trials, parts)
        wanted = [i for i in slopes if within(found[i].energy, trials[i])]
        if wanted:
            self._sizes()
        made = self.share(lambda i: self._gram_of(slopes[i]), wanted)
        grams = dict(zip(wanted, made, strict=True))
        return [
            answer(t, w.fitted, float(w.energy), V.get(i), grams.get(i))
            for i, (t, w) in enumerate(zip(trials, found, strict=True))
        ]

    def images(self, k: float, lam: float, X: Array) -> Array:
        """``Z phi(Z'X)`` (M x n) for X (M x n)."""
        out = np.zeros(X.shape)
        for share in self.shares:
            for some, _, S, t in self._tiles(share, X.shape[1]):
                own = np.divide(X[:, some], lam * k, order="C")
                alpha = signed_power(backward(S.T, t, own), 1.0 / (k - 1.0))
                # what overflows is given up by who has asked for it
                with np.errstate(over="ignore", invalid="ignore"):
                    out[:, some] += S @ alpha + t @ alpha
        return out

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """``phi(Z'x)`` (D)."""
        v = self.transposed(trial.x[:, None])[:, 0] if v is None else v
        return phi(v, trial.k, trial.lam)[0]

    def transposed(self, X: Array) -> Array:
        """``Z'X`` (D x n)."""
        out = np.empty((self.design.shape[1], X.shape[1]))
        for share in self.shares:
            for some, columns, S, t in self._tiles(share, X.shape[1]):
                own = np.ascontiguousarray(X[:, some])
                out[columns, some] = backward(S.T, t, own)
        return out

    def _gram_of(self, slope: Array) -> Array:
        """``Z diag(slope) Z'`` of the columns that matter."""
        share = slope * self.size
        keep = share > PRUNE * share.max(initial=0.0)
        frequent, rare = (some[keep[some]] for some in self.design.split)
        gram = self._dense_gram(frequent, slope)
        self._add_rare(gram, rare, np.where(keep, slope, 0.0))
        return gram

    def _dense_gram(self, index: Index, slope: Array) -> Array:
        """Frequent columns, some of them dense at a time."""
        n_rows = self.design.shape[0]
        width = waiting_columns([Trial(2.0, 1.0, slope, gram=True)], n_rows, 1)
        total = GramSum(n_rows, min(max(1, index.size), width))
        for some in blocks_of(index.size, n_rows):
            for columns, block in self.design.blocks(index[some]):
                j = index[some][columns]
                total.add(dense_rows(block).T, slope[j], self.size[j])
        return total.matrix()

    def _add_rare(self, gram: Array, index: Index, slope: Array) -> None:
        """Add rare columns: a sparse product and the terms of rank one; slope is zero elsewhere."""
        for columns, block in self.design.blocks(index):
            S, t = block.excess(1.0)
            w = slope[index[columns]]
            # half of the last term with each of the two before it
            cross = S @ (w * t) + 0.5 * float(t @ (w * t))
            S.data *= np.repeat(np.sqrt(w), block.counts)
            add_product(gram, S.tocsr(), S.T)
            gram += cross[:, None] + cross

    def _sizes(self) -> Array:
        """``|z_j|**2``: of the stored entries, and t**2 for each of the others."""
        if np.isnan(self.size).any():
            n_rows = self.design.shape[0]
            for share in self.shares:
                for columns, S, t in self._parts(share):
                    counts = np.diff(S.indptr)
                    values = np.square(S.data + np.repeat(t, counts))
                    owner = np.repeat(np.arange(t.size), counts)
                    stored = np.bincount(owner, values, minlength=t.size)
                    self.size[columns] = stored + (n_rows - counts) * t**2
        return self.size

    def _parts(self, share: int) -> Iterator[Part]:
        """The columns of one thread."""
        held = self.held
        return self._made(slice(0, self.design.shape[1])) if held is None else iter(held[share])

    def _tiles(self, share: int, n_vectors: int) -> Iterator[tuple[slice, slice, Any, Array]]:
        """Some of the vectors and columns of a part, of which v stays in the cache: v is dense.

        The threads share the memory of one block.
        """
        room = BLOCK_BYTES // (8 * len(self.shares))
        for columns, S, t in self._parts(share):
            many = min(n_vectors, max(WIDTH, room // max(1, t.size)))
            width = max(64, room // many)
            vectors = [slice(at, min(n_vectors, at + many)) for at in range(0, n_vectors, many)]
            for start in range(0, t.size, width):
                halt_point()
                stop = min(t.size, start + width)
                place = slice(columns.start + start, columns.start + stop)
                part = some_columns(S, start, stop), t[start:stop]
                for some in vectors:
                    yield some, place, *part

    def _made(self, share: slice) -> Iterator[Part]:
        for columns, block in self.design.blocks(np.arange(share.start, share.stop)):
            S, t = block.excess(1.0)
            yield slice(share.start + columns.start, share.start + columns.stop), S, t


def dense_rows(block: SparseBlock) -> Array:
    """Z-scores of a block, its columns as rows."""
    S, t = block.excess(1.0)
    rows = np.repeat(t[:, None], S.shape[0], axis=1)
    rows[np.repeat(np.arange(t.size), block.counts), S.indices] += S.data
    return rows


def some_columns(S: Any, start: int, stop: int) -> Any:
    """Consecutive columns of a CSC matrix; its entries are shared."""
    if stop - start == S.shape[1]:
        return S
    first, last = S.indptr[start], S.indptr[stop]
    parts = S.data[first:last], S.indices[first:last], S.indptr[start : stop + 1] - first
    return type(S)(parts, shape=(S.shape[0], stop - start))


def backward(transposed: Any, t: Array, X: Array) -> Array:
    """``Z'X = S'X + t (1'X)`` (b x n)."""
    out, total = np.ascontiguousarray(transposed @ X), rest_of_sums(X)
    if total is not None:
        out += np.multiply.outer(t, total)
    return out


def rest_of_sums(X: Array) -> Array | None:
    """``1'X`` (n), or None where that is zero but for rounding, as beside a free intercept."""
    sums = X.sum(axis=0)
    return sums if np.any(np.abs(sums) > ROUNDED * np.abs(X).sum(axis=0)) else None
