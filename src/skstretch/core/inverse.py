"""Parts of ``G = (K + diag(lam))^-1`` without forming all of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from skstretch.core.dual import DualSolution, DualSystem, dual_system
from skstretch.core.factors import WHOLE_INVERSE, permutation
from skstretch.core.gram import DualGram, Frame
from skstretch.core.intercept import Intercept
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

    def diagonal(self) -> Array:
        """``G_ii``, shape (M,)."""
        ...

    def block(self, rows: Index) -> Array:
        """``G[rows, rows]``."""
        ...

    def columns(self, rows: Index) -> Array:
        """``G[:, rows]``."""
        ...


@dataclass(frozen=True)
class LUInverse:
    """G from an LU factorisation and two triangular inverses: ``4/3 M**3`` flops in all.

    Small systems are inverted whole.
    """

    system: DualSystem

    @property
    def rcond(self) -> float:
        return self.system.factor.rcond

    @property
    def frame(self) -> Frame:
        return self.system.gram.frame

    @property
    def dof(self) -> float:
        return self.system.dof

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
        M = self.system.gram.n_samples
        if self._whole is not None:
            return self._whole[:M, rows]
        left, right = self._triangles
        return np.asarray(left[:M] @ right[:, rows])


@dataclass(frozen=True)
class Spectrum:
    """At k = 2 K is symmetric: one eigendecomposition serves every c.

    With ``s = sqrt(w)``: ``diag(s) K diag(s) = V diag(values) V'`` and
    ``G = diag(s) V diag(1/(values + lam)) V' diag(s)``. The free intercept removes the direction
    s, which is moved out of the way before (to `away`) and left out of the sum.
    """

    V: Array
    values: Array
    root: Array
    intercept: Intercept
    frame: Frame

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
        K -= np.outer(unit, unit @ K)
        K -= np.outer(K @ unit, unit)
        away = 2.0 * max(float(np.trace(K)), np.finfo(float).tiny)
        K += away * np.outer(unit, unit)
    values, V = np.linalg.eigh(K)
    if intercept is Intercept.FREE:
        values, V = values[:-1], V[:, :-1]
    return Spectrum(V, np.maximum(values, 0.0), root, intercept, gram.frame)


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
        return float(np.sum(values / (values + self.lam)) + (1.0 if free else 0.0))

    @property
    def _gains(self) -> Array:
        return 1.0 / (self.spectrum.values + self.lam)

    def solve(self, Y: Array) -> DualSolution:
        V, s = self.spectrum.V, self.spectrum.root[:, None]
        beta = s * (V @ (self._gains[:, None] * (V.T @ (s * Y))))
        zero = np.zeros(Y.shape[1])
        if self.spectrum.intercept is Intercept.FREE:
            weights = np.square(self.spectrum.root)
            return DualSolution(beta, zero, weights @ Y / weights.sum())
        total = beta.sum(axis=0)
        column = total if self.spectrum.intercept is Intercept.COLUMN else zero
        return DualSolution(beta, total, column)

    def diagonal(self) -> Array:
        squared = np.square(self.spectrum.V) @ self._gains
        return np.asarray(np.square(self.spectrum.root) * squared)

    def block(self, rows: Index) -> Array:
        V = self.spectrum.V[rows] * self.spectrum.root[rows, None]
        return np.asarray((V * self._gains) @ V.T)

    def columns(self, rows: Index) -> Array:
        V = self.spectrum.V * self.spectrum.root[:, None]
        return np.asarray((V * self._gains) @ V[rows].T)


def lu_inverse(gram: DualGram, lam: Array, intercept: Intercept) -> LUInverse:
    """G of one cell by LU; `lam` is ``lambda / w``."""
    return LUInverse(dual_system(gram, lam, intercept))
