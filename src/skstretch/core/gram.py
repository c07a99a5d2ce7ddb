"""The Gram-like matrix ``K = P Q'`` of the dual form, summed over blocks of features.

Several exponents share one pass; Gram matrices of parts are joined in the order of the features.

The Gram-like matrix ``C = Q'W P`` of the primal form, summed over blocks of rows.

Blocks are summed about their own means and then pooled; `PrimalTotals` grow by rows that are not
kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.features import Features, Offset, pooled_sum
from skstretch.core.quadrant import Rows, centre_into, centred
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


def dual_grams(
    blocks: Iterable[Rows],
    exponents: Sequence[float],
    weights: Array,
    log_rows: Array | None,
    borders: bool = True,
) -> list[DualGram]:
    """K for every exponent, in one pass over blocks of features (all rows in each block).

    Without `borders` the products with the means are left zero: the free intercept needs none.
    """
    M, centres = weights.size, [np.zeros(0)]
    sums, product = [_DualSum(r, M) for r in exponents], np.empty((M, M))
    for block in blocks:
        if log_rows is None:
            centres.append(_add_block(sums, block, weights, borders, product))
        else:
            centres.append(_add_scaled(sums, block, log_rows))
    centre = np.concatenate(centres)
    return [DualGram(s.r, s.K, s.Pq, s.Qp, s.pq, centre, log_rows) for s in sums]


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


def _add_block(
    sums: Sequence[_DualSum], block: Rows, weights: Array, borders: bool, product: Array
) -> Array:
    """Add a block, whose rows are transformed once for all powers; returns the means of P."""
    powers = sorted({1.0, *(part.r for part in sums)})
    room = np.empty((len(powers), *block.shape))
    means = centre_into(block, powers, weights, room)
    outs, mean = (dict(zip(powers, each, strict=True)) for each in (room, means))
    for part in sums:
        part.K += np.matmul(outs[1.0], outs[part.r].T, out=product)
        if borders:
            p, q = mean[1.0] + block.offset, mean[part.r] + block.offset**part.r
            part.add_borders(outs[1.0], outs[part.r], p, q)
    return mean[1.0]


def _add_scaled(sums: Sequence[_DualSum], block: Rows, log_rows: Array) -> Array:
    """Add a block with scaled rows, about zero."""
    features = block.rows(slice(None))
    P = features.power(1.0, log_rows[:, None])
    for part in sums:
        part.K += P @ features.power(part.r, part.r * log_rows[:, None]).T
    return np.zeros(P.shape[1])


@dataclass(frozen=True)
class PrimalGram:
    """``C = Qc' W Pc`` (D x D) and the weighted means.

    ``P = Pc + 1 (centre + offset)'`` and ``Q = Qc + 1 (q_centre + offset**r)'``; with
    `log_columns` column j of Q is divided by ``exp(log_columns_j)``, and nothing is left out of it.

    `log_factors` are the logs of what the penalty of every feature is multiplied by. `free` are
    the columns that are never penalised: theirs are not stretched, ``Qc_j = Pc_j``.
    """

    r: float
    C: Array
    centre: Array
    offset: Offset
    q_centre: Array
    log_columns: Array | None
    total_weight: float
    log_factors: Array | None = None
    free: Index | None = None

    @property
    def n_features(self) -> int:
        return int(self.C.shape[0])

    @property
    def p(self) -> Array:
        """The weighted mean of P."""
        return self.centre + self.offset

    @property
    def q(self) -> Array:
        """The weighted mean of (scaled) Q."""
        return self.q_centre + (self.offset**self.r if self.log_columns is None else 0.0)

    def pair(self, features: Features) -> tuple[Array, Array]:
        """``(Pc, Qc)`` for a block of rows."""
        P = features.excess(1.0)
        P -= self.centre
        return P, self.stretched(features)

    def stretched(self, features: Features) -> Array:
        """Qc for a block of rows."""
        Q = stretched_rows(features, self.r, self.log_columns)
        Q -= self.q_centre
        if self.free is not None:
            Q[:, self.free] = features.excess(1.0)[:, self.free] - self.centre[self.free]
        return Q


def stretched_rows(features: Features, r: float, log_columns: Array | None) -> Array:
    """``P**r`` of a block of rows less the offset, or with scaled columns."""
    return features.excess(r) if log_columns is None else features.power(r, log_columns)


def primal_grams(
    blocks: Iterable[tuple[slice, Features]],
    exponents: Sequence[float],
    weights: Array,
    log_columns: Sequence[Array | None],
) -> list[PrimalGram]:
    """C for every exponent in one pass over blocks of rows, each about its means, then pooled."""
    grams: list[PrimalGram] = []
    for rows, features in blocks:
        if weights[rows].any():
            more = row_grams(features, weights[rows], exponents, log_columns)
            pairs = zip(grams, more, strict=True) if grams else ()
            grams = [pooled_rows(pair, overwrite=True) for pair in pairs] or more
    return grams


def row_grams(
    features: Features,
    weights: Array,
    exponents: Sequence[float],
    log_columns: Sequence[Array | None],
) -> list[PrimalGram]:
    """C of one block of rows for every exponent, about the weighted means of the block."""
    total = float(weights.sum())
    share = weights / total
    P = features.excess(1.0)
    centre = share @ P
    P -= centre
    P *= weights[:, None]
    grams = []
    for r, logs in zip(exponents, log_columns, strict=True):
        Q = stretched_rows(features, r, logs)
        q_centre = share @ Q
        Q -= q_centre
        grams.append(PrimalGram(r, Q.T @ P, centre, features.offset, q_centre, logs, total))
    return grams


def pooled_rows(parts: Sequence[PrimalGram], overwrite: bool = False) -> PrimalGram:
    """The primal Gram matrix of blocks of rows, in a new C or in that of the first of them.

    Two blocks with weights ``u, v`` and means ``p, q`` and ``p', q'`` have together
    ``C + C' + uv/(u+v) (q - q')(p - p')'``.
    """
    first, C = parts[0], parts[0].C if overwrite else parts[0].C.copy()
    total, centre, q_centre = first.total_weight, first.centre, first.q_centre
    for part in parts[1:]:
        both = total + part.total_weight
        shift, q_shift = part.centre - centre, part.q_centre - q_centre
        C += part.C
        C += np.outer((total * part.total_weight / both) * q_shift, shift)
        centre = centre + shift * (part.total_weight / both)
        q_centre = q_centre + q_shift * (part.total_weight / both)
        total = both
    return replace(first, C=C, centre=centre, q_centre=q_centre, total_weight=total)


@dataclass(frozen=True)
class RowProduct:
    """``Qc' V`` (D x t) over some rows about their own weighted mean q (D,), ``s = 1' V`` (t,)."""

    weight: float
    q: Array
    product: Array
    s: Array


def pooled_product(parts: Sequence[RowProduct]) -> RowProduct:
    """The product over the rows of all parts, about the mean of all of them.

    Moving the centre of a part from q to the common mean adds ``(q - mean) s'``.
    """
    weight = sum(part.weight for part in parts)
    q = pooled_sum([part.q * (part.weight / weight) for part in parts])
    product = pooled_sum([part.product for part in parts])
    for part in parts:
        product += np.outer(part.q - q, part.s)
    return RowProduct(weight, q, product, pooled_sum([part.s for part in parts]))


@dataclass(frozen=True)
class PrimalTotals:
    """``C = Qc'W Pc``, ``Qc'W (Y - y)`` of shape (D, t) and the weighted means y (t,).

    Two sets of rows with total weights ``T, U`` and means ``p, q, y`` have together the sums of
    both about their own means, and the part between these means:

    ``C + C' + TU/(T+U) (q - q')(p - p')'``, and ``(q - q')(y - y')'`` for the targets.

    No large numbers cancel, in whatever order and sizes the rows come.
    """

    gram: PrimalGram
    projected: Array
    means: Array

    def rescaled(self, log_columns: Array | None) -> "PrimalTotals":
        """The same with column j of Q divided by ``exp(log_columns_j)``."""
        gram = self.gram
        if log_columns is None and gram.log_columns is None:
            return self
        old = 0.0 if gram.log_columns is None else gram.log_columns
        new = 0.0 if log_columns is None else log_columns
        factor = np.exp(np.broadcast_to(old - np.asarray(new), (gram.n_features,)))
        q_centre = gram.q * factor - (gram.offset**gram.r if log_columns is None else 0.0)
        if gram.free is not None:  # these are in the scale of P, whatever that of Q is
            factor[gram.free], q_centre[gram.free] = 1.0, gram.centre[gram.free]
        C = gram.C * factor[:, None]
        scaled = replace(gram, C=C, q_centre=q_centre, log_columns=log_columns)
        return replace(self, gram=scaled, projected=self.projected * factor[:, None])

    def plus(self, more: "PrimalTotals") -> "PrimalTotals":
        """These rows and others, in the scale of the others."""
        here = self.rescaled(more.gram.log_columns)
        old, new = here.gram, more.gram
        share = new.total_weight / (old.total_weight + new.total_weight)
        y, q = more.means - here.means, new.q_centre - old.q_centre
        projected = here.projected + more.projected + np.outer(old.total_weight * share * q, y)
        return PrimalTotals(pooled_rows([old, new]), projected, here.means + share * y)
