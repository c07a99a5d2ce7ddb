"""Models of rows that are seen once and not kept."""

from dataclasses import replace

import numpy as np

from skstretch.core.gram import PrimalGram, PrimalTotals
from skstretch.core.primal import primal_system
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index
from skstretch.designs.protocol import AbsentDesign, Design
from skstretch.designs.threads import single_blas_thread
from skstretch.exceptions import SingularSystemError
from skstretch.solve.choose import FIXED_C
from skstretch.solve.direct import gram_scale, primal_fit, with_scale
from skstretch.solve.model import FittedModel, check_fit, constant_solution, of_columns
from skstretch.solve.spec import Spec

# a share of a correlation that is rounding
ROUNDING = 1e-13

FORGOTTEN = (
    "this needs the training rows, and partial_fit keeps none of them: call fit with all rows "
    "instead (X may be a memory map or sparse)."
)


def totals_of(design: Design, Y: Array, weights: Array, r: float) -> PrimalTotals:
    """The primal system of the rows of a design: one pass for C, one for the targets."""
    total = float(weights.sum())
    means = np.asarray(weights @ Y / total)
    D, t = design.shape[1], Y.shape[1]
    if D == 0:
        none = np.zeros(0)
        gram = PrimalGram(r, np.zeros((0, 0)), none, design.offset, none, None, total)
        return PrimalTotals(gram, np.zeros((0, t)), means)
    with single_blas_thread(D):
        gram = design.column_grams([r], weights)[0]
        projected = design.project(gram, weights[:, None] * (Y - means))
    return PrimalTotals(gram, projected, means)


def with_totals(totals: PrimalTotals, spec: Spec) -> Spec:
    """The model with its c as a number: ``c="auto"`` follows the rows so far."""
    if totals.gram.n_features == 0 and spec.automatic:
        return replace(spec, c=FIXED_C, automatic=False)
    scale = gram_scale(totals.gram, np.ones(0)) if spec.automatic else np.nan
    return with_scale(scale, spec)


def solve_totals(totals: PrimalTotals, spec: Spec, n_rows: int) -> Fit | None:
    """``(C + lam I) alpha = Qc'W y``; None where the rows do not determine alpha yet.

    With a penalty the system has a solution for any number of rows, without one it needs as many
    as there are coefficients; so it does for columns that are never penalised.
    """
    D = totals.gram.n_features
    if D == 0:
        return constant_solution(totals.means[None], np.array([totals.gram.total_weight]), spec)
    unknowns = D if spec.intercept is Intercept.NONE else D + 1
    if spec.lam == 0.0 and n_rows < unknowns:
        return None
    if totals.gram.free is not None and not _tell_apart(totals.gram, totals.gram.free, n_rows):
        return None
    with single_blas_thread(D):
        try:
            system = primal_system(totals.gram, spec.lam, spec.intercept)
            coef, constant = system.solve(totals.projected, totals.means)
            fit = primal_fit(totals.gram, coef, constant, spec.intercept, system.rcond)
            dof = system.dof
        except SingularSystemError:
            return None
    at = f"k={spec.k:g}, c={spec.c:g}"
    check_fit(
        fit,
        at,
        f"the sums of {n_rows} rows at {at} make an ill-conditioned system",
        "Use a smaller c or a larger k, or `fit`, which has a more accurate solver.",
    )
    return replace(fit, dof=dof, space="primal", solver="primal")


def _tell_apart(gram: PrimalGram, free: Index, n_rows: int) -> bool:
    """Whether the rows determine the coefficients of columns that are never penalised.

    By the eigenvalues of their correlations, which are known to a few eps.
    """
    S = gram.C[np.ix_(free, free)]
    size = np.sqrt(S.diagonal())
    if n_rows <= free.size or not (size > 0).all():
        return False
    return bool(np.linalg.eigvalsh(S / np.outer(size, size))[0] > ROUNDING * free.size)


def forgetful_model(totals: PrimalTotals, spec: Spec, n_rows: int) -> FittedModel | None:
    """A model that predicts and has no rows; None where they do not determine it yet."""
    solution = solve_totals(totals, spec, n_rows)
    if solution is None:
        return None
    D, t = totals.projected.shape
    means = totals.gram.centre
    design = AbsentDesign((n_rows, D), totals.gram.offset, FORGOTTEN, means=means)
    Y, weights = np.broadcast_to(np.nan, (n_rows, t)), np.broadcast_to(np.nan, (n_rows,))
    only = of_columns(solution, np.arange(t), np.arange(D), design)
    return FittedModel(design, Y, weights, spec, [only])
