"""Passes of the exact minimiser over a sparse design, ``Z = S + 1 t'``, never dense as a whole.

``v = S'x + t (1'x)``, ``Z alpha = S alpha + (t'alpha) 1``, and with weights w of the columns
``Z W Z' = S W S' + (S W t) 1' + 1 (S W t)' + (t'W t) 11'``, frequent columns through dense BLAS.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skstretch.core.bridge_products import (
    PRUNE,
    Share,
    Trial,
    TrialResult,
    add_bases,
    phi,
    phi_alone,
    runs,
    serial_map,
    signed_power,
)
from skstretch.core.types import Array, Index
from skstretch.designs.minimiser_products import (
    LEAST_SIDE,
    GramSum,
    added,
    answer,
    kept_by,
    waiting_columns,
    within,
)
from skstretch.designs.sparse_sums import SparseBlock, add_product, tools
from skstretch.designs.threads import (
    BLOCK_BYTES,
    available_threads,
    blocks_of,
    halt_point,
    parallel_map,
    shares,
    working_bytes,
)

# bytes of a stored entry of S: value and row
ENTRY_BYTES = 16
# vectors that a product takes at a time: what it adds to, M numbers each, stays in the cache
WIDTH = 32
# vectors of which those of all samples stay in the cache, and numbers of their v that do
VECTORS, TILE = 64, 1 << 16
# share of all products of entries below which they are made as they are needed
FEW = 0.3
# numbers of v below which a pass takes less time than starting threads does
LEAST_SHARED = 1 << 20
# what rounding leaves of a sum that is zero, relative to the sum of sizes
ROUNDED = 4.0 * float(np.finfo(np.float64).eps)

# some columns: where they are among those in use, S (CSC) and t
Part = tuple[slice, Any, Array]
# columns that differ: S (CSC), t and how many each stands for (None: for itself)
Tile = tuple[Any, Array, Array | None]


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
                v = times_columns(S, t, own, rest_of_sums(own))
                add_bases(v.T, trials[some], columns)
                alpha = np.empty_like(v)
                for group, k, lam in runs(trials[some]):
                    first = some.start + group.start
                    if trials[first].bare:
                        alpha[:, group] = phi_alone(v[:, group], k, lam)
                        continue
                    alpha[:, group], slope, terms = phi(v[:, group], k, lam)
                    with np.errstate(over="ignore"):
                        energy[first : some.start + group.stop] += terms.sum(axis=0)
                    for i in slopes.keys() & {*range(first, some.start + group.stop)}:
                        slopes[i][columns] = slope[:, i - first]
                for i in V.keys() & {*range(some.start, some.stop)}:
                    V[i][columns] = v[:, i - some.start]
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
        """``Z phi(Z'X)`` (M x n) for X (M x n); columns that are alike are looked at once."""
        n, r = X.shape[1], 1.0 / (k - 1.0)
        tiles = self._distinct if self.held is not None else unlike(self._parts(0))
        some = [slice(at, min(at + VECTORS, n)) for at in range(0, n, VECTORS)]
        parts = [np.divide(X[:, one], lam * k, order="C") for one in some]
        sums = [rest_of_sums(part) for part in parts]
        outs = [np.zeros(part.shape) for part in parts]
        level = np.zeros(n)  # of t'alpha, the same in all rows
        for S, t, times in tiles:
            halt_point()
            for one, part, total, out in zip(some, parts, sums, outs, strict=True):
                alpha = signed_power(times_columns(S, t, part, total), r)
                if times is not None:
                    alpha *= times[:, None]
                # what overflows is given up by who has asked for it
                with np.errstate(over="ignore", invalid="ignore"):
                    add_forward(S, alpha, out)
                    level[one] += t @ alpha
        return np.hstack(outs) + level

    @cached_property
    def _distinct(self) -> list[Tile]:
        return [tile for share in self.shares for tile in unlike(self._parts(share))]

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
                out[columns, some] = times_columns(S, t, own, rest_of_sums(own))
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
            for j, rows in self._dense_rows(index[some]):
                total.add(rows.T, slope[j], self.size[j])
        return total.matrix()

    def _dense_rows(self, index: Index) -> Iterator[tuple[Index, Array]]:
        """Some columns as rows of z-scores."""
        if self._frequent is not None:
            yield index, self._frequent[np.searchsorted(self.design.split[0], index)]
            return
        for columns, block in self.design.blocks(index):
            yield index[columns], dense_rows(block)

    @cached_property
    def _frequent(self) -> Array | None:
        """All frequent columns as rows of z-scores, where they take little of the memory."""
        index = self.design.split[0]
        if self.held is None or 8 * index.size * self.design.shape[0] > working_bytes() // 8:
            return None
        blocks = [dense_rows(block) for _, block in self.design.blocks(index)]
        return np.vstack(blocks) if blocks else np.empty((0, self.design.shape[0]))

    def _add_rare(self, gram: Array, index: Index, slope: Array) -> None:
        """Add rare columns: a sparse product and the terms of rank one; slope is zero elsewhere."""
        few = float(np.square(self.design.counts[index].astype(float)).sum())
        if self._rare is not None and few > FEW * self._rare[3].nnz:
            every, S, t, products = self._rare
            w = slope[every]
            cross = S @ (w * t) + 0.5 * float(t @ (w * t))
            gram += (products @ w).reshape(gram.shape)
            gram += cross[:, None] + cross  # symmetric to the last bit
            return
        for columns, block in self.design.blocks(index):
            S, t = block.excess(1.0)
            w = slope[index[columns]]
            # half of the last term with each of the two before it
            cross = S @ (w * t) + 0.5 * float(t @ (w * t))
            S.data *= np.repeat(np.sqrt(w), block.counts)
            add_product(gram, S.tocsr(), S.T)
            gram += cross[:, None] + cross

    @cached_property
    def _rare(self) -> tuple[Index, Any, Array, Any] | None:
        """Rare columns: which, S, t, and the products of their entries, where these are few."""
        index = self.design.split[1]
        many = float(np.square(self.design.counts[index].astype(float)).sum())
        if self.held is None or ENTRY_BYTES * many > working_bytes() // 8:
            return None
        parts = [block.excess(1.0) for _, block in self.design.blocks(index)]
        if len(parts) != 1:
            return None
        S, t = parts[0]
        return index, S, t, entry_products(S)

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


def entry_products(S: Any) -> Any:
    """The products of all pairs of entries of a column, (M*M x d) for a CSC S (M x d): times w it
    is ``S diag(w) S'``, row after row."""
    M, counts = S.shape[0], np.diff(S.indptr)
    many = np.repeat(counts, counts)
    one = np.repeat(np.arange(S.nnz), many)
    within_column = np.arange(one.size) - np.repeat(np.cumsum(many) - many, many)
    other = np.repeat(np.repeat(S.indptr[:-1], counts), many) + within_column
    place = S.indices[one].astype(np.intp) * M + S.indices[other]
    column = np.repeat(np.repeat(np.arange(counts.size), counts), many)
    return sparse.csr_array(
        (S.data[one] * S.data[other], (place, column)), shape=(M * M, S.shape[1])
    )


def unlike(parts: Iterable[Part]) -> Iterator[Tile]:
    """Columns that differ, some at a time, and how many each stands for.

    The z-scores of a column with one entry are those of its row, whatever the entry is, but for
    its sign: of these one is kept.
    """
    for _, S, t in parts:
        counts = np.diff(S.indptr)
        single = np.flatnonzero(counts == 1)
        entry = S.indptr[single]
        kind = 2 * S.indices[entry].astype(np.intp) + (S.data[entry] > 0)
        first, alike = np.unique(kind, return_index=True, return_counts=True)[1:]
        times = np.where(counts == 1, 0.0, 1.0)
        times[single[first]] = alike
        # those that stand for others side by side: the rest needs no factor
        keep = np.flatnonzero(times)[np.argsort(times[times > 0] > 1.0, kind="stable")]
        for start in range(0, keep.size, TILE // VECTORS):
            some = keep[start : start + TILE // VECTORS]
            own = S[:, some]
            yield own, t[some], times[some] if times[some].max() > 1.0 else None


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


def times_columns(S: Any, t: Array, X: Array, total: Array | None) -> Array:
    """``Z'X`` (b x n) for columns ``Z = S + 1 t'`` (CSC, M x b), X in row order and its sums."""
    out = np.zeros((t.size, X.shape[1]))
    add_backward(S, X, out)
    if total is not None:
        out += np.multiply.outer(t, total)
    return out


def rest_of_sums(X: Array) -> Array | None:
    """``1'X`` (n), or None where that is zero but for rounding, as beside a free intercept."""
    sums = X.sum(axis=0)
    return sums if np.any(np.abs(sums) > ROUNDED * np.abs(X).sum(axis=0)) else None


def add_backward(S: Any, X: Array, out: Array) -> None:
    """``out += S'X`` (b x n) for a CSC S (M x b) and X (M x n), all of them in row order."""
    if tools is None:
        out += S.T @ X
        return
    M, b = S.shape
    tools.csr_matvecs(b, M, X.shape[1], S.indptr, S.indices, S.data, X.reshape(-1), out.reshape(-1))


def add_forward(S: Any, X: Array, out: Array) -> None:
    """``out += S X`` (M x n) for a CSC S (M x b) and X (b x n), all of them in row order."""
    if tools is None:
        out += S @ X
        return
    M, b = S.shape
    tools.csc_matvecs(M, b, X.shape[1], S.indptr, S.indices, S.data, X.reshape(-1), out.reshape(-1))
