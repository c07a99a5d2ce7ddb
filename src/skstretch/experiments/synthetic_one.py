"""The paper's first synthetic example: five points, a 10th-order polynomial (Table 1, Fig. 4).

The paper does not name its noise. It prints the standard deviation of each coefficient over the
noisy draws, and that is enough: the coefficients are linear in the targets, ``alpha = A y``, so
noise of deviation sigma on each target gives coefficient j the deviation ``sigma |A_j|`` with
``A_j`` the j-th row of A. `implied_noise` solves for sigma.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from skstretch.core import solve_qr
from skstretch.experiments.paper_table1 import PAPER_TABLE1
from skstretch.experiments.series import join, series

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SHOWN",
    "NoiseLevel",
    "coefficients",
    "column_name",
    "five_points",
    "implied_noise",
    "noisy_targets",
    "output_curves",
    "powers",
    "table_curves",
]

ORDER = 10
N_DRAWS = 10
SHOWN = ((1.2, 1e15), (1.8, 1e4))  # the two panels of Fig. 4


def five_points() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x = 0.1, ..., 0.5 and ``y = 1 + 0.6 x - 1.5 x^3 + 0.8 x^4``."""
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    return x, 1 + 0.6 * x - 1.5 * x**3 + 0.8 * x**4


def powers(x: ArrayLike) -> NDArray[np.float64]:
    """The powers 0 to 10 of x, one column each."""
    return np.vander(np.asarray(x, dtype=float), ORDER + 1, increasing=True)


def coefficients(targets: ArrayLike, k: float, c: float) -> NDArray[np.float64]:
    """Coefficients of the powers 0 to 10 for targets at the five points.

    By sorted, pivoted QR: the formula by LU keeps no more than three digits at k = 1.2, c = 1e15.

    Parameters
    ----------
    targets : array of shape (5,) or (5, t)
    k, c : float

    Returns
    -------
    array of shape (11,) or (11, t)
    """
    return solve_qr(powers(five_points()[0]), targets, k, c)


def column_name(k: float, c: float) -> str:
    """The panel name of a column of Table 1, such as ``"k=1.2, c=1e15"``."""
    return f"k={k:g}, c=1e{round(np.log10(c))}"


@dataclass(frozen=True)
class NoiseLevel:
    """The noise that the paper's printed deviations imply.

    Attributes
    ----------
    sigma : float
        Geometric mean over the columns of the geometric mean of ``std_j / |A_j|`` in a column.
    by_column : dict of (k, c) to float
        The mean within each column.
    ratios : dict of (k, c) to array
        ``std_j / |A_j|`` of each deviation that was used.
    lowest, highest : float
        Each sigma between them puts every ratio within the central 95 % of the deviations that
        ten draws of that noise show; there is none where lowest exceeds highest.
    """

    sigma: float
    by_column: dict[tuple[float, float], float]
    ratios: dict[tuple[float, float], NDArray[np.float64]]
    lowest: float
    highest: float


def implied_noise(smallest: float = 0.01) -> NoiseLevel:
    """Sigma from the deviations of Table 1 that are printed as `smallest` or more.

    Smaller ones have one digit. Every column has one vote, since the deviations within a column
    follow from the same few combinations of the noise and are far from independent.

    Examples
    --------
    >>> from skstretch.experiments.synthetic_one import implied_noise
    >>> round(implied_noise().sigma, 3)
    0.012
    """
    ratios = {}
    for (k, c), column in PAPER_TABLE1.items():
        printed = np.array(column.noisy_std)
        used = printed >= smallest
        ratios[k, c] = printed[used] / np.linalg.norm(coefficients(np.eye(5), k, c), axis=1)[used]
    by_column = {cell: float(np.exp(np.mean(np.log(r)))) for cell, r in ratios.items()}
    every = np.concatenate(list(ratios.values()))
    low, high = np.sqrt(chi2.ppf([0.025, 0.975], N_DRAWS - 1) / (N_DRAWS - 1))
    sigma = float(np.exp(np.mean(np.log(list(by_column.values())))))
    return NoiseLevel(sigma, by_column, ratios, float(every.max() / high), float(every.min() / low))


def noisy_targets(sigma: float, seed: int = 0) -> NDArray[np.float64]:
    """Ten draws of the targets with normal noise of deviation sigma, of shape (5, 10)."""
    _, y = five_points()
    return y[:, None] + sigma * np.random.default_rng(seed).standard_normal((y.size, N_DRAWS))


def table_curves(seed: int = 0) -> pd.DataFrame:
    """Table 1: x is the coefficient's index, y its value, one panel per column.

    Series ``noiseless``, ``noisy mean``, ``noisy std`` (divisor 9, over the same ten draws in
    every column), ``expected std`` (``sigma |A_j|``) and the paper's own ``paper noiseless``,
    ``paper noisy mean``, ``paper noisy std``. Panel ``noise`` holds ``implied sigma`` with its
    ``lowest`` and ``highest``.
    """
    noise, index = implied_noise(), np.arange(ORDER + 1)
    targets = noisy_targets(noise.sigma, seed)
    bounds = {"implied sigma": noise.sigma, "lowest": noise.lowest, "highest": noise.highest}
    tables = [series("table1", "noise", name, 0.0, value) for name, value in bounds.items()]
    for (k, c), column in PAPER_TABLE1.items():
        noisy = coefficients(targets, k, c)
        norms = np.linalg.norm(coefficients(np.eye(5), k, c), axis=1)
        values = {
            "noiseless": coefficients(five_points()[1], k, c),
            "noisy mean": noisy.mean(axis=1),
            "noisy std": noisy.std(axis=1, ddof=1),
            "expected std": noise.sigma * norms,
            "paper noiseless": column.noiseless,
            "paper noisy mean": column.noisy_mean,
            "paper noisy std": column.noisy_std,
        }
        panel = column_name(k, c)
        tables += [series("table1", panel, name, index, v) for name, v in values.items()]
    return join(tables)


def output_curves(seed: int = 0) -> pd.DataFrame:
    """Fig. 4: what is learned from the five points and from ten noisy draws of them.

    Series ``truth`` (the quartic), ``learned``, ``learned, draw i``, ``points`` and
    ``points, draw i``.
    """
    x, y = five_points()
    grid = np.linspace(0.05, 0.55, 201)
    targets = noisy_targets(implied_noise().sigma, seed)
    tables = []
    for k, c in SHOWN:
        panel = column_name(k, c)
        truth = 1 + 0.6 * grid - 1.5 * grid**3 + 0.8 * grid**4
        learned = powers(grid) @ coefficients(np.column_stack([y, targets]), k, c)
        tables += [
            series("fig4", panel, "truth", grid, truth),
            series("fig4", panel, "learned", grid, learned[:, 0]),
            series("fig4", panel, "points", x, y),
        ]
        for i in range(N_DRAWS):
            tables.append(series("fig4", panel, f"learned, draw {i + 1}", grid, learned[:, i + 1]))
            tables.append(series("fig4", panel, f"points, draw {i + 1}", x, targets[:, i]))
    return join(tables)
