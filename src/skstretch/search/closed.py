"""Candidates of closed forms: exact out-of-fold residuals from one inverse a penalty.

All penalties of one (a, k) share a Gram matrix. From the inverse of each follow the exact
out-of-fold residuals, the condition and, when asked for, the fit and the coefficients of every
fold. Dual and primal forms give the same `Outcome`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from skstretch.core.crossfit import out_of_fold, stable_rank
from skstretch.core.dual import Inverse, Spectrum, dual_system, spectrum
from skstretch.core.gram import DualGram, PrimalGram
from skstretch.core.primal import primal_system
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design
from skstretch.designs.threads import (
    ordered_map,
    parallel_map,
    shares,
    threads_for_candidates,
    working_bytes,
)
from skstretch.search.candidates import (
    Folds,
    Outcome,
    Problem,
    Unknowns,
    failed,
    relative_error,
    target_size,
)
from skstretch.solve.choose import FEWEST_NUMBERS, unusable
from skstretch.solve.direct import DualEnd, primal_fit
from skstretch.solve.left_out import PrimalLeftOut, PrimalRows

Made = TypeVar("Made")


class SharedResult(Generic[Made]):
    """What one thread makes and others wait for."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make, self._lock, self._made = make, Lock(), list[Made]()

    def __call__(self) -> Made:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def dual_tasks(
    design: Design, gram: DualGram, problem: Problem, lams: Sequence[float]
) -> list[Callable[[], Outcome]]:
    """Exact out-of-fold residuals of every penalty of one K, as tasks that threads may share.

    A symmetric K has one eigendecomposition for all penalties, else each has an LU.
    """
    weights, intercept = problem.weights, problem.intercept
    make: list[Callable[[], Inverse]]
    if gram.r == 1.0 and gram.log_rows is None:
        known = SharedResult(partial(spectrum, gram, weights, intercept))
        make = [partial(_of_spectrum, known, lam) for lam in lams]
    else:
        make = [partial(dual_system, gram, lam / weights, intercept) for lam in lams]
    return [partial(dual_outcome, design, problem, one) for one in make]


def _of_spectrum(known: SharedResult[Spectrum], lam: float) -> Inverse:
    return known().inverse(lam)


def dual_outcome(design: Design, problem: Problem, make: Callable[[], Inverse]) -> Outcome:
    """Exact out-of-fold residuals of one penalty."""
    Y, weights, intercept, folds = problem.Y, problem.weights, problem.intercept, problem.folds
    inverse = make()
    if inverse.rcond == 0.0:
        return failed(problem, design, "singular")
    frame, solution = inverse.frame, inverse.solve(Y)
    try:
        residuals, errors = out_of_fold(inverse, solution, folds.folds)
    except np.linalg.LinAlgError:
        return failed(problem, design, "a fold is singular")
    if frame.log_rows is not None:
        scale = np.exp(frame.log_rows)[folds.tested, None]
        residuals, errors = residuals * scale, errors * scale
    reason = unusable(inverse.rcond)
    if not reason and problem.doubts:
        reason = unusable(rank=stable_rank(inverse.residual_matrix(weights)), n_samples=len(Y))
    return Outcome(
        residuals,
        inverse.rcond,
        inverse.dof,
        float(design.shape[1]),
        of_targets(reason, residuals),
        DualEnd(design, frame, solution, weights, intercept, inverse.rcond),
        (Unknowns(solution, frame),),
        errors.max(axis=0, initial=0.0),
    )


def of_targets(reason: str, residuals: Array) -> tuple[str, ...]:
    """Why the residuals of every target must not be believed."""
    return tuple(reason or unusable(values=[each]) for each in residuals.T)


class PrimalCandidate(PrimalLeftOut):
    """One penalty; `doubt` says why its residuals must not be believed."""

    doubt = ""


def _primal_candidate(
    gram: PrimalGram, problem: Problem, projected: Array, means: Array, lam: float
) -> PrimalCandidate | None:
    """A solved candidate; None where the system is singular."""
    system = primal_system(gram, lam, problem.intercept)
    return None if system.rcond == 0.0 else PrimalCandidate(system, projected, means)


def primal_outcomes(
    design: Design,
    asked: Sequence[tuple[PrimalGram, Sequence[float]]],
    problem: Problem,
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every power and its penalties, in their order.

    Powers share a pass over the rows (where these must be read, and as many as `_batches` lets
    them), threads share the penalties.
    """
    for batch in _batches(design, asked):
        yield from _of_powers(design, batch, problem)


def _batches(
    design: Design, asked: Sequence[tuple[PrimalGram, Sequence[float]]]
) -> list[Sequence[tuple[PrimalGram, Sequence[float]]]]:
    """Powers whose systems are held together: one, unless reading the rows takes a pass."""
    n_candidates = max((len(lams) for _, lams in asked), default=0)
    size = 1
    if design.shares_passes:
        # each candidate has its matrix, the inverse and a factor
        size = max(
            1, working_bytes() // (3 * 8 * max(1, n_candidates) * (design.shape[1] + 1) ** 2)
        )
    return [asked[at : at + size] for at in range(0, len(asked), size)]


def _of_powers(
    design: Design, asked: Sequence[tuple[PrimalGram, Sequence[float]]], problem: Problem
) -> Iterator[Outcome]:
    """The outcomes of some powers together."""
    Y, weights = problem.Y, problem.weights
    means = [weights @ Y / gram.total_weight for gram, _ in asked]
    grams, sides = [gram for gram, _ in asked], [weights[:, None] * (Y - mean) for mean in means]
    projected = design.projections(grams, sides)
    n_rows, n_features = design.shape
    with threads_for_candidates(n_features, n_rows) as threads:
        rows = [PrimalRows(design, gram, problem.intercept) for gram in grams]
        make = [
            partial(_primal_candidate, gram, problem, right, mean, lam)
            for (gram, lams), right, mean in zip(asked, projected, means, strict=True)
            for lam in lams
        ]
        features = [own for own, (_, lams) in zip(rows, asked, strict=True) for _ in lams]
        candidates = [*ordered_map(make, threads)]
        residuals = _held_out(candidates, features, problem, threads)
        entries = zip(features, candidates, residuals, strict=True)
        tasks = [
            partial(_primal_outcome, own, problem, candidate, out)
            for own, candidate, out in entries
        ]
        with closing(ordered_map(tasks, threads)) as found:
            yield from found


def _held_out(
    candidates: Sequence[PrimalCandidate | None],
    features: Sequence[PrimalRows],
    problem: Problem,
    threads: int,
) -> list[Array]:
    """Out-of-fold residuals (n_tested, t) of every candidate; NaN where it is None.

    `features` are those of the power of each candidate; rows are read once for all of them.
    """
    Y, folds = problem.Y, problem.folds
    residuals = [np.full((folds.tested.size, Y.shape[1]), np.nan) for _ in candidates]
    if not candidates:
        return residuals
    design, start = features[0].design, 0
    # as many directions as samples exceed features tell of the noise, whatever the penalty
    doubtful = problem.doubts and len(Y) - design.shape[1] <= 4 * FEWEST_NUMBERS
    powers = {id(own): own for own in features}
    for rows, lost, positions in _row_sets(design, problem.weights, folds):
        read = design.row_features(rows)
        seen = {key: own.seen(read) for key, own in powers.items()}
        some = slice(start, start + (rows.size if positions is None else positions.size))

        def part(share: slice) -> None:
            for own, candidate, out in zip(
                features[share], candidates[share], residuals[share], strict=True
            ):
                if candidate is not None:
                    left, right = seen[id(own)]  # noqa: B023
                    leave = candidate.alone if positions is None else candidate.fold  # noqa: B023
                    r = leave(left, right, Y[rows], lost)  # noqa: B023
                    out[some] = r if positions is None else r[positions]  # noqa: B023
                    if doubtful and rows.size == len(Y):  # noqa: B023
                        candidate.doubt = _doubt(candidate, left, right, lost)  # noqa: B023

        parallel_map(part, shares(len(candidates), threads, rows.size * design.shape[1]))
        start = some.stop
    return residuals


def _primal_outcome(
    features: PrimalRows, problem: Problem, candidate: PrimalCandidate | None, out: Array
) -> Outcome:
    """The outcome of one penalty from its out-of-fold residuals."""
    Y, design = problem.Y, features.design
    if candidate is None:
        return failed(problem, design, "singular")
    rcond, gram = candidate.system.rcond, features.gram
    doubt = unusable(candidate.rcond) or candidate.doubt
    return Outcome(
        out,
        candidate.rcond,
        candidate.system.dof,
        float(design.shape[1]),
        of_targets(doubt, out),
        partial(primal_fit, gram, candidate.coef, candidate.constant, problem.intercept, rcond),
        (Unknowns(candidate.coef),),
        relative_error(candidate.rcond) * target_size(Y),
    )


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


def _doubt(candidate: PrimalCandidate, left: Array, right: Array, weights: Array) -> str:
    """See `unusable`: ``r = diag(1 / (1 - H_ii)) (I - H) y``."""
    root = np.sqrt(weights)
    H = (left @ candidate.rows.inverse) @ (right * weights[:, None]).T
    rest = np.eye(len(H)) - H
    with np.errstate(divide="ignore", invalid="ignore"):
        rank = stable_rank(rest * (root / rest.diagonal())[:, None] / root)
    return unusable(rank=rank, n_samples=len(H))
