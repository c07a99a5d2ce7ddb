"""Madelon's random projection network: few relevant features, many random units, then SR."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skstretch import RandomNetwork, StretchyRegressor

__all__ = ["ProjectionNetwork", "fit_projection", "relevant_features"]


def relevant_features(X: NDArray[Any], y: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The features with the largest |x_j'y|: the dot products of the columns with the target.

    The columns are centred, which changes nothing where both classes are equally frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch.experiments.projection import relevant_features
    >>> X = np.array([[5.0, 0.0, 1.0], [5.0, 3.0, 0.0]])
    >>> relevant_features(X, np.array([-1.0, 1.0]), 2).tolist()
    [1, 2]
    """
    products = np.abs((X - X.mean(axis=0)).T @ y)
    return np.argsort(-products, kind="stable")[:count]


@dataclass(frozen=True)
class ProjectionNetwork:
    """Chosen features, random units, and the stretchy regression on their outputs."""

    features: NDArray[np.intp]
    network: RandomNetwork
    model: StretchyRegressor

    @property
    def coef(self) -> NDArray[Any]:
        """Weights of the units."""
        return np.asarray(self.model.coef_)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Outputs for new data; above zero is class +1."""
        return np.asarray(self.model.predict(self.network.transform(X[:, self.features])))


def fit_projection(
    X: NDArray[Any], y: NDArray[Any], size: int, count: int, *, k: float, c: float, seed: int
) -> ProjectionNetwork:
    """Choose `count` features on the training data, project them to `size` units, fit SR."""
    features = relevant_features(X, y, count)
    network = RandomNetwork(size, random_state=seed).fit(X[:, features])
    model = StretchyRegressor(k=k, c=c, quadrant="identity", fit_intercept="column")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(network.transform(X[:, features]), y)
    return ProjectionNetwork(features, network, model)
