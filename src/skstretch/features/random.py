"""Features around what is drawn at random: Gaussian basis functions, a projection network."""

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstretch._version import Versioned
from skstretch.core.types import Array
from skstretch.designs import is_dask
from skstretch.features.quadrant import by_rows, checked, computed


class GaussianBasis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Versioned, BaseEstimator):
    """``exp(-|x - centre|**2 / (2 width**2))`` for centres drawn from the training samples.

    Parameters
    ----------
    n_centers : int, default=100
        At most the number of samples; more means all samples.
    width : float or "median", default="median"
        Width of the bells; ``"median"`` is the median distance between centres.
    random_state : int, RandomState or None, default=None
        Which samples become centres.

    Attributes
    ----------
    centers_ : ndarray of shape (n_centers, n_features)
        The samples that became centres.
    width_ : float
        The width in use.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    RandomNetwork : Random units instead of bells.
    StretchyRegressor : Takes the outputs with ``quadrant="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch import GaussianBasis
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> GaussianBasis(n_centers=3, width=1.0).fit(X).transform(X).max(axis=1).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, n_centers: Any = 100, *, width: Any = "median", random_state: Any = None):
        self.n_centers = n_centers
        self.width = width
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "GaussianBasis":
        """Draw the centres and set the width; y is ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data; a Dask array too.
        y : None
            Not used.

        Returns
        -------
        self : GaussianBasis
            Fitted.
        """
        X = checked(self, X, reset=True)
        if not isinstance(self.n_centers, (int, np.integer)) or self.n_centers < 1:
            raise ValueError(f"n_centers={self.n_centers!r} must be an int of at least 1.")
        rng = check_random_state(self.random_state)
        count = min(self.n_centers, X.shape[0])
        chosen = np.sort(rng.choice(X.shape[0], size=count, replace=False))
        (self.centers_,) = computed(X[chosen])
        self.width_ = self._checked_width()
        self._n_features_out = count
        return self

    def _checked_width(self) -> float:
        if isinstance(self.width, str):
            if self.width != "median":
                raise ValueError(f'width={self.width!r} is not known: use a number or "median".')
            upper = np.triu_indices(self.centers_.shape[0], k=1)
            distances = self._distances(self.centers_)[upper]
            distances = distances[distances > 0]
            return float(np.median(distances)) if distances.size else 1.0
        if not isinstance(self.width, Real) or not 0 < float(self.width) < np.inf:
            raise ValueError(f"width={self.width!r} must be positive and finite.")
        return float(self.width)

    def _distances(self, X: Array, squared: bool = False) -> Array:
        # around their mean: |x|**2 - 2 x'c + |c|**2 loses the distances of points far from zero
        middle = self.centers_.mean(axis=0)
        return np.asarray(euclidean_distances(X - middle, self.centers_ - middle, squared=squared))

    def transform(self, X: Any) -> Array:
        """Evaluate the basis functions; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to transform.

        Returns
        -------
        H : ndarray of shape (n_samples, n_centers)
            Values in [0, 1].
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        if is_dask(X):
            return by_rows(self.transform, X, self.centers_.shape[0])
        distances = self._distances(X, squared=True)
        distances /= -2.0 * self.width_**2
        return np.asarray(np.exp(distances, out=distances))


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
