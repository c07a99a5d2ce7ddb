"""Stretchy regression with the paper's settings."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import NDArray

from skstretch import StretchyRegressor

__all__ = ["fit_stretchy"]


def fit_stretchy(
    X: Any, y: NDArray[Any], k: float, c: float, density: float, *, a: float, quadrant: str
) -> StretchyRegressor:
    """SR as in the paper: a column of ones, z-scores mapped by exp(a z), two passes by density.

    Classes are regressed as ±1 and cut at zero. This is `StretchyClassifier` with
    ``threshold="zero"`` without its probabilities, which the paper's training time has not.
    """
    model = StretchyRegressor(
        k=k, c=c, a=a, quadrant=quadrant, density=density, fit_intercept="column"
    )
    with warnings.catch_warnings():
        # Loss of digits is part of what is measured: c = 1e100 leaves no regularisation.
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y)
