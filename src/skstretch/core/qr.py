"""The accurate solutions: rows sorted by size, then QR with column pivoting.

Where K is ill-conditioned only because Q is (features of very different size, k near 1), the
formula loses digits that the problem still has. A QR factorisation of Q that is accurate row by
row (sorted rows, pivoted columns) keeps them. Slower than the Gram matrix, and Q in memory.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular

from skstretch.core.factors import Factor, SingularMatrixError, factorise, power_of_two
from skstretch.core.features import Features, Offset, constant_part
from skstretch.core.quadrant import centred
from skstretch.core.stretch import Intercept, is_safe, rows_for_penalty, scaled_penalty
from skstretch.core.types import Array, Fit, Index

# multiples of eps that a few dozen Householder steps leave where the exact answer is zero
ROUNDING = 10.0


def sorted_pivoted_qr(A: Array) -> tuple[Array, Array, Array]:
    """``A[:, pivots] = U R`` with the rows of A sorted by size on the way; (U, R, pivots)."""
    order = np.argsort(-np.abs(A).max(axis=1, initial=0.0), kind="stable")
    sorted_U, R, pivots = qr(A[order], mode="economic", pivoting=True, check_finite=False)
    U = np.empty_like(sorted_U)
    U[order] = sorted_U
    if np.any(R.diagonal() == 0):
        raise SingularMatrixError(
            "the stretched features do not have full rank in floating point: samples or features "
            "coincide. A finite c (say 1e8) regularises them, unless the rank is exactly deficient;"
            ' then use solver="auto", which needs no rank where there is a penalty.'
        )
    return U, R, pivots


def unpivoted_inverse(R: Array, pivots: Array) -> Array:
    """``(R Pi')^-1`` for the R and pivots of a pivoted QR."""
    inverse = np.empty_like(R)
    inverse[pivots] = solve_triangular(R, np.eye(R.shape[0]), check_finite=False)
    return inverse


def column_blur(A: Array, U: Array, R: Array) -> Array:
    """How many times eps each column of U may be off, given ``A[:, pivots] = U R``.

    With rows sorted by their largest entries ``a_0 >= a_1 >= ...``, row i is known to ``eps a_i``.
    Column l of U is the direction of what is left of the rows from l on, of size ``|R_ll|``.
    Rounding in row i turns it by ``eps a_i sqrt(1 - U_il^2) / |R_ll|``; and where ``|R_ll|`` is a
    few ``eps a_l``, nothing but rounding is left.
    """
    peaks, left, eps = np.abs(A).max(axis=1, initial=0.0), np.abs(R.diagonal()), np.finfo(float).eps
    order = np.argsort(-peaks, kind="stable")
    peaks, across = peaks[order], np.square(U[order])
    np.sqrt(np.maximum(np.subtract(1.0, across, out=across), 0.0, out=across), out=across)
    across *= peaks[:, None]
    across[: left.size] = np.tril(across[: left.size])
    with np.errstate(over="ignore"):
        blur = across.max(axis=0) / left
    lost = left <= ROUNDING * eps * peaks[: left.size]
    return np.where(lost, 1.0 / eps, np.maximum(blur, 1.0))


def reciprocal(spread: Array, X: Array, B: Array) -> float:
    """``1 / max_t |spread_t| / |X_t|`` over the targets t that are not zero.

    `spread` is componentwise, so this number does not depend on how rows are scaled, which here
    differs by hundreds of orders of magnitude; a norm-wise estimate would cry wolf.
    """
    size = np.abs(X).max(axis=0, initial=0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = np.linalg.norm(spread / size, axis=0) / np.linalg.norm(X / size, axis=0)
    worst = float(np.max(ratio[B.any(axis=0)], initial=1.0))
    return 1.0 / worst if np.isfinite(worst) else 0.0


@dataclass(frozen=True)
class WidePivoted:
    """``alpha = U z``, ``B z = y``, ``B = P U + Lam (R Pi')^-1``, from ``Q' = U R Pi'``.

    Rows of P and Q may be scaled, as long as `Lam` maps the scaled dual coefficients
    ``beta = (R Pi')^-1 z`` to the residuals in the scale of the rows of P.
    """

    U: Array
    to_beta: Array
    factor: Factor
    products: Array
    penalties: Array
    blur: Array

    def solve(self, Y: Array) -> tuple[Array, Array, float]:
        """``(alpha, beta, rcond)`` for targets Y in the scale of the rows of P.

        Rounding moves z by up to ``|B^-1| (|P||U||z| + |Lam (R Pi')^-1||z| + |y|)`` eps. The blur
        turns the columns of U, and alpha with them; a wrong length of a column of R does not
        matter, since the element of z makes up for it.
        """
        z = self.factor.solve(Y)
        with np.errstate(over="ignore", invalid="ignore"):
            blurred = self.blur[:, None] * np.abs(z)
            moved = self.products @ blurred + self.penalties @ np.abs(z) + np.abs(Y)
            spread = np.abs(self.factor.inverse) @ moved + blurred
        return self.U @ z, self.to_beta @ z, reciprocal(spread, z, Y)


def wide_pivoted(P: Array, Q: Array, Lam: Array) -> WidePivoted:
    """Factor ``Q' = U R Pi'`` (M <= D) and the small system in z."""
    size = power_of_two(np.abs(Q).max(axis=1, initial=0.0))
    scaled = (Q / size[:, None]).T
    U, R, pivots = sorted_pivoted_qr(scaled)
    to_beta = unpivoted_inverse(R, pivots) / size[:, None]
    penalties = Lam @ to_beta
    factor, products = factorise(P @ U + penalties), np.abs(P) @ np.abs(U)
    blur = column_blur(scaled, U, R)
    return WidePivoted(U, to_beta, factor, products, np.abs(penalties), blur)


@dataclass(frozen=True)
class TallPivoted:
    """``(V'P + lam S^-T Pi') alpha = V'y``, from ``Q = V S Pi'`` (M >= D)."""

    P: Array
    V: Array
    unstretch: Array
    peaks: Array
    shrink: Array
    factor: Factor

    def solve(self, Y: Array) -> tuple[Array, float]:
        """``(alpha, rcond)`` for targets Y of shape (M, t).

        Rounding moves alpha by up to ``|B^-1| ((|V'||P| + |shrink|) |alpha| + |V'y|)`` eps; and
        by ``A^-1 dQ' e``, ``A^-1 = B^-1 S^-T Pi'``, since row i of Q is known to eps times its
        largest entry.
        """
        B = self.V.T @ Y
        alpha = self.factor.solve(B)
        size, inverse = np.abs(alpha), self.factor.inverse
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.abs(self.V).T @ (np.abs(self.P) @ size) + np.abs(self.shrink) @ size
            sensitivity = np.abs(inverse @ self.unstretch.T).sum(axis=1)
            spread = np.abs(inverse) @ (products + np.abs(B))
            spread += np.outer(sensitivity, self.peaks @ np.abs(Y - self.P @ alpha))
        return alpha, reciprocal(spread, alpha, B)

    @property
    def shrunk(self) -> float:
        """``lam tr((V'P + lam S^-T Pi')^-1 S^-T Pi')``: what the penalty takes from the dof."""
        return float(np.sum(self.factor.inverse * self.shrink.T))


def tall_pivoted(P: Array, Q: Array, lam: Array) -> TallPivoted:
    """Factor Q (M >= D) and the system in alpha; `lam` (D,) in the scale of Q's columns."""
    size = power_of_two(np.abs(Q).max(axis=0, initial=0.0))
    scaled = Q / size
    V, S, pivots = sorted_pivoted_qr(scaled)
    unstretch = unpivoted_inverse(S, pivots)
    shrink = unstretch.T * (lam / size)
    peaks = np.abs(scaled).max(axis=1, initial=0.0)
    return TallPivoted(P, V, unstretch, peaks, shrink, factorise(V.T @ P + shrink))


@dataclass(frozen=True)
class WideSystem:
    """Dual form through the pivoted QR of ``Q'``.

    With the free intercept, ``1' beta = 0`` eliminates one row, the `base` with the smallest
    features: the others enter as differences to it, and differences of nearby floating-point
    numbers are exact. With a basis F (M x q) of columns that are never penalised,
    ``[1, F]' beta = 0`` eliminates q + 1 rows, and `shares` L of these are taken from the others:
    ``[1, F][rows] = L [1, F][base]``.

    Row i of P is divided by ``exp(log_rows_i)`` and of Q by its r-th power.
    """

    lam: Array
    r: float
    intercept: Intercept
    log_rows: Array
    offset: Offset
    rows: Index
    base: Index
    shares: Array
    free: Array
    base_rows: Array
    pivoted: WidePivoted

    @property
    def rcond(self) -> float:
        """The reciprocal condition number of what was factored."""
        return self.pivoted.factor.rcond

    def fit(self, Y: Array) -> Fit:
        """Fit targets Y of shape (M, t); coefficients of F stand below those of the features."""
        scale = np.exp(-self.log_rows[self.rows])[:, None]
        if self.intercept is Intercept.FREE:
            return self._fit_free(Y, scale)
        coef, beta, rcond = self.pivoted.solve(Y * scale)
        intercept = np.zeros(Y.shape[1])
        if self.intercept is Intercept.COLUMN:
            coef, intercept = coef[:-1], coef[-1]
        level = intercept + constant_part(self.offset, coef)
        return Fit(coef, level, intercept, beta, self.r * self.log_rows, rcond)

    def _fit_free(self, Y: Array, scale: Array) -> Fit:
        coef, inner, rcond = self.pivoted.solve((Y[self.rows] - self.shares @ Y[self.base]) * scale)
        log_beta = self.r * self.log_rows
        beta = np.empty(Y.shape)
        beta[self.rows] = inner
        above = np.subtract.outer(log_beta[self.rows], log_beta[self.base])
        beta[self.base] = -((np.exp(-above) * self.shares).T @ inner)
        residual = scaled_penalty(self.lam, log_beta)[self.base, None] * beta[self.base]
        level, *gamma = np.linalg.solve(
            beside_ones(self.free)[self.base], Y[self.base] - residual - self.base_rows @ coef
        )
        intercept = level - constant_part(self.offset, coef)
        return Fit(np.vstack([coef, *gamma]), level, intercept, beta, log_beta, rcond)

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


def wide_system(
    features: Features, r: float, lam: Array, intercept: Intercept, free: Array | None = None
) -> WideSystem:
    """Factor; `lam` is ``lambda / w`` (M,), `free` a basis F of what is never penalised (M, q)."""
    peaks = features.log_peaks(axis=1)
    safe = is_safe(peaks, r)
    log_rows = np.zeros_like(peaks)
    if not safe:
        log_rows = np.maximum(peaks, 0.0) if intercept is Intercept.COLUMN else peaks
        log_rows = rows_for_penalty(log_rows, lam, r)
    free = np.zeros((lam.size, 0)) if free is None else free
    rows, base, shares = np.arange(lam.size), np.zeros(0, dtype=np.intp), np.zeros((lam.size, 0))
    if intercept is Intercept.FREE:
        E = beside_ones(free)
        base = base_rows(E, peaks)
        rows = np.delete(rows, base)
        shares = np.asarray(np.linalg.solve(E[base].T, E[rows].T)).T
        P, Q, Lam = _differences(features, r, lam, log_rows, (rows, base, shares), safe)
    else:
        P = features.power(1.0, log_rows[:, None])
        Q = features.power(r, r * log_rows[:, None])
        if intercept is Intercept.COLUMN:
            P = np.column_stack([P, np.exp(-log_rows)])
            Q = np.column_stack([Q, np.exp(-r * log_rows)])
        Lam = np.diag(scaled_penalty(lam, (1.0 + r) * log_rows))
    at_base, pivoted = features.excess(1.0)[base], wide_pivoted(P, Q, Lam)
    offset = features.offset
    return WideSystem(
        lam, r, intercept, log_rows, offset, rows, base, shares, free, at_base, pivoted
    )


def beside_ones(F: Array) -> Array:
    """``[1, F]``."""
    return np.column_stack([np.ones(len(F)), F])


# a row is taken that is at least this share of the one furthest from those that were taken
FAR_ENOUGH = 0.1


def base_rows(E: Array, peaks: Array) -> Index:
    """As many rows of E (M x n) as determine the others; of those that do so well, the smallest.

    Each has the smallest of the `peaks` among those that are far from the ones before.
    """
    E, found = E.copy(), []
    for _ in range(E.shape[1]):
        length = np.linalg.norm(E, axis=1)
        far = np.flatnonzero(length >= FAR_ENOUGH * length.max())
        one = int(far[np.argmin(peaks[far])])
        found.append(one)
        unit = E[one] / length[one]
        E -= np.outer(E @ unit, unit)
    return np.array(found)


def _differences(
    features: Features,
    r: float,
    lam: Array,
    log_rows: Array,
    parts: tuple[Index, Index, Array],
    safe: bool,
) -> tuple[Array, Array, Array]:
    """P, Q and the penalty of the rows less their shares of the base rows, in each row's scale."""
    rows, base, shares = parts
    above = np.subtract.outer(log_rows[rows], log_rows[base])
    if safe:
        P, Q = features.excess(1.0), features.excess(r)
    else:
        P = features.power(1.0, log_rows[:, None])
        Q = features.power(r, r * log_rows[:, None])
    P = P[rows] - (np.exp(-above) * shares) @ P[base]
    Q = Q[rows] - (np.exp(-r * above) * shares) @ Q[base]
    exponents = np.add.outer(log_rows[rows], r * log_rows[rows])
    between = (shares * lam[base]) @ shares.T
    Lam = np.sign(between) * scaled_penalty(np.abs(between), exponents)
    Lam.flat[:: rows.size + 1] += scaled_penalty(lam[rows], (1.0 + r) * log_rows[rows])
    return P, Q, Lam


@dataclass(frozen=True)
class TallSystem:
    """Primal form through the pivoted QR of Q; rows are multiplied by the root of their weight."""

    intercept: Intercept
    offset: Offset
    centre: Array
    weights: Array
    pivoted: TallPivoted

    @property
    def rcond(self) -> float:
        """The reciprocal condition number of what was factored."""
        return self.pivoted.factor.rcond

    def fit(self, Y: Array) -> Fit:
        """Fit targets Y of shape (M, t)."""
        intercept = mean = np.zeros(Y.shape[1])
        if self.intercept is Intercept.FREE:
            mean = self.weights @ Y / self.weights.sum()
        coef, rcond = self.pivoted.solve((Y - mean) * np.sqrt(self.weights)[:, None])
        if self.intercept is Intercept.FREE:
            level = mean - self.centre @ coef
            intercept = level - constant_part(self.offset, coef)
            return Fit(coef, level, intercept, None, None, rcond)
        if self.intercept is Intercept.COLUMN:
            coef, intercept = coef[:-1], coef[-1]
        level = intercept + constant_part(self.offset, coef)
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
    features: Features,
    r: float,
    lam: float,
    weights: Array,
    intercept: Intercept,
    log_factors: Array | None = None,
) -> TallSystem:
    """Factor the over-determined system (M >= D).

    `log_factors` (D,) are the logs of what each penalty is multiplied by; a column whose penalty
    is zero (minus infinity) is not stretched.
    """
    peaks = features.log_peaks(axis=0)
    log_columns = None if is_safe(peaks, r) else r * peaks
    P, centre = _tall_features(features, 1.0, weights, intercept, None)
    Q, _ = _tall_features(features, r, weights, intercept, log_columns)
    lams = np.full(Q.shape[1], lam)
    scales = log_columns
    if log_factors is not None:
        free = np.flatnonzero(np.isneginf(log_factors))
        Q[:, free] = P[:, free]
        scales = (0.0 if log_columns is None else log_columns) - log_factors
    if scales is not None:
        lams[: peaks.size] = scaled_penalty(lams[: peaks.size], scales)
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
