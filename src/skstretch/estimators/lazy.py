"""Coefficients that stay where the data is."""

from typing import Any

import numpy as np

from skstretch.core.gram import Frame
from skstretch.core.intercept import Intercept
from skstretch.designs import WideDesign
from skstretch.designs.dask_run import check_at_hand
from skstretch.solve import FittedModel


def lazy_coefficients(model: FittedModel) -> Any:
    """``alpha = Q' beta`` of all columns as a Dask array (d, t); None where it has no such form."""
    only, spec = model.passes[0], model.spec
    fit = only.solution.fit
    if len(model.passes) > 1 or not isinstance(only.design, WideDesign):
        return None
    if fit.beta is None or fit.log_beta is None:
        return None
    check_at_hand(only.design.X)
    scaled = bool(fit.log_beta.any())
    frame = Frame(spec.r, np.zeros(0), fit.log_beta / spec.r if scaled else None)
    free = spec.intercept is Intercept.FREE
    total = np.zeros(fit.beta.shape[1]) if free else fit.beta.sum(axis=0)
    return only.design.lazy_coefficients(frame, fit.beta, total, model.weights)
