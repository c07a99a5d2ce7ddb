"""Penalty factors: how much more or less a feature is penalised than the others.

The penalty of feature j is multiplied by its factor ``p_j``:

    sum_j p_j |alpha_j|^k + ...      in place of      sum_j |alpha_j|^k + ...

A finite factor is a scale of its column. With ``alpha_j = s_j beta_j`` and ``s_j = p_j^(-1/k)`` the
sum is ``sum_j |beta_j|^k``, and the features are ``s_j P_j``; the paper's closed form of these has
``Q_j = (s_j P_j)^r`` and ``K = sum_j p_j^(-r) P_j (P_j^r)'``. At k = 2 that is generalised ridge
regression, ``sum_j p_j alpha_j^2``. A factor of zero has no such scale: its column U joins the free
intercept, and targets and all other features are regressed on ``[1, U]``.

The primal form: ``alpha = (Q'WP + lam I)^-1 Q'W y``, for three kinds of intercept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from skstretch.core.crossfit import RowSystem
from skstretch.core.factors import Factor, factorise
from skstretch.core.gram import PrimalGram
from skstretch.core.stretch import Intercept, scaled_penalty
from skstretch.core.types import Array, Index

# relative to their mean, beyond which a factor is meant to be 0 or inf
LEAST, MOST = 1e-30, 1e30
# a direction of the never penalised columns that is shorter than this beside them is rounding
COLLINEAR = 1e-10


def checked_factors(penalty_factor: Any, n_features: int) -> Array | None:
    """Factors relative to the mean of those that are neither 0 nor inf; None where all are one.

    Only ratios count, so that equal factors change nothing and c keeps its meaning.
    """
    if penalty_factor is None:
        return None
    hint = (
        f"pass one number for each of the {n_features} features: 1 as usual, 0 never penalised, "
        "np.inf left out."
    )
    given = np.asarray(penalty_factor)
    if given.dtype.kind not in "iuf":
        raise TypeError(f"penalty_factor={penalty_factor!r} is no array of numbers: {hint}")
    if given.shape != (n_features,):
        raise ValueError(f"penalty_factor has shape {given.shape}: {hint}")
    given = given.astype(np.float64)
    wrong = np.flatnonzero(~(given >= 0))
    if wrong.size:
        raise ValueError(f"penalty_factor[{wrong[0]}]={given[wrong[0]]:g} is not allowed: {hint}")
    if np.isinf(given).all():
        raise ValueError(f"penalty_factor is inf for every feature, so none is left: {hint}")
    return _relative(given)


def _relative(given: Array) -> Array | None:
    """Checked factors over their mean."""
    plain = (given > 0) & np.isfinite(given)
    if not plain.any():
        return given
    relative, some = given.copy(), given[plain]
    # halves of the largest float64 have a mean as well
    top = some.max()
    relative[plain] = 1.0 if (some == top).all() else (some / top) / np.mean(some / top)
    if plain.all() and (some == top).all():
        return None
    extreme = np.flatnonzero(plain & ((relative < LEAST) | (relative > MOST)))
    if extreme.size:
        at = int(extreme[0])
        raise ValueError(
            f"penalty_factor[{at}]={given[at]:g} is {relative[at]:.0e} times the mean of the "
            "others: use 0 for a feature that is never penalised, or np.inf for one that is left "
            "out."
        )
    return relative


def log_scales(factors: Array, r: float) -> Array:
    """``log s_j = -log(p_j) / k`` for positive factors, ``1/k = r / (1 + r)``."""
    return np.asarray(np.log(factors) * (-r / (1.0 + r)))


def log_penalties(factors: Array, r: float) -> Array:
    """``r log p_j``: the primal form adds ``lam p_j^r`` to the diagonal; -inf for a factor of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(r * np.log(factors))


@dataclass(frozen=True)
class FreeBasis:
    """Never penalised columns U (M x q) about their weighted means, turned to a basis F.

    ``U - 1 mean' = F turn``, ``F'W F = sum(w) I``, ``1'W F = 0``: beside ones F is of order one,
    whatever the units of U are.
    """

    mean: Array
    F: Array
    turn: Array

    def at(self, U: Array) -> Array:
        """The basis at other rows."""
        return np.asarray(solve_triangular(self.turn, (U - self.mean).T, trans="T").T)

    def coefficients(self, g: Array) -> Array:
        """Coefficients (q, t) of U from those of F."""
        return np.asarray(solve_triangular(self.turn, g))


def free_basis(U: Array, weights: Array) -> FreeBasis:
    """The basis of never penalised columns for positive weights."""
    total = weights.sum()
    mean = weights @ U / total
    root = np.sqrt(weights / total)[:, None]
    turn = np.asarray(np.linalg.qr(root * (U - mean), mode="r"))
    return FreeBasis(mean, solve_triangular(turn, (U - mean).T, trans="T").T, turn)


def check_free(U: Array, weights: Array, names: Sequence[str]) -> None:
    """Refuse never penalised columns (M x q) that samples cannot tell apart."""
    n_samples, q = U.shape
    if q + 1 > n_samples:
        raise ValueError(
            f"penalty_factor is 0 for {q} features that vary, and with {n_samples} samples at most "
            f"{n_samples - 1} can go unpenalised: give the others a positive factor."
        )
    size, turn = _spread(U, weights, _sizes(U, weights))
    if size.size and size[-1] <= COLLINEAR * size[0]:
        parts = np.flatnonzero(np.abs(turn[-1]) > 1e-6)
        listed = ", ".join(f"column {names[j]}" for j in parts[:5])
        raise ValueError(
            f"penalty_factor is 0 for {listed}{', ...' if parts.size > 5 else ''}, which determine "
            "each other: leave one of them out with np.inf, or give it a positive factor."
        )


def _sizes(U: Array, weights: Array) -> Array:
    """The standard deviation of every column, one for a column that does not vary."""
    share = weights / weights.sum()
    size = np.sqrt(share @ np.square(U - share @ U))
    return np.where(size > 0, size, 1.0)


def _spread(U: Array, weights: Array, sizes: Array) -> tuple[Array, Array]:
    """Singular values and right vectors of U about its means, columns divided by `sizes`."""
    share = weights / weights.sum()
    centred = np.sqrt(share)[:, None] * ((U - share @ U) / sizes)
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    return s, Vt


def check_left_out(U: Array, weights: Array, held: Sequence[Index] | None) -> None:
    """Refuse folds (None: leave one out) whose training samples do not determine U's coefficients.

    A batch of which no sample is left in training has no coefficient there.
    """
    advice = (
        "Use folds in which every level stays in training (a stratified cv), or a positive "
        "penalty_factor for that column."
    )
    if held is None:
        N = free_basis(U, weights).F * np.sqrt(weights / weights.sum())[:, None]
        leverage = np.sum(N**2, axis=1) + weights / weights.sum()
        worst = int(np.argmax(leverage))
        if leverage[worst] >= 1.0 - COLLINEAR:
            raise ValueError(
                f"row {worst} (of those with a positive weight) alone determines a column of "
                f"penalty_factor 0, so that it cannot be left out. {advice}"
            )
        return
    sizes = _sizes(U, weights)
    for place, out in enumerate(held):
        trained = np.setdiff1d(np.arange(len(U)), out)
        size, _ = _spread(U[trained], weights[trained], sizes)
        if trained.size <= U.shape[1] or size[-1] <= COLLINEAR * size[0]:
            raise ValueError(
                f"without the samples of fold {place} columns of penalty_factor 0 no longer vary "
                f"on their own. {advice}"
            )


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
