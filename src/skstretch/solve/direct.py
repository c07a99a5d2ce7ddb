"""The closed forms, factored: by LU of one Gram-like matrix, or by sorted, pivoted QR.

LU reads the data in blocks and sees only K or C. QR is slower, needs the features in memory, and
is accurate where LU loses digits. Dual and primal kinds answer the same questions (`System`).

The penalty that is tied to the scale of the data, ``c="auto"``.

``lam = s |sum_i w_i K_ii - w'Kw / sum(w)| / sum(w)``: a share s of the mean diagonal of the centred
K. It follows the units of X and the number of features, so that K and the penalty stay in
proportion; copies of a sample count as its weight does.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from skstretch.core.dual import DualSolution, DualSystem, dual_system
from skstretch.core.factors import drawn_products, largest_move
from skstretch.core.features import Features, constant_part
from skstretch.core.formulas import repeated_norm
from skstretch.core.gram import DualGram, Frame, PrimalGram
from skstretch.core.primal import FreeBasis, PrimalSystem, primal_system
from skstretch.core.qr import TallSystem, WideSystem, tall_system, wide_system
from skstretch.core.stretch import LARGEST_LOG, Intercept
from skstretch.core.types import Array, Fit
from skstretch.designs.protocol import Design
from skstretch.exceptions import NeedsInverseError
from skstretch.solve.choose import (
    AUTOMATIC_STRENGTH,
    Space,
    Spec,
    choose_space,
    has_inverse,
    is_matrix_free,
)
from skstretch.solve.krylov import check_powers
from skstretch.solve.newton import automatic_c


class System(Protocol):
    """A factorised model: fit any targets, and say how well and how freely it fits."""

    @property
    def space(self) -> Space: ...

    @property
    def solver(self) -> str: ...

    @property
    def rcond(self) -> float: ...

    @property
    def dof(self) -> float: ...

    def fit(self, Y: Array) -> Fit:
        """Fit targets of shape (M, t)."""
        ...

    def variance(self) -> Array:
        """The diagonal of ``A W^-1 A'`` for ``alpha = A y``, shape (D,)."""
        ...

    def covariance(self) -> Array:
        """``A W^-1 A'``, shape (D, D)."""
        ...

    def residual_norm(self) -> float:
        """``tr((I - H)'(I - H))`` over repeated rows: a weight w counts as w rows."""
        ...


def row_scales(design: Design, r: float, intercept: Intercept) -> Array | None:
    """Logs to divide rows by where powers are not safe; None where they are."""
    log_rows = design.row_peaks(r)
    if log_rows is not None and intercept is Intercept.COLUMN:
        return np.maximum(log_rows, 0.0)
    return log_rows


@dataclass(frozen=True, eq=False)
class DualEnd:
    """The end of a dual fit: its coefficients take one more pass over the data."""

    design: Design
    frame: Frame
    solution: DualSolution
    weights: Array
    intercept: Intercept
    rcond: float

    def __call__(self) -> Fit:
        """Take the pass."""
        return dual_fits([self])[0]

    def fit(self, coef: Array) -> Fit:
        """The fit that has these coefficients."""
        frame, solution, free = self.frame, self.solution, self.intercept is Intercept.FREE
        whole, n = constant_part(self.design.offset, coef), self.weights.size
        if free and frame.log_rows is None:
            level = solution.constant - frame.centre @ coef
            constant = level - whole
        else:
            constant = solution.constant
            if free:  # of scaled rows only what is never penalised has a centre
                constant = constant - frame.centre @ coef
            level = constant + whole
        log_beta = np.zeros(n) if frame.log_rows is None else frame.r * frame.log_rows
        return Fit(coef, level, constant, solution.beta[:n], log_beta, self.rcond)


def dual_fits(ends: Sequence[DualEnd]) -> list[Fit]:
    """Fits of one design and the same weights, in one pass over the data."""
    design, weights = ends[0].design, ends[0].weights
    systems = [(end.frame, end.solution.beta, end.solution.total) for end in ends]
    blocks = [parts for _, parts in design.several_coefficients(systems, weights)]
    return [end.fit(np.vstack([parts[i] for parts in blocks])) for i, end in enumerate(ends)]


def primal_fit(
    gram: PrimalGram, coef: Array, constant: Array, intercept: Intercept, rcond: float
) -> Fit:
    """A fit from the unknowns of the primal system."""
    whole = constant_part(gram.offset, coef)
    if intercept is Intercept.FREE:
        level = constant - gram.centre @ coef
        return Fit(coef, level, level - whole, None, None, rcond)
    return Fit(coef, constant + whole, constant, None, None, rcond)


class Factored(Protocol):
    """What every factorised system of `core` tells of itself."""

    @property
    def rcond(self) -> float: ...

    @property
    def dof(self) -> float: ...


class Direct(ABC):
    """A model that is factored once, when its `system` is first asked for."""

    weights: Array
    spec: Spec
    space: Space
    solver: str

    @cached_property
    @abstractmethod
    def system(self) -> Factored: ...

    @property
    def rcond(self) -> float:
        return self.system.rcond

    @property
    def dof(self) -> float:
        return self.system.dof


class Dual(Direct):
    """The dual kinds: the spread follows from the solutions A for unit targets."""

    @abstractmethod
    def _unit_coefficients(self, unit: Array) -> Iterator[Array]:
        """Blocks of the coefficients for targets `unit` (M, M)."""

    def _spread(self) -> Iterator[Array]:
        """Blocks of ``A W^-1/2``: one unit target per sample, in the scale of its noise."""
        return self._unit_coefficients(np.diag(self.weights**-0.5))

    def variance(self) -> Array:
        return np.concatenate([np.square(A).sum(axis=1) for A in self._spread()])

    def covariance(self) -> Array:
        A = np.vstack([*self._spread()])
        return np.asarray(A @ A.T)

    def residual_norm(self) -> float:
        return repeated_norm(self._residuals(), self.weights)

    @abstractmethod
    def _residuals(self) -> Array:
        """``I - H``, (M, M)."""


class Primal(Direct):
    """The primal kinds: the spread is a matrix of the side of the features."""

    @abstractmethod
    def covariance(self) -> Array: ...

    def variance(self) -> Array:
        return self.covariance().diagonal().copy()

    def residual_norm(self) -> float:
        return float(self.weights.sum()) - 2.0 * self.dof + self._hat_norm()

    @abstractmethod
    def _hat_norm(self) -> float:
        """``sum_ij w_i H_ij**2 / w_j``."""


@dataclass(frozen=True)
class DualLU(Dual):
    """``alpha = Q'(K + lam W^-1)^-1 y`` by LU of K."""

    design: Design
    weights: Array
    spec: Spec
    space: Space = "dual"
    solver: str = "dual"

    @cached_property
    def system(self) -> DualSystem:
        r, intercept = self.spec.r, self.spec.intercept
        log_rows = row_scales(self.design, r, intercept)
        borders = intercept is not Intercept.FREE
        gram = self.design.gram([r], self.weights, log_rows, borders)[0]
        return dual_system(gram, self.spec.lam / self.weights, intercept)

    def fit(self, Y: Array) -> Fit:
        frame, solution = self.system.gram.frame, self.system.solve(Y)
        end = DualEnd(self.design, frame, solution, self.weights, self.spec.intercept, self.rcond)
        return end()

    def rounding(self, Y: Array) -> float:
        """What rounding does to the coefficients, relative: an estimate for these targets.

        Infinite where it is not known: of scaled rows, and where not all columns are penalised.
        """
        system = self.system
        known = system.gram.log_rows is None and not system.gram.n_free
        if not known or self.spec.intercept is not Intercept.FREE:
            return np.inf
        beta = system.solve(Y).beta
        moved = system.solve(drawn_products(system.sizes, beta)).beta
        both, zero = np.hstack([beta, moved]), np.zeros(beta.shape[1] + moved.shape[1])
        blocks = self.design.coefficients(system.gram.frame, both, zero, self.weights)
        coef, moves = np.split(np.vstack([A for _, A in blocks]), [beta.shape[1]], axis=1)
        return largest_move(moves, coef)

    def _unit_coefficients(self, unit: Array) -> Iterator[Array]:
        frame, solution = self.system.gram.frame, self.system.solve(unit)
        blocks = self.design.coefficients(frame, solution.beta, solution.total, self.weights)
        return (A for _, A in blocks)

    def _residuals(self) -> Array:
        gram = self.system.gram
        residuals = self.system.lam[:, None] * self.system.inverse
        if gram.log_rows is not None:
            residuals *= np.exp(gram.log_rows[:, None] - gram.log_rows)
        return residuals


@dataclass(frozen=True)
class PrimalLU(Primal):
    """``alpha = (Q'WP + lam I)^-1 Q'W y`` by LU of C."""

    design: Design
    weights: Array
    spec: Spec
    space: Space = "primal"
    solver: str = "primal"

    @cached_property
    def system(self) -> PrimalSystem:
        gram = self.design.column_grams([self.spec.r], self.weights)[0]
        return primal_system(gram, self.spec.lam, self.spec.intercept)

    def fit(self, Y: Array) -> Fit:
        gram = self.system.gram
        means = self.weights @ Y / gram.total_weight
        projected = self.design.project(gram, self.weights[:, None] * (Y - means))
        coef, constant = self.system.solve(projected, means)
        return primal_fit(gram, coef, constant, self.spec.intercept, self.rcond)

    def rounding(self, Y: Array) -> float:
        """See `DualLU.rounding`; the right-hand side is a sum over rows too."""
        system, weights = self.system, self.weights
        gram = system.gram
        known = gram.log_columns is None and gram.log_factors is None
        if not known or self.spec.intercept is not Intercept.FREE:
            return np.inf
        coef, sizes = self.fit(Y).coef, np.sqrt(np.abs(gram.C.diagonal()))
        targets = np.sqrt(weights @ np.square(Y - weights @ Y / weights.sum()))
        moved = drawn_products(sizes, coef, targets)
        return largest_move(system.solve(moved, np.zeros(moved.shape[1]))[0], coef)

    @cached_property
    def _stretched_gram(self) -> Array:
        return self.design.stretched_gram(self.system.gram, self.weights)

    def covariance(self) -> Array:
        return self.system.covariance(self._stretched_gram)

    def _hat_norm(self) -> float:
        PP = self.design.column_grams([1.0], self.weights)[0].C
        return self.system.hat_norm(self._stretched_gram, PP)


@dataclass(frozen=True)
class WideQR(Dual):
    """The dual form by sorted, pivoted QR of ``Q'``; `features` are those of ``design.at(r)``."""

    features: Features
    weights: Array
    spec: Spec
    design: Design
    space: Space = "dual"
    solver: str = "qr"

    @cached_property
    def _basis(self) -> FreeBasis | None:
        return self.design.basis(self.weights)

    @cached_property
    def system(self) -> WideSystem:
        lam, F = self.spec.lam / self.weights, None if self._basis is None else self._basis.F
        return wide_system(self.features, self.spec.r, lam, self.spec.intercept, F)

    def fit(self, Y: Array) -> Fit:
        fit, n = self.system.fit(Y), self.design.n_penalised
        gamma, level = fit.coef[n:], fit.level
        if self._basis is not None:
            gamma = self._basis.coefficients(gamma)
            level = level - self._basis.mean @ gamma
        coef = self.design.whole(self.spec.r, fit.coef[:n], gamma)
        intercept = level - constant_part(self.design.offset, coef)
        if self.spec.intercept is not Intercept.FREE:
            level, intercept = fit.level, fit.intercept
        return replace(fit, coef=coef, level=level, intercept=intercept)

    def _unit_coefficients(self, unit: Array) -> Iterator[Array]:
        return iter([self.fit(unit).coef])

    def _residuals(self) -> Array:
        return self.system.residuals


@dataclass(frozen=True)
class TallQR(Primal):
    """The primal form by sorted, pivoted QR of Q."""

    features: Features
    weights: Array
    spec: Spec
    log_factors: Array | None = None
    space: Space = "primal"
    solver: str = "qr"

    @cached_property
    def system(self) -> TallSystem:
        r, lam, intercept = self.spec.r, self.spec.lam, self.spec.intercept
        return tall_system(self.features, r, lam, self.weights, intercept, self.log_factors)

    def fit(self, Y: Array) -> Fit:
        return self.system.fit(Y)

    def covariance(self) -> Array:
        return self.system.covariance

    def _hat_norm(self) -> float:
        return self.system.hat_norm(self.features)


def accurate_system(design: Design, weights: Array, spec: Spec, space: Space) -> System | None:
    """The system by QR; None where its features do not fit in memory.

    The dual form sees penalised columns in the scale of their factors, the primal form sees the
    factors beside the penalty.
    """
    features = (design.at(spec.r) if space == "dual" else design).in_memory()
    if features is None:
        return None
    if space == "dual":
        return WideQR(features, weights, spec, design)
    return TallQR(features, weights, spec, design.log_factors(spec.r))


def gram_scale(gram: DualGram | PrimalGram, weights: Array) -> float:
    """``|sum_i w_i K_ii - w'Kw / sum(w)| / sum(w)``: what a penalty is measured against.

    The Gram matrices are centred about the weighted mean, so the second term is zero.
    """
    with np.errstate(over="ignore"):
        if isinstance(gram, PrimalGram):
            diagonal = gram.C.diagonal()
            if gram.log_columns is not None:
                diagonal = diagonal * np.exp(gram.log_columns)
            if gram.log_factors is not None:
                some = np.isfinite(gram.log_factors)
                diagonal = diagonal[some] * np.exp(-gram.log_factors[some])
            return float(abs(diagonal.sum()) / gram.total_weight)
        diagonal = gram.K.diagonal()
        if gram.log_rows is not None:
            diagonal = diagonal * np.exp((1.0 + gram.r) * gram.log_rows)
        return float(abs(weights @ diagonal) / weights.sum())


def with_penalty(design: Design, Y: Array, weights: Array, spec: Spec) -> tuple[Design, Spec]:
    """The model with its c as a number, and the design with what was summed to find it."""
    if not spec.automatic:
        return design, spec
    if design.n_penalised == 0:  # nothing to weigh: coefficients are the same whatever c is
        return design, replace(spec, c=1.0, automatic=False)
    if spec.exact:
        c = automatic_c(design, Y, weights, spec.k)
        return design, replace(spec, c=c, automatic=False)
    design, scale = _scale(design, weights, spec)
    return design, with_scale(scale, spec)


def with_scale(scale: float, spec: Spec) -> Spec:
    """``c = 1 / (lam k)`` with ``lam = s scale``, of features divided by ``exp(unit)``."""
    if not spec.automatic:
        return spec
    if scale == 0.0:  # nothing to learn from: coefficients are zero whatever c is
        return replace(spec, c=1.0, automatic=False)
    with np.errstate(divide="ignore"):
        log_c = -float(np.log(AUTOMATIC_STRENGTH * scale * spec.k)) - (1.0 + spec.r) * spec.unit
    if not abs(log_c) < LARGEST_LOG:
        raise FloatingPointError(
            f'c="auto": the scale of the features at k={spec.k:g} is {scale:.1e}, beyond what '
            "float64 can weigh against a penalty. Use other units, a larger k, or a number for c."
        )
    return replace(spec, c=math.exp(log_c), automatic=False)


def _scale(design: Design, weights: Array, spec: Spec) -> tuple[Design, float]:
    """The mean diagonal of K, from the sums that the fit needs too where it makes them."""
    r, intercept = spec.r, spec.intercept
    if is_matrix_free(design, spec):
        check_powers(design, spec)
        return design, abs(design.at(r).products(r, weights).trace()) / float(weights.sum())
    if choose_space(*design.shape, intercept, spec.solver) == "dual":
        log_rows, borders = row_scales(design, r, intercept), intercept is not Intercept.FREE
        dual = design.gram([r], weights, log_rows, borders)[0]
        return design.remembering(weights, borders, dual), gram_scale(dual, weights)
    primal = design.column_grams([r], weights)[0]
    return design.remembering(weights, False, primal), gram_scale(primal, weights)


def check_invertible(design: Design, spec: Spec, what: str) -> None:
    """Refuse what only a factorised system can tell."""
    if not has_inverse(design, spec):
        raise NeedsInverseError(what)
