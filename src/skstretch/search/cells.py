"""Cells of the grid: where they stand, and what each gives.

All penalties of one (a, k) share a Gram matrix. From the inverse of each follow the exact
out-of-fold residuals, the condition and, when asked for, the fit and the coefficients of every
fold. Dual and primal forms give the same `Outcome`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from skstretch.core.bridge import Tolerance, newton, start
from skstretch.core.bridge_path import BATCH, finish, split
from skstretch.core.crossfit import Fold, RowSystem, out_of_fold, pair_residuals, without
from skstretch.core.dual import DualSolution, Inverse, lu_inverse, spectrum
from skstretch.core.dual_gram import DualGram, Frame
from skstretch.core.primal import PrimalSystem, primal_system
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index
from skstretch.designs.protocol import Design
from skstretch.solve.choose import POOR_RCOND
from skstretch.solve.direct import dual_fit, primal_fit
from skstretch.solve.jackknife import PrimalRows, primal_pairs
from skstretch.solve.newton import coefficients, where_of
from skstretch.solve.spec import Spec

# how closely coefficients of exact minimisers are solved for whoever looks at other cells
SHOWN = Tolerance(gap=1e-10, step=1e-8, stale=np.inf)
# roundings of size eps that a sum of products leaves
ROUNDINGS = 4.0


@dataclass(frozen=True)
class Cell:
    """One point of the grid; `strength` is the relative strength of its penalty."""

    a: float
    k: float
    c: float
    strength: float
    density: float


@dataclass(frozen=True)
class Folds:
    """Leave one out (`folds` is None), or a list of folds over the samples in use.

    `tested` names the tested sample of every out-of-fold prediction, fold after fold.
    """

    folds: Sequence[Fold] | None
    tested: Index

    @property
    def held(self) -> list[Index] | None:
        """The samples that every fold is not trained on; None for leave one out."""
        return None if self.folds is None else [fold.held for fold in self.folds]

    def mean(self, values: Array, n_samples: int) -> Array:
        """Average predictions (or losses) of each sample over its folds; NaN where it has none."""
        sums = np.zeros((n_samples, *values.shape[1:]))
        np.add.at(sums, self.tested, values)
        counts = np.bincount(self.tested, minlength=n_samples).astype(float)
        counts[counts == 0] = np.nan
        return sums / counts.reshape(-1, *([1] * (values.ndim - 1)))


def leave_one_out(n_samples: int) -> Folds:
    """Every sample on its own."""
    return Folds(None, np.arange(n_samples))


def folds_from_splits(splits: Iterable[tuple[Any, Any]], used: Index, n_samples: int) -> Folds:
    """Folds over the samples `used` (those of positive weight) from (train, test) pairs.

    What is not trained on is held out, whether it is tested or not, and a sample that is listed
    several times (a bootstrap) is fitted as so many repetitions; so any splitter is exact.
    """
    place = np.full(n_samples, -1)
    place[used] = np.arange(used.size)
    folds = []
    for train, test in splits:
        train, times = np.asarray(train), np.zeros(n_samples)
        np.add.at(times, train, 1.0)
        training = times > 0
        test = np.asarray(test)
        if test.dtype == bool:
            test = np.flatnonzero(test)
        overlap = np.flatnonzero(training[test])
        if overlap.size:
            raise ValueError(
                f"sample {test[overlap[0]]} is in the training and the test part of one split."
            )
        if not training[used].any():
            raise ValueError("a split has no training sample of positive weight.")
        held = place[np.flatnonzero(~training)]
        tested = place[test]
        repeated = used[times[used] > 1]
        folds.append(Fold(held[held >= 0], tested[tested >= 0], place[repeated], times[repeated]))
    if not folds:
        raise ValueError(
            "cv gives no split; a generator can be used once: pass a list of its splits."
        )
    return Folds(folds, np.concatenate([fold.tested for fold in folds]))


@dataclass(frozen=True)
class Problem:
    """Targets, weights, intercept and folds: what all cells share; `classes` where Y is +-1."""

    Y: Array
    weights: Array
    intercept: Intercept
    folds: Folds
    classes: bool = False
    # samples that a search is repeated without
    outer: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))


@dataclass(frozen=True)
class FirstPass:
    """First-pass coefficients of one cell: of all samples, and of every fold; each (D, t)."""

    whole: Array
    by_fold: Sequence[Array]


@dataclass(frozen=True)
class Minimisers:
    """Points e (T, t) of the dual of exact minimisers of Y, as closely as a search solves them."""

    spec: Spec
    e: Array
    Y: Array

    @staticmethod
    def together(parts: "Sequence[Minimisers]", design: Design, weights: Array) -> list[Array]:
        """Coefficients (D, t) of each of one k, by a few more steps: one walk a step for all."""
        spec = parts[0].spec
        where = split(where_of(design, weights, spec.intercept, spec.k))
        todo = [
            (part.spec.c, y, e) for part in parts for y, e in zip(part.Y.T, part.e.T, strict=True)
        ]
        size, found = max(1, int(BATCH // (24 * len(todo[0][2]) ** 2))), []
        for at in range(0, len(todo), size):
            some = todo[at : at + size]
            problems = [where.problem(spec.k, c, y) for c, y, _ in some]
            points = newton(where.walks, start(where.walks, problems, [e for *_, e in some]), SHOWN)
            for point, (_, y, _) in zip(points, some, strict=True):
                one = finish(where, point, y)
                found.append(coefficients(design, spec.k, one.alpha[:, None], one.gamma[:, None]))
        counts = np.cumsum([part.e.shape[1] for part in parts])[:-1]
        return np.split(np.hstack(found), counts, axis=1)


@dataclass(frozen=True)
class Unknowns:
    """What was solved for, from which coefficients are a product away.

    Attributes
    ----------
    solved : DualSolution, Minimisers, or array of shape (D, t)
        Dual coefficients, from which ``alpha = Q' beta``; points of the dual of exact minimisers;
        or the coefficients themselves.
    frame : Frame or None
        Of the dual coefficients.
    columns, target : index array, int, or None
        Of a second pass: the columns of the design that it keeps, and the target that keeps them.
    """

    solved: DualSolution | Minimisers | Array
    frame: Frame | None = None
    columns: Index | None = None
    target: int | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes that it holds on to, but for the frame, which cells share."""
        own = self.solved.beta if isinstance(self.solved, DualSolution) else self.solved
        own = own.e if isinstance(own, Minimisers) else own
        return own.nbytes + (0 if self.columns is None else self.columns.nbytes)

    @property
    def is_shared(self) -> bool:
        """Whether cells of the same (a, k) have the same frame, or are solved in the same space."""
        if isinstance(self.solved, Minimisers):
            return True
        return self.frame is not None and self.frame.log_rows is None and self.columns is None

    @staticmethod
    def together(parts: "Sequence[Unknowns]", design: Design, weights: Array) -> list[Array]:
        """Coefficients (D, t) of cells that share a walk over the columns of a design."""
        minimisers = [part.solved for part in parts if isinstance(part.solved, Minimisers)]
        if minimisers:
            return Minimisers.together(minimisers, design, weights)
        found = [part.solved for part in parts if isinstance(part.solved, DualSolution)]
        if not found:
            return [part.solved for part in parts if isinstance(part.solved, np.ndarray)]
        frame = parts[0].frame
        assert frame is not None
        beta = np.hstack([solution.beta for solution in found])
        total = np.concatenate([solution.total for solution in found])
        coef = np.vstack([alpha for _, alpha in design.coefficients(frame, beta, total, weights)])
        return np.split(coef, len(parts), axis=1)

    def coefficients(self, design: Design, weights: Array) -> Array:
        """Coefficients (D, t) of the columns of a design."""
        return self.together([self], design, weights)[0]


@dataclass(frozen=True)
class Outcome:
    """What one cell gave.

    Attributes
    ----------
    residuals : array of shape (n_tested, t)
        Out-of-fold residuals.
    loo : {"exact", "approximate"}
        Whether residuals are those of literal refits, or those of one Newton step from the fit.
    refine : callable or None
        Makes an exact outcome of an approximate one.
    error : float
        A bound on what rounding does to each of them: they are known to this.
    finish : callable or None
        Makes the fit of the cell from what is already known; None where it must be fitted.
    first_pass : callable or None
        Makes the coefficients from which a second pass selects.
    unknowns : tuple of Unknowns
        What the coefficients of all samples are made of, pass by pass.
    pairs : callable or None
        For leave one out: given some samples (m,), the residuals (m, M, t) of all samples when one
        of these is left out too. It holds on to an inverse: ask it soon.
    """

    residuals: Array
    rcond: float
    dof: float
    n_features: float
    reason: str = ""
    finish: Callable[[], Fit] | None = None
    first_pass: Callable[[], FirstPass] | None = None
    unknowns: tuple[Unknowns, ...] = ()
    error: float = 0.0
    loo: str = "exact"
    refine: "Callable[[], Outcome] | None" = None
    pairs: Callable[[Index], Array] | None = None

    @property
    def usable(self) -> bool:
        return self.reason == ""

    def of(self, targets: Index) -> "Outcome":
        """The residuals of some targets alone."""
        return replace(self, residuals=self.residuals[:, targets])

    def moved(self, tested: Index, order: Index) -> "Outcome":
        """The outcome of folds that test every sample once, as `tested` says, in another order."""
        place = np.empty(tested.size, dtype=np.intp)
        place[tested] = np.arange(tested.size)
        return replace(self, residuals=self.residuals[place[order]])

    def exactly(self) -> "Outcome":
        """The outcome with exact residuals."""
        return self if self.refine is None else self.refine()


def relative_error(rcond: float) -> float:
    """What a few roundings do to a solution of this condition, relative to its size."""
    return float(ROUNDINGS * np.finfo(np.float64).eps / rcond) if rcond > 0.0 else np.inf


def target_size(Y: Array) -> float:
    """How far targets lie from their means, at most: the size of what is predicted."""
    return float(np.abs(Y - Y.mean(axis=0)).max(initial=0.0))


def failed(n_tested: int, n_targets: int, n_features: float, reason: str) -> Outcome:
    """The outcome of a cell that could not be solved."""
    return Outcome(np.full((n_tested, n_targets), np.nan), 0.0, np.nan, n_features, reason)


def judged(residuals: Array, rcond: float) -> str:
    """Why a cell must not win; empty where it may."""
    if not rcond >= POOR_RCOND:
        return f"ill-conditioned: rcond {rcond:.0e} is below {POOR_RCOND:.0e}"
    if not np.isfinite(residuals).all():
        return "predictions are not finite"
    return ""


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
    design: Design, gram: DualGram, problem: Problem, lams: Sequence[float]
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every penalty."""
    n_features = float(design.shape[1])
    Y, weights, intercept, folds = problem.Y, problem.weights, problem.intercept, problem.folds
    for inverse in dual_inverses(gram, weights, intercept, lams):
        if inverse.rcond == 0.0:
            yield failed(folds.tested.size, Y.shape[1], n_features, "singular")
            continue
        frame, solution = inverse.frame, inverse.solve(Y)
        try:
            residuals, errors = out_of_fold(inverse, solution, folds.folds)
        except np.linalg.LinAlgError:
            yield failed(folds.tested.size, Y.shape[1], n_features, "a fold is singular")
            continue
        if frame.log_rows is not None:
            scale = np.exp(frame.log_rows)[folds.tested, None]
            residuals, errors = residuals * scale, errors * scale
        yield Outcome(
            residuals,
            inverse.rcond,
            inverse.dof,
            n_features,
            judged(residuals, inverse.rcond),
            partial(dual_fit, design, frame, solution, weights, intercept, inverse.rcond),
            partial(_dual_first_pass, design, inverse, solution, weights, folds),
            (Unknowns(solution, frame),),
            float(errors.max(initial=0.0)),
            pairs=None if folds.folds is not None else partial(_dual_pairs, inverse, solution),
        )


def _dual_pairs(inverse: Inverse, solution: DualSolution, some: Index) -> Array:
    """Residuals of pairs of samples, (m, M, t)."""
    log_rows, (rows, columns) = inverse.frame.log_rows, inverse.cross(some)
    diagonal = inverse.diagonal()
    found = pair_residuals(rows, columns, diagonal, solution.beta[: diagonal.size], some)
    return found if log_rows is None else found * np.exp(log_rows)[:, None]


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
        return self.system.rcond * self.slack

    def residuals(self, left: Array, Y: Array) -> Array:
        return np.asarray(Y - left @ self.x)


def primal_cells(
    design: Design, gram: PrimalGram, problem: Problem, lams: Sequence[float]
) -> list[PrimalCell | None]:
    """The solved cells; None where the system is singular."""
    Y, weights = problem.Y, problem.weights
    means = weights @ Y / gram.total_weight
    projected = design.project(gram, weights[:, None] * (Y - means))
    cells: list[PrimalCell | None] = []
    for lam in lams:
        system = primal_system(gram, lam, problem.intercept)
        singular = system.rcond == 0.0
        cells.append(None if singular else PrimalCell(system, projected, means))
    return cells


def primal_outcomes(
    design: Design, gram: PrimalGram, problem: Problem, lams: Sequence[float]
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every penalty, in one walk over the rows."""
    Y, weights, intercept, folds = problem.Y, problem.weights, problem.intercept, problem.folds
    cells = primal_cells(design, gram, problem, lams)
    residuals = [np.full((folds.tested.size, Y.shape[1]), np.nan) for _ in cells]
    start = 0
    for rows, lost, positions in _row_sets(design, weights, folds):
        P, Q = gram.pair(design.row_features(rows))
        stop = start + (rows.size if positions is None else positions.size)
        for cell, out in zip(cells, residuals, strict=True):
            if cell is not None:
                r = _held(cell, P, Q, Y[rows], lost, positions is None)
                out[start:stop] = r if positions is None else r[positions]
        start = stop
    n_features, size, features = float(design.shape[1]), target_size(Y), PrimalRows(design, gram)
    for cell, out in zip(cells, residuals, strict=True):
        if cell is None:
            yield failed(*out.shape, n_features, "singular")
            continue
        rcond = cell.system.rcond
        finish = partial(primal_fit, gram, cell.coef, cell.constant, intercept, rcond)
        reason, dof = judged(out, cell.rcond), cell.system.dof
        first_pass = partial(_primal_first_pass, design, cell, Y, weights, folds)
        known, error = (Unknowns(cell.coef),), relative_error(cell.rcond) * size
        alone = partial(primal_pairs, features, Y, weights, cell.system, cell.x)
        pairs = alone if folds.folds is None else None
        yield Outcome(
            out,
            cell.rcond,
            dof,
            n_features,
            reason,
            finish,
            first_pass,
            known,
            error,
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
