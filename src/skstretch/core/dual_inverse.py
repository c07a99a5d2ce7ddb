"""The parts of ``G = (K + diag(lam/w))^-1`` that exact cross-validation asks for.

By LU for one penalty, or at k = 2 from one spectrum for all of them.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from skstretch.core.dual import DualSolution, DualSystem, dual_system
from skstretch.core.dual_gram import DualGram, Frame
from skstretch.core.factors import WHOLE_INVERSE, counted, permutation
from skstretch.core.lazy import cached_property
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index


class Inverse(Protocol):
    """What exact cross-validation asks of one cell, in the scale of its Gram matrix."""

    @property
    def rcond(self) -> float: ...

    @property
    def frame(self) -> Frame: ...

    @property
    def dof(self) -> float:
        """``M - sum_i lam_i G_ii``."""
        ...

    def solve(self, Y: Array) -> DualSolution:
        """Dual coefficients for targets Y (M, t)."""
        ...

    @property
    def penalties(self) -> Array:
        """``lam / w``, shape (M,)."""
        ...

    def diagonal(self) -> Array:
        """``G_ii``, shape (M,)."""
        ...

    def block(self, rows: Index) -> Array:
        """``G[rows, rows]``."""
        ...

    def columns(self, rows: Index) -> Array:
        """``G[:, rows]``, and below it the q rows that belong to columns never penalised."""
        ...

    def cross(self, rows: Index) -> tuple[Array, Array]:
        """``G[rows]`` and ``G[:, rows]'``, of samples alone."""
        ...

    def residual_matrix(self, weights: Array) -> Array:
        """``diag(sqrt(w) / G_ii) G diag(1 / sqrt(w))``, which takes ``sqrt(w) y`` to leave-one-out
        residuals ``sqrt(w) r``."""
        ...


@dataclass(frozen=True)
class LUInverse:
    """G from an LU factorisation and two triangular inverses: ``4/3 M**3`` flops in all.

    Small systems are inverted whole.
    """

    system: DualSystem

    @property
    def rcond(self) -> float:
        return self.system.rcond

    @property
    def frame(self) -> Frame:
        return self.system.gram.frame

    @property
    def dof(self) -> float:
        return self.system.dof

    @property
    def penalties(self) -> Array:
        return self.system.lam

    def solve(self, Y: Array) -> DualSolution:
        return self.system.solve(Y)

    @cached_property
    def _triangles(self) -> tuple[Array, Array]:
        """``(U^-1, L^-1 Pi)`` scaled so that their product is the inverse of the system."""
        factor = self.system.factor
        upper, _ = lapack.dtrtri(factor.lu, lower=0)
        lower, _ = lapack.dtrtri(factor.lu, lower=1, unitdiag=1)
        # LAPACK leaves L below U and the other way round, in column order
        left = np.tril(upper.T)
        left /= factor.columns
        right = np.empty(lower.shape)
        order = permutation(factor.pivots)
        right[:, order] = np.tril(lower, -1)
        right[np.arange(order.size), order] = 1.0
        right /= factor.rows
        return left.T, right

    @property
    def _whole(self) -> Array | None:
        """All of the inverse, where that is less work than its parts."""
        small = self.system.factor.lu.shape[0] <= WHOLE_INVERSE
        return self.system.factor.inverse if small else None

    def diagonal(self) -> Array:
        return self.system.factor.inverse_diagonal[: self.system.gram.n_samples]

    def block(self, rows: Index) -> Array:
        if self._whole is not None:
            return self._whole[np.ix_(rows, rows)]
        left, right = self._triangles
        return np.asarray(left[rows] @ right[:, rows])

    def columns(self, rows: Index) -> Array:
        M, q = self.system.gram.n_samples, self.system.gram.n_free
        if self._whole is not None:
            found = self._whole[: M + q, rows]
        else:
            found = self.system.factor.solve(self._units(rows))[: M + q]
        if q:
            found[M:] *= self.system.free_unit
        return found

    def cross(self, rows: Index) -> tuple[Array, Array]:
        M = self.system.gram.n_samples
        if self._whole is not None:
            return self._whole[rows, :M], self._whole[:M, rows].T
        units, factor = self._units(rows), self.system.factor
        return factor.solve_transposed(units)[:M].T, factor.solve(units)[:M].T

    def residual_matrix(self, weights: Array) -> Array:
        left = right = np.sqrt(weights)
        if self.frame.log_rows is not None:
            left, right = left * np.exp(self.frame.log_rows), right * np.exp(self.frame.log_rows)
        M = self.system.gram.n_samples
        G = self.system.factor.inverse[:M, :M]
        return np.asarray(G * (left / G.diagonal())[:, None] / right)

    def _units(self, rows: Index) -> Array:
        """Columns of the identity of the system."""
        units = np.zeros((self.system.factor.rows.size, rows.size), order="F")
        units[rows, np.arange(rows.size)] = 1.0
        return units


@dataclass(frozen=True)
class Spectrum:
    """At k = 2 K is symmetric: one eigendecomposition serves every c.

    With ``s = sqrt(w)``: ``diag(s) K diag(s) = V diag(values) V'`` and
    ``G = diag(s) V diag(1/(values + lam)) V' diag(s)``. The free intercept removes the direction
    s, which is moved out of the way before (to `away`) and left out of the sum. So are the
    directions ``diag(s) F`` of columns that are never penalised; their coefficients are
    ``g = F'W (y - K beta) / sum(w)``.
    """

    V: Array
    values: Array
    root: Array
    intercept: Intercept
    frame: Frame
    free: "FreeRows | None" = None

    @cached_property
    def squares(self) -> Array:
        """``V**2``, element by element."""
        return np.square(self.V)

    def cell(self, lam: float) -> "EighInverse":
        """The inverse at one penalty."""
        return EighInverse(self, lam)


def spectrum(gram: DualGram, weights: Array, intercept: Intercept) -> Spectrum:
    """Decompose a symmetric Gram matrix (r = 1, no row scales)."""
    root = np.sqrt(weights)
    K = gram.K.copy()
    if intercept is not Intercept.FREE:
        one = 1.0 if intercept is Intercept.COLUMN else 0.0
        K += gram.Pq[:, None] + gram.Qp + (gram.pq + one)
    K *= root[:, None]
    K *= root
    if intercept is Intercept.FREE:
        # centred about the weighted mean, K s = 0 up to rounding: give s its own far eigenvalue
        unit = root / np.linalg.norm(root)
        units = [unit] if gram.free is None else [unit, *_free_units(gram.free, root)]
        for unit in units:
            K -= np.outer(unit, unit @ K)
            K -= np.outer(K @ unit, unit)
        away = 2.0 * max(float(np.trace(K)), np.finfo(float).tiny)
        for unit in units:
            K += away * np.outer(unit, unit)
    counted("eigendecomposition")
    values, V = np.linalg.eigh(K)
    if intercept is Intercept.FREE:
        values, V = values[: -len(units)], V[:, : -len(units)]
    known = Spectrum(V, np.maximum(values, 0.0), root, intercept, gram.frame)
    return known if gram.free is None else replace(known, free=_free_rows(gram, weights))


@dataclass(frozen=True)
class FreeRows:
    """What coefficients of F (M x q) are made of: ``g = A y - A K beta``, ``A = F'W / sum(w)``."""

    A: Array
    AK: Array


def _free_units(F: Array, root: Array) -> Array:
    """Orthonormal rows that span ``diag(s) F``, for an F that is orthogonal to ones."""
    return np.asarray((F * root[:, None]).T / np.linalg.norm(root))


def _free_rows(gram: DualGram, weights: Array) -> FreeRows:
    assert gram.free is not None
    A = (gram.free * (weights / weights.sum())[:, None]).T
    return FreeRows(A, A @ gram.K)


@dataclass(frozen=True)
class EighInverse:
    """G at one penalty from a spectrum."""

    spectrum: Spectrum
    lam: float

    @property
    def rcond(self) -> float:
        values = self.spectrum.values
        largest = float(values.max(initial=0.0)) + self.lam
        if largest == 0.0:
            return 0.0
        return (float(values.min(initial=np.inf)) + self.lam) / largest if values.size else 1.0

    @property
    def frame(self) -> Frame:
        return self.spectrum.frame

    @property
    def dof(self) -> float:
        values, free = self.spectrum.values, self.spectrum.intercept is Intercept.FREE
        beside = self.spectrum.root.size - values.size if free else 0
        return float(np.sum(values / (values + self.lam)) + beside)

    @property
    def penalties(self) -> Array:
        return np.asarray(self.lam / np.square(self.spectrum.root))

    @property
    def _gains(self) -> Array:
        return 1.0 / (self.spectrum.values + self.lam)

    def solve(self, Y: Array) -> DualSolution:
        V, s = self.spectrum.V, self.spectrum.root[:, None]
        beta = s * (V @ (self._gains[:, None] * (V.T @ (s * Y))))
        zero = np.zeros(Y.shape[1])
        if self.spectrum.intercept is Intercept.FREE:
            weights, known = np.square(self.spectrum.root), self.spectrum.free
            mean = weights @ Y / weights.sum()
            if known is not None:
                beta = np.vstack([beta, known.A @ Y - known.AK @ beta])
            return DualSolution(beta, zero, mean)
        total = beta.sum(axis=0)
        column = total if self.spectrum.intercept is Intercept.COLUMN else zero
        return DualSolution(beta, total, column)

    @cached_property
    def _diagonal(self) -> Array:
        return np.asarray(np.square(self.spectrum.root) * (self.spectrum.squares @ self._gains))

    def diagonal(self) -> Array:
        return self._diagonal

    def block(self, rows: Index) -> Array:
        V = self.spectrum.V[rows] * self.spectrum.root[rows, None]
        return np.asarray((V * self._gains) @ V.T)

    def columns(self, rows: Index) -> Array:
        # what is multiplied first has few rows
        V, root, known = self.spectrum.V, self.spectrum.root, self.spectrum.free
        some = V[rows] * root[rows, None] * self._gains
        found = np.asarray(root[:, None] * (V @ some.T))
        return found if known is None else np.vstack([found, known.A[:, rows] - known.AK @ found])

    def cross(self, rows: Index) -> tuple[Array, Array]:
        found = self.columns(rows)[: self.spectrum.root.size].T
        return found, found

    def residual_matrix(self, weights: Array) -> Array:
        # V g V' and its diagonal: the roots of the weights are in G already, and cancel
        V, gains = self.spectrum.V, self._gains
        return np.asarray(((V * gains) @ V.T) / (self.spectrum.squares @ gains)[:, None])


def lu_inverse(gram: DualGram, lam: Array, intercept: Intercept) -> LUInverse:
    """G of one cell by LU; `lam` is ``lambda / w``."""
    return LUInverse(dual_system(gram, lam, intercept))
