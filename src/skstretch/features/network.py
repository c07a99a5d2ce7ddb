"""A random projection network: fixed random weights, sigmoid units."""

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstretch._version import Versioned
from skstretch.core.types import Array
from skstretch.designs import is_dask
from skstretch.features.quadrant import by_rows, checked, computed


class RandomNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Versioned, BaseEstimator):
    """Hidden layer with random, untrained weights: ``sigmoid(scale * (z W + v))``.

    Columns are standardised first, so that the units work in their curved range. All outputs are
    positive; follow it with ``StretchyRegressor(quadrant="identity")``.

    Parameters
    ----------
    n_units : int, default=500
        Number of units, which is that of the outputs.
    scale : float, default=1.0
        Steepness: large values make the units nearly binary.
    random_state : int, RandomState or None, default=None
        The draw of the weights; an int gives the same ones every time.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_units)
        Normal with variance 1/n_features.
    biases_ : ndarray of shape (n_units,)
        Standard normal.
    mean_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    GaussianBasis : Bells around samples instead of random units.
    StretchyRegressor : Takes the outputs with ``quadrant="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch import RandomNetwork
    >>> H = RandomNetwork(n_units=3, random_state=0).fit_transform(np.eye(4))
    >>> H.shape, bool((H > 0).all())
    ((4, 3), True)
    """

    def __init__(self, n_units: Any = 500, *, scale: Any = 1.0, random_state: Any = None):
        self.n_units = n_units
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "RandomNetwork":
        """Draw the weights and learn mean and scale of the columns; y is ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data; a Dask array too.
        y : None
            Not used.

        Returns
        -------
        self : RandomNetwork
            Fitted.
        """
        X = checked(self, X, reset=True)
        if not isinstance(self.n_units, (int, np.integer)) or self.n_units < 1:
            raise ValueError(f"n_units={self.n_units!r} must be an int of at least 1.")
        self._check_scale()
        rng = check_random_state(self.random_state)
        self.mean_, deviation = computed(X.mean(axis=0), X.std(axis=0))
        self.scale_ = np.where(deviation > 0, deviation, 1).astype(X.dtype)
        weights = rng.standard_normal((X.shape[1], self.n_units)) / np.sqrt(X.shape[1])
        self.weights_ = weights.astype(X.dtype)
        self.biases_ = rng.standard_normal(self.n_units).astype(X.dtype)
        self._n_features_out = self.n_units
        return self

    def _check_scale(self) -> None:
        if not isinstance(self.scale, Real) or not 0 < float(self.scale) < np.inf:
            raise ValueError(f"scale={self.scale!r} must be positive and finite.")

    def transform(self, X: Any) -> Array:
        """Evaluate the units; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to transform.

        Returns
        -------
        H : ndarray of shape (n_samples, n_units)
            Values in (0, 1).
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        if is_dask(X):
            return by_rows(self.transform, X, self.n_units)
        activity = ((X - self.mean_) / self.scale_) @ self.weights_
        activity += self.biases_
        activity *= self.scale
        return np.asarray(expit(activity, out=activity))
