"""One model and its exact out-of-fold outputs."""

from dataclasses import dataclass

import numpy as np

from skstretch.core.krylov import Report
from skstretch.core.types import Array
from skstretch.designs.blocks import calm_blas
from skstretch.designs.protocol import Design
from skstretch.search.cells import Folds, Outcome
from skstretch.search.grid import Grid, Problem, outcomes
from skstretch.solve.choose import (
    choose_space,
    crossfit_space,
    is_matrix_free,
    loses_digits,
)
from skstretch.solve.model import FittedModel, Pass, Solution, fit_model
from skstretch.solve.spec import Spec

# From the outcome of a cell to its fitted model.


def finished_model(
    outcome: Outcome,
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    count: int,
    n_jobs: int | None = None,
) -> FittedModel:
    """The model of one cell: from what the search knows, or fitted where that is not enough.

    Fitted again: a second pass over selected features, and cells in which LU loses digits that
    the accurate solution keeps.
    """
    D = design.shape[1]
    known = outcome.finish is not None and count >= D and spec.solver == "auto"
    space = choose_space(*design.shape, spec.intercept)
    known &= space == crossfit_space(*design.shape, spec.intercept)
    if not known or outcome.finish is None or loses_digits(outcome.rcond):
        return fit_model(design, Y, weights, spec, count, n_jobs)
    solution = Solution(outcome.finish(), outcome.dof, space, space)
    whole = Pass(np.arange(Y.shape[1]), np.arange(D), design, solution)
    return FittedModel(design, Y, weights, spec, [whole])


@dataclass(frozen=True)
class Crossfitted:
    """A fitted model with its out-of-fold outputs, (n_tested, t)."""

    model: FittedModel
    outputs: Array


def crossfit(
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    count: int,
    folds: Folds,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> Crossfitted:
    """Fit one cell and predict every tested sample by the model that has not seen it.

    Exact, from one inverse. Without an inverse (Krylov) the folds are fitted one by one, which is
    as exact; leaving out one sample at a time is too many fits, and the outputs are then NaN.
    """
    if design.shape[1] == 0:
        model = fit_model(design, Y, weights, spec, count, n_jobs)
        return Crossfitted(model, np.broadcast_to(model.level, Y.shape)[folds.tested])
    if is_matrix_free(design, spec):
        model = fit_model(design, Y, weights, spec, count, n_jobs, report)
        return Crossfitted(model, _refitted(design, Y, weights, spec, count, folds))
    grid = Grid(a=(1.0,), k=(spec.k,), c=(spec.c,), densities=(1.0,), counts=(count,))
    problem = Problem(Y, weights, spec.intercept, folds)
    with calm_blas(min(design.shape)):
        [(_, outcome)] = outcomes(grid, lambda a: design, problem)
        model = finished_model(outcome, design, Y, weights, spec, count, n_jobs)
    return Crossfitted(model, Y[folds.tested] - outcome.residuals)


def _refitted(
    design: Design, Y: Array, weights: Array, spec: Spec, count: int, folds: Folds
) -> Array:
    """Outputs of the tested samples by one fit for every fold; NaN for leave one out."""
    outputs = np.full((folds.tested.size, Y.shape[1]), np.nan)
    start = 0
    for fold in folds.folds or ():
        trained = np.setdiff1d(np.arange(weights.size), fold.held, assume_unique=True)
        part = design.take_rows(trained)
        model = fit_model(part, Y[trained], weights[trained], spec, count)
        stop = start + fold.tested.size
        outputs[start:stop] = design.take_rows(fold.tested).dot(model.coef.T) + model.level
        start = stop
    return outputs
