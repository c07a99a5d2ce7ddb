"""The two Gram-like matrices of the closed form, summed over blocks of features or of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.centring import Rows, centred
from skstretch.core.features import Features
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
    """

    r: float
    K: Array
    Pq: Array
    Qp: Array
    pq: float
    centre: Array
    log_rows: Array | None

    @property
    def n_samples(self) -> int:
        return int(self.K.shape[0])

    @property
    def frame(self) -> Frame:
        return Frame(self.r, self.centre, self.log_rows)

    def rows(self, rows: Index) -> "DualGram":
        """The Gram matrix of some samples, about the same centre."""
        log_rows = None if self.log_rows is None else self.log_rows[rows]
        K = self.K[np.ix_(rows, rows)]
        return replace(self, K=K, Pq=self.Pq[rows], Qp=self.Qp[rows], log_rows=log_rows)


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


def joined(parts: Sequence[DualGram]) -> DualGram:
    """The Gram matrix of consecutive blocks of features, added in their order."""
    first, *others = parts
    total = first
    for other in others:
        total = combined(total, other, 1.0)
    return replace(total, centre=np.concatenate([part.centre for part in parts]))


def dual_coefficients(
    block: Rows, frame: Frame, beta: Array, total: Array, weights: Array
) -> Array:
    """``alpha = Q' beta`` for one block of features, shape (block, t); ``total = 1' beta``."""
    if frame.log_rows is not None:
        features = block.rows(slice(None))
        return np.asarray(features.power(frame.r, frame.r * frame.log_rows[:, None]).T @ beta)
    Qc, e = centred(block, frame.r, weights)
    return np.asarray(Qc.T @ beta + np.outer(e + block.offset, total))


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
    Pq += P @ (e + block.offset)


@dataclass(frozen=True)
class PrimalGram:
    """``C = Qc' W Pc`` (D x D) and the weighted means.

    ``P = Pc + 1 (centre + offset)'`` and ``Q = Qc + 1 (q_centre + q_offset)'``, where with
    `log_columns` column j of Q is divided by ``exp(log_columns_j)``.
    """

    r: float
    C: Array
    centre: Array
    offset: float
    q_centre: Array
    log_columns: Array | None
    total_weight: float

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
        return self.q_centre + (self.offset if self.log_columns is None else 0.0)

    def pair(self, features: Features) -> tuple[Array, Array]:
        """``(Pc, Qc)`` for a block of rows."""
        P = features.excess(1.0)
        P -= self.centre
        return P, self.stretched(features)

    def stretched(self, features: Features) -> Array:
        """Qc for a block of rows."""
        Q = stretched_rows(features, self.r, self.log_columns)
        Q -= self.q_centre
        return Q


def stretched_rows(features: Features, r: float, log_columns: Array | None) -> Array:
    """``P**r`` of a block of rows less the offset, or with scaled columns."""
    return features.excess(r) if log_columns is None else features.power(r, log_columns)


def primal_grams(
    walk: Callable[[], Iterator[tuple[slice, Features]]],
    exponents: Sequence[float],
    weights: Array,
    log_columns: Sequence[Array | None],
) -> list[PrimalGram]:
    """C for every exponent in two walks over blocks of rows: the means, then the products."""
    total = float(weights.sum())
    stretches = list(zip(exponents, log_columns, strict=True))
    centre: Array | float = 0.0
    q_centres: list[Array | float] = [0.0] * len(stretches)
    for rows, features in walk():
        share, offset = weights[rows] / total, features.offset
        centre = centre + share @ features.excess(1.0)
        for i, (r, logs) in enumerate(stretches):
            q_centres[i] = q_centres[i] + share @ stretched_rows(features, r, logs)
    centre = np.asarray(centre)
    sums = [np.zeros((centre.size, centre.size)) for _ in stretches]
    for rows, features in walk():
        P = features.excess(1.0)
        P -= centre
        P *= weights[rows, None]
        for C, q_centre, (r, logs) in zip(sums, q_centres, stretches, strict=True):
            Q = stretched_rows(features, r, logs)
            Q -= q_centre
            C += Q.T @ P
    return [
        PrimalGram(r, C, centre, offset, np.asarray(q_centre), logs, total)
        for C, q_centre, (r, logs) in zip(sums, q_centres, stretches, strict=True)
    ]


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
