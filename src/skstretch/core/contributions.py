"""The additive shares of single features in a prediction.

Predictions are ``f(x) = level + sum_j alpha_j P_j(x_j)``, a sum of one curve a feature. About the
means p of the features over some background,

``phi_j(x) = alpha_j (P_j(x_j) - p_j)``  and  ``f(x) = base + sum_j phi_j(x)``

with ``base = level + sum_j alpha_j p_j``, the mean prediction of the background. Nothing in f
depends on two features at once, so that every order in which features become known gives the same
shares: they are the Shapley values of f for independent features.
"""

from collections.abc import Sequence

import numpy as np

from skstretch.core.features import Features
from skstretch.core.types import Array

# roundings of size eps that a sum of products leaves
ROUNDINGS = 8.0


def feature_shares(features: Features, means: Array, coef: Array) -> Array:
    """``alpha_j (P_ij - p_j)``, (n, d, t), for coefficients (t, d); means p less the offset."""
    excess = features.excess(1.0)
    excess -= means
    out = np.empty((*excess.shape, coef.shape[0]))
    for target, own in enumerate(coef):
        np.multiply(excess, own, out=out[:, :, target])
    return out


def base_values(level: Array, terms: Sequence[tuple[Array, Array]]) -> Array:
    """``level + sum_j alpha_j p_j``, (t,), for pairs of means (D,) and coefficients (t, D).

    What rounding leaves of zero, as the mean score of balanced classes, is zero.
    """
    total = level + sum(coef @ means for means, coef in terms)
    size = np.abs(level) + sum(np.abs(coef) @ np.abs(means) for means, coef in terms)
    return np.where(np.abs(total) <= ROUNDINGS * np.finfo(np.float64).eps * size, 0.0, total)
