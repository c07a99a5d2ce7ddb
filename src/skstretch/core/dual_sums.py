"""Dual Gram matrices of several exponents, summed over blocks of features."""

from collections.abc import Iterable, Sequence

import numpy as np

from skstretch.core.centring import Rows, centre_into, centred
from skstretch.core.features import Features
from skstretch.core.gram import DualGram
from skstretch.core.tiles import is_cached
from skstretch.core.types import Array

# features about their means, and the means less the offset
Centred = tuple[Array, Array]


def dual_grams(
    blocks: Iterable[Rows],
    exponents: Sequence[float],
    weights: Array,
    log_rows: Array | None,
    borders: bool = True,
) -> list[DualGram]:
    """K for every exponent, in one walk over blocks of features (all rows in each block).

    Without `borders` the products with the means are left zero: the free intercept needs none.
    """
    sums = DualSums(exponents, weights, log_rows, borders)
    for block in blocks:
        sums.add(block)
    return sums.grams()


class DualSums:
    """Dual Gram matrices of several exponents, growing block by block.

    Where `peaks` is given, it is raised to the largest logs of every row.
    """

    def __init__(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None = None,
        borders: bool = True,
        peaks: Array | None = None,
    ) -> None:
        self.weights, self.log_rows, self.borders, self.peaks = weights, log_rows, borders, peaks
        self._sums = [_DualSum(r, weights.size) for r in exponents]
        # P itself is the first of the powers
        self._powers = [1.0, *(part.r for part in self._sums if part.r != 1.0)]
        self._centres: list[Array] = []
        self._buffers: list[Array] = []
        self._product = np.empty_like(self._sums[0].K) if self._sums else np.empty((0, 0))

    def add(self, block: Rows) -> None:
        """One more block of features, all rows in it."""
        if self.log_rows is not None:
            self._add_scaled(block, self.log_rows)
            return
        if is_cached(*block.shape):
            self._add_in_turn(block.rows(slice(None)))
        else:
            self._add_at_once(block)

    def _add_at_once(self, block: Rows) -> None:
        """All powers of a large block, whose rows are transformed once."""
        outs = self._room_for(*block.shape)
        means = centre_into(block, self._powers, self.weights, outs, self.peaks)
        self._centres.append(means[0])
        known = {r: (Qc, e) for r, Qc, e in zip(self._powers, outs, means, strict=True)}
        for part in self._sums:
            self._multiply(part, block.offset, known[1.0], known[part.r])

    def _add_in_turn(self, features: Features) -> None:
        """One power after another, each multiplied while it is in the cache."""
        if self.peaks is not None:
            np.maximum(self.peaks, features.log_peaks(axis=1), out=self.peaks)
        plain = centred(features, 1.0, self.weights)
        self._centres.append(plain[1])
        for part in self._sums:
            stretched = plain if part.r == 1.0 else centred(features, part.r, self.weights)
            self._multiply(part, features.offset, plain, stretched)

    def _multiply(
        self, part: "_DualSum", offset: float, plain: Centred, stretched: Centred
    ) -> None:
        (Pc, p), (Qc, q) = plain, stretched
        part.K += np.matmul(Pc, Qc.T, out=self._product)
        if self.borders:
            part.add_borders(Pc, Qc, p + offset, q + offset)

    def _room_for(self, n_rows: int, n_columns: int) -> list[Array]:
        """An array for every power; those of the last block are used again."""
        if not self._buffers or self._buffers[0].shape[1] < n_columns:
            self._buffers = [np.empty((n_rows, n_columns)) for _ in self._powers]
        return [buffer[:, :n_columns] for buffer in self._buffers]

    def _add_scaled(self, block: Rows, log_rows: Array) -> None:
        features = block.rows(slice(None))
        P = features.power(1.0, log_rows[:, None])
        self._centres.append(np.zeros(P.shape[1]))
        for part in self._sums:
            part.K += P @ features.power(part.r, part.r * log_rows[:, None]).T

    def grams(self) -> list[DualGram]:
        """What has been summed so far."""
        centre = np.concatenate(self._centres) if self._centres else np.zeros(0)
        return [DualGram(s.r, s.K, s.Pq, s.Qp, s.pq, centre, self.log_rows) for s in self._sums]


class _DualSum:
    """The running sums of one `DualGram`."""

    def __init__(self, r: float, n_samples: int) -> None:
        self.r, self.pq = r, 0.0
        self.K = np.zeros((n_samples, n_samples))
        self.Pq, self.Qp = np.zeros(n_samples), np.zeros(n_samples)

    def add_borders(self, Pc: Array, Qc: Array, p: Array, q: Array) -> None:
        """Products with the means of a block."""
        self.Pq += Pc @ q
        self.Qp += Qc @ p
        self.pq += float(p @ q)
