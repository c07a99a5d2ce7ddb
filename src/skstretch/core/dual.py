"""The dual form: ``alpha = Q' (K + diag(lam/w))^-1 y``, for three kinds of intercept."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skstretch.core.factors import Factor, factorise
from skstretch.core.gram import DualGram
from skstretch.core.intercept import Intercept
from skstretch.core.stretch import rows_for_penalty, scaled_penalty
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class DualSolution:
    """Dual coefficients of every target.

    Attributes
    ----------
    beta : array of shape (M, t)
        In the scale of the Gram matrix: divide row i by ``exp(r log_rows_i)`` for the paper's.
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
    free      ``K beta + 1 m + lam beta = y``, ``1' beta = 0``
    column    ``K beta + Pq s + 1 m + lam beta = y``, ``s = 1' beta``,
              ``m = Qp' beta + (pq + 1) s``
    none      as column, with pq in place of pq + 1
    ========  =============================================================
    """

    gram: DualGram  # without K
    lam: Array
    intercept: Intercept
    factor: Factor

    def solve(self, Y: Array) -> DualSolution:
        """Dual coefficients for targets Y of shape (M, t)."""
        M, t = Y.shape
        rows = _row_scale(self.gram)
        B = np.zeros((self.factor.rows.size, t))
        B[:M] = Y * rows[:, None]
        X = self.factor.solve(B)
        beta, zero = X[:M], np.zeros(t)
        if self.gram.log_rows is None:
            if self.intercept is Intercept.FREE:
                return DualSolution(beta, zero, X[M])
            constant = X[M] if self.intercept is Intercept.COLUMN else zero
            return DualSolution(beta, X[M], constant)
        if self.intercept is Intercept.FREE:
            return DualSolution(beta, zero, X[M] * np.exp(self.gram.log_rows.min()))
        if self.intercept is Intercept.COLUMN:
            return DualSolution(beta, zero, np.exp(-self.gram.r * self.gram.log_rows) @ beta)
        return DualSolution(beta, zero, zero)

    def predict(self, gram: DualGram, rows: Index, trained: Index, solution: DualSolution) -> Array:
        """Predictions for `rows` of a larger Gram matrix, of which `trained` is this system's.

        Without row scales only.
        """
        beta, s = solution.beta, solution.total
        outputs = gram.K[np.ix_(rows, trained)] @ beta
        if self.intercept is Intercept.FREE:
            return np.asarray(outputs + solution.constant)
        shift = gram.Qp[trained] @ beta + gram.pq * s + solution.constant
        return np.asarray(outputs + np.outer(gram.Pq[rows], s) + shift)

    @cached_property
    def inverse(self) -> Array:
        """G in the scale of the Gram matrix, (M x M)."""
        M = self.gram.n_samples
        return np.ascontiguousarray(self.factor.inverse[:M, :M])

    @property
    def dof(self) -> float:
        """``M - sum_i lam_i G_ii``, the free intercept included."""
        diagonal = self.factor.inverse_diagonal[: self.gram.n_samples]
        return float(self.gram.n_samples - self.lam @ diagonal)


def dual_system(gram: DualGram, lam: Array, intercept: Intercept) -> DualSystem:
    """Assemble and factor; `lam` is ``lambda / w`` (M,)."""
    if gram.log_rows is None:
        A = _centred_matrix(gram, lam, intercept)
    else:
        log_rows = rows_for_penalty(gram.log_rows, lam, gram.r)
        gram = _rescaled(gram, log_rows)
        lam = scaled_penalty(lam, (1.0 + gram.r) * log_rows)
        A = _scaled_matrix(gram, lam, intercept)
    # K is in A now: a system that outlives the Gram matrix does not hold on to it
    return DualSystem(replace(gram, K=gram.K[:, :0].copy()), lam, intercept, factorise(A))


def _rescaled(gram: DualGram, log_rows: Array) -> DualGram:
    """The Gram matrix in other row scales."""
    if gram.log_rows is None or log_rows is gram.log_rows:
        return gram
    raised = log_rows - gram.log_rows
    K = gram.K * np.exp(-raised)[:, None] * np.exp(-gram.r * raised)
    return replace(gram, K=K, log_rows=log_rows)


def _row_scale(gram: DualGram) -> Array:
    return np.ones(gram.n_samples) if gram.log_rows is None else np.exp(-gram.log_rows)


def _with_borders(K: Array, borders: int) -> Array:
    """K with some rows and columns of zeros at its end, in the column order that LAPACK wants."""
    M = K.shape[0]
    A = np.zeros((M + borders, M + borders), order="F")
    A[:M, :M] = K
    return A


def _centred_matrix(gram: DualGram, lam: Array, intercept: Intercept) -> Array:
    M = gram.n_samples
    A = _with_borders(gram.K, 1 if intercept is Intercept.FREE else 2)
    A[:M, :M].flat[:: M + 1] += lam
    if intercept is Intercept.FREE:
        A[:M, M] = A[M, :M] = 1.0
        return A
    A[:M, M], A[:M, M + 1] = gram.Pq, 1.0
    A[M, :M], A[M, M] = 1.0, -1.0
    A[M + 1, :M], A[M + 1, M + 1] = gram.Qp, -1.0
    A[M + 1, M] = gram.pq + (1.0 if intercept is Intercept.COLUMN else 0.0)
    return A


def _scaled_matrix(gram: DualGram, lam: Array, intercept: Intercept) -> Array:
    assert gram.log_rows is not None
    M, log_rows = gram.n_samples, gram.log_rows
    A = _with_borders(gram.K, 1 if intercept is Intercept.FREE else 0)
    A[:M, :M].flat[:: M + 1] += lam
    if intercept is Intercept.COLUMN:
        A += np.outer(np.exp(-log_rows), np.exp(-gram.r * log_rows))
    if intercept is Intercept.FREE:
        above = log_rows - log_rows.min()
        A[:M, M], A[M, :M] = np.exp(-above), np.exp(-gram.r * above)
    return A
