"""The primal form: ``alpha = (Q'WP + lam I)^-1 Q'W y``, for three kinds of intercept."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from skstretch.core.crossfit import RowSystem
from skstretch.core.factors import Factor, factorise
from skstretch.core.lazy import cached_property
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.stretch import Intercept, scaled_penalty
from skstretch.core.types import Array


@dataclass(frozen=True)
class PrimalSystem:
    """The factorised system of one (k, c), with ``T`` the sum of weights and ``y_mean`` weighted.

    ========  =================================================================
    free      ``(C + lam) alpha = Qc'W y``; the mean is fitted exactly
    column    ``(C + lam) alpha - lam q a0 = Qc'W y``,
              ``p' alpha + (1 + lam/T) a0 = y_mean``
    none      ``(C + lam) alpha - q t = Qc'W y``, ``p' alpha + t/T = y_mean``
    ========  =================================================================

    Row j of the first line is divided by ``exp(log_columns_j)`` throughout.
    """

    gram: PrimalGram
    lam: float
    intercept: Intercept
    factor: Factor

    @property
    def rcond(self) -> float:
        """The reciprocal condition number of what was factored."""
        return self.factor.rcond

    def solve(self, projected: Array, means: Array) -> tuple[Array, Array]:
        """``(alpha, constant)`` from ``Qc'W Y`` (D x t) and the weighted means of Y (t,).

        The constant is the weight of the column, the mean fitted value (free) or zero.
        """
        D = self.gram.n_features
        if self.intercept is Intercept.FREE:
            return self.factor.solve(projected), means
        X = self.factor.solve(np.vstack([projected, means]))
        return X[:D], X[D] if self.intercept is Intercept.COLUMN else np.zeros_like(means)

    @cached_property
    def inverse(self) -> Array:
        """The inverse of the system's matrix."""
        return self.factor.inverse

    @property
    def dof(self) -> float:
        """The trace of the hat matrix; see `Factor.trace`."""
        D = self.gram.n_features
        shrunk = self.factor.trace(_penalties(self.gram, self.lam))
        if self.intercept is Intercept.FREE:
            return 1.0 + D - shrunk
        if self.intercept is Intercept.NONE:
            return D - shrunk
        # the columns of the penalised system are those of the inverse after undoing the elimination
        unit = np.zeros((D + 1, 1))
        unit[D] = 1.0
        last = self.factor.solve_transposed(unit)[:, 0]
        corner = last[D] / self.gram.total_weight - last[:D] @ self.gram.q
        return float(D + 1.0 - shrunk - self.lam * corner)

    def left(self, Pc: Array) -> Array:
        """See `left_rows`."""
        return left_rows(self.gram, self.intercept, Pc)

    def right(self, Qc: Array) -> Array:
        """See `right_rows`."""
        return right_rows(self.gram, Qc)

    def row_system(self) -> RowSystem:
        """The system for exact cross-validation, the free intercept among its unknowns."""
        if self.intercept is not Intercept.FREE:
            return RowSystem(self.matrix, self.inverse)
        D = self.gram.n_features
        B, inverse = np.zeros((D + 1, D + 1)), np.zeros((D + 1, D + 1))
        B[:D, :D], inverse[:D, :D] = self.matrix, self.inverse
        B[D, D] = inverse[D, D] = 1.0
        return RowSystem(B, inverse)

    @property
    def matrix(self) -> Array:
        """The system's matrix, as it was before it was factored."""
        return _matrix(self.gram, self.lam, self.intercept)

    def covariance(self, QQ: Array) -> Array:
        """``A W^-1 A'`` for ``alpha = A y``, from ``QQ = Qc'W Qc``."""
        return self._joint_covariance(QQ)[: self.gram.n_features, : self.gram.n_features]

    def hat_norm(self, QQ: Array, PP: Array) -> float:
        """``sum_ij w_i H_ij**2 / w_j``, from ``QQ`` and ``PP = Pc'W Pc``."""
        D, T = self.gram.n_features, self.gram.total_weight
        joint = self._joint_covariance(QQ)
        spread = float(np.sum(joint[:D, :D] * PP))
        if self.intercept is Intercept.FREE:
            return spread + 1.0
        mean = np.append(self.gram.p, 1.0)
        if self.intercept is Intercept.NONE:
            mean[D] = 0.0
        return spread + T * float(mean @ joint @ mean)

    def _joint_covariance(self, QQ: Array) -> Array:
        size = self.factor.rows.size
        noise = np.zeros((size, size))
        noise[: QQ.shape[0], : QQ.shape[0]] = QQ
        if size > QQ.shape[0]:
            noise[-1, -1] = 1.0 / self.gram.total_weight
        # through a root of the noise, so that no variance can come out negative
        values, vectors = eigh(noise)
        half = self.inverse @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        return np.asarray(half @ half.T)


def left_rows(gram: PrimalGram, intercept: Intercept, Pc: Array) -> Array:
    """Rows that turn the unknowns x of any penalty into predictions: ``prediction = left x``.

    With the free intercept the last unknown is the mean fitted value.
    """
    left = np.empty((Pc.shape[0], Pc.shape[1] + 1))
    left[:, -1] = 0.0 if intercept is Intercept.NONE else 1.0
    np.add(Pc, 0.0 if intercept is Intercept.FREE else gram.p, out=left[:, :-1])
    return left


def right_rows(gram: PrimalGram, Qc: Array) -> Array:
    """Rows whose weighted sum with y is the right-hand side of the unknowns of any penalty."""
    right = np.empty((Qc.shape[0], Qc.shape[1] + 1))
    right[:, -1], right[:, :-1] = 1.0 / gram.total_weight, Qc
    return right


def primal_system(gram: PrimalGram, lam: float, intercept: Intercept) -> PrimalSystem:
    """Assemble and factor."""
    borders = 0 if intercept is Intercept.FREE else 1
    return PrimalSystem(gram, lam, intercept, factorise(_matrix(gram, lam, intercept), borders))


def _matrix(gram: PrimalGram, lam: float, intercept: Intercept) -> Array:
    D = gram.n_features
    size = D if intercept is Intercept.FREE else D + 1
    A = np.zeros((size, size))
    A[:D, :D] = gram.C
    A[:D, :D].flat[:: D + 1] += _penalties(gram, lam)
    if intercept is not Intercept.FREE:
        A[D, :D] = gram.p
    if intercept is Intercept.COLUMN:
        A[:D, D], A[D, D] = -lam * gram.q, 1.0 + lam / gram.total_weight
    if intercept is Intercept.NONE:
        A[:D, D], A[D, D] = -gram.q, 1.0 / gram.total_weight
    return A


def _penalties(gram: PrimalGram, lam: float) -> Array:
    """What stands on the diagonal for each feature, in the scale of its row."""
    repeated = np.full(gram.n_features, lam)
    logs = gram.log_columns
    if gram.log_factors is not None:
        logs = (0.0 if logs is None else logs) - gram.log_factors
    return repeated if logs is None else scaled_penalty(repeated, logs)
