"""Prediction intervals from leave-one-out models."""

import math

import numpy as np

from skstretch.core.types import Array


def ranks(n: int, coverage: float) -> tuple[int, int]:
    """Which of n sorted values bound from below and above, counted from 1.

    Below: ``floor((1 - coverage) (n + 1))``; above: ``ceil(coverage (n + 1))``. Zero and n + 1
    stand for minus and plus infinity.
    """
    # 0.9 * 10 is a hair above 9: coverages are meant in decimals
    return (
        math.floor(round((1.0 - coverage) * (n + 1), 9)),
        min(n + 1, math.ceil(round(coverage * (n + 1), 9))),
    )


def jackknife_plus(predictions: Array, residuals: Array, coverage: float) -> tuple[Array, Array]:
    """Bounds from leave-one-out predictions (N, M) at new points and residuals (M,).

    Lower: the ``floor((1 - coverage)(M + 1))`` smallest of ``prediction_i - |residual_i|``;
    upper: the ``ceil(coverage (M + 1))`` smallest of ``prediction_i + |residual_i|``.
    """
    n = residuals.size
    low, high = ranks(n, coverage)
    size = np.abs(residuals)
    lower = np.full(predictions.shape[0], -np.inf)
    upper = np.full(predictions.shape[0], np.inf)
    if low >= 1:
        lower = np.partition(predictions - size, low - 1, axis=1)[:, low - 1]
    if high <= n:
        upper = np.partition(predictions + size, high - 1, axis=1)[:, high - 1]
    return lower, upper


def residual_width(residuals: Array, coverage: float) -> float:
    """Half the width of an interval around a prediction: a quantile of ``|residual|``."""
    n = residuals.size
    _, high = ranks(n, coverage)
    return float(np.sort(np.abs(residuals))[high - 1]) if high <= n else math.inf
