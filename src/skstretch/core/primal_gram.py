"""The Gram-like matrix ``C = Q'W P`` of the primal form, summed over blocks of rows.

Blocks are summed about their own means and then pooled, or all about the means of a first walk;
`PrimalTotals` grow by rows that are not kept.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.features import Features, Offset
from skstretch.core.moments import pooled_sum
from skstretch.core.types import Array, Index


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


def pooled_rows(parts: Sequence[PrimalGram]) -> PrimalGram:
    """The primal Gram matrix of blocks of rows.

    Two blocks with weights ``u, v`` and means ``p, q`` and ``p', q'`` have together
    ``C + C' + uv/(u+v) (q - q')(p - p')'``.
    """
    first, C = parts[0], parts[0].C.copy()
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
        new, here = more.gram, self.rescaled(more.gram.log_columns)
        old = here.gram
        total = old.total_weight + new.total_weight
        between = old.total_weight * new.total_weight / total
        share = new.total_weight / total
        p, q = new.centre - old.centre, new.q_centre - old.q_centre
        y = more.means - here.means
        C = np.outer(between * q, p)
        C += old.C
        C += new.C
        gram = replace(
            new,
            C=C,
            centre=old.centre + share * p,
            q_centre=old.q_centre + share * q,
            total_weight=total,
        )
        projected = here.projected + more.projected + np.outer(between * q, y)
        return PrimalTotals(gram, projected, here.means + share * y)
