"""The pivoted solutions applied to features, with weights and three kinds of intercept."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skstretch.core.centring import centred
from skstretch.core.features import Features
from skstretch.core.fit import Fit
from skstretch.core.intercept import Intercept
from skstretch.core.pivoted import TallPivoted, WidePivoted, tall_pivoted, wide_pivoted
from skstretch.core.stretch import is_safe, rows_for_penalty, scaled_penalty
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class WideSystem:
    """Dual form through the pivoted QR of ``Q'``.

    With the free intercept, ``1' beta = 0`` eliminates one row, the `base` with the smallest
    features: the others enter as differences to it, and differences of nearby floating-point
    numbers are exact.

    Row i of P is divided by ``exp(log_rows_i)`` and of Q by its r-th power.
    """

    lam: Array
    r: float
    intercept: Intercept
    log_rows: Array
    offset: float
    rows: Index
    base: int
    base_row: Array
    pivoted: WidePivoted

    def fit(self, Y: Array) -> Fit:
        """Fit targets Y of shape (M, t)."""
        scale = np.exp(-self.log_rows[self.rows])[:, None]
        if self.intercept is Intercept.FREE:
            return self._fit_free(Y, scale)
        coef, beta, rcond = self.pivoted.solve(Y * scale)
        intercept = np.zeros(Y.shape[1])
        if self.intercept is Intercept.COLUMN:
            coef, intercept = coef[:-1], coef[-1]
        level = intercept + self.offset * coef.sum(axis=0)
        return Fit(coef, level, intercept, beta, self.r * self.log_rows, rcond)

    def _fit_free(self, Y: Array, scale: Array) -> Fit:
        coef, inner, rcond = self.pivoted.solve((Y[self.rows] - Y[self.base]) * scale)
        log_beta = self.r * self.log_rows
        beta = np.empty(Y.shape)
        beta[self.rows] = inner
        beta[self.base] = -(np.exp(log_beta[self.base] - log_beta[self.rows]) @ inner)
        residual = scaled_penalty(self.lam, log_beta)[self.base] * beta[self.base]
        level = Y[self.base] - residual - self.base_row @ coef
        intercept = level - self.offset * coef.sum(axis=0)
        return Fit(coef, level, intercept, beta, log_beta, rcond)

    @cached_property
    def residuals(self) -> Array:
        """``I - H``: the residuals of every unit target, (M x M)."""
        unit = self.fit(np.eye(self.lam.size))
        assert unit.beta is not None
        return scaled_penalty(self.lam, self.r * self.log_rows)[:, None] * unit.beta

    @property
    def dof(self) -> float:
        """The trace of the hat matrix."""
        return float(self.lam.size - self.residuals.trace())


def wide_system(features: Features, r: float, lam: Array, intercept: Intercept) -> WideSystem:
    """Factor; `lam` is ``lambda / w`` (M,)."""
    peaks = features.log_peaks(axis=1)
    safe = is_safe(float(peaks.min()), float(peaks.max()), r)
    log_rows = np.zeros_like(peaks)
    if not safe:
        log_rows = np.maximum(peaks, 0.0) if intercept is Intercept.COLUMN else peaks
        log_rows = rows_for_penalty(log_rows, lam, r)
    base = int(np.argmin(peaks))
    rows = np.arange(lam.size)
    if intercept is Intercept.FREE:
        rows = np.delete(rows, base)
        P, Q, Lam = _differences(features, r, lam, log_rows, rows, base, safe)
    else:
        P = features.power(1.0, log_rows[:, None])
        Q = features.power(r, r * log_rows[:, None])
        if intercept is Intercept.COLUMN:
            P = np.column_stack([P, np.exp(-log_rows)])
            Q = np.column_stack([Q, np.exp(-r * log_rows)])
        Lam = np.diag(scaled_penalty(lam, (1.0 + r) * log_rows))
    base_row = features.excess(1.0)[base]
    pivoted = wide_pivoted(P, Q, Lam)
    return WideSystem(lam, r, intercept, log_rows, features.offset, rows, base, base_row, pivoted)


def _differences(
    features: Features, r: float, lam: Array, log_rows: Array, rows: Index, base: int, safe: bool
) -> tuple[Array, Array, Array]:
    """P, Q and the penalty of the rows less the base row, in the scale of each row."""
    above = log_rows[rows] - log_rows[base]
    if safe:
        P, Q = features.excess(1.0), features.excess(r)
    else:
        P = features.power(1.0, log_rows[:, None])
        Q = features.power(r, r * log_rows[:, None])
    P = P[rows] - np.exp(-above)[:, None] * P[base]
    Q = Q[rows] - np.exp(-r * above)[:, None] * Q[base]
    exponents = np.add.outer(log_rows[rows], r * log_rows[rows])
    Lam = scaled_penalty(np.full_like(exponents, lam[base]), exponents)
    Lam.flat[:: rows.size + 1] += scaled_penalty(lam[rows], (1.0 + r) * log_rows[rows])
    return P, Q, Lam


@dataclass(frozen=True)
class TallSystem:
    """Primal form through the pivoted QR of Q; rows are multiplied by the root of their weight."""

    intercept: Intercept
    offset: float
    centre: Array
    weights: Array
    pivoted: TallPivoted

    def fit(self, Y: Array) -> Fit:
        """Fit targets Y of shape (M, t)."""
        intercept = mean = np.zeros(Y.shape[1])
        if self.intercept is Intercept.FREE:
            mean = self.weights @ Y / self.weights.sum()
        coef, rcond = self.pivoted.solve((Y - mean) * np.sqrt(self.weights)[:, None])
        if self.intercept is Intercept.FREE:
            level = mean - self.centre @ coef
            intercept = level - self.offset * coef.sum(axis=0)
            return Fit(coef, level, intercept, None, None, rcond)
        if self.intercept is Intercept.COLUMN:
            coef, intercept = coef[:-1], coef[-1]
        level = intercept + self.offset * coef.sum(axis=0)
        return Fit(coef, level, intercept, None, None, rcond)

    @property
    def dof(self) -> float:
        """The trace of the hat matrix."""
        free = 1.0 if self.intercept is Intercept.FREE else 0.0
        return float(free + self.pivoted.shrink.shape[0] - self.pivoted.shrunk)

    @cached_property
    def joint_covariance(self) -> Array:
        """``A W^-1 A'`` for ``(coef, column) = A y``: V is orthonormal, so ``B^-1 B^-T``."""
        return np.asarray(self.pivoted.factor.inverse @ self.pivoted.factor.inverse.T)

    @property
    def covariance(self) -> Array:
        """``A W^-1 A'`` for ``coef = A y``."""
        D = self.centre.size
        return self.joint_covariance[:D, :D]

    def hat_norm(self, features: Features) -> float:
        """``sum_ij w_i H_ij**2 / w_j``."""
        P, _ = _tall_features(features, 1.0, self.weights, self.intercept, None)
        free = 1.0 if self.intercept is Intercept.FREE else 0.0
        return free + float(np.sum(self.joint_covariance * (P.T @ P)))


def tall_system(
    features: Features, r: float, lam: float, weights: Array, intercept: Intercept
) -> TallSystem:
    """Factor the over-determined system (M >= D)."""
    peaks = features.log_peaks(axis=0)
    safe = is_safe(float(peaks.min()), float(peaks.max()), r)
    log_columns = None if safe else r * peaks
    P, centre = _tall_features(features, 1.0, weights, intercept, None)
    Q, _ = _tall_features(features, r, weights, intercept, log_columns)
    lams = np.full(Q.shape[1], lam)
    if log_columns is not None:
        lams[: peaks.size] = scaled_penalty(lams[: peaks.size], log_columns)
    return TallSystem(intercept, features.offset, centre, weights, tall_pivoted(P, Q, lams))


def _tall_features(
    features: Features, r: float, weights: Array, intercept: Intercept, log_columns: Array | None
) -> tuple[Array, Array]:
    """``sqrt(w) P**r`` as the pivoted solution wants it, and the mean that was taken out."""
    if intercept is Intercept.FREE and log_columns is None:
        A, centre = centred(features, r, weights)
    else:
        A = features.power(r, np.zeros(1) if log_columns is None else log_columns)
        centre = np.zeros(A.shape[1])
        if intercept is Intercept.FREE:
            A -= weights @ A / weights.sum()
        if intercept is Intercept.COLUMN:
            A = np.column_stack([A, np.ones(A.shape[0])])
    A *= np.sqrt(weights)[:, None]
    return A, centre
