"""All penalties of one (a, k) in the dual form."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from skstretch.core.crossfit import out_of_fold, without
from skstretch.core.dual import DualSolution
from skstretch.core.gram import DualGram
from skstretch.core.intercept import Intercept
from skstretch.core.inverse import Inverse, lu_inverse, spectrum
from skstretch.core.types import Array
from skstretch.designs.protocol import Design
from skstretch.search.cells import FirstPass, Outcome, failed, judged
from skstretch.search.folds import Folds
from skstretch.solve.lu import dual_fit


def dual_inverses(
    gram: DualGram, weights: Array, intercept: Intercept, lams: Sequence[float]
) -> Iterator[Inverse]:
    """The inverse of every penalty: one spectrum where K is symmetric, else LU each."""
    if gram.r == 1.0 and gram.log_rows is None:
        decomposed = spectrum(gram, weights, intercept)
        for lam in lams:
            yield decomposed.cell(lam)
    else:
        for lam in lams:
            yield lu_inverse(gram, lam / weights, intercept)


def dual_outcomes(
    design: Design,
    gram: DualGram,
    Y: Array,
    weights: Array,
    intercept: Intercept,
    lams: Sequence[float],
    folds: Folds,
) -> Iterator[Outcome]:
    """Exact out-of-fold residuals of every penalty."""
    n_features = float(design.shape[1])
    for inverse in dual_inverses(gram, weights, intercept, lams):
        if inverse.rcond == 0.0:
            yield failed(folds.tested.size, Y.shape[1], n_features, "singular")
            continue
        frame, solution = inverse.frame, inverse.solve(Y)
        try:
            residuals = out_of_fold(inverse, solution, folds.folds)
        except np.linalg.LinAlgError:
            yield failed(folds.tested.size, Y.shape[1], n_features, "a fold is singular")
            continue
        if frame.log_rows is not None:
            residuals = residuals * np.exp(frame.log_rows)[folds.tested, None]
        yield Outcome(
            residuals,
            inverse.rcond,
            inverse.dof,
            n_features,
            judged(residuals, inverse.rcond),
            partial(dual_fit, design, frame, solution, weights, intercept, inverse.rcond),
            partial(_first_pass, design, inverse, solution, weights, folds),
        )


def _first_pass(
    design: Design, inverse: Inverse, solution: DualSolution, weights: Array, folds: Folds
) -> FirstPass:
    """Coefficients of all samples and of every fold, in one walk over the data."""
    assert folds.folds is not None
    betas = [solution.beta, *(without(inverse, solution, fold.held) for fold in folds.folds)]
    beta = np.hstack(betas)
    total = np.zeros(beta.shape[1])
    if solution.total.any():
        total = beta.sum(axis=0)
    blocks = design.coefficients(inverse.frame, beta, total, weights)
    coef = np.vstack([alpha for _, alpha in blocks])
    parts = np.split(coef, len(betas), axis=1)
    return FirstPass(parts[0], parts[1:])
