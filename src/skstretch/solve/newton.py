"""The exact minimiser of a design: z-scores and targets in, fits out.

At ``a = 0`` and ``1 < k < 2`` the coefficients minimise ``sum |alpha|^k + 2c sum w e^2``. The
mathematics is that of `skstretch.core.bridge`; here it meets designs, intercepts and targets. Every
target is a problem of its own, and all of them share each pass over the data.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skstretch.core.bridge import COEFFICIENTS, REPORTED, Point, start
from skstretch.core.bridge_left_out import LeftOut, leave_one_out, left_out_coef, out_of_fold
from skstretch.core.bridge_path import Fit as Minimum
from skstretch.core.bridge_path import Space as Where
from skstretch.core.bridge_path import (
    c_in_unit,
    derivative,
    finish,
    first_c,
    solve_all,
    space,
    units_of,
)
from skstretch.core.bridge_products import DenseProducts
from skstretch.core.crossfit import Fold
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index
from skstretch.designs import Design, dual_space
from skstretch.designs.threads import SHARED_ROWS, single_blas_thread
from skstretch.solve.choose import AUTOMATIC_STRENGTH, Space, Spec

OTHER_SETTINGS = "use a larger k, or weights and penalty factors that differ by less."
# what rounding leaves of the residuals of a fit that interpolates, relative to the weights
INTERPOLATED = 1e-9
# bytes of coefficients (or of their derivatives) that are made at a time
CHUNK_BYTES = 1 << 26


@dataclass(frozen=True)
class Minimised:
    """The exact minimiser of every target, solved: one point of the dual each.

    Attributes
    ----------
    where : bridge_path.Space
        Where the dual lives: on the samples, or on the directions of fewer features.
    points : list of Point
        One for each column of Y.
    units : array of shape (t,)
        Points are those of targets divided by these: powers of two at the size of each target, so
        that squares and powers are numbers in any unit of y.
    """

    design: Design
    Y: Array
    weights: Array
    spec: Spec
    where: Where
    points: Sequence[Point]
    units: Array

    @cached_property
    def scaled(self) -> Array:
        """Targets in their units (M, t)."""
        return np.asarray(self.Y / self.units)

    @property
    def space(self) -> Space:
        """Dual where the Newton matrix has the side of the samples, primal for that of the
        features."""
        return "dual" if self.where.Q is None else "primal"

    @cached_property
    def minima(self) -> list[Minimum]:
        each = zip(self.points, self.scaled.T, self.units, strict=True)
        return [finish(self.where, point, y).times(unit) for point, y, unit in each]

    def fit(self, target: int) -> Fit:
        """Coefficients of one target; ``beta = 4c W e / k``, so that with ``omega = Z' beta``
        ``alpha = sgn(omega) |omega|^(1/(k-1))``."""
        found, spec = self.minima[target], self.spec
        level = np.array([found.m])
        beta = (4.0 * spec.c / spec.k) * np.sqrt(self.weights) * found.e
        return Fit(
            self.coef(found.alpha[:, None], found.gamma[:, None]),
            level,
            level,
            beta[:, None],
            np.zeros(beta.size),
            found.rcond,
            found.n_iter,
            gap=found.gap,
        )

    def coef(self, alpha: Array, gamma: Array) -> Array:
        """Coefficients (D, n) from those of the space, and of what is never penalised (q, n)."""
        return coefficients(self.design, self.spec.k, alpha, gamma)

    def dof(self, target: int) -> float:
        """``tr(I - B)``: how much the predictions follow the targets, to first order."""
        return self.minima[target].dof

    def noise_variance(self, target: int) -> float:
        """``sum w e^2 / tr((I-H)'(I-H))`` with the derivative ``I - H`` of the residuals.

        A fit that interpolates has the mean square of its leave-one-out residuals.
        """
        norm = self.where.residual_norm(self.points[target])
        if norm <= INTERPOLATED * self.weights.sum():
            left_out = self.leave_one_out(target).residual
            return float(self.weights @ np.square(left_out) / self.weights.sum())
        e = self.minima[target].e
        return float(e @ e) / norm

    def variance(self, target: int) -> Array:
        """The diagonal of ``A W^-1 A'`` for the derivative ``A = d alpha / dy``, (D,)."""
        out = np.zeros(self.design.shape[1])
        for A in self._derivatives(target):
            out += np.square(A).sum(axis=1)
        return out

    def covariance(self, target: int) -> Array:
        """``A W^-1 A'``, (D, D)."""
        D = self.design.shape[1]
        out = np.zeros((D, D))
        for A in self._derivatives(target):
            out += A @ A.T
        return out

    def _derivatives(self, target: int) -> Iterator[Array]:
        """``A W^-1/2`` for some samples at a time."""
        size = max(1, CHUNK_BYTES // (8 * self.design.shape[1]))
        for at in range(0, self.weights.size, size):
            some = slice(at, at + size)
            A, gamma = derivative(self.where, self.points[target], some), np.zeros((0, 0))
            if self.where.U is not None:
                # the never penalised columns fit what the others leave
                rest = np.eye(self.weights.size)[:, some]
                bare = self.coef(A, np.zeros((self.where.U.shape[1], A.shape[1])))
                gamma = self.where.free_part(rest - self.design.dot(bare))[1]
            yield self.coef(A, gamma) / np.sqrt(self.weights[some])

    def leave_one_out(self, target: int, states: bool = False) -> LeftOut:
        """Exact leave-one-out residuals of one target, with what predictions need of each."""
        unit = self.units[target]
        found = leave_one_out(
            self.where, self.points[target], self.scaled[:, target], states=states
        )
        return replace(found, residual=unit * found.residual)

    def out_of_fold(self, folds: Sequence[Fold] | None) -> Array:
        """Exact residuals of every tested sample, fold after fold, (n_tested, t)."""
        targets = range(self.Y.shape[1])
        if folds is None:
            return np.column_stack([self.leave_one_out(target).residual for target in targets])
        columns = []
        for point, y, unit in zip(self.points, self.scaled.T, self.units, strict=True):
            residual, gap = out_of_fold(self.where, point, y, folds)
            if gap > REPORTED.gap:
                warn_of_gap(self.spec, "without a fold ended", gap, OTHER_SETTINGS)
            columns.append(unit * residual)
        return np.column_stack(columns)


def where_of(design: Design, weights: Array, intercept: Intercept, k: float) -> Where:
    """The space of the dual problem of a design at the power k.

    One column of zeros stands for no (penalised) features.
    """
    u = np.sqrt(weights)
    if design.n_penalised == 0:
        nothing = np.zeros((u.size, 1))
        if design.U is None:
            return space(nothing, u, intercept)
        return Where(DenseProducts(nothing), u, intercept, U=design.U)
    return dual_space(design, u, intercept, k)


def coefficients(design: Design, k: float, alpha: Array, gamma: Array) -> Array:
    """Coefficients (D, n) of a design from those of its space, and of what is never penalised.

    Without penalty factors they are those of the space, but for its column of zeros.
    """
    return design.whole(1.0 / (k - 1.0), alpha[: design.n_penalised], gamma)


def minimise(design: Design, Y: Array, weights: Array, spec: Spec) -> Minimised:
    """Solve all targets Y (M, t) from a cold start, one pass a step."""
    where = where_of(design, weights, spec.intercept, spec.k)
    units = units_of(Y)
    cs = [c_in_unit(spec.c, spec.k, unit) for unit in units]
    found, points = solve_all(where, spec.k, cs, np.asarray(Y / units))
    return Minimised(design, Y, weights, spec, found, points, units)


def minimised_coefs(
    design: Design, Y: Array, weights: Array, specs: Sequence[Spec], targets: Index
) -> Iterator[Array]:
    """Coefficients (t, D) of some targets, zero for others, by several powers: nothing else.

    What one power has found is where the next one begins: best in their order.
    """
    units, where, E = units_of(Y[:, targets]), None, None
    scaled = np.asarray(Y[:, targets] / units)
    for spec in specs:
        if where is None or design.is_scaled:  # factors scale columns by the power
            where, E = where_of(design, weights, spec.intercept, spec.k), None
        cs = [c_in_unit(spec.c, spec.k, unit) for unit in units]
        with single_blas_thread(min(design.shape), SHARED_ROWS):
            where, points = solve_all(where, spec.k, cs, scaled, E, COEFFICIENTS)
        E, coef = np.column_stack([q.e for q in points]), np.zeros((Y.shape[1], design.shape[1]))
        for target, unit, q, y in zip(targets, units, points, scaled.T, strict=True):
            found = finish(where, q, y).times(unit)
            alpha, gamma = found.alpha[:, None], found.gamma[:, None]
            coef[target] = coefficients(design, spec.k, alpha, gamma)[:, 0]
        yield coef


def automatic_c(design: Design, Y: Array, weights: Array, k: float) -> float:
    """The c at which the Newton matrix of ``e = s y`` has the trace that c="auto" means at k = 2:
    ``tr A = sum(w) / strength``, whatever the units of X and y. Of several targets the mean, of
    logarithms.
    """
    where, units = where_of(design, weights, Intercept.FREE, k), units_of(Y)
    problems = [where.problem(k, 1.0, y) for y in (Y / units).T]
    points = start(where.products, problems, anywhere=True)
    found = [first_c(point, 0.5 * weights.sum() / AUTOMATIC_STRENGTH) for point in points]
    logs = np.log(found) - (2.0 - k) * np.log(units)
    varied = [bool(point.e.any()) for point in points]
    return float(np.exp(logs[varied].mean())) if any(varied) else 1.0


def warn_unless_certified(found: Minimised) -> None:
    """Say so where the certificate is short of its tolerance, with what may help.

    Residuals that are rounding of the targets belong to a model that interpolates: a smaller c.
    """
    gap, steps, target = max((m.gap, m.n_iter, i) for i, m in enumerate(found.minima))
    if gap <= REPORTED.gap:
        return
    spec, root = found.spec, np.sqrt(found.weights)
    e, unit = found.minima[target].e, found.units[target]
    left = np.linalg.norm(e / unit) / np.linalg.norm(root * found.scaled[:, target])
    if left < REPORTED.gap:
        advice = "rounding leaves no more where a model interpolates. Use a smaller c."
    else:
        advice = OTHER_SETTINGS
    warn_of_gap(spec, f"ended after {steps} steps", gap, advice)


def warn_of_gap(spec: Spec, ended: str, gap: float, advice: str) -> None:
    """Say how Newton's method ended, and what may help."""
    warnings.warn(
        f"Newton's method at k={spec.k:g}, c={spec.c:g} {ended} with a relative duality gap of "
        f"{gap:.1e}, above {REPORTED.gap:.0e}: {advice}",
        ConvergenceWarning,
        stacklevel=3,
    )


@dataclass(frozen=True)
class NewtonJackknife:
    """All leave-one-out minimisers: their residuals (M, t), and their predictions at new points.

    Each is kept as its point of the dual, M numbers or fewer; coefficients are made from these
    for some samples at a time.
    """

    found: Minimised
    left_out: Sequence[LeftOut]

    @property
    def residuals(self) -> Array:
        return np.column_stack([one.residual for one in self.left_out])

    def predictions(self, new: Design, target: int) -> Array:
        """Predictions at the rows of `new` by the model without sample i, shape (N, M)."""
        found, E = self.found, self.left_out[target].e
        assert E is not None
        M, D = found.design.shape
        out = np.zeros((new.shape[0], M))
        size = max(1, CHUNK_BYTES // (8 * max(1, D)))
        for at in range(0, M, size):
            rows = np.arange(at, min(M, at + size))
            alpha, m = left_out_coef(found.points[target], found.where, E[:, rows])
            alpha, m = found.units[target] * alpha, None if m is None else found.units[target] * m
            if found.where.U is not None:
                alpha, m = self._beside_free(rows, alpha, target)
            else:
                alpha = found.coef(alpha, np.zeros((0, rows.size)))
            if m is None:
                m = self._intercepts(rows, alpha, target)
            out[:, rows] = (new.dot(alpha) if D else 0.0) + m
        return out

    def _beside_free(self, rows: Index, alpha: Array, target: int) -> tuple[Array, Array]:
        """Whole coefficients (D, n) and intercepts (n) without each of some samples.

        With N = diag(u) [1, U] T orthonormal and n its row of the sample that is left out, the
        coordinates of the rest x are ``(I - n n')^-1 (N'x - n x_i)``.
        """
        found, where = self.found, self.found.where
        assert where.U is not None
        bare = found.coef(alpha, np.zeros((where.U.shape[1], rows.size)))
        rest = found.Y[:, [target]] - found.design.dot(bare)
        x, n, own = where.u[:, None] * rest, where.N[rows], np.arange(rows.size)
        b = where.N.T @ x - n.T * x[rows, own]
        b += n.T * (np.sum(n.T * b, axis=0) / (1.0 - np.sum(n**2, axis=1)))
        m, gamma = where.free_part(where.N @ b / where.u[:, None])
        bare[found.design.free] = gamma
        return bare, m

    def _intercepts(self, rows: Index, alpha: Array, target: int) -> Array:
        """What the left-out prediction of each sample has beyond its features."""
        found = self.found
        if found.spec.intercept is Intercept.NONE:
            return np.zeros(len(rows))
        level: Array = found.Y[rows, target] - self.left_out[target].residual[rows]
        if not alpha.size:
            return level
        Z = found.design.row_features(rows).excess(1.0)
        return np.asarray(level - np.einsum("ij,ji->i", Z, alpha))


def newton_jackknife(design: Design, Y: Array, weights: Array, spec: Spec) -> NewtonJackknife:
    """All leave-one-out models of an exact minimiser."""
    found = minimise(design, Y, weights, spec)
    return NewtonJackknife(
        found, [found.leave_one_out(target, states=True) for target in range(Y.shape[1])]
    )
