"""The penalty that is tied to the scale of the data, ``c="auto"``.

``lam = s |sum_i w_i K_ii - w'Kw / sum(w)| / sum(w)``: a share s of the mean diagonal of the centred
K. It follows the units of X and the number of features, so that K and the penalty stay in
proportion; copies of a sample count as its weight does.
"""

import math
from dataclasses import replace

import numpy as np

from skstretch.core.dual_gram import DualGram
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.stretch import LARGEST_LOG, Intercept
from skstretch.core.types import Array
from skstretch.designs import Design, FactoredDesign
from skstretch.designs.protocol import remembered
from skstretch.solve.choose import crossfit_space, is_matrix_free
from skstretch.solve.direct import row_scales
from skstretch.solve.spec import Spec

# the share of the mean diagonal: the sets of `make penalty` hardly tell it from 0.03, and large
# text is faster and better with it
STRENGTH = 0.1
# where K has no such scale: exact minimisers, whose penalty depends on the unit of y as well, and
# data of which no column varies
FIXED_C = 100.0


def gram_scale(gram: DualGram | PrimalGram, weights: Array) -> float:
    """``|sum_i w_i K_ii - w'Kw / sum(w)| / sum(w)``: what a penalty is measured against.

    The Gram matrices are centred about the weighted mean, so the second term is zero.
    """
    with np.errstate(over="ignore"):
        if isinstance(gram, PrimalGram):
            diagonal = gram.C.diagonal()
            if gram.log_columns is not None:
                diagonal = diagonal * np.exp(gram.log_columns)
            if gram.log_factors is not None:
                some = np.isfinite(gram.log_factors)
                diagonal = diagonal[some] * np.exp(-gram.log_factors[some])
            return float(abs(diagonal.sum()) / gram.total_weight)
        diagonal = gram.K.diagonal()
        if gram.log_rows is not None:
            diagonal = diagonal * np.exp((1.0 + gram.r) * gram.log_rows)
        return float(abs(weights @ diagonal) / weights.sum())


def with_penalty(design: Design, weights: Array, spec: Spec) -> tuple[Design, Spec]:
    """The model with its c as a number, and the design with what was summed to find it."""
    if not spec.automatic:
        return design, spec
    if spec.exact or design.shape[1] == 0:
        return design, replace(spec, c=FIXED_C, automatic=False)
    design, scale = _scale(design, weights, spec)
    return design, with_scale(scale, spec)


def with_scale(scale: float, spec: Spec) -> Spec:
    """``c = 1 / (lam k)`` with ``lam = s scale``, of features divided by ``exp(unit)``."""
    if not spec.automatic:
        return spec
    if scale == 0.0:  # nothing to learn from: coefficients are zero whatever c is
        return replace(spec, c=FIXED_C, automatic=False)
    with np.errstate(divide="ignore"):
        log_c = -float(np.log(STRENGTH * scale * spec.k)) - (1.0 + spec.r) * spec.unit
    if not abs(log_c) < LARGEST_LOG:
        raise FloatingPointError(
            f'c="auto": the scale of the features at k={spec.k:g} is {scale:.1e}, beyond what '
            "float64 can weigh against a penalty. Use other units, a larger k, or a number for c."
        )
    return replace(spec, c=math.exp(log_c), automatic=False)


def _scale(design: Design, weights: Array, spec: Spec) -> tuple[Design, float]:
    """The mean diagonal of K, from the sums that the fit needs too where it makes them."""
    r, intercept = spec.r, spec.intercept
    if is_matrix_free(design, spec):
        seen = design.at(r) if isinstance(design, FactoredDesign) else design
        return design, abs(seen.products(r, weights).trace()) / float(weights.sum())
    if crossfit_space(*design.shape, intercept, spec.solver) == "dual":
        log_rows, borders = row_scales(design, r, intercept), intercept is not Intercept.FREE
        dual = design.gram([r], weights, log_rows, borders)[0]
        return remembered(design, weights, borders, dual), gram_scale(dual, weights)
    primal = design.column_grams([r], weights)[0]
    return remembered(design, weights, False, primal), gram_scale(primal, weights)
