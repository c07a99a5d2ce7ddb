"""Densities below one: every fold selects its own features, then fits again on those."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.crossfit import Fold
from skstretch.core.dual import dual_system
from skstretch.core.dual_gram import DualGram, combined
from skstretch.core.types import Array, Index
from skstretch.designs import Design, kept_columns
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
from skstretch.solve.choose import choose_space
from skstretch.solve.direct import DualLU, PrimalLU
from skstretch.solve.model import build_system
from skstretch.solve.spec import Spec, System


class SupportGram:
    """Gram matrices of subsets of the columns, each made from the nearest one that is known."""

    def __init__(self, design: Design, r: float, weights: Array) -> None:
        self.design, self.r, self.weights = design, r, weights
        self.columns: Index = np.zeros(0, dtype=np.intp)
        self.gram: DualGram | None = None

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
        if more.size + fewer.size >= columns.size:
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
            second = build_system(design.take(kept), weights, spec)
            rconds.append(second.rcond)
            dofs.append(second.dof if second.rcond > 0 else np.nan)
            if second.rcond > 0 and second.solver != "krylov":
                known.append(_unknowns(second, y, kept, target))
            passes = _SecondPass(design, y, weights, spec, support)
            passes.start(kept)
            start = 0
            for fold, coef in zip(folds.folds, first.by_fold, strict=True):
                stop = start + fold.tested.size
                own = kept_columns(design, coef[:, target], count)
                r, rcond = passes.residuals(own, fold)
                residuals[start:stop, [target]] = r
                rconds.append(rcond)
                start = stop
        rcond = min(rconds)
        reason = judged(residuals, rcond)
        error = relative_error(rcond) * target_size(Y)
        dof, unknowns = float(np.mean(dofs)), tuple(known)
        yield Outcome(residuals, rcond, dof, float(count), reason, unknowns=unknowns, error=error)


def _unknowns(second: System, y: Array, kept: Index, target: int) -> Unknowns:
    """What the coefficients of a second pass are made of; a dual system is not walked for them."""
    if isinstance(second, DualLU):
        # means of the features serve no product: they need not be kept for every cell
        frame = replace(second.system.gram.frame, centre=np.zeros(0))
        return Unknowns(second.system.solve(y), frame, kept, target)
    return Unknowns(second.fit(y).coef, None, kept, target)


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
        return dual and self.design.row_peaks(self.spec.r) is None

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
