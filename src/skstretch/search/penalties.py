"""All penalties of one (a, k) in the dual form."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from skstretch.core.crossfit import RowSystem, out_of_fold, without
from skstretch.core.dual import DualSolution, Inverse, lu_inverse, spectrum
from skstretch.core.dual_gram import DualGram
from skstretch.core.primal import PrimalSystem, primal_system
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design
from skstretch.search.cells import FirstPass, Folds, Outcome, Unknowns, failed, judged
from skstretch.solve.direct import dual_fit, primal_fit


def dual_inverses(
    gram: DualGram, weights: Array, intercept: Intercept, lams: Sequence[float]
) -> Iterator[Inverse]:
    """The inverse of every penalty: one spectrum where K is symmetric, else LU each."""
    if gram.r == 1.0 and gram.log_rows is None:
        decomposed = spectrum(gram, weights, intercept)
        for lam in lams:
            yield decomposed.cell(lam)
    else:
        for lam in lams:
            yield lu_inverse(gram, lam / weights, intercept)


def dual_outcomes(
    design: Design,
    gram: DualGram,
    Y: Array,
    weights: Array,
    intercept: Intercept,
    lams: Sequence[float],
    folds: Folds,
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every penalty."""
    n_features = float(design.shape[1])
    for inverse in dual_inverses(gram, weights, intercept, lams):
        if inverse.rcond == 0.0:
            yield failed(folds.tested.size, Y.shape[1], n_features, "singular")
            continue
        frame, solution = inverse.frame, inverse.solve(Y)
        try:
            residuals = out_of_fold(inverse, solution, folds.folds)
        except np.linalg.LinAlgError:
            yield failed(folds.tested.size, Y.shape[1], n_features, "a fold is singular")
            continue
        if frame.log_rows is not None:
            residuals = residuals * np.exp(frame.log_rows)[folds.tested, None]
        yield Outcome(
            residuals,
            inverse.rcond,
            inverse.dof,
            n_features,
            judged(residuals, inverse.rcond),
            partial(dual_fit, design, frame, solution, weights, intercept, inverse.rcond),
            partial(_dual_first_pass, design, inverse, solution, weights, folds),
            (Unknowns(solution, frame),),
        )


def _dual_first_pass(
    design: Design, inverse: Inverse, solution: DualSolution, weights: Array, folds: Folds
) -> FirstPass:
    """Coefficients of all samples and of every fold, in one walk over the data."""
    assert folds.folds is not None
    betas = [solution.beta, *(without(inverse, solution, fold.held) for fold in folds.folds)]
    beta = np.hstack(betas)
    total = np.zeros(beta.shape[1])
    if solution.total.any():
        total = beta.sum(axis=0)
    blocks = design.coefficients(inverse.frame, beta, total, weights)
    coef = np.vstack([alpha for _, alpha in blocks])
    parts = np.split(coef, len(betas), axis=1)
    return FirstPass(parts[0], parts[1:])


# All penalties of one (a, k) in the primal form.


class PrimalCell:
    """One penalty: its unknowns x, and the system that takes samples out again."""

    def __init__(self, system: PrimalSystem, projected: Array, means: Array) -> None:
        self.system = system
        self.coef, self.constant = system.solve(projected, means)
        self.rows: RowSystem = system.row_system()
        self.x = np.vstack([self.coef, self.constant])
        self.slack = 1.0

    @property
    def rcond(self) -> float:
        """The condition of the cell and of its folds so far."""
        return self.system.factor.rcond * self.slack

    def residuals(self, left: Array, Y: Array) -> Array:
        return np.asarray(Y - left @ self.x)


def primal_cells(
    design: Design,
    gram: PrimalGram,
    Y: Array,
    weights: Array,
    intercept: Intercept,
    lams: Sequence[float],
) -> list[PrimalCell | None]:
    """The solved cells; None where the system is singular."""
    means = weights @ Y / gram.total_weight
    projected = design.project(gram, weights[:, None] * (Y - means))
    cells: list[PrimalCell | None] = []
    for lam in lams:
        system = primal_system(gram, lam, intercept)
        singular = system.factor.rcond == 0.0
        cells.append(None if singular else PrimalCell(system, projected, means))
    return cells


def primal_outcomes(
    design: Design,
    gram: PrimalGram,
    Y: Array,
    weights: Array,
    intercept: Intercept,
    lams: Sequence[float],
    folds: Folds,
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every penalty, in one walk over the rows."""
    cells = primal_cells(design, gram, Y, weights, intercept, lams)
    residuals = [np.full((folds.tested.size, Y.shape[1]), np.nan) for _ in cells]
    start = 0
    for held, positions in _row_sets(design, folds):
        P, Q = gram.pair(design.row_features(held))
        stop = start + (held.size if positions is None else positions.size)
        for cell, out in zip(cells, residuals, strict=True):
            if cell is not None:
                r = _held(cell, P, Q, Y[held], weights[held], positions is None)
                out[start:stop] = r if positions is None else r[positions]
        start = stop
    n_features = float(design.shape[1])
    for cell, out in zip(cells, residuals, strict=True):
        if cell is None:
            yield failed(*out.shape, n_features, "singular")
            continue
        rcond = cell.system.factor.rcond
        finish = partial(primal_fit, gram, cell.coef, cell.constant, intercept, rcond)
        reason, dof = judged(out, cell.rcond), cell.system.dof
        first_pass = partial(_primal_first_pass, design, cell, Y, weights, folds)
        known = (Unknowns(cell.coef),)
        yield Outcome(out, cell.rcond, dof, n_features, reason, finish, first_pass, known)


def _primal_first_pass(
    design: Design, cell: PrimalCell, Y: Array, weights: Array, folds: Folds
) -> FirstPass:
    """Coefficients of all samples and of every fold."""
    assert folds.folds is not None
    by_fold = []
    for fold in folds.folds:
        P, Q = cell.system.gram.pair(design.row_features(fold.held))
        left, right = cell.system.left(P), cell.system.right(Q)
        residuals = cell.residuals(left, Y[fold.held])
        _, change, _ = cell.rows.held_residuals(left, right, weights[fold.held], residuals)
        by_fold.append(cell.coef + change[: cell.coef.shape[0]])
    return FirstPass(cell.coef, by_fold)


def _row_sets(design: Design, folds: Folds) -> Iterator[tuple[Index, Index | None]]:
    """Sets of rows to take out: for leave one out, blocks in which each row goes alone (None)."""
    if folds.folds is None:
        for rows in design.row_slices():
            yield np.arange(rows.start, rows.stop), None
    else:
        for fold in folds.folds:
            yield fold.held, fold.positions


def _held(cell: PrimalCell, P: Array, Q: Array, Y: Array, weights: Array, alone: bool) -> Array:
    left, right = cell.system.left(P), cell.system.right(Q)
    residuals = cell.residuals(left, Y)
    if alone:
        rest = 1.0 - cell.rows.leverages(left, right, weights)
        cell.slack = min(cell.slack, float(np.abs(rest).min()))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(residuals / rest[:, None])
    try:
        r, _, slack = cell.rows.held_residuals(left, right, weights, residuals)
    except np.linalg.LinAlgError:
        r, slack = np.full_like(residuals, np.nan), 0.0
    cell.slack = min(cell.slack, slack)
    return r
