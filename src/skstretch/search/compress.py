"""Densities below one: every fold selects its own features, then fits again on those."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.crossfit import Fold
from skstretch.core.dual import dual_system
from skstretch.core.dual_gram import DualGram, combined
from skstretch.core.primal import PrimalSystem, primal_system
from skstretch.core.types import Array, Fit, Index
from skstretch.designs import (
    Design,
    are_walked,
    column_grams_of,
    dots_of,
    kept_columns,
    projections_of,
)
from skstretch.exceptions import SingularSystemError
from skstretch.search.cells import (
    FirstPass,
    Outcome,
    Problem,
    Unknowns,
    judged,
    relative_error,
    target_size,
)
from skstretch.solve.choose import choose_space, is_matrix_free, loses_digits
from skstretch.solve.direct import DualLU, PrimalLU, primal_fit
from skstretch.solve.model import build_system
from skstretch.solve.spec import Spec, System

# numbers of a design whose Gram matrix takes less time than finding it from a near one
SMALL = 1 << 15


class SupportGram:
    """Gram matrices of subsets of the columns, each made from the nearest one that is known."""

    def __init__(self, design: Design, r: float, weights: Array) -> None:
        self.design, self.r, self.weights = design, r, weights
        self.columns: Index = np.zeros(0, dtype=np.intp)
        self.gram: DualGram | None = None
        self._safe: bool | None = None

    @property
    def is_safe(self) -> bool:
        """Whether no row needs a scale of its own; found out once, from all columns."""
        if self._safe is None:
            self._safe = self.design.row_peaks(self.r) is None
        return self._safe

    def _of(self, columns: Index) -> DualGram:
        return self.design.take(columns).gram([self.r], self.weights, None)[0]

    def grow(self, columns: Index) -> None:
        """Move the base to a superset: only the columns that are new are read."""
        new = np.setdiff1d(columns, self.columns, assume_unique=True)
        if new.size:
            extra = self._of(new)
            self.gram = extra if self.gram is None else combined(self.gram, extra, 1.0)
        self.columns = columns

    def near(self, columns: Index) -> DualGram:
        """The Gram matrix of columns that differ little from the base."""
        assert self.gram is not None
        more = np.setdiff1d(columns, self.columns, assume_unique=True)
        fewer = np.setdiff1d(self.columns, columns, assume_unique=True)
        small = self.weights.size * columns.size <= SMALL
        if small or more.size + fewer.size >= columns.size:
            return self._of(columns)
        gram = self.gram
        for changed, sign in ((more, 1.0), (fewer, -1.0)):
            if changed.size:
                gram = combined(gram, self._of(changed), sign)
        return gram


def compressed_outcomes(
    design: Design, first: FirstPass, problem: Problem, spec: Spec, counts: Sequence[int]
) -> Iterator[Outcome]:
    """Out-of-fold residuals of one cell at increasing numbers of kept features."""
    Y, weights, folds = problem.Y, problem.weights, problem.folds
    assert folds.folds is not None
    supports = [SupportGram(design, spec.r, weights) for _ in range(Y.shape[1])]
    for count in counts:
        residuals = np.full((folds.tested.size, Y.shape[1]), np.nan)
        rconds, dofs, known = [], [], []
        for target, support in enumerate(supports):
            y = Y[:, [target]]
            kept = kept_columns(design, first.whole[:, target], count)
            owns = [kept_columns(design, coef[:, target], count) for coef in first.by_fold]
            passes = _SecondPass(design, y, weights, spec, support)
            second, found = passes.whole_and_folds(kept, owns, folds.folds)
            rconds.append(second.rcond)
            dofs.append(second.dof if second.rcond > 0 else np.nan)
            if second.rcond > 0 and second.solver != "krylov":
                known.append(_unknowns(second, y, kept, target))
            residuals[:, [target]] = np.vstack([r for r, _ in found])
            rconds += [rcond for _, rcond in found]
        rcond = min(rconds)
        reason = judged(residuals, rcond)
        error = relative_error(rcond) * target_size(Y)
        dof, unknowns = float(np.mean(dofs)), tuple(known)
        yield Outcome(
            residuals,
            rcond,
            dof,
            float(count),
            reason,
            unknowns=unknowns,
            error=error,
            dofs=tuple(dofs),
        )


def _unknowns(second: "System | Summed", y: Array, kept: Index, target: int) -> Unknowns:
    """What the coefficients of a second pass are made of; a dual system is not walked for them."""
    if isinstance(second, DualLU):
        # means of the features serve no product: they need not be kept for every cell
        frame = replace(second.system.gram.frame, centre=np.zeros(0))
        return Unknowns(second.system.solve(y), frame, kept, target)
    return Unknowns(second.fit(y).coef, None, kept, target)


@dataclass(frozen=True)
class Summed:
    """A primal fit whose sums came from a walk that it shared."""

    system: PrimalSystem
    own: Fit
    solver: str = "primal"

    @property
    def rcond(self) -> float:
        return self.system.rcond

    @property
    def dof(self) -> float:
        return self.system.dof

    def fit(self, Y: Array) -> Fit:
        """What is known already."""
        return self.own


@dataclass(frozen=True)
class _SecondPass:
    """Second passes of one target at one count."""

    design: Design
    y: Array
    weights: Array
    spec: Spec
    support: SupportGram

    def start(self, kept: Index) -> None:
        """Tell the columns that the whole data keeps, near which those of the folds lie."""
        if self._by_gram(kept.size, self.weights.size):
            self.support.grow(kept)

    def _by_gram(self, count: int, n_samples: int) -> bool:
        dual = choose_space(n_samples, count, self.spec.intercept) == "dual"
        return dual and self.support.is_safe

    def whole_and_folds(
        self, kept: Index, columns: Sequence[Index], folds: Sequence[Fold]
    ) -> "tuple[System | Summed, list[tuple[Array, float]]]":
        """The second pass of all samples, and residuals and condition of every fold."""
        weights = [self.weights, *(fold.weights(self.weights) for fold in folds)]
        if are_walked([self.design]) and self._all_primal([kept, *columns], weights):
            designs = [self.design.take(some) for some in (kept, *columns)]
            if are_walked(designs):
                summed, found = self._walked(designs, weights, folds)
                if not loses_digits(summed.rcond):
                    return summed, found
                return build_system(designs[0], self.weights, self.spec), found
        second = build_system(self.design.take(kept), self.weights, self.spec)
        self.start(kept)
        told = zip(columns, folds, strict=True)
        return second, [self.residuals(some, fold) for some, fold in told]

    def _all_primal(self, columns: Sequence[Index], weights: Sequence[Array]) -> bool:
        sizes = [
            (int(np.count_nonzero(w)), some.size) for w, some in zip(weights, columns, strict=True)
        ]
        primal = all(choose_space(*size, self.spec.intercept) == "primal" for size in sizes)
        return primal and not is_matrix_free(self.design, self.spec)

    def _walked(
        self, designs: Sequence[Design], weights: Sequence[Array], folds: Sequence[Fold]
    ) -> "tuple[Summed, list[tuple[Array, float]]]":
        """Primal fits, each on its own columns and rows: one walk sums them all, one has their
        right-hand sides, and one predicts."""
        spec, means = self.spec, [w @ self.y / w.sum() for w in weights]
        grams = column_grams_of(designs, spec.r, weights)
        sides = [w[:, None] * (self.y - mean) for w, mean in zip(weights, means, strict=True)]
        projected = projections_of(designs, grams, sides)
        fits = []
        for gram, right, mean in zip(grams, projected, means, strict=True):
            system = primal_system(gram, spec.lam, spec.intercept)
            coef, constant = np.nan * right, np.nan * mean
            if system.rcond > 0:
                coef, constant = system.solve(right, mean)
            fit = primal_fit(gram, coef, constant, spec.intercept, system.rcond)
            fits.append(Summed(system, fit))
        outputs = dots_of(designs[1:], [one.own.coef for one in fits[1:]])
        found = [
            (self.y[fold.tested] - out[fold.tested] - one.own.level, one.rcond)
            for fold, out, one in zip(folds, outputs, fits[1:], strict=True)
        ]
        return fits[0], found

    def residuals(self, columns: Index, fold: Fold) -> tuple[Array, float]:
        """Residuals of the tested samples of one fold, and the condition of its system."""
        weights = fold.weights(self.weights)
        trained = np.flatnonzero(weights > 0)
        try:
            if self._by_gram(columns.size, trained.size) and self.support.gram is not None:
                return self._from_gram(columns, fold, trained, weights)
            return self._from_rows(columns, fold, trained, weights)
        except SingularSystemError:
            return np.full((fold.tested.size, 1), np.nan), 0.0

    def _from_gram(
        self, columns: Index, fold: Fold, trained: Index, weights: Array
    ) -> tuple[Array, float]:
        gram = self.support.near(columns)
        lam = self.spec.lam / weights[trained]
        system = dual_system(gram.rows(trained), lam, self.spec.intercept)
        solution = system.solve(self.y[trained])
        outputs = system.predict(gram, fold.tested, trained, solution)
        return self.y[fold.tested] - outputs, system.rcond

    def _from_rows(
        self, columns: Index, fold: Fold, trained: Index, weights: Array
    ) -> tuple[Array, float]:
        kept = self.design.take(columns)
        if choose_space(trained.size, columns.size, self.spec.intercept) == "primal":
            system = PrimalLU(kept, weights, self.spec)
            fit, rcond = system.fit(self.y), system.rcond
        else:
            part = build_system(kept.take_rows(trained), weights[trained], self.spec)
            fit = part.fit(self.y[trained])
            rcond = fit.rcond
        new = kept.row_features(fold.tested)
        return self.y[fold.tested] - new.excess(1.0) @ fit.coef - fit.level, rcond
