"""What single samples do to a fitted model, from its leave-one-out models.

``d_ji`` is the change of the output for row j, with all samples less without sample i.
"""

import numpy as np

from skstretch.core.types import Array, Index


def squared_changes(changes: Array, weights: Array) -> Array:
    """``sum_j w_j d_ji^2``, (t, M), for changes (t, N, M) and weights (N,)."""
    return np.asarray(np.einsum("j,tji->ti", weights, np.square(changes)))


def distances(squares: Array, left_out: Array, weights: Array, dof: Array) -> Array:
    """``sum_j w_j d_ji^2 / (dof s^2)``, the mean over targets, (M,).

    Cook's distance with the variance s^2 of leave-one-out residuals (M, t), ``sum w r^2 / sum w``,
    in place of that of the fit, which is nothing where the fit interpolates. `squares` (t, M).
    """
    variance = weights @ np.square(left_out) / weights.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = squares / (dof * variance)[:, None]
    return np.asarray(found.mean(axis=0))


def squared_scores(residuals: Array, weights: Array) -> Array:
    """Minus the weighted mean squares (m,) of residuals (m, M, t), averaged over targets."""
    squares = np.square(residuals).mean(axis=2)
    # a sample of weight zero may have no residual at all
    squares = np.where(weights > 0, squares, 0.0)
    return np.asarray(-np.einsum("mn,mn->m", weights, squares) / weights.sum(axis=1))


def others(weights: Array, some: Index) -> Array:
    """The weights (m, M) of all samples but one."""
    out = np.tile(weights, (some.size, 1))
    out[np.arange(some.size), some] = 0.0
    return out
