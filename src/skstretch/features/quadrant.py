"""The first-quadrant transform as a scikit-learn transformer."""

from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skstretch._version import Versioned
from skstretch.core.quadrant import Quadrant, checked_offsets
from skstretch.core.types import Array
from skstretch.designs import check_unmasked, checked_weights, is_dask
from skstretch.features.lazy import by_blocks, checked, moments_of


class FirstQuadrant(OneToOneFeatureMixin, TransformerMixin, Versioned, BaseEstimator):
    """Standardise every column, then map it to the positive axis: ``exp(a z + b)``.

    Parameters
    ----------
    a : float, default=-0.2
        Slope of the transform, not zero.
    b : float or array-like of shape (n_features,), default=0.0
        Shift of the transform, for all features or for each.
    bound : bool, default=True
        Bound z at `transform` to the training range widened by its width on either side, so that
        a column which hardly varied in training cannot explode.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation (divisor n) of the training data. Constant columns have scale
        1 and are mapped to ``exp(b)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    StretchyRegressor : Has this transform inside.
    sklearn.preprocessing.StandardScaler : The first half of it.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch import FirstQuadrant
    >>> X = np.array([[-1.0], [1.0]])
    >>> FirstQuadrant(a=1.0).fit_transform(X).round(4).tolist()
    [[0.3679], [2.7183]]
    """

    def __init__(self, a: float = -0.2, b: Any = 0.0, *, bound: bool = True):
        self.a = a
        self.b = b
        self.bound = bound

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FirstQuadrant":
        """Learn mean, scale and range of every column; y is ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data; a Dask array too.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample.

        Returns
        -------
        self : FirstQuadrant
            Fitted.
        """
        X = checked(self, X, reset=True)
        weights = checked_weights(sample_weight, X)
        a, offsets = _checked_slope(self.a), checked_offsets(self.b, X.shape[1])
        moments = moments_of(X, weights)
        self._quadrant = Quadrant(
            "exp", moments, a, np.broadcast_to(offsets, moments.mean.shape).copy()
        )
        self.mean_, self.scale_ = moments.mean, moments.scale
        return self

    def transform(self, X: Any) -> Array:
        """``exp(a z + b)``, positive, of the shape and float type of X; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data to transform.

        Returns
        -------
        P : ndarray of shape (n_samples, n_features)
            The transformed features.
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        work = partial(_transformed, self._quadrant, self.bound)
        return by_blocks(work, X) if is_dask(X) else work(X, *(slice(0, n) for n in X.shape))

    def inverse_transform(self, X: Any) -> Array:
        """Raw columns from transformed ones, where z was within its bound; lazy as `transform`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Transformed features.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The numbers that they were made of.
        """
        check_is_fitted(self)
        check_unmasked(X)
        X = checked(self, X, reset=False) if is_dask(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {X.shape}; {self.n_features_in_} columns are expected.")
        work = partial(_restored, self._quadrant)
        return by_blocks(work, X) if is_dask(X) else work(X, *(slice(0, n) for n in X.shape))


def _transformed(quadrant: Quadrant, bound: bool, X: Any, rows: slice, columns: slice) -> Array:
    """Features of the part of the data that lies in these rows and columns."""
    X = np.asarray(X)
    features = quadrant.features(X, columns, bound)
    with np.errstate(over="ignore"):
        P = features.power(1.0, np.zeros(1)).astype(X.dtype, copy=False)
    if not np.isfinite(P).all():
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(P)))
        place = f"row {row + rows.start}, column {column + columns.start}"
        raise ValueError(f"exp(a z + b) overflows at {place}: use a smaller |a|, or bound=True.")
    return P


def _restored(quadrant: Quadrant, X: Any, rows: slice, columns: slice) -> Array:
    """Raw numbers of the part of the transformed data that lies in these rows and columns."""
    X = np.asarray(X)
    if not (X > 0).all():
        place = f"rows {rows.start} to {rows.stop - 1}"
        raise ValueError(f"X has an entry {X.min():g} in {place}: transformed data is positive.")
    return quadrant.take(columns).inverse(X).astype(X.dtype, copy=False)


def _checked_slope(a: Any) -> float:
    if not isinstance(a, Real) or not np.isfinite(float(a)) or a == 0:
        raise ValueError(f"a={a!r} must be finite and not zero: exp(0 z + b) is constant.")
    return float(a)
