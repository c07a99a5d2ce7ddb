"""Sorted coefficients of SR and of LASSO on one data set (Fig. 7, 8).

Both are learned from one random half of the rows, as in a fold of the study. SR has the paper's
settings: a = -0.2, a column of ones, no regularisation (c = 1e100). The paper does not say at
which penalty it drew LASSO; here it is the one of NumLambda = 100 with the lowest squared error on
the other half, which is how the paper chooses among penalties elsewhere.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyRegressor
from skstretch.exceptions import IllConditionedWarning
from skstretch.experiments.lasso import fit_lasso
from skstretch.experiments.maps import take_rows
from skstretch.experiments.series import join, series

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SHOWN", "Shown", "coefficient_curves", "lasso_coefficients", "stretchy_coefficients"]

KS = (1.1, 1.25, 1.5, 1.75, 2.0)
MIXINGS = (1.0, 0.75, 0.5, 0.25, 0.0001)


@dataclass(frozen=True)
class Shown:
    """What the paper shows of a data set: the figure, the k of SR, the mixing values of LASSO."""

    figure: str
    ks: tuple[float, ...]
    mixings: tuple[float, ...] = (1.0,)
    quadrant: str = "exp"


SHOWN = {
    "prostate": Shown("fig7", KS, MIXINGS),
    "diabetes": Shown("fig7", KS, MIXINGS),
    "corn": Shown("fig7", (1.1,)),
    "tfidf": Shown("fig7", (1.25,)),
    "gaze": Shown("fig7", (1.25,), quadrant="identity"),
    **{
        name: Shown("fig8", (1.1,))
        for name in ("arcene", "dexter", "dorothea", "gisette", "madelon")
    },
}


def coefficient_curves(
    dataset: str,
    X: Any,
    y: Any,
    *,
    seed: int = 0,
    methods: tuple[str, ...] = ("SR", "LASSO"),
) -> pd.DataFrame:
    """The curves of one data set, coefficients in ascending order, the constant not among them.

    Panels ``"<dataset>: SR"`` with series ``k=...`` and ``"<dataset>: LASSO"`` with series
    ``mixing=...``; x counts from 1.

    Parameters
    ----------
    dataset : str
        A key of `SHOWN`.
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        -1 and +1 for classes.
    seed : int
        Of the split into halves.
    methods : tuple of {"SR", "LASSO"}
        LASSO needs python-glmnet.
    """
    if dataset not in SHOWN:
        raise ValueError(f"dataset={dataset!r} is unknown; choose from {sorted(SHOWN)}.")
    shown, y = SHOWN[dataset], np.asarray(y, dtype=float)
    first, second = np.array_split(np.random.default_rng(seed).permutation(len(y)), 2)
    train, other = (take_rows(X, first), y[first]), (take_rows(X, second), y[second])
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    if "SR" in methods:
        found["SR"] = {
            f"k={k:g}": stretchy_coefficients(*train, k, shown.quadrant) for k in shown.ks
        }
    if "LASSO" in methods:
        found["LASSO"] = {
            f"mixing={mixing:g}": lasso_coefficients(train, other, mixing)
            for mixing in shown.mixings
        }
    return join(
        [
            _sorted(shown.figure, f"{dataset}: {method}", label, coef)
            for method, lines in found.items()
            for label, coef in lines.items()
        ]
    )


def stretchy_coefficients(
    X: Any, y: NDArray[np.float64], k: float, quadrant: str = "exp"
) -> NDArray[np.float64]:
    """Weights of the transformed features without regularisation.

    Over-determined sets and k near 1 leave few digits here, as the paper's own runs had; the
    library's warning of that is expected and not shown.
    """
    model = StretchyRegressor(k, 1e100, a=-0.2, quadrant=quadrant, fit_intercept="column")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)
        return np.asarray(model.fit(X, y).coef_)


def lasso_coefficients(
    train: tuple[Any, NDArray[np.float64]],
    other: tuple[Any, NDArray[np.float64]],
    mixing: float,
    count: int = 100,
) -> NDArray[np.float64]:
    """Weights per standard deviation at the penalty with the lowest squared error on `other`."""
    path = fit_lasso(*train, mixing, count)
    best = int(np.argmin(path.errors(*other)))
    deviation = np.sqrt(StandardScaler(with_mean=False).fit(train[0]).var_)
    return np.asarray(path.coef[:, best] * deviation)


def _sorted(figure: str, panel: str, name: str, coef: NDArray[np.float64]) -> pd.DataFrame:
    return series(figure, panel, name, np.arange(1, coef.size + 1), np.sort(coef))
