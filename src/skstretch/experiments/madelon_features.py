"""Two features of Madelon before and after the first-quadrant transform (Fig. 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skstretch import FirstQuadrant
from skstretch.experiments.series import join, series

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["feature_curves"]


def feature_curves(X: Any, *, a: float = -0.2, seed: int = 0, n_bins: int = 40) -> pd.DataFrame:
    """The map ``exp(a (x - mean) / scale)`` of the first two features, with distributions.

    Mean and scale come from one random half of the rows; the other half is unseen, as in the
    paper's two folds. Panel ``"feature 1"`` and ``"feature 2"``; series ``"map"`` (over the range
    of both halves), ``"before, training"``, ``"before, unseen"``, ``"after, training"``,
    ``"after, unseen"`` (densities: x is a bin's middle) and ``"linearity"``, whose single y is
    the squared correlation of the training values before and after.

    Parameters
    ----------
    X : array of shape (n_samples, at least 2)
        Raw features.
    a : float
        The paper's -0.2.
    seed : int
        Of the split into halves.
    n_bins : int
        Bins of each distribution.
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[0] < 4 or X.shape[1] < 2:
        raise ValueError(f"X has shape {X.shape}; at least four rows and two features are needed.")
    order = np.random.default_rng(seed).permutation(X.shape[0])
    seen, unseen = np.array_split(order, 2)
    return join([_feature(X[seen, j], X[unseen, j], j, a, n_bins) for j in range(2)])


def _feature(
    training: NDArray[np.float64], unseen: NDArray[np.float64], j: int, a: float, n_bins: int
) -> pd.DataFrame:
    panel = f"feature {j + 1}"
    quadrant = FirstQuadrant(a=a).fit(training[:, None])

    def after(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return quadrant.transform(x[:, None]).ravel()

    both = np.concatenate([training, unseen])
    x = np.linspace(both.min(), both.max(), 200)
    tables = [series("fig3", panel, "map", x, after(x))]
    for name, values in {"training": training, "unseen": unseen}.items():
        before, mapped = (
            _density(values, both, n_bins),
            _density(after(values), after(both), n_bins),
        )
        tables.append(series("fig3", panel, f"before, {name}", *before))
        tables.append(series("fig3", panel, f"after, {name}", *mapped))
    linearity = np.corrcoef(training, after(training))[0, 1] ** 2
    tables.append(series("fig3", panel, "linearity", 0.0, linearity))
    return join(tables)


def _density(
    values: NDArray[np.float64], both: NDArray[np.float64], n_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle and density of equal bins over the range of `both`."""
    density, edges = np.histogram(values, n_bins, (both.min(), both.max()), density=True)
    return (edges[:-1] + edges[1:]) / 2, density
