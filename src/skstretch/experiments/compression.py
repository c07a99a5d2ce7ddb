"""How few coefficients carry a model, against k: figures for the claims on compression.

Two measures of a vector α of length D. The strong share, which is what the eye sees in the sorted
coefficients of Fig. 7 and 8 ::

    # {j : |α_j| ≥ max_i |α_i| / 10} / D

and the participation, 1 where all are equally large and 1/D where one stands alone ::

    ‖α‖₁² / (D ‖α‖₂²)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skstretch.experiments.series import join, series
from skstretch.experiments.sets import SETS
from skstretch.experiments.settings import Settings
from skstretch.experiments.stretchy_methods import fit_stretchy

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compression_curves", "participation", "strong_share"]

FIGURE = "compression"
STRONG = 0.1


def strong_share(coef: ArrayLike) -> float:
    """Share of the coefficients that reach a tenth of the largest.

    Examples
    --------
    >>> from skstretch.experiments.compression import strong_share
    >>> strong_share([1.0, -2.0, 0.1, 0.0])
    0.5
    """
    size = np.abs(np.asarray(coef, dtype=float))
    return float(np.mean(size >= STRONG * size.max())) if size.any() else float("nan")


def participation(coef: ArrayLike) -> float:
    """‖α‖₁² / (D ‖α‖₂²).

    Examples
    --------
    >>> from skstretch.experiments.compression import participation
    >>> participation([1.0, -1.0, 1.0, 1.0]), participation([0.0, 0.0, 3.0, 0.0])
    (1.0, 0.25)
    """
    size = np.abs(np.asarray(coef, dtype=float))
    if not size.any():
        return float("nan")
    size = size / size.max()
    return float(size.sum() ** 2 / (size.size * np.sum(size**2)))


def compression_curves(dataset: str, X: Any, y: Any, settings: Settings) -> pd.DataFrame:
    """Both measures of SR without regularisation against k, learned from X and y.

    Figure ``compression``, panel ``<dataset>: under-determined`` or ``over-determined``, series
    ``strong share`` and ``participation``.
    """
    coefs = [
        fit_stretchy(
            X, y, k, settings.free_strength, 1.0, a=settings.a, quadrant=SETS[dataset].quadrant
        ).coef_
        for k in settings.powers
    ]
    kind = "under-determined" if X.shape[1] > X.shape[0] else "over-determined"
    measures = {"strong share": strong_share, "participation": participation}
    return join(
        [
            series(FIGURE, f"{dataset}: {kind}", name, settings.powers, [*map(measure, coefs)])
            for name, measure in measures.items()
        ]
    )
