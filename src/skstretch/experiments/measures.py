"""Curves of the smoothed absolute value (Fig. 1) and contours of the k-measure (Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from skstretch.core import k_measure, k_measure_power, smooth_abs
from skstretch.experiments.series import join, series

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EPSILON", "LEVELS", "MEASURES", "POWERS", "absolute_curves", "contour_curves"]

# The settings of the caption of Fig. 2.
LEVELS = (0.1, 0.4, 0.7, 1.0)
POWERS = (1.8, 1.5, 1.1)
EPSILON = 1e-4

Measure = Callable[[NDArray[np.float64], float], float]
MEASURES: dict[str, Measure] = {
    "p-norm": partial(k_measure, eps=0.0),
    "k-measure": partial(k_measure, eps=EPSILON),
    "k-measure to the k": partial(k_measure_power, eps=EPSILON),
}


def absolute_curves(epsilons: tuple[float, ...] = (1.0, 0.1, 0.01, 1e-4, 0.0)) -> pd.DataFrame:
    """``f(alpha) = sqrt(alpha**2 + eps)`` on [-1, 1] at several eps; 0 is ``|alpha|`` itself.

    The paper says "several" values without naming them; these are ours.
    """
    alpha = np.linspace(-1, 1, 401)
    return join(
        [series("fig1", "", f"eps={eps:g}", alpha, smooth_abs(alpha, eps)) for eps in epsilons]
    )


def contour_curves(n_angles: int = 16) -> pd.DataFrame:
    """Contours of the three measures of two coefficients, as closed lines.

    Panel ``"<measure>, <k>"``, series ``"level <value>"``; x and y are the two coefficients.

    Parameters
    ----------
    n_angles : int
        Rays in the eighth of the circle from which symmetry gives the rest.
    """
    tables = []
    for name, measure in MEASURES.items():
        for k in POWERS:
            for level in LEVELS:
                x, y = _contour(measure, k, level, n_angles)
                tables.append(series("fig2", f"{name}, {k:g}", f"level {level:g}", x, y))
    return join(tables)


def _contour(measure: Measure, k: float, level: float, n_angles: int) -> NDArray[np.float64]:
    """The closed line ``measure(alpha, k) = level``, of shape (2, n).

    A measure of absolute values grows along every ray from the origin, so that each ray meets
    the line once. Both coefficients count alike: the first eighth of the circle has it all.
    """
    # Rays crowd at the axis, where the line bends most as k falls to 1.
    angles = np.pi / 4 * np.linspace(0, 1, n_angles) ** 2
    rays = np.array([np.cos(angles), np.sin(angles)])
    radii = [brentq(lambda r, ray=ray: measure(r * ray, k) - level, 0, 2) for ray in rays.T]
    eighth = rays * radii
    quarter = np.hstack([eighth, eighth[::-1, -2::-1]])
    upper = np.hstack([quarter, quarter[:, -2::-1] * [[-1], [1]]])
    return np.hstack([upper, upper[:, -2::-1] * [[1], [-1]]])
