"""Leave-one-out models of a fitted model, at new points."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skstretch.core.crossfit import RowSystem, jackknife_plus, loo_residuals
from skstretch.core.dual import DualSystem, dual_system
from skstretch.core.features import Features
from skstretch.core.gram import PrimalGram
from skstretch.core.primal import PrimalSystem, left_rows, right_rows
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import Design
from skstretch.exceptions import IllConditionedWarning, SingularSystemError
from skstretch.solve.choose import Spec, crossfit_space, unusable
from skstretch.solve.direct import DualLU, PrimalLU, check_invertible, row_scales
from skstretch.solve.newton import NewtonJackknife, newton_jackknife


@dataclass(frozen=True)
class DualJackknife:
    """From one inverse: ``beta without i = beta - G[:, i] r_i``, ``r_i = beta_i / G_ii``.

    The borders of the system (intercept, sum of beta) are updated by the same column.
    """

    design: Design
    weights: Array
    system: DualSystem
    solution: Array
    residuals: Array

    def predictions(self, new: Design, target: int) -> Array:
        """Predictions at the rows of `new` by the model without sample i, shape (N, M)."""
        return self.at(*self.design.cross(self.system.gram.frame, self.weights, new), target)

    def at(self, K: Array, Pq: Array, target: int) -> Array:
        """Predictions where the products with the training features are K (N, M + q) and Pq (N,).

        The last q columns of K are the columns that are never penalised, in their basis.
        """
        gram, inverse = self.system.gram, self.system.factor.inverse
        M = gram.n_samples
        left = np.zeros((K.shape[0], inverse.shape[0]))
        left[:, : K.shape[1]] = K
        left[:, M : K.shape[1]] *= self.system.free_unit
        if gram.log_rows is not None:
            if self.system.intercept is Intercept.FREE:
                left[:, -1] = self.system.unit * np.exp(gram.log_rows.min())
            elif self.system.intercept is Intercept.COLUMN:
                left[:, :M] += np.exp(-gram.r * gram.log_rows)
            scale = np.exp(-gram.log_rows)
        else:
            if self.system.intercept is not Intercept.FREE:
                left[:, M] = Pq
            left[:, -1] = self.system.unit
            scale = np.ones(M)
        change = (left @ inverse[:, :M]) * (self.residuals[:, target] * scale)
        return np.asarray((left @ self.solution[:, target])[:, None] - change)


def dual_jackknife(design: Design, Y: Array, weights: Array, system: DualSystem) -> DualJackknife:
    """All leave-one-out models of a factorised dual fit."""
    inverse, log_rows = system.factor.inverse, system.gram.log_rows
    scale = np.ones(len(Y)) if log_rows is None else np.exp(log_rows)
    solution = inverse[:, : len(Y)] @ (Y / scale[:, None])
    nothing = np.flatnonzero(system.diagonal() == 0.0)
    if nothing.size:
        raise SingularSystemError(
            f"without sample {nothing[0]} nothing determines its prediction in floating point, so "
            "that there are no leave-one-out residuals or intervals: use a smaller c or a larger k."
        )
    residuals = scale[:, None] * loo_residuals(system, solution)
    return DualJackknife(design, weights, system, solution, residuals)


@dataclass(frozen=True)
class PrimalJackknife:
    """``x without i = x - B^-1 right_i w_i r_i``, ``r_i = e_i / (1 - H_ii)``."""

    design: Design
    Y: Array
    weights: Array
    system: PrimalSystem
    solution: Array
    residuals: Array

    def predictions(self, new: Design, target: int) -> Array:
        """Predictions at the rows of `new` by the model without sample i, shape (N, M)."""
        gram = self.system.gram
        P = new.row_features(np.arange(new.shape[0])).excess(1.0)
        P -= gram.centre
        left = left_rows(self.system.gram, self.system.intercept, P)
        through = left @ self.system.row_system().inverse
        change = np.hstack(
            [
                through @ right.T * (self.weights * self.residuals[:, target])[rows]
                for rows, _, right in PrimalRows(self.design, gram, self.system.intercept).blocks()
            ]
        )
        return np.asarray((left @ self.solution[:, target])[:, None] - change)


@dataclass(frozen=True)
class PrimalRows:
    """``(left, right)`` of rows of a design, for all penalties of a Gram matrix."""

    design: Design
    gram: PrimalGram
    intercept: Intercept

    def blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        """``(rows, left, right)`` for blocks of rows."""
        for rows in self.design.row_slices():
            some = self.design.row_features(np.arange(rows.start, rows.stop))
            yield rows, *self.seen(some)

    def seen(self, features: Features) -> tuple[Array, Array]:
        """``(left, right)`` of rows that are at hand."""
        P, Q = self.gram.pair(features)
        return left_rows(self.gram, self.intercept, P), right_rows(self.gram, Q)


class PrimalLeftOut:
    """A solved primal system that takes samples out again: its unknowns x and their changes.

    `slack` is the least that a sample left of the system, of those seen so far.
    """

    def __init__(self, system: PrimalSystem, projected: Array, means: Array) -> None:
        self.system = system
        self.coef, self.constant = system.solve(projected, means)
        self.x = np.vstack([self.coef, self.constant])
        self.rows: RowSystem = system.row_system()
        self.slack = 1.0

    @property
    def rcond(self) -> float:
        """The condition of the system and of what is left of it so far."""
        return self.system.rcond * self.slack

    def alone(self, left: Array, right: Array, Y: Array, weights: Array) -> Array:
        """Residuals (m, t) of some samples, each by the model without it: ``e / (1 - H_ii)``."""
        rest = 1.0 - self.rows.leverages(left, right, weights)
        self.slack = min(self.slack, float(np.abs(rest).min(initial=1.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((Y - left @ self.x) / rest[:, None])

    def fold(self, left: Array, right: Array, Y: Array, lost: Array) -> Array:
        """Residuals of some samples by the model without what they `lost` of their weights; NaN
        where they determine too much."""
        try:
            residuals, _, slack = self.rows.held_residuals(left, right, lost, Y - left @ self.x)
        except np.linalg.LinAlgError:
            self.slack = 0.0
            return np.full(Y.shape, np.nan)
        self.slack = min(self.slack, slack)
        return residuals


def primal_jackknife(design: Design, Y: Array, weights: Array, spec: Spec) -> PrimalJackknife:
    """All leave-one-out models of a primal fit."""
    system = PrimalLU(design, weights, spec).system
    gram, means = system.gram, weights @ Y / system.gram.total_weight
    solved = PrimalLeftOut(system, design.project(gram, weights[:, None] * (Y - means)), means)
    residuals = np.empty_like(Y)
    for block, left, right in PrimalRows(design, gram, spec.intercept).blocks():
        residuals[block] = solved.alone(left, right, Y[block], weights[block])
    return PrimalJackknife(design, Y, weights, system, solved.x, residuals)


@dataclass(frozen=True)
class ConstantJackknife:
    """No feature varies: every leave-one-out model is a constant, `levels` of shape (M, t).

    ``sum w y / (sum w + extra)`` over the other samples; `extra` is infinite without an intercept.
    """

    Y: Array
    weights: Array
    extra: float

    @property
    def levels(self) -> Array:
        w = self.weights[:, None]
        return np.asarray((w.T @ self.Y - w * self.Y) / (w.sum() - w + self.extra))

    @property
    def residuals(self) -> Array:
        return np.asarray(self.Y - self.levels)

    def predictions(self, new: Design, target: int) -> Array:
        """Predictions at the rows of `new` by the model without sample i, shape (N, M)."""
        return np.tile(self.levels[:, target], (new.shape[0], 1))


def constant_jackknife(Y: Array, weights: Array, spec: Spec) -> ConstantJackknife:
    """All leave-one-out models of an intercept alone."""
    extra = {Intercept.FREE: 0.0, Intercept.COLUMN: spec.lam, Intercept.NONE: np.inf}
    return ConstantJackknife(Y, weights, extra[spec.intercept])


Jackknife = DualJackknife | PrimalJackknife | ConstantJackknife | NewtonJackknife


def make_jackknife(design: Design, Y: Array, weights: Array, spec: Spec) -> Jackknife:
    """All leave-one-out models, in the space that the fit would choose."""
    design.check_held_out(weights, None)
    if spec.exact and (design.shape[1] or spec.intercept is Intercept.COLUMN):
        return newton_jackknife(design, Y, weights, spec)
    if design.shape[1] == 0:
        return constant_jackknife(Y, weights, spec)
    check_invertible(design, spec, "a leave-one-out residual or interval")
    space = crossfit_space(*design.shape, spec.intercept, spec.solver)
    jackknife: DualJackknife | PrimalJackknife
    if space == "dual":
        jackknife = dual_jackknife(design, Y, weights, DualLU(design, weights, spec).system)
    else:
        jackknife = primal_jackknife(design, Y, weights, spec)
    rcond = jackknife.system.rcond
    if unusable(rcond):
        warnings.warn(
            f"the leave-one-out models at k={spec.k:g}, c={spec.c:g} are ill-conditioned (rcond="
            f"{rcond:.1e}): the intervals may carry no correct digit. Use a smaller c or a larger "
            "k.",
            IllConditionedWarning,
            stacklevel=2,
        )
    return jackknife


def held_out_bounds(
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    folds: Sequence[Index],
    levels: Sequence[float],
) -> Array:
    """Jackknife+ bounds of samples by models that have not seen them, (2, levels, M, t).

    Each fold is bounded by the leave-one-out models of the other samples. In the dual form they
    come from one Gram matrix, ``K[held, trained]`` and ``K[trained, trained]``. Exact given the
    z-scores of all samples, as cross-validation is.
    """
    bounds = np.full((2, len(levels), *Y.shape), np.nan)
    for held, predictions, residuals in _held_out(design, Y, weights, spec, folds):
        for target, predicted in enumerate(predictions):
            for i, level in enumerate(levels):
                found = jackknife_plus(predicted, residuals[:, target], level)
                bounds[:, i, held, target] = found
    return bounds


def _held_out(
    design: Design, Y: Array, weights: Array, spec: Spec, folds: Sequence[Index]
) -> Iterator[tuple[Index, list[Array], Array]]:
    """``(held, predictions (held, trained) of each target, residuals (trained, t))``."""
    dual = crossfit_space(*design.shape, spec.intercept) == "dual" and not spec.exact
    gram = None
    if dual and row_scales(design, spec.r, spec.intercept) is None:
        gram = design.gram([spec.r], weights, None, spec.intercept is not Intercept.FREE)[0]
    for held in folds:
        trained = np.setdiff1d(np.arange(len(Y)), held, assume_unique=True)
        part, y, w = design.take_rows(trained), Y[trained], weights[trained]
        if gram is not None:
            system = dual_system(gram.rows(trained), spec.lam / w, spec.intercept)
            near = dual_jackknife(part, y, w, system)
            K, Pq = gram.K[np.ix_(held, trained)], gram.Pq[held]
            if gram.free is not None:
                K = np.hstack([K, gram.free[held]])
            predictions = [near.at(K, Pq, target) for target in range(Y.shape[1])]
            yield held, predictions, near.residuals
        else:
            found, new = make_jackknife(part, y, w, spec), design.take_rows(held)
            predictions = [found.predictions(new, target) for target in range(Y.shape[1])]
            yield held, predictions, found.residuals
