"""The cells that can be chosen on the page: their coefficients and out-of-fold outputs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.density import keep_count
from skstretch.core.types import Array
from skstretch.estimators import StretchyRegressor
from skstretch.estimators.splits import N_FOLDS
from skstretch.report.effort import MOST_OUTPUTS, Effort
from skstretch.report.foretold import Foretold, all_outputs, chosen_outputs, quiet
from skstretch.report.profile import Picture, picture
from skstretch.report.subject import Subject
from skstretch.report.surface import Surface

# With this rcond LU keeps four digits, which is all that a picture shows.
ENOUGH_RCOND = 1e-11
MATCH = 1e-3


@dataclass(frozen=True)
class Fitted:
    """A cell that was fitted: a picture of each output, and out-of-fold outputs (n, t)."""

    pictures: list[Picture]
    outputs: Array | None


@dataclass(frozen=True)
class Cells:
    """Fitted cells by row of ``cv_results_`` (0 for a plain estimator), and why no more."""

    fitted: dict[int, Fitted]
    chosen: int
    why: str
    verified: bool  # X and y are those of the fit


def effort_of(subject: Subject) -> Effort:
    n, D = subject.shape
    compressed = keep_count(subject.cell["density"], D) < D
    return Effort(n, D, subject.slope.shape[0], N_FOLDS if compressed else 1)


def fitted_cells(subject: Subject, surface: Surface | None) -> Cells:
    """The chosen cell, and as many of the best as effort and size allow."""
    chosen = int(subject.model.best_index_) if subject.searched else 0
    own = Fitted(_pictures(subject.slope, subject.scale), chosen_outputs(subject))
    if surface is None or subject.X is None:
        why = "" if subject.X is not None else "the training data were not at hand"
        return Cells({chosen: own}, chosen, why, _remembered(subject))
    results, effort = subject.model.cv_results_, effort_of(subject)
    pairs = {*zip(results["param_a"], results["param_k"], strict=True)}
    if not effort.search_fits(len(pairs), len(results["param_a"])):
        why = "fitting other cells again would take too long for data of this size"
        return Cells({chosen: own}, chosen, why, _remembered(subject))
    foretold = all_outputs(subject)
    if foretold.why:
        return Cells({chosen: own}, chosen, foretold.why, False)
    ranked = [c.index for c in surface.ranked(results["rank_test_score"], chosen)]
    wanted = ranked[: effort.n_refits(len(ranked))]
    fitted = {chosen: own} | {row: _fit(subject, row, foretold) for row in wanted if row != chosen}
    return Cells(fitted, chosen, "", True)


def _fit(subject: Subject, row: int, foretold: Foretold) -> Fitted:
    """A cell fitted to targets, or to +-1 with the weights of the classes."""
    results = subject.model.cv_results_
    accurate = results["rcond"][row] < ENOUGH_RCOND
    slope = _slope(subject, results["params"][row], "auto" if accurate else subject.model.space_)
    return Fitted(_pictures(slope, subject.scale), foretold.outputs[row])


def _slope(subject: Subject, cell: dict[str, Any], solver: str) -> Array:
    given = subject.model.get_params()
    shared = {name: given[name] for name in ("b", "quadrant", "fit_intercept", "n_jobs")}
    with quiet():
        again = StretchyRegressor(**cell, **shared, solver=solver)
        again.fit(subject.X, subject.Y, sample_weight=subject.weights)
    return np.atleast_2d(again.slope_)


def _remembered(subject: Subject) -> bool:
    """Whether a fit to X and y gives the slopes of the model."""
    if subject.X is None:
        return False
    slope, own = _slope(subject, subject.cell, "auto"), subject.slope
    return bool(np.allclose(slope, own, rtol=0, atol=MATCH * np.abs(own).max(initial=0.0)))


def _pictures(slope: Array, scale: Array) -> list[Picture]:
    return [picture(row, scale) for row in slope[:MOST_OUTPUTS]]
