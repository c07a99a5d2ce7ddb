"""The closed forms without K: products with P and Q' alone, and GMRES.

About the weighted means p, q of P and Q nothing is constant any more, so the largest direction of
K is gone and the free intercept is that of the weighted mean of y. The other two intercepts take
one right-hand side more, and one number that joins the two solutions.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skstretch.core.factors import SingularMatrixError
from skstretch.core.features import constant_part
from skstretch.core.gram import Frame
from skstretch.core.krylov import CYCLE, Iterated, Report, gmres, sketch
from skstretch.core.primal import FreeBasis
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit
from skstretch.designs.protocol import Design, Products
from skstretch.designs.threads import single_blas_thread, working_bytes
from skstretch.exceptions import NeedsInverseError
from skstretch.solve.choose import Space, Spec, has_inverse

# directions of the randomised preconditioner at most
SKETCH_SIZE = 200
SHORTEST_CYCLE = 20
# steps after which a solution is given up
MAX_ITER = 1000
# solutions that are to be joined leave residuals that add up: each is this much closer
JOINED = 0.1


def _lengths(B: Array, rank: int) -> tuple[int, int]:
    """Directions of the preconditioner and steps between restarts that there is room for."""
    n, t = B.shape
    room = working_bytes() // (8 * n)
    size = max(1, min(SKETCH_SIZE, room // 4, rank // 4))
    return size, max(SHORTEST_CYCLE, min(CYCLE, room // t))


def relative_residual(R: Array, B: Array) -> float:
    """The largest ``|R| / |B|`` by column; zero for a column without anything to fit."""
    left, whole = np.linalg.norm(R, axis=0), np.linalg.norm(B, axis=0)
    return float(np.max(left / np.where(whole > 0, whole, 1.0), initial=0.0))


def needs_more(found: Iterated, B: Array, R: Array, whole: Array, goal: float) -> bool:
    """Whether parts that are all solved leave too much when joined: R beside the `whole`."""
    solved = relative_residual(found.R, B) <= JOINED * goal
    return solved and relative_residual(R, whole) > goal


def warn_unless_solved(residual: float, n_iter: int, spec: Spec) -> None:
    """Say so where iteration ended short of its tolerance."""
    if residual <= spec.tolerance:
        return
    warnings.warn(
        f'solver="krylov" at k={spec.k:g}, c={spec.c:g} ended after {n_iter} iterations with a '
        f"relative residual of {residual:.1e}, above {spec.tolerance:.0e}: the system is "
        "ill-conditioned. Use a smaller c, a larger k, or a direct solver "
        '("dual" for fewer samples than features, else "primal").',
        ConvergenceWarning,
        stacklevel=2,
    )


@dataclass(frozen=True)
class CentredProducts:
    """``Pc alpha`` and ``Qc' v`` without K: one pass over the data each.

    ``P = Pc + 1 p'`` and ``Q = Qc + 1 q'`` with weighted means p and q. Beside a basis F of columns
    that are never penalised, Pc and Qc are without their part in F as well.
    """

    design: Design
    weights: Array
    r: float
    basis: FreeBasis | None = None

    @cached_property
    def p(self) -> Array:
        """The weighted mean of P, (D, 1)."""
        return self._mean(1.0)

    @cached_property
    def q(self) -> Array:
        """The weighted mean of Q, (D, 1)."""
        return self._mean(self.r)

    def _mean(self, r: float) -> Array:
        nothing, one = np.zeros((self.weights.size, 1)), np.ones(1)
        frame = Frame(r, np.zeros(0), None)
        return np.vstack(
            [part for _, part in self.design.coefficients(frame, nothing, one, self.weights)]
        )

    def means(self, V: Array) -> Array:
        """Weighted means of the columns of V (M, t)."""
        return np.asarray(self.weights @ V / self.weights.sum())

    def rest(self, V: Array) -> Array:
        """V (M, t) without its weighted means, and without its part in F."""
        rest = V - self.means(V)
        if self.basis is not None:
            rest -= self.basis.F @ self.share(rest)
        return rest

    def share(self, V: Array) -> Array:
        """Coefficients (q, t) of the weighted regression of V on F."""
        assert self.basis is not None
        return np.asarray(self.basis.F.T @ (self.weights[:, None] * V) / self.weights.sum())

    def forward(self, alpha: Array) -> Array:
        """``Pc alpha`` (M, t) for coefficients (D, t)."""
        return self._by_width(self._forward, alpha)

    def back(self, V: Array) -> Array:
        """``Qc' V`` (D, t) for V (M, t)."""
        return self._by_width(self._back, V)

    def dual_product(self, V: Array) -> Array:
        """``Pc Qc' V`` (M, t): coefficients are only held for some columns of V at a time."""
        return self._by_width(lambda some: self._forward(self._back(some)), V)

    def primal_product(self, V: Array) -> Array:
        """``Qc' W Pc V`` (D, t): fitted values are only held for some columns of V at a time."""
        weights = self.weights[:, None]
        return self._by_width(lambda some: self._back(weights * self._forward(some)), V)

    @cached_property
    def _products(self) -> Products:
        return self.design.products(self.r, self.weights)

    def _forward(self, alpha: Array) -> Array:
        return self.rest(self._products.forward(alpha))

    def _back(self, V: Array) -> Array:
        if self.basis is not None:
            F, total = self.basis.F, self.weights.sum()
            V = V - self.weights[:, None] * (F @ (F.T @ V / total))
        return self._products.back(V)

    def _by_width(self, work: Callable[[Array], Array], V: Array) -> Array:
        return by_width(work, V, width_of_products(self.design.shape))


def width_of_products(shape: tuple[int, int]) -> int:
    """Vectors that pass through the data at a time: parts and their stack fit half the budget."""
    return max(1, working_bytes() // (2 * 2 * 8 * max(1, sum(shape))))


def by_width(work: Callable[[Array], Array], V: Array, width: int) -> Array:
    """``work(V)``, so many columns at a time."""
    if V.shape[1] <= width:
        return work(V)
    starts = range(0, V.shape[1], width)
    return np.hstack([work(V[:, start : start + width]) for start in starts])


@dataclass(frozen=True)
class Krylov(ABC):
    """What the two spaces share. The condition number and the trace of G stay unknown (NaN).

    After `max_iter` steps (None: `MAX_ITER`) a solution is given up, with a warning unless that is
    to be `quiet`.
    """

    design: Design
    weights: Array
    spec: Spec
    report: Report | None = None
    solver: str = "krylov"
    rcond: float = np.nan
    dof: float = np.nan
    max_iter: int | None = None
    quiet: bool = False

    @cached_property
    def products(self) -> CentredProducts:
        design, basis = self.design.at(self.spec.r), self.design.basis(self.weights)
        return CentredProducts(design, self.weights, self.spec.r, basis)

    def _fit(self, coef: Array, constant: Array, beta: Array | None, Y: Array) -> Fit:
        """A fit; with the free intercept `constant` is the mean of y, else the intercept.

        With penalty factors, `coef` are those of the penalised columns in their scale.
        """
        if self.spec.intercept is Intercept.FREE:
            constant = constant - self.products.p[:, 0] @ coef
        coef, constant = self._whole(coef, constant, Y)
        whole = constant_part(self.design.offset, coef)
        log_beta = None if beta is None else np.zeros(self.weights.size)
        return Fit(coef, constant + whole, constant, beta, log_beta, self.rcond)

    def _whole(self, coef: Array, constant: Array, Y: Array) -> tuple[Array, Array]:
        """All coefficients in the scale of the features, and the intercept beside them."""
        design, basis = self.design, self.products.basis
        if basis is None:
            return design.whole(self.spec.r, coef, np.zeros((0, coef.shape[1]))), constant
        gamma = basis.coefficients(self.products.share(Y - self.products.design.dot(coef)))
        offset = np.broadcast_to(design.offset, design.shape[1])[design.free]
        constant = constant - basis.mean @ gamma - offset @ gamma
        return design.whole(self.spec.r, coef, gamma), constant

    def gave_up(self, fit: Fit) -> bool:
        """Whether it has ended short of its tolerance where LU can take over."""
        short = fit.residual is not None and not fit.residual <= self.spec.tolerance
        return self.quiet and short

    @abstractmethod
    def _product(self, V: Array) -> Array:
        """What the matrix of the system does to V, but for the penalty."""

    def _iterate(self, B: Array, closer: float = 1.0) -> Iterated:
        """Solve ``(product + lam I) X = B`` (n, t) to `closer` times the tolerance."""
        lam, goal = self.spec.lam, closer * self.spec.tolerance
        size, restart = _lengths(B, min(self.products.design.shape))
        norms = np.linalg.norm(B, axis=0)
        scale = np.where(norms > 0, norms, 1.0)
        # products of few vectors: threads of BLAS would wait for each other most of the time
        with single_blas_thread(0):
            found = gmres(
                lambda V: self._product(V) + lam * V,
                sketch(self._product, len(B), size, lam).solve,
                B / scale,
                np.full(scale.size, goal),
                restart,
                MAX_ITER if self.max_iter is None else self.max_iter,
                self.report,
            )
        return Iterated(found.X * scale, found.R * scale, found.n_iter)

    def _recorded(self, fit: Fit, R: Array, B: Array, n_iter: int) -> Fit:
        residual = relative_residual(R, B)
        if not self.quiet:
            warn_unless_solved(residual, n_iter, self.spec)
        return replace(fit, n_iter=n_iter, residual=residual)

    def _refuse(self) -> NoReturn:
        raise NeedsInverseError("the spread of the coefficients")

    variance = covariance = residual_norm = _refuse


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
        return self._root * self.products.dual_product(self._root * V)

    def fit(self, Y: Array) -> Fit:
        means = self.products.means(Y)
        centred = self._root * self.products.rest(Y)
        if self.spec.intercept is not Intercept.FREE:
            return self._bordered(Y, centred, means)
        found = self._iterate(centred)
        beta = self._root * found.X
        fit = self._fit(self.products.back(beta), means, beta, Y)
        return self._recorded(fit, found.R, centred, found.n_iter)

    def _bordered(self, Y: Array, centred: Array, means: Array) -> Fit:
        """Penalised column, or no intercept: gamma has a part ``u t`` along ``u = s / |s|``.

        With ``a = |s| S Pc q``, ``b = |s| S Qc p``, ``d = lam + |s|^2 (p.q + 1)`` (no intercept:
        p.q alone): ``(Kc + lam) gamma + a t = s (y - mean)`` and ``b' gamma + d t = |s| mean``.
        """
        products, t = self.products, Y.shape[1]
        size = float(np.sqrt(self.weights.sum()))
        one = 1.0 if self.spec.intercept is Intercept.COLUMN else 0.0
        a = size * self._root * products.forward(products.q)
        B, whole = np.hstack([centred, a]), self._root * Y
        found = self._iterate(B, JOINED)
        alphas = products.back(self._root * found.X)
        b = size * (products.p.T @ alphas)[0]
        d = self.spec.lam + size**2 * (float(np.vdot(products.p, products.q)) + one)
        pivot = _regular(d - b[t], d)
        along = (size * means - b[:t]) / pivot
        gamma = found.X[:, :t] - found.X[:, t:] * along
        coef = alphas[:, :t] - alphas[:, t:] * along
        R, n_iter = found.R[:, :t] - found.R[:, t:] * along, found.n_iter
        if needs_more(found, B, R, whole, self.spec.tolerance):
            # a is large beside y, and so is what it left: the same again for what is left
            more = self._iterate(R, JOINED)
            change = products.back(self._root * more.X)
            step = -size * (products.p.T @ change)[0] / pivot
            gamma += more.X - found.X[:, t:] * step
            coef += change - alphas[:, t:] * step
            along, n_iter = along + step, n_iter + more.n_iter
            R = centred - a * along - self._product(gamma) - self.spec.lam * gamma
        total = size * along
        beta = self._root * gamma
        beta += self.weights[:, None] * (along / size)
        fit = self._fit(coef + products.q * total, one * total, beta, Y)
        return self._recorded(fit, R, whole, n_iter)


@dataclass(frozen=True)
class PrimalKrylov(Krylov):
    """``(Qc' W Pc + lam I) alpha = Qc' W (y - mean)``."""

    space: Space = "primal"

    def _product(self, V: Array) -> Array:
        return self.products.primal_product(V)

    def fit(self, Y: Array) -> Fit:
        """Without a free intercept: ``(C + lam I + f q p') alpha = Qc' W (y - mean) + f q mean``.

        ``f = sum(w)`` for no intercept, ``1 / (1/sum(w) + 1/lam)`` for the penalised column.
        """
        products, lam, t = self.products, self.spec.lam, Y.shape[1]
        means = products.means(Y)
        projected = products.back(self.weights[:, None] * (Y - means))
        if self.spec.intercept is Intercept.FREE:
            found = self._iterate(projected)
            fit = self._fit(found.X, means, None, Y)
            return self._recorded(fit, found.R, projected, found.n_iter)
        total = float(self.weights.sum())
        column = self.spec.intercept is Intercept.COLUMN
        f = total * lam / (total + lam) if column else total
        B = np.hstack([projected, products.q])
        found = self._iterate(B, JOINED)
        inner = (products.p.T @ found.X)[0]
        pivot = _regular(1.0 + f * inner[t], 1.0)
        share = f * (means - inner[:t]) / pivot
        coef = found.X[:, :t] + found.X[:, t:] * share
        R, n_iter = found.R[:, :t] + found.R[:, t:] * share, found.n_iter
        whole = projected + products.q * (f * means)
        if needs_more(found, B, R, whole, self.spec.tolerance):
            # q is large beside the targets, and so is what it left: once more for what is left
            more = self._iterate(R, JOINED)
            step = -f * (products.p.T @ more.X)[0] / pivot
            coef += more.X + found.X[:, t:] * step
            n_iter += more.n_iter
            R = whole - self._product(coef) - lam * coef - products.q * (f * (products.p.T @ coef))
        missed = means - products.p[:, 0] @ coef
        constant = missed * (total / (total + lam)) if column else np.zeros(t)
        return self._recorded(self._fit(coef, constant, None, Y), R, whole, n_iter)


def _regular(pivot: float, size: float) -> float:
    """A pivot that is not zero beside what it was made from."""
    if not abs(pivot) > np.finfo(float).eps * abs(size):
        raise SingularMatrixError(
            "the system is singular in floating point: the features have no constant part, or "
            "samples coincide. Use fit_intercept=True, or a smaller c."
        )
    return pivot


def check_powers(design: Design, spec: Spec) -> None:
    """Refuse powers that are not safe without scaled rows."""
    if design.row_peaks(spec.r) is not None:
        raise FloatingPointError(
            f"the powers of the features at k={spec.k:g} need scaled rows, which "
            'solver="krylov" does not have: use a larger k, a smaller |a|, or solver="dual".'
        )


def krylov_system(
    design: Design, weights: Array, spec: Spec, space: Space, report: Report | None = None
) -> DualKrylov | PrimalKrylov:
    """The matrix-free system of a space; powers must be safe without scaled rows.

    Where LU could take over it is given one `CYCLE`, and ends in silence.
    """
    check_powers(design, spec)
    kind = DualKrylov if space == "dual" else PrimalKrylov
    if spec.solver == "auto" and has_inverse(design, spec):
        return kind(design, weights, spec, report, max_iter=CYCLE, quiet=True)
    return kind(design, weights, spec, report)
