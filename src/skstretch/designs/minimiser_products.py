"""Passes of the exact minimiser over z-scores that are made block by block as they are needed.

Per tile of columns ``v = Z'x``, the coefficients ``phi(v)`` and their slopes are known at once, so
that ``Z phi(v)``, the energy and the Gram matrix ``Z diag(phi'(v)) Z'`` of any number of trials are
summed while the tile is in the cache: one pass over the data a step.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from skstretch.core.bridge_products import (
    PRUNE,
    DenseProducts,
    Trial,
    TrialResult,
    phi,
)
from skstretch.core.features import PlainFeatures
from skstretch.core.types import Array
from skstretch.designs.protocol import LocalDesign
from skstretch.designs.threads import (
    BLOCK_BYTES,
    SHARED_SIZE,
    copies_for,
    parallel_map,
    shares,
    threads_for_rows,
    working_bytes,
)

# samples from which on what is done with a Newton matrix takes longer than starting threads
LEAST_SIDE = 128
# columns that wait for one symmetric product: fewer would spend their time adding M x M matrices
WAITING = 1024
# share of the working memory for those that wait, and for what is kept of v
WAITING_SHARE, KEPT_SHARE = 8, 4


class GramSum:
    """``Z diag(w) Z'`` (M x M), summed over the columns that matter.

    A column leaves where ``w_j |z_j|**2`` is below `PRUNE` of the largest share seen so far, so
    that what is left out is negligible in the end as well. The others wait until there are enough
    of them for one symmetric product.
    """

    def __init__(self, n_rows: int, width: int) -> None:
        self.largest, self.count = 0.0, 0
        self.rows = np.empty((width, n_rows))
        self.slope, self.share = np.empty(width), np.empty(width)
        self.total = np.zeros((n_rows, n_rows))

    def add(self, Z: Array, slope: Array, size: Array) -> None:
        """Columns Z (M x b), their weights and squared lengths (b)."""
        with np.errstate(over="ignore"):
            share = slope * size
        self.largest = max(self.largest, float(share.max(initial=0.0)))
        more = np.flatnonzero(share > PRUNE * self.largest)
        while more.size:
            if self.count == len(self.rows):
                self._flush()
            some, more = np.split(more, [len(self.rows) - self.count])
            place = slice(self.count, self.count + some.size)
            self.rows[place] = (Z if some.size == Z.shape[1] else Z[:, some]).T
            self.slope[place], self.share[place] = slope[some], share[some]
            self.count = place.stop

    def _flush(self) -> None:
        waiting = slice(0, self.count)
        # larger columns may have come after them
        stay = np.flatnonzero(self.share[waiting] > PRUNE * self.largest)
        self.count = 0
        if not stay.size:
            return
        A = self.rows[waiting] if stay.size == waiting.stop else self.rows[stay]
        A *= np.sqrt(self.slope[stay])[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            # numpy makes a symmetric product of it, and lets other threads run
            self.total += A.T @ A

    def matrix(self) -> Array:
        """The whole of it, both triangles."""
        self._flush()
        return self.total


class ProductSums:
    """What one thread sums over its columns, for all trials."""

    def __init__(self, trials: Sequence[Trial], width: int) -> None:
        self.trials = trials
        self.X = np.array([trial.x for trial in trials])
        n_rows = self.X.shape[1]
        self.fitted, self.energy = np.zeros(self.X.shape), np.zeros(len(trials))
        asking = [i for i, trial in enumerate(trials) if trial.gram]
        self.grams = {i: GramSum(n_rows, width) for i in asking}

    def add(self, Z: Array, size: Array, columns: slice) -> Array:
        """Columns Z (M x b), their squared lengths and places; returns v (n x b)."""
        v = self.X @ Z
        alpha = np.empty_like(v)
        for i, trial in enumerate(self.trials):
            if trial.base is not None:
                v[i] += trial.base[columns]
            alpha[i], slope, terms = phi(v[i], trial.k, trial.lam)
            with np.errstate(over="ignore"):
                self.energy[i] += terms.sum()
            self._add_gram(i, Z, slope, size)
        # a trial that overflows is refused, whatever it fits
        with np.errstate(over="ignore", invalid="ignore"):
            self.fitted += alpha @ Z.T
        return v

    def _add_gram(self, i: int, Z: Array, slope: Array, size: Array) -> None:
        # energies only grow: beyond the ceiling there is nothing to sum any more
        if i in self.grams and not within(self.energy[i], self.trials[i]):
            del self.grams[i]
        if i in self.grams:
            self.grams[i].add(Z, slope, size)

    def results(self) -> list[TrialResult]:
        """The sums as answers, without v."""
        return [
            answer(trial, self.fitted[i], float(self.energy[i]), None, self._matrix(i))
            for i, trial in enumerate(self.trials)
        ]

    def _matrix(self, i: int) -> Array | None:
        return self.grams.pop(i).matrix() if i in self.grams else None


def within(energy: float, trial: Trial) -> bool:
    """Whether an energy is below the ceiling, and a number at all."""
    return bool(energy <= trial.ceiling and np.isfinite(energy))


def answer(
    trial: Trial, fitted: Array, energy: float, v: Array | None, gram: Array | None
) -> TrialResult:
    """What was summed; refused (an infinite energy) above the ceiling."""
    if not within(energy, trial):
        return TrialResult(fitted, np.inf, v)
    return TrialResult(fitted, energy, v, gram)


def added(trials: Sequence[Trial], parts: Sequence[Sequence[TrialResult]]) -> list[TrialResult]:
    """Passes over consecutive columns as one, in the order in which they are given."""
    if len(parts) == 1:
        return list(parts[0])
    return [
        _added(trial, products)
        for trial, products in zip(trials, zip(*parts, strict=True), strict=True)
    ]


def _added(trial: Trial, products: Sequence[TrialResult]) -> TrialResult:
    fitted, energy = np.zeros_like(products[0].fitted), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for result in products:
            fitted += result.fitted
            energy += result.energy
    kept = [result.v for result in products if result.v is not None]
    v = np.concatenate(kept) if len(kept) == len(products) else None
    grams = [result.gram for result in products if result.gram is not None]
    if not within(energy, trial) or len(grams) < len(products):
        return answer(trial, fitted, energy, v, None)
    gram = grams[0].copy()
    for other in grams[1:]:
        gram += other
    return answer(trial, fitted, energy, v, gram)


def kept_by(trials: Sequence[Trial], n_columns: int) -> list[int]:
    """The trials whose v is kept: those that ask for it, or none where that is too much."""
    asking = [i for i, trial in enumerate(trials) if trial.keep]
    much = 8 * n_columns * len(asking) > working_bytes() // KEPT_SHARE
    return [] if much else asking


def waiting_columns(trials: Sequence[Trial], n_rows: int, threads: int) -> int:
    """How many columns of each trial wait for their product."""
    many = threads * max(1, sum(trial.gram for trial in trials))
    room = working_bytes() // (WAITING_SHARE * 8 * n_rows * many)
    return max(64, min(WAITING, room))


def threads_for_sums(trials: Sequence[Trial], n_rows: int, threads: int) -> int:
    """All threads where their Gram matrices take at most a quarter of the working memory."""
    sums = 8 * n_rows**2 * sum(trial.gram for trial in trials)
    return threads if threads * sums <= working_bytes() // 4 else 1


def column_tiles(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of columns of float64 numbers that stay in the cache between the products."""
    size = max(16, BLOCK_BYTES // (8 * max(1, n_rows)))
    for start in range(0, n_columns, size):
        yield slice(start, min(n_columns, start + size))


class StripProducts:
    """Passes over a dense design: an array in memory, a memory map, zarr or h5py.

    Nothing of the data is kept; of every column its squared length, once it has been seen.
    """

    def __init__(self, design: LocalDesign) -> None:
        self.design = design
        self.size = np.full(design.shape[1], np.nan)

    def step(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """All trials in one pass, shared among threads by columns."""
        n_rows, n_columns = self.design.shape
        V = {i: np.empty(n_columns) for i in kept_by(trials, n_columns)}
        with threads_for_rows(n_rows) as available:
            threads = threads_for_sums(trials, n_rows, available)
            width = min(max(1, n_columns), waiting_columns(trials, n_rows, threads))

            def part(share: slice) -> list[TrialResult]:
                sums = ProductSums(trials, width)
                for columns, Z in self._tiles(share, threads):
                    v = sums.add(Z, self._size(columns, Z), columns)
                    for i, kept in V.items():
                        kept[columns] = v[i]
                return sums.results()

            parts = parallel_map(part, shares(n_columns, threads, n_rows))
        found = added(trials, parts)
        return [TrialResult(w.fitted, w.energy, V.get(i), w.gram) for i, w in enumerate(found)]

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """``phi(Z'x)`` (D)."""
        v = self.transposed(trial.x[:, None])[:, 0] if v is None else v
        return phi(v, trial.k, trial.lam)[0]

    def transposed(self, X: Array) -> Array:
        """``Z'X`` (D x n)."""
        n_rows, n_columns = self.design.shape
        out = np.empty((n_columns, X.shape[1]))
        with threads_for_rows(n_rows) as threads:

            def part(share: slice) -> None:
                for columns, Z in self._tiles(share, threads):
                    out[columns] = Z.T @ X

            parallel_map(part, shares(n_columns, threads, n_rows))
        return out

    def _size(self, columns: slice, Z: Array) -> Array:
        size = self.size[columns]
        if np.isnan(size[0]):
            size[:] = np.einsum("ij,ij->j", Z, Z)
        return size

    def _tiles(self, share: slice, threads: int) -> Iterator[tuple[slice, Array]]:
        """Tiles of z-scores, from larger blocks that are read at a time."""
        for columns, strip in self.design.column_strips(share, copies_for(1, threads)):
            for tile in column_tiles(*strip.shape):
                place = slice(columns.start + tile.start, columns.start + tile.stop)
                features = strip.quadrant.features(strip.raw[:, tile], place, strip.bounded)
                Z = features.P if isinstance(features, PlainFeatures) else features.excess(1.0)
                yield place, Z


def resident_products(design: LocalDesign) -> DenseProducts | None:
    """Passes over z-scores that are made once, where they take at most half the working memory."""
    n_rows, n_columns = design.shape
    if 8 * n_rows * n_columns > working_bytes() // 2:
        return None
    T = np.empty((n_columns, n_rows))
    with threads_for_rows(n_rows) as threads:

        def part(share: slice) -> None:
            for columns, Z in StripProducts(design)._tiles(share, threads):
                T[columns] = Z.T

        parallel_map(part, shares(n_columns, threads, n_rows))
    return shared(DenseProducts(T.T))


def shared(products: DenseProducts) -> DenseProducts:
    """Passes over an array in memory whose tasks are worked off in threads, where they are
    large."""
    if products.T.shape[1] >= LEAST_SIDE:
        products.share = parallel_map
    if products.share is parallel_map or products.T.size >= SHARED_SIZE:
        products.bulk = parallel_map
    return products
