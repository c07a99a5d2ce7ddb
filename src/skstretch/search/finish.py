"""From the outcome of a cell to its fitted model."""

import numpy as np

from skstretch.core.types import Array
from skstretch.designs.protocol import Design
from skstretch.search.cells import Outcome
from skstretch.solve.fit import Solution, choose_space, crossfit_space, loses_digits
from skstretch.solve.model import FittedModel, Pass, fit_model
from skstretch.solve.spec import Spec


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
