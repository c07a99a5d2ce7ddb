"""What the two regressors can do once fitted."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skstretch.core.types import Array
from skstretch.designs import computed_rows, is_dask
from skstretch.estimators.model import StretchyModel
from skstretch.estimators.parameters import checked_noise, checked_number
from skstretch.estimators.validation import checked_X
from skstretch.solve import interval_bounds


def float_targets(y: Any) -> Array:
    """y as float64 of shape (n, t)."""
    return np.asarray(y, dtype=np.float64).reshape(y.shape[0], -1)


class Regression(MultiOutputMixin, RegressorMixin, StretchyModel):
    """Predictions, intervals and the spread of the coefficients."""

    def predict(self, X: Any) -> Array:
        """Predictions of shape (n_samples,) or (n_samples, n_targets); lazy for a Dask array."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._single else outputs

    def predict_interval(
        self, X: Any, coverage: Any = 0.9, method: str = "plus"
    ) -> tuple[Array, Array]:
        """Bounds between which a new observation falls with the given probability.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            A Dask array is computed at once, one row chunk at a time.
        coverage : float, default=0.9
        method : {"plus", "residual"}, default="plus"
            ``"plus"``: exact jackknife+, from the predictions of all leave-one-out models.
            ``"residual"``: the prediction plus and minus a quantile of the leave-one-out
            residuals; a saved model needs no training data for it.

        Returns
        -------
        lower, upper : arrays in the shape of ``predict(X)``
            Infinite where there are too few samples for the coverage.

        Notes
        -----
        For one fixed (a, k, c, density) and exchangeable samples jackknife+ covers with
        probability at least ``2 * coverage - 1``, and in practice about `coverage`. Not covered by
        the guarantee: z-scores and, with ``density < 1``, the choice of features are those of all
        samples, and a search looks at the same residuals when it chooses.
        """
        check_is_fitted(self)
        coverage = checked_number("coverage", coverage, "pass a share between 0 and 1, say 0.9.")
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must lie between 0 and 1, say 0.9.")
        if method not in ("plus", "residual"):
            raise ValueError(f'method={method!r} is not known: use "plus" or "residual".')
        X = checked_X(self, X)
        if is_dask(X):
            parts = [self.predict_interval(part, coverage, method) for part in computed_rows(X)]
            lower, upper = (np.concatenate(side) for side in zip(*parts, strict=True))
            return lower, upper
        bounds = interval_bounds(self._model, self._new_design(X), coverage, method)
        lower, upper = (side.astype(self.coef_.dtype, copy=False) for side in bounds)
        return (lower[:, 0], upper[:, 0]) if self._single else (lower, upper)

    def coef_std(self, noise_variance: Any = None) -> Array:
        """Standard deviation of every coefficient, in the shape of ``coef_``.

        Parameters
        ----------
        noise_variance : float, array of shape (n_targets,) or None
            Variance of the noise in y (divided by the weight of each sample). By default it is
            estimated as ``sum e**2 / tr((I-H)'(I-H))``.

        Notes
        -----
        ``Cov[coef] = A Sigma A'`` for ``coef = A y``. Given the transform and the kept features:
        the spread of a selection is not in it. No matrix of n_features squared is formed where
        there are more features than samples.
        """
        check_is_fitted(self)
        noise = checked_noise(noise_variance, self._model.Y.shape[1])
        std = np.zeros((self._model.Y.shape[1], self.n_features_in_))
        std[:, self._columns] = np.sqrt(self._model.variance(noise))
        return self._shaped(std)

    def coef_covariance(self, noise_variance: Any = None) -> Array:
        """Covariance of the coefficients, (n_features, n_features) for each target.

        See `coef_std` for the noise, and for a result that always fits in memory.
        """
        check_is_fitted(self)
        n_targets, D = self._model.Y.shape[1], self.n_features_in_
        need, limit = 8 * n_targets * D * D, int(get_config()["working_memory"] * 2**20)
        if need > limit:
            raise MemoryError(
                f"the covariance of {D} coefficients would take {need / 2**20:,.0f} MiB, and "
                f"working_memory is {limit / 2**20:,.0f} MiB. Use coef_std(), or "
                "sklearn.set_config(working_memory=...) if the memory is there."
            )
        noise = checked_noise(noise_variance, n_targets)
        covariance = np.zeros((n_targets, D, D))
        covariance[np.ix_(np.arange(n_targets), self._columns, self._columns)] = (
            self._model.covariance(noise)
        )
        return self._shaped(covariance)
