"""What spectroscopists do to a spectrum before a model sees it: scatter, baseline, derivative."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.linalg import qr
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from skstretch._version import Versioned
from skstretch.core.types import Array
from skstretch.designs import is_dask
from skstretch.features.positive import by_rows, checked

# numbers that are worked on at a time: rows are independent, and float32 stays float32 outside
BLOCK = 1 << 20
# the highest degree of a polynomial; beyond, float64 has no digits left for it
MOST = 20


class SpectralFilter(OneToOneFeatureMixin, TransformerMixin, Versioned, BaseEstimator):
    """Scatter correction, detrending, smoothing, derivatives and selection of wavelengths.

    What is asked for happens to every row by itself, in this order:

    1. standard normal variate, ``(x - mean(x)) / std(x)``;
    2. detrending: the polynomial over the columns that fits the row best is subtracted;
    3. Savitzky–Golay: a polynomial is fitted to each window of neighbouring columns, and its
       value or derivative in the middle is taken; at the ends, that of the outermost window;
    4. selection of columns.

    For another order put two filters into a pipeline. Nothing is learned from the rows, so that
    cross-validation after it is as exact as without.

    Parameters
    ----------
    snv : bool, default=False
        Standard normal variate with the divisor n. A row of equal numbers becomes zeros.
    detrend : int or None, default=None
        Degree of the polynomial, at most 20: 0 subtracts the mean, 1 a line, 2 a parabola.
    derivative : int or None, default=None
        Order of the Savitzky–Golay derivative, per column; 0 smooths, None does neither.
    window : int, default=11
        Columns in a window, odd. Used with `derivative` alone, as `polyorder` is.
    polyorder : int, default=2
        Degree of the polynomial in a window, at most 20.
    keep : None, pair, list of pairs, or mask of bools, default=None
        Which columns are kept: all; wavelengths from low to high, both included; those in any of
        several ranges; or those that are true in a mask of shape (n_features,).
    wavelengths : array-like of shape (n_features,) or None, default=None
        The wavelength of every column, for ranges in `keep`. None takes the names of the columns
        of a data frame, which then must be numbers.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        The columns that are kept.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    StretchyRegressorCV : Comes after it in a pipeline, which `save` stores.
    scipy.signal.savgol_filter : Does the third step.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch import SpectralFilter
    >>> x = np.linspace(0, 1, 50)
    >>> X = np.array([np.sin(6 * x), 3 * np.sin(6 * x) + 2])
    >>> same = SpectralFilter(snv=True).fit_transform(X)
    >>> bool(np.allclose(same[0], same[1]))
    True
    >>> SpectralFilter(derivative=1, keep=(0.2, 0.4), wavelengths=x).fit_transform(X).shape
    (2, 10)
    """

    def __init__(
        self,
        *,
        snv: Any = False,
        detrend: Any = None,
        derivative: Any = None,
        window: Any = 11,
        polyorder: Any = 2,
        keep: Any = None,
        wavelengths: Any = None,
    ):
        self.snv = snv
        self.detrend = detrend
        self.derivative = derivative
        self.window = window
        self.polyorder = polyorder
        self.keep = keep
        self.wavelengths = wavelengths

    def fit(self, X: Any, y: Any = None) -> "SpectralFilter":
        """Check the parameters against the number of columns; nothing is learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row; a Dask array too.
        y : None
            Not used.

        Returns
        -------
        self : SpectralFilter
            Fitted.
        """
        X = checked(self, X, reset=True)
        D = X.shape[1]
        if not isinstance(self.snv, (bool, np.bool_)):
            raise ValueError(f"snv={self.snv!r} must be True or False.")
        if self.detrend is not None:
            limit = f"n_features={D} less one" if D <= MOST else str(MOST)
            _check_whole("detrend", self.detrend, 0, min(D - 1, MOST), limit)
        if self.derivative is not None:
            self._check_window(D)
        self.support_ = self._kept(D)
        return self

    def _check_window(self, D: float = np.inf) -> None:
        """Refuse a window that no spectra of D columns could have; by default none of any."""
        columns = "the number of columns" if np.isinf(D) else f"n_features={D}"
        _check_whole("window", self.window, 1, D, columns)
        if self.window % 2 == 0:
            raise ValueError(f"window={self.window} must be odd: {self.window + 1}, for example.")
        highest = f"window={self.window} less one" if self.window <= MOST else str(MOST)
        _check_whole("polyorder", self.polyorder, 0, min(self.window - 1, MOST), highest)
        limit = f"polyorder={self.polyorder}"
        _check_whole("derivative", self.derivative, 0, self.polyorder, limit)

    def _kept(self, D: int) -> Any:
        """The mask that `keep` stands for."""
        if self.keep is None:
            return np.ones(D, dtype=bool)
        keep = np.asarray(self.keep)
        if keep.dtype == bool:
            if keep.shape != (D,):
                raise ValueError(f"keep is a mask of shape {keep.shape}, and X has {D} columns.")
            mask = keep.copy()
        else:
            mask = _within(_ranges(self.keep, keep), self._wavelengths(D))
        if not mask.any():
            raise ValueError(f"keep={self.keep!r:.200} leaves none of {D} columns.")
        return mask

    def _wavelengths(self, D: int) -> Array:
        given = self.wavelengths
        if given is None:
            given = getattr(self, "feature_names_in_", None)
            if given is None:
                raise ValueError(
                    "keep has ranges of wavelengths, and the columns of X have no names: pass "
                    "wavelengths=, a data frame whose columns are named so, or a mask as keep."
                )
        try:
            values = np.asarray([float(value) for value in given])
        except (TypeError, ValueError):
            raise ValueError(
                f"wavelengths {np.asarray(given).tolist()!r:.80} are not all numbers: pass "
                "wavelengths=, or a mask as keep."
            ) from None
        if values.shape != (D,) or not np.isfinite(values).all():
            raise ValueError(
                f"wavelengths must be {D} finite numbers, one for each column; there are "
                f"{np.isfinite(values).sum()}."
            )
        return values

    def transform(self, X: Any) -> Array:
        """The filtered spectra, of the float type of X; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.

        Returns
        -------
        F : ndarray of shape (n_samples, n_kept)
            The filtered ones.
        """
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        kept = int(self.support_.sum())
        if is_dask(X):
            return by_rows(self.transform, X, kept)
        out = np.empty((X.shape[0], kept), dtype=X.dtype)
        for rows in gen_batches(X.shape[0], max(1, BLOCK // X.shape[1])):
            # in one order, as sums over a row would else round by how X is laid out
            block = np.array(X[rows], dtype=np.float64, order="C")
            out[rows] = self._filtered(block)[:, self.support_]
        return out

    def _filtered(self, X: Array) -> Array:
        """All columns of some rows after the steps that are asked for."""
        if self.snv:
            X = _standardised(X)
        if self.detrend is not None:
            basis = trend_basis(X.shape[1], self.detrend)
            X = X - (X @ basis) @ basis.T
        if self.derivative is not None:
            from scipy.signal import savgol_filter  # takes long to load, and few ask for it

            X = np.asarray(savgol_filter(X, self.window, self.polyorder, deriv=self.derivative))
        return X

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that are kept.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X; by default those of the fit, or x0, x1 and so on.

        Returns
        -------
        names : ndarray of str
            The kept ones among them.
        """
        return super().get_feature_names_out(input_features)[self.support_]


def _check_whole(name: str, value: Any, low: int, high: float, limit: str) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= high:
        raise ValueError(f"{name}={value!r} must be a whole number from {low} to {limit}.")


def _ranges(given: Any, keep: Array) -> Array:
    """`keep` as an array of (low, high), whichever of them comes first."""
    sound = keep.dtype.kind in "iuf" and keep.shape[-1:] == (2,) and keep.ndim in (1, 2)
    if not sound or np.isnan(keep).any():
        raise ValueError(
            f"keep={given!r:.200} must be None, a range (low, high), a list of such, or a mask of "
            "bools."
        )
    return np.sort(keep.reshape(-1, 2), axis=1)


def _within(ranges: Array, positions: Array) -> Any:
    low, high = ranges[:, :1], ranges[:, 1:]
    return ((low <= positions) & (positions <= high)).any(axis=0)


def _standardised(X: Array) -> Array:
    """Rows of mean 0 and deviation 1, in any unit: powers of two are taken out first, exactly."""
    _, exponents = np.frexp(np.abs(X).max(axis=1, keepdims=True))
    X = np.ldexp(X, -exponents)
    flat = X.max(axis=1) == X.min(axis=1)
    X = X - X.mean(axis=1, keepdims=True)
    X[flat] = 0.0
    # a second time, as what varies can be far less than the level
    _, exponents = np.frexp(np.abs(X).max(axis=1, keepdims=True))
    X = np.ldexp(X, -exponents)
    deviation = X.std(axis=1, keepdims=True)
    deviation[flat] = 1.0
    return np.asarray(X / deviation)


def trend_basis(D: int, degree: int) -> Array:
    """Polynomials up to a degree over D columns as orthonormal columns, (D, degree + 1)."""
    basis, _ = qr(legvander(np.linspace(-1.0, 1.0, D), degree), mode="economic")
    return np.asarray(basis)
