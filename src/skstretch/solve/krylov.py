"""The closed forms without K: products with P and Q' alone, and GMRES.

About the weighted means p, q of P and Q nothing is constant any more, so the largest direction of
K is gone and the free intercept is that of the weighted mean of y. The other two intercepts take
one right-hand side more, and one number that joins the two solutions.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import numpy as np

from skstretch.core.factors import SingularSystemError
from skstretch.core.fit import Fit
from skstretch.core.intercept import Intercept
from skstretch.core.krylov import Report
from skstretch.core.types import Array
from skstretch.designs.protocol import Design
from skstretch.solve.iteration import (
    JOINED_TOLERANCE,
    iterate,
    relative_residual,
    warn_unless_solved,
)
from skstretch.solve.spec import Space, Spec
from skstretch.solve.walks import CentredWalks


@dataclass(frozen=True)
class Krylov:
    """What the two spaces share. The condition number and the trace of G stay unknown (NaN)."""

    design: Design
    weights: Array
    spec: Spec
    report: Report | None = None
    solver: str = "krylov"
    rcond: float = np.nan
    dof: float = np.nan

    @cached_property
    def walks(self) -> CentredWalks:
        return CentredWalks(self.design, self.weights, self.spec.r)

    def _fit(self, coef: Array, constant: Array, beta: Array | None) -> Fit:
        """A fit; with the free intercept `constant` is the mean of y, else the intercept."""
        whole = self.design.offset * coef.sum(axis=0)
        if self.spec.intercept is Intercept.FREE:
            constant = constant - self.walks.p[:, 0] @ coef
        log_beta = None if beta is None else np.zeros(self.weights.size)
        return Fit(coef, constant + whole, constant, beta, log_beta, self.rcond)

    def _recorded(self, fit: Fit, R: Array, B: Array, n_iter: int) -> Fit:
        residual = relative_residual(R, B)
        warn_unless_solved(residual, n_iter, self.spec)
        return replace(fit, n_iter=n_iter, residual=residual)

    def variance(self) -> NoReturn:
        raise NeedsInverseError("the spread of the coefficients")

    def covariance(self) -> NoReturn:
        raise NeedsInverseError("the spread of the coefficients")

    def residual_norm(self) -> NoReturn:
        raise NeedsInverseError("the spread of the coefficients")


class NeedsInverseError(ValueError):
    """Something was asked of a matrix-free fit that only a factorised one knows."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f'{what} needs the inverse of the system, which solver="krylov" never forms: fit again '
            'with solver="dual" (fewer samples than features) or solver="primal", on a machine '
            "that holds three square matrices of the smaller side."
        )


@dataclass(frozen=True)
class DualKrylov(Krylov):
    """``(S Pc Qc' S + lam I) gamma = s (y - mean)``, ``beta = s gamma``, ``s = sqrt(w)``.

    The vector s is in the null space of the centred product and of its transpose.
    """

    space: Space = "dual"

    @cached_property
    def _root(self) -> Array:
        return np.sqrt(self.weights)[:, None]

    def _product(self, V: Array) -> Array:
        return self._root * self.walks.dual_product(self._root * V)

    def fit(self, Y: Array) -> Fit:
        means = self.walks.means(Y)
        centred = self._root * (Y - means)
        if self.spec.intercept is not Intercept.FREE:
            return self._bordered(Y, centred, means)
        found = iterate(self._product, *self._limits, centred, self.report)
        beta = self._root * found.X
        fit = self._fit(self.walks.back(beta), means, beta)
        return self._recorded(fit, found.R, centred, found.n_iter)

    @property
    def _limits(self) -> tuple[int, float]:
        return min(self.design.shape), self.spec.lam

    def _bordered(self, Y: Array, centred: Array, means: Array) -> Fit:
        """Penalised column, or no intercept: gamma has a part ``u t`` along ``u = s / |s|``.

        With ``a = |s| S Pc q``, ``b = |s| S Qc p``, ``d = lam + |s|^2 (p.q + 1)`` (no intercept:
        p.q alone): ``(Kc + lam) gamma + a t = s (y - mean)`` and ``b' gamma + d t = |s| mean``.
        """
        walks, t = self.walks, Y.shape[1]
        size = float(np.sqrt(self.weights.sum()))
        one = 1.0 if self.spec.intercept is Intercept.COLUMN else 0.0
        a = size * self._root * walks.forward(walks.q)
        B = np.hstack([centred, a])
        found = iterate(self._product, *self._limits, B, self.report, JOINED_TOLERANCE)
        alphas = walks.back(self._root * found.X)
        b = size * (walks.p.T @ alphas)[0]
        d = self.spec.lam + size**2 * (float(np.vdot(walks.p, walks.q)) + one)
        along = (size * means - b[:t]) / _regular(d - b[t], d)
        total = size * along
        beta = self._root * (found.X[:, :t] - found.X[:, t:] * along)
        beta += self.weights[:, None] * (along / size)
        coef = alphas[:, :t] - alphas[:, t:] * along + walks.q * total
        fit = self._fit(coef, one * total, beta)
        R = found.R[:, :t] - found.R[:, t:] * along
        return self._recorded(fit, R, self._root * Y, found.n_iter)


@dataclass(frozen=True)
class PrimalKrylov(Krylov):
    """``(Qc' W Pc + lam I) alpha = Qc' W (y - mean)``."""

    space: Space = "primal"

    def _product(self, V: Array) -> Array:
        return self.walks.primal_product(V)

    def fit(self, Y: Array) -> Fit:
        """Without a free intercept: ``(C + lam I + f q p') alpha = Qc' W (y - mean) + f q mean``.

        ``f = sum(w)`` for no intercept, ``1 / (1/sum(w) + 1/lam)`` for the penalised column.
        """
        walks, lam, t = self.walks, self.spec.lam, Y.shape[1]
        means, rank = walks.means(Y), min(self.design.shape)
        projected = walks.back(self.weights[:, None] * (Y - means))
        if self.spec.intercept is Intercept.FREE:
            found = iterate(self._product, rank, lam, projected, self.report)
            fit = self._fit(found.X, means, None)
            return self._recorded(fit, found.R, projected, found.n_iter)
        total = float(self.weights.sum())
        column = self.spec.intercept is Intercept.COLUMN
        f = total * lam / (total + lam) if column else total
        B = np.hstack([projected, walks.q])
        found = iterate(self._product, rank, lam, B, self.report, JOINED_TOLERANCE)
        inner = (walks.p.T @ found.X)[0]
        share = f * (means - inner[:t]) / _regular(1.0 + f * inner[t], 1.0)
        coef = found.X[:, :t] + found.X[:, t:] * share
        R = found.R[:, :t] + found.R[:, t:] * share
        missed = means - walks.p[:, 0] @ coef
        constant = missed * (total / (total + lam)) if column else np.zeros(t)
        whole = projected + walks.q * (f * means)
        return self._recorded(self._fit(coef, constant, None), R, whole, found.n_iter)


def _regular(pivot: float, size: float) -> float:
    """A pivot that is not zero beside what it was made from."""
    if not abs(pivot) > np.finfo(float).eps * abs(size):
        raise SingularSystemError(
            "the system is singular in floating point: the features have no constant part, or "
            "samples coincide. Use fit_intercept=True, or a smaller c."
        )
    return pivot


def krylov_system(
    design: Design, weights: Array, spec: Spec, space: Space, report: Report | None = None
) -> DualKrylov | PrimalKrylov:
    """The matrix-free system of a space; powers must be safe without scaled rows."""
    if design.row_peaks(spec.r) is not None:
        raise FloatingPointError(
            f"the powers of the features at k={spec.k:g} need scaled rows, which "
            'solver="krylov" does not have: use a larger k, a smaller |a|, or solver="dual".'
        )
    kind = DualKrylov if space == "dual" else PrimalKrylov
    return kind(design, weights, spec, report)
