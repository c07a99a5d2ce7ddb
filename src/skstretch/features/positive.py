"""Transformers with positive outputs: the first quadrant, Gaussian bells, a random network.

Dask arrays stay lazy in them, and a fit computes no more than it needs.
"""

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skstretch._version import Versioned
from skstretch.core.features import Moments, column_moments, resolution
from skstretch.core.quadrant import Quadrant, checked_offsets
from skstretch.core.types import Array
from skstretch.designs import check_finite, check_unmasked, checked_weights, is_dask


def checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X of float64, or of float32 where it is that, with the columns that are expected.

    Numbers of a Dask array that are not finite are found when they are computed.
    """
    check_unmasked(X)
    if not is_dask(X):
        return validate_data(estimator, X, reset=reset, dtype=(np.float64, np.float32))
    if not isinstance(getattr(X, "chunks", None), tuple) or len(X.shape) != 2:
        raise TypeError(
            f"X is a Dask {type(X).__name__} of shape {getattr(X, 'shape', None)}: pass a Dask "
            "array with rows and columns; of a data frame it is X.to_dask_array(lengths=True)."
        )
    if np.isnan(X.shape[1]) or (reset and np.isnan(X.shape[0])):
        raise ValueError(
            f"X has chunks of unknown size (its shape is {X.shape}): call X.compute_chunk_sizes() "
            "first."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return by_blocks(_finite, X if X.dtype == np.float32 else X.astype(np.float64))


def _finite(chunk: Any, rows: slice, columns: slice) -> Any:
    check_unmasked(chunk)
    check_finite(chunk, rows, columns)
    return chunk


def computed(*arrays: Any) -> tuple[Any, ...]:
    """Dask arrays in memory, from one pass; others as they are."""
    if not any(is_dask(array) for array in arrays):
        return arrays
    import dask

    return tuple(dask.compute(*arrays))


def by_rows(work: Callable[[Any], Array], X: Any, n_columns: int) -> Any:
    """``work`` on every row chunk, lazily; columns in several chunks are put together first."""
    X = X.rechunk({1: -1})
    chunks = (X.chunks[0], (n_columns,))
    return X.map_blocks(work, chunks=chunks, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def by_blocks(work: Callable[[Any, slice, slice], Array], X: Any) -> Any:
    """``work(chunk, rows, columns)`` on every chunk, lazily, for outputs in the shape of X."""

    def placed(chunk: Any, block_info: Any = None) -> Array:
        rows, columns = (slice(*span) for span in block_info[0]["array-location"])
        return work(chunk, rows, columns)

    return X.map_blocks(placed, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def moments_of(X: Any, weights: Array) -> Moments:
    """Moments of every column over the rows of positive weight; see `_lazy_moments` for Dask."""
    if is_dask(X):
        return _lazy_moments(X, weights)
    used = weights > 0
    return column_moments(X[used].astype(np.float64), weights[used], resolution(X.dtype))


def _lazy_moments(X: Any, weights: Array) -> Moments:
    """In one pass; rows in several chunks are put together first."""
    used, eps = np.flatnonzero(weights > 0), resolution(X.dtype)
    names = list(Moments.__dataclass_fields__)

    def block(chunk: Any) -> Array:
        raw = np.asarray(chunk, dtype=np.float64)[used]
        found = column_moments(raw, weights[used], eps)
        return np.stack([np.asarray(getattr(found, name), dtype=np.float64) for name in names])

    X = X if X.numblocks[0] == 1 else X.rechunk({0: -1, 1: "auto"})
    chunks, meta = ((len(names),), X.chunks[1]), np.empty((0, 0))
    rows = X.map_blocks(block, chunks=chunks, dtype=np.float64, meta=meta).compute()
    found = dict(zip(names, rows, strict=True))
    return Moments(**{**found, "constant": found["constant"].astype(bool)})


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
