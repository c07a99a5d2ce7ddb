"""The exact minimiser of a design under a loss: z-scores in, coefficients and certificate out.

The mathematics is that of `skstretch.core.loss_newton`; here it meets designs, penalty factors and
intercepts.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skstretch.core.bridge_products import TINY
from skstretch.core.loss_newton import (
    CERTIFIED,
    Minimum,
    Scores,
    Stacked,
    Stopping,
    at_zero,
    evaluate,
    minimise,
)
from skstretch.core.losses import Loss
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array
from skstretch.designs import Design
from skstretch.designs.dual_space import Rows
from skstretch.designs.sparse import SparseDesign
from skstretch.solve.newton import coefficients


def scores_of(design: Design, intercept: Intercept, k: float, n_scores: int = 1) -> Scores:
    """What the scores of a design are made of at the power k, in its storage."""
    if intercept is Intercept.COLUMN:
        raise ValueError(
            'fit_intercept="column" penalises the intercept, which only squared error does: use '
            "True or False with other losses."
        )
    M = design.shape[0]
    F = np.ones((M, int(intercept is Intercept.FREE)))
    if design.U is not None:
        F = np.hstack([F, design.U])
    if design.n_penalised == 0:
        return Scores(F, None, np.zeros((M, 1)), n_scores)
    inner = design.at(1.0 / (k - 1.0))
    n_columns = inner.shape[1]
    if n_columns >= M:
        products = inner.minimiser_products()
        return Scores(F, Stacked(products, n_scores) if n_scores > 1 else products, None, n_scores)
    features = None if isinstance(inner, SparseDesign) else inner.in_memory()
    if features is not None:
        return Scores(F, None, features.excess(1.0), n_scores)
    return Scores(F, None, Rows(inner, np.ones(M), None, np.zeros(n_columns)), n_scores)


@dataclass(frozen=True)
class LossFit:
    """The minimiser of one problem.

    Attributes
    ----------
    coef : array of shape (D, C)
    level : array of shape (C,)
        The intercept: scores are ``Z coef + level``.
    minimum : Minimum
        The point, its scores, its gap, and where neighbours start.
    """

    coef: Array
    level: Array
    minimum: Minimum


def read(design: Design, intercept: Intercept, scores: Scores, found: Minimum) -> LossFit:
    """Coefficients in the units of the design's columns."""
    C = scores.n_scores
    b = found.b.reshape(C, -1).T
    free = intercept is Intercept.FREE
    level, gamma = (b[0], b[1:]) if free else (np.zeros(C), b)
    coef = coefficients(design, found.k, found.alpha.reshape(C, -1).T, gamma)
    return LossFit(coef, level, found)


def elsewhere(scores: Scores, near: Minimum, loss: Loss, k: float, c: float) -> Minimum:
    """The point of a neighbour as a start for another loss (a fold's) or strength."""
    return evaluate(scores, loss, k, c, near.alpha, near.b, near.fit, near.dual)


def beside(near: Minimum, before: Minimum, last: Minimum, loss: Loss) -> Minimum:
    """A guess for another loss: as far from the point `near` as its `last` one was from that
    `before`."""
    dual = near.dual + growth(near, before) * (last.dual - before.dual)
    return replace(near, loss=loss, b=near.b + last.b - before.b, dual=dual)


def onwards(near: Minimum, before: Minimum, c: float) -> Minimum:
    """A guess for another c, from the points of the last two."""
    return replace(near, c=c, dual=growth(near, before) * near.dual)


def growth(near: Minimum, before: Minimum) -> float:
    """How much the dual has grown between two points."""
    return float(np.linalg.norm(near.dual)) / max(float(np.linalg.norm(before.dual)), TINY)


def solve_losses(
    design: Design,
    losses: Sequence[Loss],
    k: float,
    c: float,
    intercept: Intercept = Intercept.FREE,
    stop: Stopping = CERTIFIED,
) -> list[LossFit]:
    """Minimise several losses of one design from a cold start, one pass over it for all."""
    scores = scores_of(design, intercept, k, losses[0].n_scores)
    starts = [at_zero(scores, loss, k, c) for loss in losses]
    return [read(design, intercept, scores, m) for m in minimise(scores, starts, stop)]


def warn_unless_certified(found: Minimum) -> None:
    """Say so where the certificate is short of its tolerance, with what may help."""
    if found.gap <= CERTIFIED.gap:
        return
    warnings.warn(
        f"Newton's method at k={found.k:g}, c={found.c:g} ended after {found.n_iter} steps with a "
        f"relative duality gap of {found.gap:.1e}, above {CERTIFIED.gap:.0e}: rounding leaves no "
        "more where a model interpolates, or nothing bounds a column that is never penalised. Use "
        "a smaller c, a larger k, or weights and penalty factors that differ by less.",
        ConvergenceWarning,
        stacklevel=2,
    )
