"""From a design and targets to a fit."""

import warnings
from dataclasses import dataclass

import numpy as np

from stretchy.core.fit import Fit
from stretchy.core.intercept import Intercept
from stretchy.core.types import Array
from stretchy.designs.protocol import Design
from stretchy.designs.threads import calm_blas
from stretchy.exceptions import IllConditionedWarning
from stretchy.solve.choose import build_system
from stretchy.solve.spec import Space, Spec

# below this a solution is reported as untrustworthy
POOR_RCOND = 1e-13


@dataclass(frozen=True)
class Solution:
    """A fit, and how it was found."""

    fit: Fit
    dof: float
    space: Space
    solver: str


def fit_stretchy(design: Design, Y: Array, weights: Array, spec: Spec) -> Solution:
    """Fit targets Y of shape (M, t) with positive weights of shape (M,)."""
    if design.shape[1] == 0:
        return _constant_solution(Y, weights, spec)
    with calm_blas(min(design.shape)):
        system = build_system(design, weights, spec)
        fit, dof = system.fit(Y), system.dof
    if not fit.is_finite():
        raise FloatingPointError(
            f"the coefficients at k={spec.k:g}, c={spec.c:g} leave the range of float64: use a "
            "larger k, a smaller |a| or a smaller c."
        )
    if fit.rcond < POOR_RCOND:
        warnings.warn(
            f"the system at k={spec.k:g}, c={spec.c:g} is ill-conditioned (rcond="
            f"{fit.rcond:.1e}): the coefficients may carry no correct digit. Use a smaller c or "
            "a larger k.",
            IllConditionedWarning,
            stacklevel=2,
        )
    return Solution(fit, dof, system.space, system.solver)


def _constant_solution(Y: Array, weights: Array, spec: Spec) -> Solution:
    """No feature varies: only the intercept is left."""
    total = weights.sum()
    shrink = {
        Intercept.FREE: 1.0,
        Intercept.COLUMN: total / (total + spec.lam),
        Intercept.NONE: 0.0,
    }[spec.intercept]
    level = shrink * (weights @ Y) / total
    fit = Fit(np.zeros((0, Y.shape[1])), level, level, None, None, 1.0)
    return Solution(fit, shrink, "primal", "primal")
