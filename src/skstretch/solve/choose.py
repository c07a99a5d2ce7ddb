"""From a design and targets to a fit: which system is solved is decided here, and recorded."""

import os
import warnings
from dataclasses import dataclass

import numpy as np

from skstretch.core.features import Features
from skstretch.core.krylov import Report
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit
from skstretch.designs.blocks import calm_blas, working_bytes
from skstretch.designs.protocol import Design
from skstretch.exceptions import IllConditionedWarning, NeedsInverseError, SingularSystemError
from skstretch.solve.direct import DualLU, PrimalLU, TallQR, WideQR
from skstretch.solve.krylov import krylov_system
from skstretch.solve.spec import Space, Spec, System

# What a direct solution may take of the machine.


# square matrices of the side of the system that a direct fit holds at once
DIRECT_COPIES = 3


def direct_budget() -> int:
    """Bytes for a direct fit: half of the machine's memory, or scikit-learn's working_memory.

    The larger of the two; where the system does not tell its memory, the second.
    """
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        physical = 0
    return max(working_bytes(), physical // 2)


def direct_bytes(side: int) -> int:
    """Bytes that a direct fit takes for a system of this side."""
    return DIRECT_COPIES * 8 * side**2


# digits that LU may lose before the accurate solution takes over
TOLERATED_ERROR = 1e-11


# the side of a system from which LU and the trace of the inverse (2 n**3) take longer than walks
COSTLY_SIDE = 30_000


def choose_space(n_samples: int, n_features: int, intercept: Intercept) -> Space:
    """The smaller system: dual for fewer samples than coefficients, primal otherwise.

    The free intercept takes one sample away, the column adds one coefficient; so the chosen
    system is regular without a penalty whenever one of the two is.
    """
    if intercept is Intercept.NONE:
        return "dual" if n_samples < n_features else "primal"
    return "dual" if n_samples < n_features + 1 else "primal"


def crossfit_space(n_samples: int, n_features: int, intercept: Intercept) -> Space:
    """The space in which samples are left out: that of a fit with one sample less.

    Where samples and coefficients are equally many, a primal fit without one of the samples has
    no unique solution as the penalty goes to zero; the dual form is regular with and without it.
    """
    return choose_space(n_samples - 1, n_features, intercept)


def loses_digits(rcond: float) -> bool:
    """Whether LU may lose more than the accurate solution would."""
    return float(np.finfo(np.float64).eps) > TOLERATED_ERROR * rcond


def is_large(n_samples: int, n_features: int) -> bool:
    """Whether K would be too large for the machine, or too slow to factor.

    Three matrices of the smaller side would take more than half of the machine's memory (and more
    than scikit-learn's working_memory), or that side exceeds `COSTLY_SIDE`.
    """
    side = min(n_samples, n_features)
    return side > COSTLY_SIDE or direct_bytes(side) > direct_budget()


def is_matrix_free(design: Design, spec: Spec) -> bool:
    """Whether the model is solved without K: as asked, or by ``"auto"`` where K `is_large`.

    Elsewhere ``"auto"`` prefers the direct solution, which is exact and tells its condition, its
    degrees of freedom and its leave-one-out residuals; so it does where powers need scaled rows.
    """
    if spec.solver != "auto":
        return spec.solver == "krylov"
    return is_large(*design.shape) and design.row_peaks(spec.r) is None


def check_invertible(design: Design, spec: Spec, what: str) -> None:
    """Refuse what only a factorised system can tell."""
    if is_matrix_free(design, spec):
        raise NeedsInverseError(what)


def build_system(
    design: Design, weights: Array, spec: Spec, report: Report | None = None
) -> System:
    """Factor the model; ``solver="auto"`` goes on to QR where LU loses digits and Q fits.

    A matrix-free system has nothing to factor; it tells its steps to `report`.
    """
    space = choose_space(*design.shape, spec.intercept)
    if is_matrix_free(design, spec):
        return krylov_system(design, weights, spec, space, report)
    if spec.solver == "qr":
        features = design.in_memory()
        if features is None:
            raise MemoryError(
                f'solver="qr" needs four copies of the {design.shape} features in memory; use '
                'solver="auto", or raise sklearn.set_config(working_memory=...).'
            )
        return _accurate(features, weights, spec, space)
    if spec.solver == "dual" or spec.solver == "primal":
        space = spec.solver
    plain = DualLU(design, weights, spec) if space == "dual" else PrimalLU(design, weights, spec)
    if spec.solver == "auto" and loses_digits(plain.rcond):
        return _better(plain, design.in_memory(), weights, spec)
    return plain


def _better(plain: System, features: Features | None, weights: Array, spec: Spec) -> System:
    """The accurate system, unless it does not fit in memory or is singular."""
    if features is None:
        return plain
    try:
        accurate = _accurate(features, weights, spec, plain.space)
        return accurate if accurate.rcond > 0.0 else plain
    except SingularSystemError:
        return plain


def _accurate(features: Features, weights: Array, spec: Spec, space: Space) -> System:
    return WideQR(features, weights, spec) if space == "dual" else TallQR(features, weights, spec)


# below this a solution is reported as untrustworthy
POOR_RCOND = 1e-13


@dataclass(frozen=True)
class Solution:
    """A fit, and how it was found."""

    fit: Fit
    dof: float
    space: Space
    solver: str


def fit_stretchy(
    design: Design, Y: Array, weights: Array, spec: Spec, report: Report | None = None
) -> Solution:
    """Fit targets Y of shape (M, t) with positive weights of shape (M,)."""
    if design.shape[1] == 0:
        return _constant_solution(Y, weights, spec)
    with calm_blas(min(design.shape)):
        system = build_system(design, weights, spec, report)
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
