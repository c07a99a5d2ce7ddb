"""Every "auto" of a fit, decided once: which space, with or without the matrix, LU or QR.

Nothing is built or solved here. Preparation, solve, plan, jackknife and search ask these
functions, so that what is foretold, surveyed and done is one answer.
"""

import os

import numpy as np

from skstretch.core.stretch import Intercept
from skstretch.designs import n_choosable
from skstretch.designs.blocks import working_bytes
from skstretch.designs.protocol import Design
from skstretch.solve.spec import Space, Spec

# square matrices of the side of the system that a direct fit holds at once
DIRECT_COPIES = 3
# the side of a system from which walks take the place of LU and the trace of the inverse (2 n**3):
# 20 classes of documents with c="auto" take as long by both at 3,000 and two fifths by walks at
# 5,000 (2 and 5 s on one core); LU, growing with the cube, takes less than a minute up to here, and
# tells condition, freedom and leave one out
COSTLY_SIDE = 10_000
# the side up to which an inverse is made where something asks for it
LARGEST_SIDE = 30_000
# steps of Krylov that ``"auto"`` gives it before it turns to LU after all
FAIR_STEPS = 150
# digits that LU may lose before the accurate solution takes over
TOLERATED_ERROR = 1e-11
# the smaller side up to which QR takes no time to speak of: beyond, LU stays where perturbations of
# the size of rounding move its coefficients by less than `TOLERATED_MOVE`. What rounding itself
# did was 0.02 to 2.4 times that, of systems that keep fourteen digits and of such that keep one
QUICK_SIDE = 256
TOLERATED_MOVE = 1e-10
# below this a solution carries no trustworthy digit: it is warned of, and wins no search
POOR_RCOND = 1e-13


def choose_space(
    n_samples: int, n_features: int, intercept: Intercept, solver: str | None = None
) -> Space:
    """The form of a fit: as `solver` says, else the smaller system.

    Dual for fewer samples than coefficients, primal otherwise. The free intercept takes one
    sample away, the column adds one coefficient; so the chosen system is regular without a
    penalty whenever one of the two is.
    """
    if solver in ("dual", "primal"):
        return "dual" if solver == "dual" else "primal"
    if intercept is Intercept.NONE:
        return "dual" if n_samples < n_features else "primal"
    return "dual" if n_samples < n_features + 1 else "primal"


def crossfit_space(
    n_samples: int, n_features: int, intercept: Intercept, solver: str | None = None
) -> Space:
    """The space in which samples are left out: that of a fit with one sample less.

    Where samples and coefficients are equally many, a primal fit without one of the samples has
    no unique solution as the penalty goes to zero; the dual form is regular with and without it.
    """
    return choose_space(n_samples - 1, n_features, intercept, solver)


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
    """Bytes that a direct fit takes for the matrices of a system of this side."""
    return DIRECT_COPIES * 8 * side**2


def is_large(n_samples: int, n_features: int) -> bool:
    """Whether K would be too large for the machine, or too slow to factor.

    Three matrices of the smaller side would take more than half of the machine's memory (and more
    than scikit-learn's working_memory), or that side exceeds `LARGEST_SIDE`.
    """
    side = min(n_samples, n_features)
    return side > LARGEST_SIDE or direct_bytes(side) > direct_budget()


def is_costly(n_samples: int, n_features: int) -> bool:
    """Whether K is worth doing without: its smaller side exceeds `COSTLY_SIDE`, or it `is_large`.

    A fit by ``"auto"`` then walks, and classifiers hold out a tenth of the samples once rather than
    every sample alone; what needs an inverse makes it, as long as K is not too large.
    """
    return min(n_samples, n_features) > COSTLY_SIDE or is_large(n_samples, n_features)


def may_be_matrix_free(solver: str | None, n_samples: int, n_features: int) -> bool:
    """Whether a fit may do without K, as far as shapes tell: what a plan and a survey go by.

    As asked, or by ``"auto"`` where K `is_costly`. A search has no solver (None) and needs K,
    however large.
    """
    return solver == "krylov" or (solver == "auto" and is_costly(n_samples, n_features))


def holds_out(solver: str, n_samples: int, n_features: int) -> bool:
    """Whether a tenth of the samples is held out once, in place of every sample alone.

    Leave one out takes an inverse: Krylov has none, and where K `is_costly` it costs more than the
    fit.
    """
    return solver == "krylov" or is_costly(n_samples, n_features)


def has_inverse(design: Design, spec: Spec) -> bool:
    """Whether an inverse can be had of a model: not of Krylov as asked, nor where K `is_large`."""
    if spec.solver == "krylov":
        return False
    large = spec.solver == "auto" and is_large(*design.shape)
    return not (large and design.row_peaks(spec.r) is None)


def is_matrix_free(design: Design, spec: Spec) -> bool:
    """Whether the model is solved without K: as asked, or by ``"auto"`` where K `is_costly`.

    Elsewhere ``"auto"`` prefers the direct solution, which is exact and tells its condition, its
    degrees of freedom and its leave-one-out residuals; so it does where powers need scaled rows.
    """
    if spec.exact or not may_be_matrix_free(spec.solver, *design.shape):
        return False
    if n_choosable(design) == 0:  # nothing is penalised: least squares on a few columns
        return False
    return spec.solver == "krylov" or design.row_peaks(spec.r) is None


def loses_digits(rcond: float) -> bool:
    """Whether LU may lose more than the accurate solution by QR would."""
    return float(np.finfo(np.float64).eps) > TOLERATED_ERROR * rcond


def keeps_digits(rounding: float) -> bool:
    """Whether LU loses no more than that, by what drawn perturbations do to its coefficients."""
    return rounding <= TOLERATED_MOVE
