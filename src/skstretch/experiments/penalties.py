"""The penalty sequences of MATLAB's ``lasso``, for glmnet.

``lasso(X, y, 'Alpha', α, 'NumLambda', n)`` centres y, standardises the columns of X with the
divisor n_samples (its ``std(X, 1)``), and minimises ::

    ‖y − b0 − X b‖² / (2 n_samples) + λ (α ‖b‖₁ + (1 − α)/2 ‖b‖²)

for n penalties that fall geometrically from the least λ at which all b are zero ::

    λ_max = max_j |x_j'(y − ȳ)| / (n_samples σ_j α)

down to λ_max · LambdaRatio, 1e-4 by default. ``NumLambda = 1`` is λ_max alone: a model without
features, whose prediction is the mean of y. ``NumLambda = 2`` is λ_max and its 1e-4th part.
A path ends early at the first penalty whose fit leaves less than 1e-3 of the variance of y.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

__all__ = ["EXPLAINED", "RATIO", "as_glmnet", "largest_penalty", "penalty_sequence"]

RATIO = 1e-4
EXPLAINED = 1e-3


def largest_penalty(X: Any, y: NDArray[Any], mixing: float) -> float:
    """λ_max, the least penalty at which every coefficient is zero; constant columns are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch.experiments.penalties import largest_penalty
    >>> largest_penalty(np.array([[0.0], [2.0]]), np.array([1.0, 5.0]), mixing=0.5)
    4.0
    """
    deviation = np.sqrt(StandardScaler(with_mean=False).fit(X).var_)
    products = np.abs(X.T @ (y - y.mean()))
    varies = deviation > 0
    return float((products[varies] / deviation[varies]).max() / (len(y) * mixing))


def penalty_sequence(largest: float, count: int, ratio: float = RATIO) -> NDArray[np.float64]:
    """`count` penalties from `largest` down to ``ratio * largest``; one is `largest` alone.

    Examples
    --------
    >>> from skstretch.experiments.penalties import penalty_sequence
    >>> penalty_sequence(10.0, 3).tolist()
    [10.0, 0.1, 0.001]
    """
    if count < 1:
        raise ValueError(f"count={count!r}: a sequence has at least one penalty.")
    if count == 1:
        return np.array([largest])
    return largest * np.logspace(0, np.log10(ratio), count)


def as_glmnet(
    penalties: NDArray[np.float64], mixing: float, deviation: float
) -> tuple[NDArray[np.float64], float]:
    """Penalties and mixing value with which glmnet solves MATLAB's problem on y / `deviation`.

    glmnet divides y by its standard deviation s, which leaves the ℓ1 part of the penalty as it
    was and shrinks the ℓ2 part by s. On y/s, whose deviation is 1, MATLAB's problem has the ℓ1
    weight λα/s and the ℓ2 weight λ(1 − α), so ::

        λ' = λ (α/s + 1 − α),    α' = (α/s) / (α/s + 1 − α)
    """
    first, second = mixing / deviation, 1 - mixing
    return penalties * (first + second), first / (first + second)
