"""Walks of the exact minimiser over a sparse design, ``Z = S + 1 t'``, never dense as a whole.

``v = S'x + t (1'x)``, ``Z alpha = S alpha + (t'alpha) 1``, and with weights w of the columns
``Z W Z' = S W S' + (S W t) 1' + 1 (S W t)' + (t'W t) 11'``, frequent columns through dense BLAS.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.linalg import blas

from skstretch.core.bridge_walks import (
    PRUNE,
    Gram,
    Share,
    Trial,
    Walk,
    in_turn,
    phi,
    phi_alone,
    runs,
)
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import (
    BLOCK_BYTES,
    available_threads,
    blocks_of,
    halt_point,
    in_threads,
    shares,
    spread,
    working_bytes,
)
from skstretch.designs.sparse_block import SparseBlock, add_product
from skstretch.designs.walks import GramSum, added, answer, kept_by, waiting_columns, within

# bytes of a stored entry of S: value and row
ENTRY_BYTES = 16
# vectors that a product takes at a time: what it adds to, M numbers each, stays in the cache
WIDTH = 32
# numbers of v below which a walk takes less time than starting threads does
LEAST_SHARED = 1 << 20

# some columns: where they are among those in use, S (CSC) and t
Part = tuple[slice, Any, Array]


class SparseColumns(Protocol):
    """As much of a sparse design as a walk asks for."""

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


class SparseWalks:
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
        self.share: Share = in_turn if self.held is None else spread

    def step(self, trials: Sequence[Trial]) -> list[Walk]:
        """All trials in one walk; the columns that matter are then looked at once more."""
        n_columns = self.design.shape[1]
        V = {i: np.empty(n_columns) for i in kept_by(trials, n_columns)}
        slopes = {i: np.empty(n_columns) for i, t in enumerate(trials) if t.gram != "none"}
        X = np.stack([trial.x for trial in trials], axis=1)

        def part(share: int) -> list[Walk]:
            fitted, energy = np.zeros(X.shape), np.zeros(len(trials))
            for some, columns, S, t in self._tiles(share, len(trials)):
                v = backward(S, t, np.ascontiguousarray(X[:, some]))
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
        parts = [part(share) for share in self.shares] if alone else in_threads(part, self.shares)
        found = added(trials, parts)
        wanted = [i for i in slopes if within(found[i].energy, trials[i])]
        if wanted:
            self._sizes()
        made = self.share(lambda i: self._gram_of(trials[i].gram, slopes[i]), wanted)
        grams = dict(zip(wanted, made, strict=True))
        return [
            answer(t, w.fitted, float(w.energy), V.get(i), grams.get(i))
            for i, (t, w) in enumerate(zip(trials, found, strict=True))
        ]

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """``phi(Z'x)`` (D)."""
        v = self.transposed(trial.x[:, None])[:, 0] if v is None else v
        return phi(v, trial.k, trial.lam)[0]

    def transposed(self, X: Array) -> Array:
        """``Z'X`` (D x n)."""
        out = np.empty((self.design.shape[1], X.shape[1]))
        for share in self.shares:
            for some, columns, S, t in self._tiles(share, X.shape[1]):
                out[columns, some] = backward(S, t, np.ascontiguousarray(X[:, some]))
        return out

    def _gram_of(self, how: Gram, slope: Array) -> Array:
        """``Z diag(slope) Z'`` of the columns that matter."""
        share = slope * self.size
        keep = share > PRUNE[how] * share.max(initial=0.0)
        frequent, rare = (some[keep[some]] for some in self.design.split)
        gram = self._dense_gram(frequent, slope, how)
        self._add_rare(gram, rare, slope)
        return gram

    def _dense_gram(self, index: Index, slope: Array, how: Gram) -> Array:
        """Frequent columns, some of them dense at a time."""
        n_rows = self.design.shape[0]
        width = waiting_columns([Trial(2.0, 1.0, slope, how)], n_rows, 1)
        total = GramSum(n_rows, how, min(max(1, index.size), width))
        for some in blocks_of(index.size, n_rows):
            for columns, block in self.design.blocks(index[some]):
                j = index[some][columns]
                S, t = block.excess(1.0)
                rows = np.repeat(t[:, None], n_rows, axis=1)
                rows[np.repeat(np.arange(j.size), block.counts), S.indices] += S.data
                total.add(rows.T, slope[j], self.size[j])
        return total.matrix()

    def _add_rare(self, gram: Array, index: Index, slope: Array) -> None:
        """Add rare columns: a sparse product and the terms of rank one."""
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


def some_columns(S: Any, start: int, stop: int) -> Any:
    """Consecutive columns of a CSC matrix; its entries are shared."""
    if stop - start == S.shape[1]:
        return S
    first, last = S.indptr[start], S.indptr[stop]
    parts = S.data[first:last], S.indices[first:last], S.indptr[start : stop + 1] - first
    return type(S)(parts, shape=(S.shape[0], stop - start))


def backward(S: Any, t: Array, X: Array) -> Array:
    """``Z'X = S'X + t (1'X)`` (b x n)."""
    out = np.ascontiguousarray(S.T @ X)
    # in place: dger adds to the Fortran order that the transpose has
    return np.asarray(blas.dger(1.0, X.sum(axis=0), t, a=out.T, overwrite_a=1).T)
