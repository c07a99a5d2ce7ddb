"""Cells of closed forms: exact out-of-fold residuals from one inverse a penalty.

All penalties of one (a, k) share a Gram matrix. From the inverse of each follow the exact
out-of-fold residuals, the condition and, when asked for, the fit and the coefficients of every
fold. Dual and primal forms give the same `Outcome`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np

from skstretch.core.crossfit import RowSystem, out_of_fold, pair_residuals, without
from skstretch.core.dual import DualSolution, Inverse, Spectrum, lu_inverse, spectrum
from skstretch.core.dual_gram import DualGram
from skstretch.core.primal import PrimalSystem, primal_system
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import in_threads, in_turn, shares, threads_for_cells
from skstretch.designs.protocol import Design
from skstretch.search.cells import (
    FirstPass,
    Folds,
    Outcome,
    Problem,
    Unknowns,
    failed,
    judged,
    relative_error,
    target_size,
)
from skstretch.solve.direct import dual_fit, primal_fit
from skstretch.solve.jackknife import PrimalRows, primal_pairs


class Once:
    """What one thread makes and others wait for."""

    def __init__(self, make: Callable[[], Spectrum]) -> None:
        self._make, self._lock, self._made = make, Lock(), None

    _made: Spectrum | None

    def __call__(self) -> Spectrum:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


@dataclass(frozen=True)
class DualCells:
    """All penalties of one dual Gram matrix: one spectrum where K is symmetric, else LU each.

    A task makes the outcome of a penalty and needs nothing of the others, but for what is `early`.
    """

    tasks: list[Callable[[], Outcome]]
    early: list[Callable[[], object]]


def dual_cells(
    design: Design, gram: DualGram, problem: Problem, lams: Sequence[float]
) -> DualCells:
    """Exact out-of-fold residuals of every penalty, as tasks."""
    weights, intercept = problem.weights, problem.intercept
    make: list[Callable[[], Inverse]]
    early: list[Callable[[], object]] = []
    if gram.r == 1.0 and gram.log_rows is None:
        decomposed = Once(partial(spectrum, gram, weights, intercept))
        early = [decomposed] if lams else []
        make = [partial(_cell, decomposed, lam) for lam in lams]
    else:
        make = [partial(lu_inverse, gram, lam / weights, intercept) for lam in lams]
    return DualCells([partial(dual_outcome, design, problem, one) for one in make], early)


def _cell(decomposed: Once, lam: float) -> Inverse:
    return decomposed().cell(lam)


def dual_outcome(design: Design, problem: Problem, make: Callable[[], Inverse]) -> Outcome:
    """Exact out-of-fold residuals of one penalty.

    Pairs are made at once: so is the inverse done with, in the thread that has made it.
    """
    n_features = float(design.shape[1])
    Y, weights, intercept, folds = problem.Y, problem.weights, problem.intercept, problem.folds
    inverse = make()
    if inverse.rcond == 0.0:
        return failed(folds.tested.size, Y.shape[1], n_features, "singular")
    frame, solution = inverse.frame, inverse.solve(Y)
    try:
        residuals, errors = out_of_fold(inverse, solution, folds.folds)
    except np.linalg.LinAlgError:
        return failed(folds.tested.size, Y.shape[1], n_features, "a fold is singular")
    if frame.log_rows is not None:
        scale = np.exp(frame.log_rows)[folds.tested, None]
        residuals, errors = residuals * scale, errors * scale
    alone = folds.folds is None
    first_pass = partial(_dual_first_pass, design, inverse, solution, weights, folds)
    return Outcome(
        residuals,
        inverse.rcond,
        inverse.dof,
        n_features,
        judged(residuals, inverse.rcond),
        partial(dual_fit, design, frame, solution, weights, intercept, inverse.rcond),
        None if alone else first_pass,
        (Unknowns(solution, frame),),
        float(errors.max(initial=0.0)),
        pairs=_dual_pairs(inverse, solution, problem.outer) if alone else None,
    )


def _dual_pairs(
    inverse: Inverse, solution: DualSolution, outer: Index
) -> Callable[[Index], Array] | None:
    """Residuals (m, M, t) of pairs of samples, one of them of `outer`; None where that is empty."""
    if not outer.size:
        return None
    log_rows, (rows, columns) = inverse.frame.log_rows, inverse.cross(outer)
    diagonal = inverse.diagonal()
    found = pair_residuals(rows, columns, diagonal, solution.beta[: diagonal.size], outer)
    if log_rows is not None:
        found *= np.exp(log_rows)[:, None]
    return partial(_of_outer, outer, found)


def _of_outer(outer: Index, found: Array, some: Index) -> Array:
    """What was found of some of the outer samples."""
    return found if some is outer else found[np.searchsorted(outer, some)]


def _dual_first_pass(
    design: Design, inverse: Inverse, solution: DualSolution, weights: Array, folds: Folds
) -> FirstPass:
    """Coefficients of all samples and of every fold, in one walk over the data."""
    assert folds.folds is not None
    betas = [solution.beta, *(without(inverse, solution, fold) for fold in folds.folds)]
    beta = np.hstack(betas)
    total = np.zeros(beta.shape[1])
    if solution.total.any():
        total = beta.sum(axis=0)
    blocks = design.coefficients(inverse.frame, beta, total, weights)
    coef = np.vstack([alpha for _, alpha in blocks])
    parts = np.split(coef, len(betas), axis=1)
    return FirstPass(parts[0], parts[1:])


class PrimalCell:
    """One penalty: its unknowns x, and the system that takes samples out again.

    For leave one out `rest` are ``1 - H_ii`` and e the residuals of the fit, sample by sample.
    """

    def __init__(self, system: PrimalSystem, projected: Array, means: Array) -> None:
        self.system = system
        self.coef, self.constant = system.solve(projected, means)
        self.rows: RowSystem = system.row_system()
        self.x = np.vstack([self.coef, self.constant])
        self.slack = 1.0
        self.rest: list[Array] = []
        self.e: list[Array] = []

    @property
    def rcond(self) -> float:
        """The condition of the cell and of its folds so far."""
        return self.system.rcond * self.slack

    def residuals(self, left: Array, Y: Array) -> Array:
        return np.asarray(Y - left @ self.x)


def _primal_cell(
    gram: PrimalGram, problem: Problem, projected: Array, means: Array, lam: float
) -> PrimalCell | None:
    """A solved cell; None where the system is singular."""
    system = primal_system(gram, lam, problem.intercept)
    return None if system.rcond == 0.0 else PrimalCell(system, projected, means)


def primal_outcomes(
    design: Design, gram: PrimalGram, problem: Problem, lams: Sequence[float]
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every penalty, in one walk over the rows.

    Threads share the penalties.
    """
    Y, weights = problem.Y, problem.weights
    means = weights @ Y / gram.total_weight
    projected = design.project(gram, weights[:, None] * (Y - means))
    features = PrimalRows(design, gram, problem.intercept)
    n_rows, n_features = design.shape
    with threads_for_cells(n_features, n_rows) as threads:
        make = partial(_primal_cell, gram, problem, projected, means)
        cells = [*in_turn([partial(make, lam) for lam in lams], threads)]
        residuals = _held_out(cells, features, problem, threads)
        tasks = [
            partial(_primal_outcome, features, problem, cell, out)
            for cell, out in zip(cells, residuals, strict=True)
        ]
        with closing(in_turn(tasks, threads)) as found:
            yield from found


def _held_out(
    cells: Sequence[PrimalCell | None], features: PrimalRows, problem: Problem, threads: int
) -> list[Array]:
    """Out-of-fold residuals (n_tested, t) of every cell; NaN where it is None."""
    Y, folds = problem.Y, problem.folds
    residuals = [np.full((folds.tested.size, Y.shape[1]), np.nan) for _ in cells]
    start = 0
    for rows, lost, positions in _row_sets(features.design, problem.weights, folds):
        left, right = features.of(rows)
        some = slice(start, start + (rows.size if positions is None else positions.size))

        def part(share: slice) -> None:
            for cell, out in zip(cells[share], residuals[share], strict=True):
                if cell is not None:
                    r = _held(cell, left, right, Y[rows], lost, positions is None)  # noqa: B023
                    out[some] = r if positions is None else r[positions]  # noqa: B023

        in_threads(part, shares(len(cells), threads, left.size))
        start = some.stop
    return residuals


def _primal_outcome(
    features: PrimalRows, problem: Problem, cell: PrimalCell | None, out: Array
) -> Outcome:
    """The outcome of one penalty from its out-of-fold residuals."""
    Y, weights, folds, design = problem.Y, problem.weights, problem.folds, features.design
    n_features = float(design.shape[1])
    if cell is None:
        return failed(folds.tested.size, Y.shape[1], n_features, "singular")
    rcond, gram = cell.system.rcond, features.gram
    pairs = None
    if folds.folds is None and problem.outer.size:
        rest, e = np.concatenate(cell.rest), np.vstack(cell.e)
        found = primal_pairs(features, weights, cell.rows, rest, e, problem.outer)
        pairs = partial(_of_outer, problem.outer, found)
    return Outcome(
        out,
        cell.rcond,
        cell.system.dof,
        n_features,
        judged(out, cell.rcond),
        partial(primal_fit, gram, cell.coef, cell.constant, problem.intercept, rcond),
        partial(_primal_first_pass, design, cell, Y, weights, folds),
        (Unknowns(cell.coef),),
        relative_error(cell.rcond) * target_size(Y),
        pairs=pairs,
    )


def _primal_first_pass(
    design: Design, cell: PrimalCell, Y: Array, weights: Array, folds: Folds
) -> FirstPass:
    """Coefficients of all samples and of every fold."""
    assert folds.folds is not None
    by_fold = []
    for fold in folds.folds:
        rows = fold.changed
        P, Q = cell.system.gram.pair(design.row_features(rows))
        left, right = cell.system.left(P), cell.system.right(Q)
        residuals, lost = cell.residuals(left, Y[rows]), (weights - fold.weights(weights))[rows]
        _, change, _ = cell.rows.held_residuals(left, right, lost, residuals)
        by_fold.append(cell.coef + change[: cell.coef.shape[0]])
    return FirstPass(cell.coef, by_fold)


def _row_sets(
    design: Design, weights: Array, folds: Folds
) -> Iterator[tuple[Index, Array, Index | None]]:
    """Sets of rows, what each row loses of its weight, and the places of those to predict.

    For leave one out, blocks in which each row goes alone (None).
    """
    if folds.folds is None:
        for rows in design.row_slices():
            yield np.arange(rows.start, rows.stop), weights[rows], None
    else:
        for fold in folds.folds:
            lost = weights - fold.weights(weights)
            yield fold.changed, lost[fold.changed], fold.positions


def _held(
    cell: PrimalCell, left: Array, right: Array, Y: Array, weights: Array, alone: bool
) -> Array:
    residuals = cell.residuals(left, Y)
    if alone:
        rest = 1.0 - cell.rows.leverages(left, right, weights)
        cell.slack = min(cell.slack, float(np.abs(rest).min()))
        cell.rest.append(rest)
        cell.e.append(residuals)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(residuals / rest[:, None])
    try:
        r, _, slack = cell.rows.held_residuals(left, right, weights, residuals)
    except np.linalg.LinAlgError:
        r, slack = np.full_like(residuals, np.nan), 0.0
    cell.slack = min(cell.slack, slack)
    return r
