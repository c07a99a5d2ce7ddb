"""Passes of the exact minimiser over a sparse design, ``Z = S + 1 t'``, never dense as a whole.

``v = S'x + t (1'x)``, ``Z alpha = S alpha + (t'alpha) 1``, and with weights w of the columns
``Z W Z' = S W S' + (S W t) 1' + 1 (S W t)' + (t'W t) 11'``, frequent columns through dense BLAS.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from skstretch.core.bridge_products import (
    PRUNE,
    Share,
    Trial,
    TrialResult,
    phi,
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
from skstretch.designs.sparse_sums import SparseBlock, add_product
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
# numbers of v below which a pass takes less time than starting threads does
LEAST_SHARED = 1 << 20
# what rounding leaves of a sum that is zero, relative to the sum of sizes
ROUNDED = 4.0 * float(np.finfo(np.float64).eps)

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
