"""Few features: supports along the lasso path, made without each fold, and fits on them.

The strongest coefficients of a smooth penalty belong to features that are neighbours of each other.
The lasso path drops what is redundant: the support of q features is the largest on the path (least
angle regression) with at most q. One support serves all powers, penalties and transforms, so that
a model of q features reads q columns at most. Every fold has a support of its own, and every target
of a regression; the scores of several classes share theirs.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from skstretch.core.crossfit import Fold
from skstretch.core.primal import free_basis
from skstretch.core.stretch import Intercept, penalty, penalty_in_unit
from skstretch.core.types import PRECISION, Array, Index
from skstretch.designs.protocol import Design
from skstretch.search.candidates import (
    Candidate,
    Folds,
    Outcome,
    Problem,
    relative_error,
    target_size,
)
from skstretch.search.minimisers import minimised_without
from skstretch.solve.choose import PATH_NUMBERS, unusable

Candidates = Iterator[tuple[Candidate, Outcome]]
# the candidates of one power on a design, at given penalties (None: automatic ones)
Evaluate = Callable[[Design, Problem, Sequence[float] | None], Candidates]
# of a lasso path: penalties, and the columns that are active just below them
Knots = list[tuple[float, list[int]]]


@dataclass(frozen=True)
class Supports:
    """Columns that are kept, by number of features: of all samples, and without every fold."""

    whole: dict[int, Index]
    by_fold: list[dict[int, Index]]


def lasso_supports(design: Design, problem: Problem, counts: Sequence[int]) -> Supports:
    """Supports of so many features, from z-scores or other features of the same columns."""
    weights, folds = problem.weights, problem.folds.folds
    assert folds is not None
    each = [weights, *(fold.weights(weights) for fold in folds)]
    whole, *by_fold = [path_supports(design, problem.Y, w, counts) for w in each]
    return Supports(whole, by_fold)


def path_supports(
    design: Design, Y: Array, weights: Array, counts: Sequence[int]
) -> dict[int, Index]:
    """For every count the largest support of at most so many that all targets have together, at
    penalties that they share.

    Where the first column of a path is too many already, those that correlate most.
    """
    some = _screened(design, Y, weights, max(1, PATH_NUMBERS // len(Y)))
    paths = _paths(design, some, Y, weights, max(counts))
    steps = [
        (-alpha, target, active) for target, path in enumerate(paths) for alpha, active in path
    ]
    steps.sort(key=itemgetter(0, 1))
    found: dict[int, Index] = {}
    for count in counts:
        kept, at = set[int](), [list[int]() for _ in paths]
        for _, target, active in steps:
            at[target] = active
            union = set().union(*at)
            if len(union) > count:
                break
            kept = union
        columns = some[sorted(kept)] if kept else _screened(design, Y, weights, count)
        found[count] = np.union1d(columns, design.free).astype(np.intp)
    return found


def _screened(design: Design, Y: Array, weights: Array, most: int) -> Index:
    """The columns that correlate most with any target, at most so many.

    A column that is never penalised is kept anyway, and one that is left out has no coefficient.
    """
    open_ = np.setdiff1d(np.arange(design.shape[1]), design.free)
    if open_.size <= most:
        return np.asarray(open_, dtype=np.intp)
    centred = Y - weights @ Y / weights.sum()
    size = np.sqrt(weights @ np.square(centred))
    size[size == 0.0] = 1.0
    sums = [np.abs(design.weighted_sum(weights * y)) for y in (centred / size).T]
    strongest = np.argsort(-np.max(sums, axis=0)[open_], kind="stable")[:most]
    return np.asarray(np.sort(open_[strongest]), dtype=np.intp)


def _paths(design: Design, some: Index, Y: Array, weights: Array, count: int) -> list[Knots]:
    """The lasso path of every target on some columns."""
    rows, taken = np.flatnonzero(weights > 0), design.take(some)
    Z, factors = taken.row_features(rows).excess(1.0), taken.log_factors(1.0)
    if factors is not None:
        Z = Z * np.exp(-np.minimum(factors, 700.0))
    root = np.sqrt(weights[rows])[:, None]
    Z, targets = (
        _without_free(values, design, rows, weights[rows]) * root for values in (Z, Y[rows])
    )
    # the path ends at a correlation that is small in absolute terms, whatever the units are
    Z = Z / (np.abs(Z).max(initial=0.0) or 1.0)
    return [_path(Z, y, count) for y in targets.T]


def _without_free(values: Array, design: Design, rows: Index, weights: Array) -> Array:
    """Columns less their regression on ones and on what is never penalised.

    Of all `rows` the first have `weights`, and the regression is on these.
    """
    n, total = weights.size, weights.sum()
    values = values - weights @ values[:n] / total
    if design.U is not None and design.U.shape[1]:
        F = free_basis(design.U[rows[:n]], weights).at(design.U[rows])
        values -= F @ (F[:n].T @ (weights[:, None] * values[:n]) / total)
    return np.asarray(values)


def _path(Z: Array, y: Array, count: int) -> Knots:
    """Penalties and active columns of all knots, until they are more than so many or the path ends.

    Columns that are much alike take turns: there can be many knots for one feature more. A path
    through fewer samples or columns than that ends by itself.
    """
    size = np.abs(y).max(initial=0.0)
    if size == 0.0 or not Z.size:
        return []
    most = (3 * count // 2 if count < min(Z.shape) else 4 * count) + 8
    while True:
        with warnings.catch_warnings():
            # columns that are nearly alike: the path goes on without one of them
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            alphas, _, coefs, n_steps = lars_path(
                Z, y / size, method="lasso", max_iter=most, return_n_iter=True
            )
        # a feature leaves at a knot: its coefficient there is zero but for rounding
        ever = np.flatnonzero(coefs.any(axis=1))
        sizes = np.abs(coefs[ever])
        least = PRECISION * sizes.max(axis=0, initial=0.0)
        active = [ever[each].tolist() for each in (sizes > least).T[1:]]
        if n_steps < most or max(map(len, active)) > count or most > 10_000:
            return [*zip((size * alphas[:-1]).tolist(), active, strict=True)]
        most *= 2


def selected_candidates(
    evaluate: Evaluate,
    design: Design,
    problem: Problem,
    supports: Supports,
    kept: tuple[float, int],
    exact: bool,
) -> Candidates:
    """The candidates of one power on a support, each fitted again without every fold.

    `exact` says whether they are exact minimisers; `kept` is the density and the number of
    features. Penalties follow from the whole data and are the same in every fold: residuals are
    those of literal refits on the support of the fold.
    """
    (density, count), folds = kept, problem.folds.folds
    assert folds is not None
    columns = supports.whole[count]
    alone = replace(problem, folds=Folds(None, np.arange(len(problem.Y))))
    whole = [*evaluate(design.take(columns), alone, None)]
    cs = [candidate.c for candidate, _ in whole]
    k = whole[0][0].k
    ridge = k == 2.0 and problem.intercept is Intercept.FREE and design.row_peaks(1.0) is None
    without: Callable[..., tuple[Any, Any]] = partial(_evaluated_without, evaluate, cs)
    if ridge:
        unit = design.unit
        lams = [penalty_in_unit(penalty(c, 2.0), 1.0, unit) for c in cs]
        without = partial(ridge_without, np.array(lams)[:, None])
    if exact:
        without = partial(minimised_without, k, cs)
    by_fold = [
        without(design.take(own[count]), problem, fold)
        for fold, own in zip(folds, supports.by_fold, strict=True)
    ]
    every = np.hstack([residuals for residuals, _ in by_fold])
    rconds = np.fmin.reduce([np.asarray(own) for _, own in by_fold])
    for i, (candidate, outcome) in enumerate(whole):
        residuals = every[i]
        rcond = min(outcome.rcond, float(rconds[i]))
        error = relative_error(rcond) * target_size(problem.Y)
        yield (
            replace(candidate, density=density),
            replace(
                outcome,
                residuals=residuals,
                rcond=rcond,
                error=np.maximum(outcome.error, error),
                n_features=float(columns.size),
                reasons=(outcome.trouble or unusable(rcond, [residuals]),) * residuals.shape[1],
                finish=None,
                loo="exact",
                refine=None,
                unknowns=tuple(replace(each, columns=columns) for each in outcome.unknowns),
                columns=columns,
            ),
        )


def ridge_without(lams: Array, design: Design, problem: Problem, fold: Fold) -> tuple[Array, Array]:
    """Residuals (c, tested, t) of ridge regression without a fold, and the condition at every
    penalty (c, 1).

    One decomposition of the training rows, ``Z = U diag(s) V'``, serves all penalties: ``alpha = V
    diag(s / (s^2 + lam)) U'y``.
    """
    training = fold.weights(problem.weights)
    trained = np.flatnonzero(training > 0)
    rows, weights = np.concatenate([trained, fold.tested]), training[trained]
    columns = np.setdiff1d(np.arange(design.shape[1]), design.free)
    Z, factors = design.row_features(rows).excess(1.0)[:, columns], design.log_factors(1.0)
    if factors is not None:
        Z = Z * np.exp(-0.5 * factors[columns])
    root = np.sqrt(weights)[:, None]
    (Z, new), (Y, tested) = (
        np.split(_without_free(values, design, rows, weights), [trained.size])
        for values in (Z, problem.Y[rows])
    )
    U, s, Vt = np.linalg.svd(root * Z, full_matrices=False)
    least = np.square(s).min(initial=np.inf) if s.size == columns.size else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        fitted = (s / (np.square(s) + lams))[:, :, None] * (U.T @ (root * Y))
        rcond = (least + lams[:, 0]) / (np.square(s).max(initial=0.0) + lams[:, 0])
    return tested - (new @ Vt.T) @ fitted, rcond


def _evaluated_without(
    evaluate: Evaluate, cs: Sequence[float], design: Design, problem: Problem, fold: Fold
) -> tuple[list[Array], list[float]]:
    """The same of any power: those of the candidates on the columns that belong to the fold."""
    found = evaluate(design, replace(problem, folds=Folds([fold], fold.tested)), cs)
    outcomes = [outcome for _, outcome in found]
    residuals = [out.residuals if out.usable else np.nan * out.residuals for out in outcomes]
    return residuals, [outcome.rcond for outcome in outcomes]
