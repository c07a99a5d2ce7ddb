"""Coefficients along k or c, from the design that a model was fitted on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skstretch.core.types import Array
from skstretch.solve.model import FittedModel, fit_model


def coefficient_path(model: FittedModel, along: str, values: Sequence[float], count: int) -> Array:
    """Coefficients of every target at every value of k or c, shape (n_values, t, D)."""
    paths = []
    for value in values:
        at = float(value)
        spec = replace(model.spec, k=at) if along == "k" else replace(model.spec, c=at)
        fitted = fit_model(model.design, model.Y, model.weights, spec, count)
        paths.append(fitted.coef)
    return np.stack(paths)
