"""The dual form: ``alpha = Q' (K + diag(lam/w))^-1 y``, for three kinds of intercept."""

from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.dual_gram import DualGram
from skstretch.core.factors import Factor, factorise, peaks, power_of_two
from skstretch.core.lazy import cached_property
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
        rows = _row_scale(self.gram)
        B = np.zeros((self.factor.rows.size, t))
        B[:M] = Y * rows[:, None]
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

    def predict(self, gram: DualGram, rows: Index, trained: Index, solution: DualSolution) -> Array:
        """Predictions for `rows` of a larger Gram matrix, of which `trained` is this system's.

        Without row scales only.
        """
        beta, s = solution.beta[: trained.size], solution.total
        outputs = gram.K[np.ix_(rows, trained)] @ beta
        if gram.free is not None:
            outputs += gram.free[rows] @ solution.beta[trained.size :]
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
        """``M - sum_i lam_i G_ii``, the free intercept included; see `Factor.trace`."""
        return self.gram.n_samples - self.factor.trace(self.lam)


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


def _row_scale(gram: DualGram) -> Array:
    return np.ones(gram.n_samples) if gram.log_rows is None else np.exp(-gram.log_rows)


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
