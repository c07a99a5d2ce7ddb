"""The Gram-like matrix ``K = P Q'`` of the dual form, summed over blocks of features.

Several exponents share one walk; Gram matrices of parts are joined in the order of the features.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.features import Features, row_tiles
from skstretch.core.moments import pooled_sum
from skstretch.core.quadrant import Rows, Strip, centre_into, centred, column_parts
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Frame:
    """What of a dual Gram matrix is needed to go from dual coefficients back to features."""

    r: float
    centre: Array
    log_rows: Array | None


@dataclass(frozen=True)
class DualGram:
    """``K = P Q'`` (M x M), kept so that its constant part does not bury the rest.

    Without `log_rows` (the usual case), with ``P = Pc + 1 p'`` and ``Q = Qc + 1 q'``:
    ``K_full = K + Pq 1' + 1 Qp' + pq 11'``, where ``K = Pc Qc'``, ``Pq = Pc q``, ``Qp = Qc p``.

    With `log_rows` (features too large or too small to be raised to r), row i of P is divided
    by ``e_i = exp(log_rows_i)`` and row i of Q by ``e_i**r``; K is the product of these.

    `free` (M x q) are columns that are never penalised, about their means: no part of K, they
    stand beside the ones of the free intercept.
    """

    r: float
    K: Array
    Pq: Array
    Qp: Array
    pq: float
    centre: Array
    log_rows: Array | None
    free: Array | None = None

    @property
    def n_free(self) -> int:
        """The number of columns that are never penalised."""
        return 0 if self.free is None else int(self.free.shape[1])

    @property
    def n_samples(self) -> int:
        return int(self.K.shape[0])

    @property
    def frame(self) -> Frame:
        return Frame(self.r, self.centre, self.log_rows)

    def rows(self, rows: Index) -> "DualGram":
        """The Gram matrix of some samples, about the same centre."""
        log_rows = None if self.log_rows is None else self.log_rows[rows]
        K, free = self.K[np.ix_(rows, rows)], None if self.free is None else self.free[rows]
        part = replace(self, K=K, Pq=self.Pq[rows], Qp=self.Qp[rows], log_rows=log_rows)
        return replace(part, free=free)


def combined(plus: DualGram, other: DualGram, sign: float) -> DualGram:
    """The Gram matrix of more (sign 1) or fewer (sign -1) features of the same samples."""
    return replace(
        plus,
        K=plus.K + other.K if sign == 1.0 else plus.K + sign * other.K,
        Pq=plus.Pq + sign * other.Pq,
        Qp=plus.Qp + sign * other.Qp,
        pq=plus.pq + sign * other.pq,
    )


def accumulated(total: DualGram, more: DualGram) -> DualGram:
    """The Gram matrix of more features; the K of `total` is overwritten, so that one is enough."""
    total.K[...] += more.K
    return replace(total, Pq=total.Pq + more.Pq, Qp=total.Qp + more.Qp, pq=total.pq + more.pq)


def joined(parts: Sequence[DualGram], overwrite: bool = False) -> DualGram:
    """The Gram matrix of consecutive blocks of features, added in their order.

    One new K for all of them, since the parts may be someone else's and stay as they are; or that
    of the first of them, if it may be overwritten.
    """
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        K=pooled_sum([part.K for part in parts], overwrite),
        Pq=pooled_sum([part.Pq for part in parts]),
        Qp=pooled_sum([part.Qp for part in parts]),
        pq=sum(part.pq for part in parts),
        centre=np.concatenate([part.centre for part in parts]),
    )


def dual_coefficients(
    block: Rows, frame: Frame, beta: Array, total: Array, weights: Array
) -> Array:
    """``alpha = Q' beta`` for one block of features, shape (block, t); ``total = 1' beta``."""
    if frame.log_rows is not None:
        features = block.rows(slice(None))
        return np.asarray(features.power(frame.r, frame.r * frame.log_rows[:, None]).T @ beta)
    Qc, e = centred(block, frame.r, weights)
    return np.asarray(Qc.T @ beta + np.outer(e + block.offset**frame.r, total))


def tiled_coefficients(
    strip: Strip, frame: Frame, beta: Array, total: Array, weights: Array
) -> Array:
    """`dual_coefficients` of a block without scaled rows, whose tiles are never side by side.

    ``Qc' beta = (Q - 1 g')' beta - (e - g) 1' beta`` for any g, and the means e are known after the
    last tile. The powers of the means of all rows leave as little to cancel as e would.
    """
    n_rows, n_columns = strip.shape
    g, alpha = strip.middle(frame.r), np.zeros((beta.shape[1], n_columns))
    share, mean = weights / weights.sum(), np.zeros(n_columns)
    tiles = [*row_tiles(n_rows, n_columns)]
    room = np.empty((tiles[0].stop, n_columns))
    for rows in tiles:
        Q = strip.rows(rows).excess(frame.r, room[: rows.stop - rows.start])
        if g.any():
            Q -= g
        alpha += beta[rows].T @ Q
        mean += share[rows] @ Q
    alpha -= np.outer(beta.sum(axis=0), mean)
    return np.asarray(alpha.T + np.outer(g + mean + strip.offset**frame.r, total))


def cross_block(
    block: Rows,
    new: Features,
    frame: Frame,
    centre: Array,
    weights: Array,
    K: Array,
    Pq: Array,
) -> None:
    """Add one block of features to ``(P_new - p) Qc'`` and ``(P_new - p) q``, in place."""
    if frame.log_rows is not None:
        Q = block.rows(slice(None)).power(frame.r, frame.r * frame.log_rows[:, None])
        K += new.power(1.0, np.zeros(1)) @ Q.T
        return
    P = new.excess(1.0)
    P -= centre
    Qc, e = centred(block, frame.r, weights)
    K += P @ Qc.T
    Pq += P @ (e + block.offset**frame.r)


# samples up to which products of several powers are made together
TOGETHER = 512


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
        M = weights.size
        # the order in which one is made of another
        self._powers = sorted({1.0, *exponents})
        self._others = [r for r in self._powers if r != 1.0]
        self._centres: list[Array] = []
        self._centred, self._room = True, np.empty(0)
        # small matrices of all powers but P stand side by side, and are one product
        self._together = len(self._others) > 1 and M <= TOGETHER
        width = M * len(self._others) if self._together else 0
        self._wide, self._product = np.zeros((M, width)), np.empty((M, max(M, width)))
        self._sums = [_DualSum(r, M, self._own(r)) for r in exponents]

    def _own(self, r: float) -> Array | None:
        """The part of the matrices side by side that belongs to an exponent."""
        if r == 1.0 or not self._together:
            return None
        at, M = self._others.index(r), self.weights.size
        return self._wide[:, at * M : (at + 1) * M]

    def add(self, block: Rows) -> None:
        """One more block of features, all rows in it."""
        if self.log_rows is not None:
            self._add_scaled(block, self.log_rows)
            return
        for part in column_parts(block):
            self._add(part)

    def _add(self, block: Rows) -> None:
        """All powers of a block, whose rows are transformed once."""
        room = self._room_for(*block.shape)
        # exp(a z) is known less a number near its mean: the rest is taken out of K, see `grams`
        left = self._others if not self.borders and np.all(block.offset) else []
        self._centred &= not left
        outs = {r: room[i] for i, r in enumerate([1.0, *self._others])}
        ordered = [outs[r] for r in self._powers]
        means = centre_into(block, self._powers, self.weights, ordered, self.peaks, left)
        mean = dict(zip(self._powers, means, strict=True))
        self._centres.append(mean[1.0])
        if self._together:
            others = room[1:].reshape(self._wide.shape[1], block.shape[1])
            self._wide += np.matmul(outs[1.0], others.T, out=self._product)
        for part in self._sums:
            if part.r == 1.0 or not self._together:
                product = self._product[:, : self.weights.size]
                part.K += np.matmul(outs[1.0], outs[part.r].T, out=product)
            if self.borders:
                p, q = mean[1.0] + block.offset, mean[part.r] + block.offset**part.r
                part.add_borders(outs[1.0], outs[part.r], p, q)

    def _room_for(self, n_rows: int, n_columns: int) -> Array:
        """An array for every power, side by side; those of the last block are used again."""
        size = len(self._powers) * n_rows * n_columns
        if self._room.size < size:
            self._room = np.empty(size)
        return self._room[:size].reshape(len(self._powers), n_rows, n_columns)

    def _add_scaled(self, block: Rows, log_rows: Array) -> None:
        features = block.rows(slice(None))
        P = features.power(1.0, log_rows[:, None])
        self._centres.append(np.zeros(P.shape[1]))
        for part in self._sums:
            part.K += P @ features.power(part.r, part.r * log_rows[:, None]).T

    def grams(self) -> list[DualGram]:
        """What has been summed so far.

        Where Q was left about its offset, ``Pc Qc' = Pc Q' (I - w 1' / sum(w))``.
        """
        if not self._centred:
            share = self.weights / self.weights.sum()
            # what overflows is not safe, and is summed again with scaled rows
            with np.errstate(over="ignore", invalid="ignore"):
                for part in self._sums:
                    if part.r != 1.0:
                        part.K -= (part.K @ share)[:, None]
        centre = np.concatenate(self._centres) if self._centres else np.zeros(0)
        Ks = [np.array(s.K) if self._together else s.K for s in self._sums]
        return [
            DualGram(s.r, K, s.Pq, s.Qp, s.pq, centre, self.log_rows)
            for s, K in zip(self._sums, Ks, strict=True)
        ]


class _DualSum:
    """The running sums of one `DualGram`."""

    def __init__(self, r: float, n_samples: int, K: Array | None = None) -> None:
        self.r, self.pq = r, 0.0
        self.K = np.zeros((n_samples, n_samples)) if K is None else K
        self.Pq, self.Qp = np.zeros(n_samples), np.zeros(n_samples)

    def add_borders(self, Pc: Array, Qc: Array, p: Array, q: Array) -> None:
        """Products with the means of a block."""
        self.Pq += Pc @ q
        self.Qp += Qc @ p
        self.pq += float(p @ q)
