"""Penalties that hardly differ share one inverse: the next terms of a series instead of an LU each.

With ``D = diag(1/w)`` and ``d = lam - lam0``, the inverse at lam is
``G - d GDG + d^2 GDGDG - d^3 GDGDGDG + ...`` of the inverse G at lam0. With h, the 2-norm of
``D^(1/2) G D^(1/2)``, and ``q = |d| h``, four terms leave out less than ``max(w) h q^4 / (1 - q)``
of any entry. The last two are so small that single precision often does for their diagonals: its
rounding u leaves about ``max(w) h q^2 u sqrt(M)`` open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skstretch.core.dual import DualSolution
from skstretch.core.dual_gram import DualGram, Frame
from skstretch.core.dual_inverse import Inverse, LUInverse, lu_inverse
from skstretch.core.factors import peaks, power_of_two
from skstretch.core.lazy import cached_property
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index

# what the series leaves out, at most, as a share of what rounding does to the inverse
LEFT_OUT = 0.25
# by how much the reach that follows from LAPACK's condition (of another norm) may be too small
ROUGHLY = 16.0
# by how much an estimate of h may be too small, and the steps and vectors that it takes
ENLARGED, STEPS, VECTORS = 1.25, 4, 4
# rows of a product whose diagonal is summed at a time
ROWS = 64
# penalties in reach from which the series is less work than an LU each (measured)
FEWEST = 3

# units of inverses that leave room for their products
SMALLEST = 1e-250

# the terms that stand with 1, -d, d^2 and -d^3
Terms = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class Centre:
    """The inverse at lam0, for penalties up to ``lam0 + reach``; `shares` are 1/w.

    `outer` are the samples whose rows and columns will be asked for, and `norm` is h: by it
    D is divided and d multiplied, so that the terms have the units of G. `small` is the precision
    of the product behind the last two.
    """

    inverse: LUInverse
    lam: float
    shares: Array
    outer: Index
    reach: float = 0.0
    norm: float = 1.0
    small: type[np.float32] | type[np.float64] = np.float64
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
        # without a unit, so that they fit single precision
        N = G * D
        S: Any = N.astype(self.small, copy=False)
        NN = S @ S
        pairs: list[tuple[Any, Any]] = [(N, N), (NN, S), (NN, NN)]
        second, third, fourth = (_product_diagonal(*pair) / D for pair in pairs)
        diagonal = G.diagonal().copy(), second, third, fourth
        if not some.size:
            none = np.zeros((0, M))
            return diagonal, (none,) * 4, (none,) * 4
        GG = np.asarray(NN / D, dtype=np.float64)
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

    def residual_matrix(self, weights: Array) -> Array:
        """That of the centre: they differ by less than q."""
        return self.centre.inverse.residual_matrix(weights)

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
    left_out = LEFT_OUT * np.finfo(float).eps / inverse.rcond
    # the estimate of the condition tells roughly; the inverse itself tells for sure
    with np.errstate(over="ignore"):
        size = float((shares / factor.columns[: shares.size]).max() / factor.rows.min())
        about = min(0.1, left_out**0.25) * inverse.rcond * factor.norm / size
    if not SMALLEST < size < 1.0 / SMALLEST or _n_near(lams, ROUGHLY * about) < FEWEST:
        return nowhere
    G = factor.inverse[: shares.size, : shares.size]
    largest = float(peaks(G, 0).max())
    norm = ENLARGED * _two_norm(G, np.sqrt(shares), largest)
    if not SMALLEST < norm < 1.0 / SMALLEST:
        return nowhere
    # as a share of h
    left_out *= largest / (norm * weights.max())
    reach = min(0.1, left_out**0.25) / norm
    if _n_near(lams, reach) < FEWEST:
        return nowhere
    farthest = max(one - lam for one in lams if one - lam <= reach)
    rounding = float(np.finfo(np.float32).eps) * np.sqrt(shares.size)
    single = not outer.size and rounding * (farthest * norm) ** 2 <= left_out
    small = np.float32 if single else np.float64
    return Centre(inverse, lam, shares, outer, reach, norm, small)


def _product_diagonal(A: Any, B: Any) -> Array:
    """``sum_j A_ij B_ji``, some rows at a time: those of both lie side by side in the cache."""
    parts = [slice(start, start + ROWS) for start in range(0, len(A), ROWS)]
    sides = ((np.ascontiguousarray(A[rows]), np.ascontiguousarray(B[:, rows].T)) for rows in parts)
    return np.concatenate([np.einsum("ij,ij->i", *side) for side in sides])


def _two_norm(G: Array, root: Array, size: float) -> float:
    """An estimate from below of the 2-norm of ``diag(root) G diag(root)``, by the power method.

    `size` is the largest entry of G; single precision is enough.
    """
    unit, most, found = float(power_of_two(np.array(size))), float(root.max()), 0.0
    H, s = np.asarray(G / unit, dtype=np.float32), np.asarray(root / most, np.float32)[:, None]
    V: Any = np.random.default_rng(0).choice([-1.0, 1.0], (root.size, VECTORS))
    for _ in range(STEPS):
        V = np.asarray(V / np.linalg.norm(V, axis=0), dtype=np.float32)
        W = s * (H @ (s * V))
        found = float(np.linalg.norm(W, axis=0).max())
        V = s * (H.T @ (s * W))
    return unit * found * most**2


def _n_near(lams: Sequence[float], reach: float) -> int:
    return sum(lam - min(lams) <= reach for lam in lams)
