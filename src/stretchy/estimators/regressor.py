"""Stretchy regression for one choice of a, k, c and density."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from stretchy.core.types import Array
from stretchy.estimators.model import StretchyModel
from stretchy.estimators.parameters import checked_noise, checked_weights


class StretchyRegressor(MultiOutputMixin, RegressorMixin, StretchyModel):
    """Closed-form regression whose power k compresses the coefficients.

    Columns are standardised and mapped to the first quadrant, ``P = exp(a z + b)``. With
    ``Q = P**(1/(k-1))`` and ``lambda = 1/(c k)``,

    ``coef = Q' (P Q' + lambda I)^-1 y``,

    or the equal primal form ``(Q'P + lambda I)^-1 Q'y`` where there are more samples than
    features. At ``k = 2`` this is ridge regression on P with penalty ``1/(2c)``; towards
    ``k = 1`` the coefficients of a wide problem are compressed onto few features.

    Parameters
    ----------
    k : float, default=1.5
        Stretching power, ``1 < k < inf``; (1, 2] is the useful range.
    c : float, default=100.0
        Inverse strength of regularisation, ``np.inf`` for none.
    a, b : float, default=-0.2 and 0.0
        The transform ``exp(a z + b)``; b may be an array with one number per feature. ``a = 0``
        is the linear limit: ridge regression on z with penalty ``1/(2c)``, k ignored.
    quadrant : {"exp", "identity"}, default="exp"
        ``"identity"`` takes non-negative data as it is. Columns that are constant take no part;
        with ``"identity"`` and ``fit_intercept=False`` they do.
    density : float or int, default=1.0
        Share (float) or number (int) of features kept by a second pass: those with the largest
        coefficients of the first. Every target keeps its own.
    fit_intercept : {True, "column", False}, default=True
        Free (not penalised), the paper's penalised column of ones, or none.
    solver : {"auto", "dual", "primal", "qr"}, default="auto"
        ``"auto"`` solves the smaller of the dual and primal systems by LU, and goes on to the
        slower, accurate pivoted QR where LU would lose digits.
    n_jobs : int or None, default=None
        Threads for the second passes of several targets.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        Weights of the transformed features, zero where not kept.
    intercept_ : float or array of shape (n_targets,)
    slope_ : array like ``coef_``
        Effect of one unit of each raw feature at its mean. Read this one: with a < 0 the signs of
        ``coef_`` are the opposite.
    dual_coef_ : array of shape (n_samples,) or (n_targets, n_samples)
    support_ : boolean array like ``coef_``
        The features that are kept.
    space_ : {"dual", "primal"}
    solver_ : {"dual", "primal", "qr"}
    rcond_ : float
        Reciprocal condition number of the solve; ``1e-16 / rcond_`` bounds the relative error.
    dof_ : float
        Effective degrees of freedom, the intercept included.
    n_features_in_ : int
    feature_names_in_ : array of str, only where X has names

    See Also
    --------
    StretchyClassifier : The same for classes.
    FirstQuadrant : The transform alone.

    Notes
    -----
    The fitted model keeps a reference to X (no copy) for `coef_std`; do not change X in place
    before calling it. With several targets and ``density < 1``, ``solver_``, ``rcond_`` and
    ``dof_`` hold one value per target where these differ.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stretchy import StretchyRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StretchyRegressor(k=1.5, c=100.0).fit(X, y)
    >>> model.space_
    'primal'
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    def __init__(
        self,
        k: float = 1.5,
        c: float = 100.0,
        *,
        a: float = -0.2,
        b: Any = 0.0,
        quadrant: str = "exp",
        density: float = 1.0,
        fit_intercept: bool | str = True,
        solver: str = "auto",
        n_jobs: int | None = None,
    ):
        self.k = k
        self.c = c
        self.a = a
        self.b = b
        self.quadrant = quadrant
        self.density = density
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StretchyRegressor":
        """Fit to X of shape (n_samples, n_features) and y of shape (n_samples,) or (.., n_targets).

        A `sample_weight` of w counts as w repetitions of the sample; zero leaves it out.
        """
        X, y = validate_data(self, X, y, dtype="numeric", multi_output=True, y_numeric=True)
        weights = checked_weights(sample_weight, X)
        self._single = y.ndim == 1
        self._fit_targets(X, np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1), weights)
        return self

    def predict(self, X: Any) -> Array:
        """Predictions of shape (n_samples,) or (n_samples, n_targets)."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._single else outputs

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
