"""Prediction intervals of a fitted model."""

from collections.abc import Iterator

import numpy as np

from skstretch.core.intervals import jackknife_plus, residual_width
from skstretch.core.types import Array, Index
from skstretch.designs.protocol import Design
from skstretch.solve.model import FittedModel

# predictions of all leave-one-out models that are held at a time
CHUNK_BYTES = 1 << 27


def interval_bounds(
    model: FittedModel, new: Design, coverage: float, method: str
) -> tuple[Array, Array]:
    """``(lower, upper)`` of shape (N, t) at the rows of `new`."""
    if model.weights.size < 2:
        raise ValueError("intervals need at least two samples of positive weight.")
    return _plus(model, new, coverage) if method == "plus" else _residual(model, new, coverage)


def _plus(model: FittedModel, new: Design, coverage: float) -> tuple[Array, Array]:
    shape = new.shape[0], model.Y.shape[1]
    lower, upper = np.empty(shape), np.empty(shape)
    for p, jackknife in zip(model.passes, model.jackknives, strict=True):
        kept = new.take(p.columns)
        for rows in _chunks(new.shape[0], model.weights.size):
            part = kept.take_rows(rows)
            for i, target in enumerate(p.targets):
                bounds = jackknife_plus(
                    jackknife.predictions(part, i), jackknife.residuals[:, i], coverage
                )
                lower[rows, target], upper[rows, target] = bounds
    return lower, upper


def _residual(model: FittedModel, new: Design, coverage: float) -> tuple[Array, Array]:
    centre = new.dot(model.coef.T) + model.level
    width = np.array([residual_width(r, coverage) for r in model.loo_residuals.T])
    return centre - width, centre + width


def _chunks(n_rows: int, n_models: int) -> Iterator[Index]:
    size = max(1, CHUNK_BYTES // (8 * max(1, n_models)))
    for start in range(0, n_rows, size):
        yield np.arange(start, min(n_rows, start + size))
