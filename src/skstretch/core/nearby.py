"""Penalties that hardly differ share one inverse: the next terms of a series instead of an LU each.

With ``D = diag(1/w)`` and ``d = lam - lam0``, the inverse at lam is
``G - d GDG + d^2 GDGDG - d^3 GDGDGDG + ...`` of the inverse G at lam0. With ``q = |d| |GD|`` (the
largest sum of a row) four terms leave out less than ``q^4 / (1 - q)`` of the largest entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skstretch.core.dual import DualSolution
from skstretch.core.dual_gram import DualGram, Frame
from skstretch.core.dual_inverse import Inverse, LUInverse, lu_inverse
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index

# what the series leaves out, at most, as a share of what rounding does to the inverse
LEFT_OUT = 0.1
# by how much an estimate of the reach may be too small
ROUGHLY = 4.0
# penalties in reach from which the series is less work than an LU each (measured)
FEWEST = 3

# units of inverses that leave room for their products
SMALLEST = 1e-250

# the terms that stand with 1, -d, d^2 and -d^3
Terms = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class Centre:
    """The inverse at lam0, for penalties up to ``lam0 + reach``; `shares` are 1/w.

    `outer` are the samples whose rows and columns will be asked for, and `norm` is ``|GD|``: by it
    D is divided and d multiplied, so that the terms have the units of G.
    """

    inverse: LUInverse
    lam: float
    shares: Array
    outer: Index
    reach: float = 0.0
    norm: float = 1.0
    _solved: dict[int, tuple[Array, list[DualSolution]]] = field(default_factory=dict)

    def series(self, Y: Array) -> list[DualSolution]:
        """``v_0 = G Y, v_j = G D v_(j-1) / norm``: solutions within reach are sums of multiples.

        As many as matter at the end of the reach; kept, for cells that ask for the same targets.
        """
        known, found = self._solved.get(id(Y), (None, []))
        if known is Y:
            return found
        found, D = [self.inverse.solve(Y)], (self.shares / self.norm)[:, None]
        largest = np.abs(found[0].beta).max(initial=0.0)
        left, q = largest, self.reach * self.norm
        while left > np.finfo(float).eps * largest and len(found) < 30:
            found.append(self.inverse.solve(D * found[-1].beta[: len(Y)]))
            left = q ** len(found) * np.abs(found[-1].beta).max(initial=0.0)
        self._solved[id(Y)] = Y, found
        return found

    @cached_property
    def terms(self) -> tuple[Terms, Terms, Terms]:
        """Of the diagonal (M,), of rows and of columns (m, M) of the outer samples."""
        D, some, M = self.shares / self.norm, self.outer, self.shares.size
        G = self.inverse.system.factor.inverse[:M, :M]
        GG = G @ (D[:, None] * G)
        # both in the order of G, so that sums run along what lies side by side
        back = GG.T * D
        third, fourth = np.einsum("ij,ij->i", G, back), np.einsum("ij,ij->i", GG, back)
        diagonal = G.diagonal().copy(), GG.diagonal().copy(), third, fourth
        rows = G[some], GG[some], (G[some] * D) @ GG, (GG[some] * D) @ GG
        right, last = D[:, None] * G[:, some], D[:, None] * GG[:, some]
        columns = G[:, some].T, GG[:, some].T, (GG @ right).T, (GG @ last).T
        return diagonal, rows, columns

    def cell(self, lam: float) -> Inverse:
        """The inverse at a penalty within reach."""
        return self.inverse if lam == self.lam else NearInverse(self, lam)


@dataclass(frozen=True)
class NearInverse:
    """G at a penalty within reach of a centre: its diagonal, rows and columns of outer samples."""

    centre: Centre
    lam: float

    @property
    def rcond(self) -> float:
        """That of the centre: they differ by less than q."""
        return self.centre.inverse.rcond

    @property
    def frame(self) -> Frame:
        return self.centre.inverse.frame

    @property
    def penalties(self) -> Array:
        return self.lam * self.centre.shares

    @property
    def dof(self) -> float:
        """``M - sum_i lam_i G_ii``."""
        return float(self.centre.shares.size - self.penalties @ self.diagonal())

    def solve(self, Y: Array) -> DualSolution:
        """Dual coefficients for targets Y (M, t): ``sum_j (-d norm)**j v_j``, to rounding."""
        terms = self.centre.series(Y)
        step = -(self.lam - self.centre.lam) * self.centre.norm
        beta, total, constant = terms[-1].beta, terms[-1].total, terms[-1].constant
        for term in reversed(terms[:-1]):
            beta, total = term.beta + step * beta, term.total + step * total
            constant = term.constant + step * constant
        return DualSolution(beta, total, constant)

    def _sum(self, terms: Terms) -> Array:
        d, (one, two, three, four) = (self.lam - self.centre.lam) * self.centre.norm, terms
        return np.asarray(one - d * (two - d * (three - d * four)))

    @cached_property
    def _diagonal(self) -> Array:
        return self._sum(self.centre.terms[0])

    def diagonal(self) -> Array:
        """``G_ii``, shape (M,)."""
        return self._diagonal

    def cross(self, rows: Index) -> tuple[Array, Array]:
        """``G[rows]`` and ``G[:, rows]'``, of the outer samples alone."""
        if not np.array_equal(rows, self.centre.outer):
            raise ValueError("the rows and columns at hand are those of the outer samples.")
        _, ahead, behind = self.centre.terms
        return self._sum(ahead), self._sum(behind)

    def block(self, rows: Index) -> Array:
        raise NotImplementedError("folds have an LU of their own.")

    def columns(self, rows: Index) -> Array:
        raise NotImplementedError("folds have an LU of their own.")


def centre_of(
    gram: DualGram, weights: Array, intercept: Intercept, lams: Sequence[float], outer: Index
) -> Centre:
    """The inverse at the least penalty, and how far others may be; zero where too few are near.

    Without row scales and columns that are never penalised.
    """
    lam, shares = min(lams), 1.0 / weights
    inverse = lu_inverse(gram, lam * shares, intercept)
    factor, nowhere = inverse.system.factor, Centre(inverse, lam, shares, outer)
    if inverse.rcond == 0.0:
        return nowhere
    allowed = min(0.1, (LEFT_OUT * np.finfo(float).eps / inverse.rcond) ** 0.25)
    # the estimate of the condition tells roughly; the inverse itself tells for sure
    with np.errstate(over="ignore"):
        size = float((shares / factor.columns[: shares.size]).max() / factor.rows.min())
        about = allowed * inverse.rcond * factor.norm / size
    if not SMALLEST < size < 1.0 / SMALLEST or _n_near(lams, ROUGHLY * about) < FEWEST:
        return nowhere
    norm = float((np.abs(factor.inverse[: shares.size, : shares.size]) @ shares).max())
    if not SMALLEST < norm < 1.0 / SMALLEST or _n_near(lams, allowed / norm) < FEWEST:
        return nowhere
    found = Centre(inverse, lam, shares, outer, allowed / norm, norm)
    _ = found.terms  # by the thread that makes it, once
    return found


def _n_near(lams: Sequence[float], reach: float) -> int:
    return sum(lam - min(lams) <= reach for lam in lams)
