"""Cells of closed forms: exact out-of-fold residuals from one inverse a penalty.

All penalties of one (a, k) share a Gram matrix. From the inverse of each follow the exact
out-of-fold residuals, the condition and, when asked for, the fit and the coefficients of every
fold. Dual and primal forms give the same `Outcome`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from skstretch.core.crossfit import RowSystem, out_of_fold, pair_residuals, without
from skstretch.core.dual import DualSolution
from skstretch.core.dual_gram import DualGram
from skstretch.core.dual_inverse import Inverse, Spectrum, lu_inverse, spectrum
from skstretch.core.nearby import FEWEST, Centre, centre_of
from skstretch.core.primal import PrimalSystem, primal_system
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.types import Array, Index
from skstretch.designs import are_walked, projections_of
from skstretch.designs.blocks import (
    in_threads,
    in_turn,
    shares,
    threads_for_cells,
    working_bytes,
)
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
    tells_nothing,
)
from skstretch.solve.direct import DualEnd, primal_fit
from skstretch.solve.jackknife import PrimalRows, primal_pairs

# bytes of the coefficients of folds that a cell keeps for those who select features by them
FOLDS_BYTES = 1 << 22
# samples up to which penalties may share an inverse: three square matrices for each power
NEAR_SIDE = 1536
# by how many samples may exceed features where cells are doubted
FEW_MORE = 8
# penalties that differ by less than this share of the mean eigenvalue may all be near each other:
# then an inverse takes less than the spectrum of a symmetric K
WEAK = 1e-3


Made = TypeVar("Made")


class Once(Generic[Made]):
    """What one thread makes and others wait for."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make, self._lock, self._made = make, Lock(), list[Made]()

    def __call__(self) -> Made:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


@dataclass(frozen=True)
class DualCells:
    """All penalties of one dual Gram matrix: one spectrum where K is symmetric, else LU each.

    A task makes the outcome of a penalty and needs nothing of the others, but for what is `early`,
    and after it for what is `soon`.
    """

    tasks: list[Callable[[], Outcome]]
    early: list[Callable[[], object]]
    soon: list[Callable[[], object]]


def dual_cells(
    design: Design, gram: DualGram, problem: Problem, lams: Sequence[float]
) -> DualCells:
    """Exact out-of-fold residuals of every penalty, as tasks."""
    near = _may_be_near(gram, problem, lams)
    known: Once[Centre | Spectrum] | None = None
    ordered = Once(partial(_by_columns, gram))
    if gram.r == 1.0 and gram.log_rows is None:
        if lams:
            known = Once(partial(_symmetric, gram, problem, lams, near and _are_weak(lams, gram)))
    elif near:
        known = Once(partial(_centre, ordered, problem, lams))
    make: list[Callable[[], Inverse]] = [partial(_alone, ordered, problem, lam) for lam in lams]
    early: list[Callable[[], object]] = []
    soon: list[Callable[[], object]] = []
    if known is not None:
        ready = Once(partial(_with_terms, known))
        early, soon = [known], [ready]
        make = [partial(_near, known, ready, *one) for one in zip(lams, make, strict=True)]
    return DualCells([partial(dual_outcome, design, problem, one) for one in make], early, soon)


def _may_be_near(gram: DualGram, problem: Problem, lams: Sequence[float]) -> bool:
    """Whether to look for penalties that one inverse serves: they hold on to a few matrices."""
    plain = gram.log_rows is None and not gram.n_free and problem.folds.folds is None
    return plain and len({*lams}) >= FEWEST and gram.n_samples <= NEAR_SIDE


def _are_weak(lams: Sequence[float], gram: DualGram) -> bool:
    """Whether penalties may all be near each other: beside the mean eigenvalue they are small."""
    return bool(np.ptp(lams) <= WEAK * np.trace(gram.K) / gram.n_samples)


def _by_columns(gram: DualGram) -> DualGram:
    """K in the order of LAPACK, for all cells at once; a large one is not held twice."""
    if gram.n_samples > NEAR_SIDE:
        return gram
    return replace(gram, K=np.asfortranarray(gram.K))


def _alone(ordered: Once[DualGram], problem: Problem, lam: float) -> Inverse:
    return lu_inverse(ordered(), lam / problem.weights, problem.intercept)


def _centre(ordered: Once[DualGram], problem: Problem, lams: Sequence[float]) -> Centre:
    return centre_of(ordered(), problem.weights, problem.intercept, lams, problem.outer)


def _symmetric(
    gram: DualGram, problem: Problem, lams: Sequence[float], weak: bool
) -> Centre | Spectrum:
    """What serves all penalties: an inverse where all are in its reach, else the spectrum."""
    if weak:
        centre = centre_of(gram, problem.weights, problem.intercept, lams, problem.outer)
        if max(lams) <= centre.lam + centre.reach:
            return centre
    return spectrum(gram, problem.weights, problem.intercept)


def _with_terms(known: Once[Centre | Spectrum]) -> Centre | Spectrum:
    """The centre with what its series takes, or the spectrum."""
    found = known()
    if isinstance(found, Centre) and found.reach:
        _ = found.terms
    return found


def _near(
    known: Once[Centre | Spectrum],
    ready: Once[Centre | Spectrum],
    lam: float,
    make: Callable[[], Inverse],
) -> Inverse:
    """From what serves several penalties where this one is within its reach, else on its own."""
    found = known()
    beyond = isinstance(found, Centre) and lam > found.lam + found.reach
    return make() if beyond else ready().cell(lam)


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
    reason = judged(residuals, inverse.rcond)
    if not reason and problem.doubts:
        reason = tells_nothing(inverse.residual_matrix(weights))
    return Outcome(
        residuals,
        inverse.rcond,
        inverse.dof,
        n_features,
        reason,
        DualEnd(design, frame, solution, weights, intercept, inverse.rcond),
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

    For leave one out `rest` are ``1 - H_ii`` and e the residuals of the fit, sample by sample; of
    folds `by_fold` are the coefficients without each, as long as they take little room.
    """

    def __init__(self, system: PrimalSystem, projected: Array, means: Array) -> None:
        self.system = system
        self.coef, self.constant = system.solve(projected, means)
        self.rows: RowSystem = system.row_system()
        self.x = np.vstack([self.coef, self.constant])
        self.slack = 1.0
        self.rest: list[Array] = []
        self.e: list[Array] = []
        self.doubt = ""
        self.by_fold: list[Array] = []

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
    design: Design,
    asked: Sequence[tuple[PrimalGram, Sequence[float]]],
    problem: Problem,
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every power and its penalties, in their order.

    Powers share a walk over the rows (where these must be read, and as many as `_batches` lets
    them), threads share the penalties.
    """
    for batch in _batches(design, asked):
        yield from _of_powers(design, batch, problem)


def _batches(
    design: Design, asked: Sequence[tuple[PrimalGram, Sequence[float]]]
) -> list[Sequence[tuple[PrimalGram, Sequence[float]]]]:
    """Powers whose systems are held together: one, unless reading the rows takes a walk."""
    n_cells = max((len(lams) for _, lams in asked), default=0)
    size = 1
    if are_walked([design]):
        # each cell has its matrix, the inverse and a factor
        size = max(1, working_bytes() // (3 * 8 * max(1, n_cells) * (design.shape[1] + 1) ** 2))
    return [asked[at : at + size] for at in range(0, len(asked), size)]


def _of_powers(
    design: Design, asked: Sequence[tuple[PrimalGram, Sequence[float]]], problem: Problem
) -> Iterator[Outcome]:
    """The outcomes of some powers together."""
    Y, weights = problem.Y, problem.weights
    means = [weights @ Y / gram.total_weight for gram, _ in asked]
    grams, sides = [gram for gram, _ in asked], [weights[:, None] * (Y - mean) for mean in means]
    projected = projections_of([design] * len(asked), grams, sides)
    n_rows, n_features = design.shape
    with threads_for_cells(n_features, n_rows) as threads:
        rows = [PrimalRows(design, gram, problem.intercept) for gram in grams]
        make = [
            partial(_primal_cell, gram, problem, right, mean, lam)
            for (gram, lams), right, mean in zip(asked, projected, means, strict=True)
            for lam in lams
        ]
        features = [own for own, (_, lams) in zip(rows, asked, strict=True) for _ in lams]
        cells = [*in_turn(make, threads)]
        residuals = _held_out(cells, features, problem, threads)
        told = zip(features, cells, residuals, strict=True)
        tasks = [partial(_primal_outcome, own, problem, cell, out) for own, cell, out in told]
        with closing(in_turn(tasks, threads)) as found:
            yield from found


def _held_out(
    cells: Sequence[PrimalCell | None],
    features: Sequence[PrimalRows],
    problem: Problem,
    threads: int,
) -> list[Array]:
    """Out-of-fold residuals (n_tested, t) of every cell; NaN where it is None.

    `features` are those of the power of each cell; rows are read once for all of them.
    """
    Y, folds = problem.Y, problem.folds
    residuals = [np.full((folds.tested.size, Y.shape[1]), np.nan) for _ in cells]
    if not cells:
        return residuals
    design, start = features[0].design, 0
    # as many directions as samples exceed features tell of the noise, whatever the penalty
    doubtful = problem.doubts and len(Y) - design.shape[1] <= FEW_MORE
    powers = {id(own): own for own in features}
    for rows, lost, positions in _row_sets(design, problem.weights, folds):
        read = design.row_features(rows)
        seen = {key: own.seen(read) for key, own in powers.items()}
        some = slice(start, start + (rows.size if positions is None else positions.size))

        def part(share: slice) -> None:
            for own, cell, out in zip(features[share], cells[share], residuals[share], strict=True):
                if cell is not None:
                    left, right = seen[id(own)]  # noqa: B023
                    r = _held(cell, left, right, Y[rows], lost, positions is None)  # noqa: B023
                    out[some] = r if positions is None else r[positions]  # noqa: B023
                    if doubtful and rows.size == len(Y):  # noqa: B023
                        cell.doubt = _doubt(cell, left, right, lost)  # noqa: B023

        in_threads(part, shares(len(cells), threads, rows.size * design.shape[1]))
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
        judged(out, cell.rcond) or cell.doubt,
        partial(primal_fit, gram, cell.coef, cell.constant, problem.intercept, rcond),
        partial(_primal_first_pass, design, cell, Y, weights, folds),
        (Unknowns(cell.coef),),
        relative_error(cell.rcond) * target_size(Y),
        pairs=pairs,
    )


def _primal_first_pass(
    design: Design, cell: PrimalCell, Y: Array, weights: Array, folds: Folds
) -> FirstPass:
    """Coefficients of all samples and of every fold; rows are read again for those not kept."""
    assert folds.folds is not None
    by_fold = list(cell.by_fold)
    for fold in folds.folds[len(by_fold) :]:
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


def _doubt(cell: PrimalCell, left: Array, right: Array, weights: Array) -> str:
    """See `tells_nothing`: ``r = diag(1 / (1 - H_ii)) (I - H) y``."""
    root = np.sqrt(weights)
    H = (left @ cell.rows.inverse) @ (right * weights[:, None]).T
    rest = np.eye(len(H)) - H
    with np.errstate(divide="ignore", invalid="ignore"):
        return tells_nothing(rest * (root / rest.diagonal())[:, None] / root)


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
        r, change, slack = cell.rows.held_residuals(left, right, weights, residuals)
    except np.linalg.LinAlgError:
        # such a cell is not usable, and nobody asks for its coefficients
        cell.slack = 0.0
        return np.full_like(residuals, np.nan)
    cell.slack = min(cell.slack, slack)
    if (len(cell.by_fold) + 1) * cell.coef.nbytes <= FOLDS_BYTES:
        cell.by_fold.append(cell.coef + change[: cell.coef.shape[0]])
    return r
