"""The dual form: ``alpha = Q' (K + diag(lam/w))^-1 y``, for three kinds of intercept.

The parts of ``G = (K + diag(lam/w))^-1`` that exact cross-validation asks for.

By LU for one penalty, or at k = 2 from one spectrum for all of them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from skstretch.core.factors import (
    Factor,
    counted,
    factorise,
    peaks,
    power_of_two,
)
from skstretch.core.gram import DualGram, Frame
from skstretch.core.stretch import Intercept, rows_for_penalty, scaled_penalty
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class DualSolution:
    """Dual coefficients of every target.

    Attributes
    ----------
    beta : array of shape (M + q, t)
        In the scale of the Gram matrix: divide row i by ``exp(r log_rows_i)`` for the paper's.
        Below the M dual coefficients stand those of the q columns that are never penalised.
    total : array of shape (t,)
        ``1' beta``, the multiplier of the mean of Q; zero when nothing was centred.
    constant : array of shape (t,)
        Free intercept: the fitted value where the (centred) features are zero. Column: its weight.
    """

    beta: Array
    total: Array
    constant: Array


@dataclass(frozen=True)
class DualSystem:
    """The factorised system of one (k, c).

    The matrix is ``K + diag(lam)`` with up to two borders, so that its inverse has
    ``G = (K_full + diag(lam))^-1`` (with the free intercept: Gc) as its leading block:

    ========  =============================================================
    free      ``K beta + F g + 1 m + lam beta = y``, ``F' beta = 0``, ``1' beta = 0``
    column    ``K beta + Pq s + 1 m + lam beta = y``, ``s = 1' beta``,
              ``m = Qp' beta + (pq + 1) s``
    none      as column, with pq in place of pq + 1
    ========  =============================================================

    Ones in the borders stand beside K, which has the units of the features: they are multiplied
    by `unit`, a power of two of the size of the smallest row of K, so that neither the condition
    nor the pivots depend on units. The unknown m comes out divided by `unit`. (The penalised
    column is a feature of size one, whatever the others are: there `unit` is one.) So are the q
    columns F that are never penalised, usually none; they stand before the ones.
    """

    gram: DualGram  # without K
    lam: Array
    intercept: Intercept
    factor: Factor
    unit: float
    sizes: Array  # sqrt(|K_ii|), (M,)

    @property
    def rcond(self) -> float:
        """The reciprocal condition number of what was factored."""
        return self.factor.rcond

    def solve(self, Y: Array) -> DualSolution:
        """Dual coefficients for targets Y of shape (M, t)."""
        M, t = Y.shape
        logs = self.gram.log_rows
        B = np.zeros((self.factor.rows.size, t))
        B[:M] = Y if logs is None else Y * np.exp(-logs)[:, None]
        X = self._refined(self.factor.solve(B))
        beta, zero = X[:M], np.zeros(t)
        if self.intercept is Intercept.FREE:
            beta = self._with_free(X)
        if self.gram.log_rows is None:
            if self.intercept is Intercept.FREE:
                return DualSolution(beta, zero, self.unit * X[-1])
            constant = X[M] if self.intercept is Intercept.COLUMN else zero
            return DualSolution(beta, X[M], constant)
        if self.intercept is Intercept.FREE:
            return DualSolution(beta, zero, X[-1] * (self.unit * np.exp(self.gram.log_rows.min())))
        if self.intercept is Intercept.COLUMN:
            return DualSolution(beta, zero, np.exp(-self.gram.r * self.gram.log_rows) @ beta)
        return DualSolution(beta, zero, zero)

    def _refined(self, X: Array) -> Array:
        """One step of refinement by the two borders of a centred system without free intercept.

        There m is the level of the prediction and can be far larger than ``(K + lam) beta``, so
        that beta takes over its rounding. The borders know better: what their equations miss by is
        what beta and s are off, many times enlarged.
        """
        if self.gram.log_rows is not None or self.intercept is Intercept.FREE:
            return X
        M, unit, Qp = self.gram.n_samples, self.unit, self.gram.Qp
        beta, s, m = X[:M], X[M], X[M + 1]
        corner = self.gram.pq + (1.0 if self.intercept is Intercept.COLUMN else 0.0)
        missed = np.zeros_like(X)
        missed[M] = unit * (s - beta.sum(axis=0))
        missed[M + 1] = unit * m - Qp @ beta - corner * s
        # below the rounding of its own sum a difference tells nothing
        sizes = np.array(
            [
                unit * (abs(s) + abs(beta).sum(axis=0)),
                abs(unit * m) + abs(Qp) @ abs(beta) + abs(corner * s),
            ]
        )
        missed[M:][abs(missed[M:]) <= 8.0 * np.finfo(np.float64).eps * sizes] = 0.0
        if not missed.any():
            return X
        return np.asarray(X + self.factor.solve(missed))

    def _with_free(self, X: Array) -> Array:
        """The first M + q unknowns, those of F in the scale of F."""
        M, q = self.gram.n_samples, self.gram.n_free
        if not q:
            return X[:M]
        X = X[: M + q].copy()
        X[M:] *= self.free_unit
        return X

    @property
    def free_unit(self) -> float:
        """What the unknowns of F are multiplied by to be its coefficients."""
        log_rows = self.gram.log_rows
        return self.unit * (1.0 if log_rows is None else float(np.exp(log_rows.min())))

    @property
    def inverse(self) -> Array:
        """G in the scale of the Gram matrix, (M x M)."""
        M = self.gram.n_samples
        return self.factor.inverse[:M, :M]

    @property
    def dof(self) -> float:
        """``M - sum_i lam_i G_ii``, the free intercept included; see `Factor.trace`."""
        return self.gram.n_samples - self.factor.trace(self.lam)

    @property
    def frame(self) -> Frame:
        return self.gram.frame

    @property
    def penalties(self) -> Array:
        return self.lam

    def diagonal(self) -> Array:
        return self.inverse.diagonal()

    def block(self, rows: Index) -> Array:
        return self.inverse[np.ix_(rows, rows)]

    def columns(self, rows: Index) -> Array:
        M, q = self.gram.n_samples, self.gram.n_free
        found = self.factor.inverse[: M + q, rows]
        found[M:] *= self.free_unit
        return found

    def residual_matrix(self, weights: Array) -> Array:
        left = right = np.sqrt(weights)
        if self.gram.log_rows is not None:
            left, right = left * np.exp(self.gram.log_rows), right * np.exp(self.gram.log_rows)
        return np.asarray(self.inverse * (left / self.diagonal())[:, None] / right)


def dual_system(gram: DualGram, lam: Array, intercept: Intercept) -> DualSystem:
    """Assemble and factor; `lam` is ``lambda / w`` (M,)."""
    if gram.log_rows is None:
        A, unit = _centred_matrix(gram, lam, intercept)
    else:
        log_rows = rows_for_penalty(gram.log_rows, lam, gram.r)
        gram = _rescaled(gram, log_rows)
        lam = scaled_penalty(lam, (1.0 + gram.r) * log_rows)
        A, unit = _scaled_matrix(gram, lam, intercept)
    sizes = np.sqrt(np.abs(gram.K.diagonal()))
    # K is in A now: a system that outlives the Gram matrix does not hold on to it
    bare = replace(gram, K=gram.K[:, :0].copy())
    return DualSystem(bare, lam, intercept, factorise(A), unit, sizes)


def _rescaled(gram: DualGram, log_rows: Array) -> DualGram:
    """The Gram matrix in other row scales."""
    if gram.log_rows is None or log_rows is gram.log_rows:
        return gram
    raised = log_rows - gram.log_rows
    K = gram.K * np.exp(-raised)[:, None] * np.exp(-gram.r * raised)
    return replace(gram, K=K, log_rows=log_rows)


def _with_borders(K: Array, borders: int) -> Array:
    """K with some rows and columns of zeros at its end, in the column order that LAPACK wants."""
    M = K.shape[0]
    A = np.zeros((M + borders, M + borders), order="F")
    A[:M, :M] = K
    return A


def _border_unit(A: Array, M: int) -> float:
    """A power of two of the size of the smallest row of the leading block (M, M)."""
    return float(power_of_two(peaks(A[:M, :M], 1)).min(initial=np.inf))


def _centred_matrix(gram: DualGram, lam: Array, intercept: Intercept) -> tuple[Array, float]:
    """The system of a centred Gram matrix, and the unit of its borders."""
    M = gram.n_samples
    A = _with_borders(gram.K, 1 + gram.n_free if intercept is Intercept.FREE else 2)
    A[:M, :M].flat[:: M + 1] += lam
    # the penalised column has a unit of its own: one
    unit = 1.0 if intercept is Intercept.COLUMN else _border_unit(A, M)
    if intercept is Intercept.FREE:
        A[:M, -1] = A[-1, :M] = unit
        if gram.free is not None:
            A[:M, M:-1] = unit * gram.free
            A[M:-1, :M] = A[:M, M:-1].T
        return A, unit
    A[:M, M], A[:M, M + 1] = gram.Pq, unit
    A[M, :M], A[M, M] = unit, -unit
    A[M + 1, :M], A[M + 1, M + 1] = gram.Qp, -unit
    A[M + 1, M] = gram.pq + (1.0 if intercept is Intercept.COLUMN else 0.0)
    return A, unit


def _scaled_matrix(gram: DualGram, lam: Array, intercept: Intercept) -> tuple[Array, float]:
    """The system of a Gram matrix of scaled rows, and the unit of its border."""
    assert gram.log_rows is not None
    M, log_rows = gram.n_samples, gram.log_rows
    A = _with_borders(gram.K, 1 + gram.n_free if intercept is Intercept.FREE else 0)
    A[:M, :M].flat[:: M + 1] += lam
    unit = _border_unit(A, M)
    if intercept is Intercept.COLUMN:
        A += np.outer(np.exp(-log_rows), np.exp(-gram.r * log_rows))
    if intercept is Intercept.FREE:
        above = log_rows - log_rows.min()
        A[:M, -1], A[-1, :M] = unit * np.exp(-above), unit * np.exp(-gram.r * above)
        if gram.free is not None:
            A[:M, M:-1] = A[:M, -1:] * gram.free
            A[M:-1, :M] = (A[-1, :M, None] * gram.free).T
    return A, unit


class Inverse(Protocol):
    """What exact cross-validation asks of one candidate, in the scale of its Gram matrix."""

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

    def residual_matrix(self, weights: Array) -> Array:
        """``diag(sqrt(w) / G_ii) G diag(1 / sqrt(w))``, which takes ``sqrt(w) y`` to leave-one-out
        residuals ``sqrt(w) r``."""
        ...


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

    def inverse(self, lam: float) -> "EighInverse":
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

    def residual_matrix(self, weights: Array) -> Array:
        # V g V' and its diagonal: the roots of the weights are in G already, and cancel
        V, gains = self.spectrum.V, self._gains
        return np.asarray(((V * gains) @ V.T) / (self.spectrum.squares @ gains)[:, None])
