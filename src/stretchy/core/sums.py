"""Sums over rows that grow block by block: the primal system without the data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stretchy.core.features import Features
from stretchy.core.gram import PrimalGram, stretched_rows
from stretchy.core.types import Array


@dataclass
class PrimalSums:
    """``Q'WP`` and ``Q'WY`` of one exponent, kept about the means of the first rows.

    About a provisional centre the products keep their digits, and the true centre is only known
    at the end: ``sum w (q - q0)(p - p0)' = Qc'W Pc + (sum w) (q_mean - q0)(p_mean - p0)'``.
    """

    r: float
    log_columns: Array | None
    centre: Array
    q_centre: Array
    y_centre: Array
    offset: float
    total: float
    p: Array  # sum of w (p - p0)
    q: Array
    y: Array
    C: Array
    QY: Array

    def add(self, features: Features, weights: Array, Y: Array) -> None:
        """More rows."""
        P = features.excess(1.0)
        P -= self.centre
        Q = stretched_rows(features, self.r, self.log_columns)
        Q -= self.q_centre
        V = weights[:, None] * (Y - self.y_centre)
        self.total += float(weights.sum())
        self.p += weights @ P
        self.q += weights @ Q
        self.y += V.sum(axis=0)
        self.QY += Q.T @ V
        P *= weights[:, None]
        self.C += Q.T @ P

    @property
    def gram(self) -> PrimalGram:
        """``Qc'W Pc`` about the true means."""
        C = self.C - np.outer(self.q, self.p) / self.total
        centre, q_centre = self.centre + self.p / self.total, self.q_centre + self.q / self.total
        return PrimalGram(self.r, C, centre, self.offset, q_centre, self.log_columns, self.total)

    @property
    def means(self) -> Array:
        """Weighted means of the targets."""
        return self.y_centre + self.y / self.total

    @property
    def projected(self) -> Array:
        """``Qc'W (Y - means)``."""
        return np.asarray(self.QY - np.outer(self.q, self.y) / self.total)


def start_sums(
    features: Features,
    weights: Array,
    Y: Array,
    exponents: Sequence[float],
    log_columns: Sequence[Array | None],
) -> list[PrimalSums]:
    """Empty sums for every exponent, with the means of these rows as provisional centre."""
    # any centre will do: rows that weigh nothing still tell where the data lies
    weights = weights if weights.any() else np.ones(weights.size)
    share = weights / weights.sum()
    centre, y_centre = share @ features.excess(1.0), share @ Y
    D, t = centre.size, y_centre.size
    return [
        PrimalSums(
            r, logs, centre, share @ stretched_rows(features, r, logs), y_centre, features.offset,
            0.0, np.zeros(D), np.zeros(D), np.zeros(t), np.zeros((D, D)), np.zeros((D, t)),
        )
        for r, logs in zip(exponents, log_columns, strict=True)
    ]  # fmt: skip
