"""Stretchy regression: what the two regressors share, and the one for given a, k, c, density.

Stretchy regression with a, k, c and density chosen by exact cross-validation.
"""

from typing import Any, cast

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skstretch.core.losses import rates
from skstretch.core.stretch import checked_number
from skstretch.core.types import Array
from skstretch.designs import checked_weights, computed_rows, is_dask, lazily
from skstretch.estimators.base import StretchyModel, checked_noise
from skstretch.estimators.inputs import (
    Targets,
    check_among,
    check_memory,
    checked_X,
    checked_X_y,
    numeric_targets,
    warn_of_targets,
)
from skstretch.estimators.intervals import adaptive_bounds, nested_bounds, unit_bounds
from skstretch.estimators.losses import check_counts, fit_single
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.partial import add_rows, has_rows
from skstretch.estimators.progress import show_left_out
from skstretch.estimators.search import StretchySearch
from skstretch.estimators.state import names_of_today, or_as_before, whole_or_nothing


class Regression(MultiOutputMixin, RegressorMixin, StretchyModel):
    """Predictions, intervals and the spread of the coefficients."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._loss == "poisson":
            tags.target_tags.positive_only = True
            tags.target_tags.multi_output = False
        return tags

    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Targets]:
        """Checked X, and y as float64 of shape (n, t)."""
        check_among("loss", self._loss, ("squared", "poisson"))
        several = self._loss == "squared"
        X, y = checked_X_y(self, X, y, multi_output=several, y_numeric=True, reset=reset)
        weights = checked_weights(sample_weight, X)
        Y = numeric_targets(y)
        if self._loss == "poisson":
            check_counts(Y[:, 0])
            return X, Targets(y, Y, weights, weights, single=True)
        return X, Targets(y, Y, weights, weights, single=y.ndim == 1)

    def predict(self, X: Any) -> Array:
        """Predict the target of new samples; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples: an array, a frame, a sparse matrix, a memory map or a Dask array.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions; with ``loss="poisson"`` rates.
        """
        outputs = self._outputs(X)
        if self._state.loss == "poisson":
            outputs = lazily(rates, outputs)
        return cast(Array, self._state.flat(outputs))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of predictions; with ``loss="poisson"`` D², the share of the deviance explained.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; of rates exposures.

        Returns
        -------
        score : float
            1 at best, 0 for always answering the mean.
        """
        check_is_fitted(self)
        if self._state.loss != "poisson":
            return float(super().score(X, y, sample_weight))
        predicted, y = self.predict(X), column_or_1d(y)
        if y.size > 1 and np.ptp(y) == 0.0:  # as R² has it
            return 0.0
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def predict_interval(
        self, X: Any, coverage: Any = 0.9, method: str = "plus", *, adaptive: bool = False
    ) -> tuple[Array, Array]:
        """Find bounds between which a new observation falls with the given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples. A Dask array is computed at once, one row chunk at a time.
        coverage : float, default=0.9
            How often a new observation should lie between the bounds.
        method : {"plus", "residual", "nested"}, default="plus"
            ``"plus"``: exact jackknife+, from the predictions of all leave-one-out models.
            ``"residual"``: the prediction plus and minus a quantile of the leave-one-out
            residuals; a saved model needs no training data for it. ``"nested"``: CV+ from the
            searches without each fold of ``nested_cv``, for a search that was fitted with it.
        adaptive : bool, default=False
            Let the width follow the sample: left-out residuals, in units of a spread that is
            learned from them, take the place of `method`, which must not be ``"nested"``. Widths
            differ where residuals say that noise does. A saved model needs ``intervals=True``.

        Returns
        -------
        lower, upper : ndarray
            Bounds in the shape of ``predict(X)``; infinite where there are too few samples (or
            groups) for the coverage.

        Notes
        -----
        For one fixed (a, k, c, density) and exchangeable samples jackknife+ covers with
        probability at least ``2 * coverage - 1``, and in practice about `coverage`. Not covered by
        the guarantee: z-scores and, with ``density < 1``, the choice of features are those of all
        samples, and a search looks at the same residuals when it chooses. ``"nested"`` repeats all
        of that without the fold, so that its guarantee holds with the search inside.

        A search that was fitted with ``groups`` leaves whole groups out, by one more fit for every
        group (kept for the next call): hierarchical jackknife+, for a new observation of a new
        group. Finite bounds need at least ``coverage / (1 - coverage)`` groups, 9 for 0.9. Where
        `cv` is a list of splits, its folds are left out (CV+). Splits in the order of time are
        refused.
        """
        check_is_fitted(self)
        self._check_squared("predict_interval", "counts have no intervals here; predict the rate")
        coverage = checked_number("coverage", coverage, "pass a share between 0 and 1, say 0.9.")
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must lie between 0 and 1, say 0.9.")
        check_among("method", method, ("plus", "residual", "nested"))
        X = checked_X(self, X)
        if is_dask(X):
            own: Any = {"method": method, "adaptive": adaptive}
            parts = [self.predict_interval(part, coverage, **own) for part in computed_rows(X)]
            lower, upper = (np.concatenate(side) for side in zip(*parts, strict=True))
            return lower, upper
        state = self._state
        if adaptive and method == "nested":
            raise ValueError('adaptive=True has no method="nested": leave one of them out.')
        if adaptive:
            bounds = adaptive_bounds(self, X, coverage)
        elif method == "nested":
            bounds = nested_bounds(self, X, coverage)
        elif state.units is not None:
            bounds = unit_bounds(self, X, coverage, method)
        else:
            if method == "plus":
                show_left_out(self)
            bounds = state.bounds(self._new_designs(X), coverage, method)
        lower, upper = (state.flat(side.astype(state.dtype, copy=False)) for side in bounds)
        return lower, upper

    def coef_covariance(self, noise_variance: Any = None) -> Array:
        """Covariance of the coefficients; `coef_std` always fits in memory.

        Parameters
        ----------
        noise_variance : float, array-like of shape (n_targets,) or None, default=None
            Variance of the noise in y, as in `coef_std`.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features) or (n_targets, D, D)
            One matrix of D = n_features columns for each target.
        """
        check_is_fitted(self)
        self._check_squared("coef_covariance", "bootstrap the fit, for example by joblib")
        state = self._state
        if isinstance(state, Mixture):
            raise ValueError(
                "the covariance of an average of candidates is not known: use coef_std(), or "
                'combine="best" for a model of one candidate.'
            )
        n_targets, D = state.n_targets, state.n_features
        what = f"the covariance of {D} coefficients"
        check_memory(8 * n_targets * D * D, what, "Use coef_std()")
        return cast(Array, state.shaped(state.covariance(checked_noise(noise_variance, n_targets))))


class StretchyRegressor(Regression):
    """Ridge-like regression whose power k compresses the coefficients.

    Columns are standardised and made positive, ``P = exp(a z + b)``. With
    ``Q = P**(1/(k-1))`` and ``lambda = 1/(c k)``,

    ``coef = Q' (P Q' + lambda I)^-1 y``,

    or the equal primal form ``(Q'P + lambda I)^-1 Q'y`` where there are more samples than
    features. At ``k = 2`` this is ridge regression on P with penalty ``1/(2c)``; towards
    ``k = 1`` the coefficients of a wide problem are compressed onto few features.

    Parameters
    ----------
    k : float, default=1.5
        Stretching power, ``1 < k < inf``; (1, 2] is the useful range.
    c : float or "auto", default="auto"
        Inverse strength of regularisation, ``np.inf`` for none. ``"auto"`` ties it to the scale of
        the data: ``1 / (c k)``, what is added to the diagonal of K, is 0.1 times the mean diagonal
        of the centred K. At ``a = 0`` and ``k < 2`` it gives the second derivative of the problem
        the trace that it has at ``k = 2``, and follows the units of y too;
        with another `loss` ten times the c at which features begin to matter.
    loss : {"squared", "poisson"}, default="squared"
        Squared error; or, at ``a = 0``, the deviance of counts: linear in the logarithm of the
        rate, ``sum |alpha|^k / (4c)`` plus half the deviance. With exposures fit rates,
        ``y = counts / exposure``, with ``sample_weight=exposure``.
    a : float, default=-0.2
        Slope of the transform ``exp(a z + b)``. At ``a = 0`` the features are the z-scores
        themselves and the coefficients minimise the paper's objective,
        ``sum |alpha|^k + 2c sum w e^2``, for ``1 < k <= 2``; at ``k = 2`` that is ridge regression
        with penalty ``1/(2c)``.
    b : float or array-like of shape (n_features,), default=0.0
        Shift of the transform, for all features or for each.
    quadrant : {"exp", "identity"}, default="exp"
        ``"identity"`` takes non-negative data as it is. Columns that are constant take no part;
        with ``"identity"`` and ``fit_intercept=False`` they do.
    density : float or int, default=1.0
        Share (float) or number (int) of features kept by a second pass: those with the largest
        coefficients of the first. Every target keeps its own.
    fit_intercept : {True, "column", False}, default=True
        Free (not penalised), the paper's penalised column of ones, or none.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        What the penalty of every feature is multiplied by, ``sum_j p_j |alpha_j|^k``: 0 for a
        feature that is never penalised (age, sex, batch), ``np.inf`` for one that is left out,
        else as in glmnet. Only ratios count: factors that are neither 0 nor inf are divided by
        their mean, so that equal ones change nothing. See the guide, "Penalty factors".
    solver : {"auto", "dual", "primal", "qr", "krylov"}, default="auto"
        ``"auto"`` solves the smaller of the dual and primal systems by LU, and goes on to the
        slower, accurate pivoted QR where LU would lose digits. ``"krylov"`` forms no matrix of
        either side: GMRES on products with the features, for samples and features that are both
        many; ``"auto"`` turns to it where a matrix would take too long or too much memory. At
        ``a = 0`` and ``k < 2`` ``"auto"`` is Newton's method on the dual problem, and the other
        solvers are an error. See the guide, "How it decides".
    n_jobs : int or None, default=None
        Threads for the second passes of several targets.

    Attributes
    ----------
    c_ : float
        The inverse strength of regularisation in use.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Change of the prediction for one unit of each raw feature: everywhere where
        ``is_linear_`` (a = 0), else at the mean. Zero where not kept.
    intercept_ : float or ndarray of shape (n_targets,)
        Where ``is_linear_``, ``X @ coef_.T + intercept_`` is `predict` (as far as that goes on:
        z-scores beyond the training range and once its width are held there). Else the constant
        of the model on the transformed features, whose weights are ``alpha_``.
    is_linear_ : bool
        Whether predictions are linear in the raw features.
    effect_ : ndarray, of the shape of ``coef_``
        Change of the prediction for one standard deviation of each feature.
    alpha_ : ndarray, of the shape of ``coef_``
        The paper's weights of the transformed features. With a < 0 a feature that raises the
        prediction has a negative one.
    contributions_base_ : float or ndarray of shape (n_targets,)
        What `contributions` are added to: the mean prediction of the training data.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Weights of the training samples, ``alpha_ = Q' dual_coef_``.
    support_ : ndarray of bool, of the shape of ``coef_``
        The features that are kept.
    plan_ : Plan
        How the fit was computed: ``space``, ``held_out``, ``residual`` (that Krylov left of its
        system; above 1e-10 a ``ConvergenceWarning`` says so), and as text all of it.
    solver_ : {"dual", "primal", "qr", "krylov", "newton"}
        The solver that was used.
    rcond_ : float
        Reciprocal condition number of the solve; the relative error is about ``1e-15 / rcond_``
        or less. NaN after Krylov, which does not see it; of the last Newton matrix after Newton's
        method, whose accuracy ``dual_gap_`` tells.
    dof_ : float
        Effective degrees of freedom, the intercept included: the trace of the derivative of the
        predictions by y. NaN after Krylov, where the inverse is never formed.
    n_iter_ : int or None
        Iterations of Krylov, or evaluations of Newton's method, each one pass over the data; None
        for the direct solvers.
    dual_gap_ : float or None
        After Newton's method the certificate: primal minus dual objective, relative to the primal
        one. The objective at the coefficients found exceeds its minimum by no more than this
        share; above 1e-10 a ``ConvergenceWarning`` says so. None after the other solvers.
    n_samples_seen_ : int
        Rows so far, only after `partial_fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    StretchyRegressorCV : Finds a, k, c and density itself.
    StretchyClassifier : The same for classes.
    FirstQuadrant : The transform alone.

    Notes
    -----
    The fitted model keeps a reference to X (no copy) for `coef_std`, `coef_covariance`,
    `predict_interval`, `effect_path` and ``dual_coef_``: do not change X in place before using
    them. A pickle therefore holds X; `skstretch.save` does not. Without regularisation (c=inf) the
    primal form has no ``dual_coef_``. With several targets and ``density < 1``, ``solver_``,
    ``rcond_``, ``dof_`` and ``n_iter_`` hold one value per target where these differ.
    `predict_interval`, `coef_std` and `coef_covariance` need an inverse, and say so after Krylov.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StretchyRegressor(k=1.5, c=100.0).fit(X, y)
    >>> model.coef_.shape, model.is_linear_
    ((10,), False)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    @names_of_today
    def __init__(
        self,
        k: float = 1.5,
        c: float | str = "auto",
        *,
        loss: str = "squared",
        a: float = -0.2,
        b: Any = 0.0,
        quadrant: str = "exp",
        density: float = 1.0,
        fit_intercept: bool | str = True,
        penalty_factor: Any = None,
        solver: str = "auto",
        n_jobs: int | None = None,
    ):
        self.k = k
        self.c = c
        self.loss = loss
        self.a = a
        self.b = b
        self.quadrant = quadrant
        self.density = density
        self.fit_intercept = fit_intercept
        self.penalty_factor = penalty_factor
        self.solver = solver
        self.n_jobs = n_jobs

    @property
    def c_(self) -> float:
        """The inverse strength of regularisation in use."""
        check_is_fitted(self)
        return float(self._state.model.spec.c)

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StretchyRegressor":
        """Fit the model to samples and their targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data: an array, a frame, a sparse matrix, a memory map or a Dask array.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample; zero leaves it out.

        Returns
        -------
        self : StretchyRegressor
            Fitted.
        """
        X, targets = self._read(X, y, sample_weight)
        warn_of_targets(targets, stacklevel=4)
        self._store(fit_single(self, X, targets))
        return self

    @or_as_before
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, moments: Any = None
    ) -> "StretchyRegressor":
        """Add a batch of rows to those seen so far; equal to one `fit` with the same moments.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of rows; every batch has the same features.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets; every batch has the same ones.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            As in `fit`.
        moments : StandardScaler, FirstQuadrant, pair (mean, scale) or None, default=None
            What columns are standardised by, fixed for good in the first call. None takes the
            moments of the first batch (or of an earlier `fit`): it should be large enough to be
            typical. A scale of 0 marks a constant column.

        Returns
        -------
        self : StretchyRegressor
            Fitted to all rows so far, ``n_samples_seen_`` of them (with positive weight).

        Notes
        -----
        For more rows than features: the sums ``Q'WP`` and ``Q'Wy`` of n_features squared numbers
        are kept and the primal system is solved after every call; rows are not kept. Fewer rows
        than features so far are no trouble while c is finite; without regularisation there is no
        model before there are enough of them, and a warning says so.

        Columns that are constant when the moments are fixed take no part for good; a warning tells
        when one of them varies later. The range that bounds z-scores of new data grows with the
        rows. c may be changed between calls, other parameters may not. After a `fit` it goes on
        from the rows of that fit; a `fit` begins anew. What needs the training rows
        (`predict_interval`, `coef_std`, `coef_covariance`, `effect_path`, ``dual_coef_``) is an
        error, and so are ``density < 1`` and other solvers than ``"auto"`` and ``"primal"``. A
        call that fails leaves the model as it was.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.preprocessing import StandardScaler
        >>> from skstretch import StretchyRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model, scaler = StretchyRegressor(), StandardScaler().fit(X)
        >>> for rows in np.array_split(np.arange(442), 5):
        ...     model = model.partial_fit(X[rows], y[rows], moments=scaler)
        >>> model.n_samples_seen_
        442
        >>> bool(np.allclose(model.coef_, StretchyRegressor().fit(X, y).coef_, rtol=1e-8))
        True
        """
        X, targets = self._read(X, y, sample_weight, reset=not has_rows(self))
        add_rows(self, X, targets, moments)
        return self


class StretchyRegressorCV(Regression, StretchySearch):
    """`StretchyRegressor` that finds its own settings and averages the best models.

    Many models (candidates) are tried: transforms a, stretching powers k, numbers of features, and
    for each of these many strengths c, of which the best is kept. By default the kept ones are
    averaged, with weights from their errors on left-out samples: on few samples it is partly luck
    which model comes out best. An average of models with a = 0 is linear.

    Nearly all candidates are cross-validated exactly and without refitting. Those at a = 0 and
    k < 2 are first compared by approximate left-out residuals, and the best of every k by exact
    ones. ``cv_results_["loo"]`` says which is which. Exact given the z-scores, which are those of
    all samples; `nested_cv` repeats everything.

    Parameters
    ----------
    n_features_to_select : None, int, float or list, default=None
        The model reads at most so many columns (a float: this share of them), selected anew in
        every fold; of a list the best is found by cross-validation. None: all features, and an
        average also tries some of them; 1.0: all features, and no selection is tried.
    loss : {"squared", "poisson"}, default="squared"
        Squared error; or the deviance of counts: linear in the logarithm of the rate. With
        exposures fit rates, ``y = counts / exposure``, with ``sample_weight=exposure``.
    combine : {"average", "best", "1se"}, default="average"
        Average the best candidates by what they do on left-out samples; or take the best
        candidate; or the simplest within one standard error of it.
    cv : None, int, splitter or list of splits, default=None
        None leaves out one sample (or group) at a time, or tenths where features are selected
        and with other losses than squared error.
    scoring : None, str or callable, default=None
        None is ``"neg_mean_squared_error"``; else a scikit-learn scorer of predictions.
    nested_cv : None, int or splitter, default=None
        Folds without each of which the whole search is repeated, which then predicts the fold:
        the score to trust. It costs one more search for every fold.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        Times the penalty: 0 for a feature that is never penalised, inf for one that is left out.
    n_jobs : int or None, default=None
        Parallel jobs of `nested_cv`, and threads for fits of several targets.
    verbose : int, default=0
        With 1 or more, the plan, a bar, and the number of factorisations on stderr.
    random_state : int, RandomState or None, default=None
        Shuffles the folds of a number in `nested_cv`, and tenths; None: the same every time.
    a_grid, k_grid, c_grid : "auto" or sequence of float, default="auto"
        Transforms ``exp(a z)`` (0 is the linear limit), powers, and inverse strengths to try.
    b : float or array-like of shape (n_features,), default=0.0
        Shift of the transform ``exp(a z + b)``.
    quadrant : {"exp", "identity"}, default="exp"
        ``"identity"`` takes non-negative data as it is.
    fit_intercept : {True, "column", False}, default=True
        Free (not penalised), the paper's penalised column of ones, or none.

    Attributes
    ----------
    coef_, effect_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Change of the prediction for one unit, and for one standard deviation, of a
        feature: everywhere where ``is_linear_``, else at the mean.
    intercept_, is_linear_, support_, solver_, rcond_, dof_, dual_gap_ : as in `StretchyRegressor`
    weights_, cv_results_ : DataFrame (dict of arrays without pandas), dict of arrays
        The candidates of the model and their weights, the heaviest first; and all that were tried.
    a_, k_, c_, density_ : float
        The chosen candidate; not of averages.
    best_score_, best_score_se_, best_index_ : float, float, int
        Score of the out-of-fold predictions, which has seen the choice; its standard error; the
        row of the (heaviest) candidate in ``cv_results_``.
    nested_score_, nested_score_se_, nested_predictions_ : float, float, ndarray
        Of `nested_cv`: what searches say of samples that they have never seen.
    cv_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions of the model; with ``loss="poisson"`` rates, as of `predict`.
    plan_ : Plan
        How it was computed, and what was left out; of a loaded model its text.

    See Also
    --------
    StretchyRegressor : One given a, k, c and density.
    StretchyClassifierCV : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StretchyRegressorCV().fit(X, y)
    >>> print(f"{-model.best_score_:.0f} ± {model.best_score_se_:.0f}")
    2997 ± 185
    >>> lower, upper = model.predict_interval(X[:3], coverage=0.9)
    >>> bool((lower < upper).all())
    True
    """

    @names_of_today
    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        loss: str = "squared",
        combine: str = "average",
        cv: Any = None,
        scoring: Any = None,
        nested_cv: Any = None,
        penalty_factor: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        a_grid: Any = "auto",
        k_grid: Any = "auto",
        c_grid: Any = "auto",
        b: Any = 0.0,
        quadrant: str = "exp",
        fit_intercept: bool | str = True,
    ):
        self.n_features_to_select = n_features_to_select
        self.loss = loss
        self.combine = combine
        self.cv = cv
        self.scoring = scoring
        self.nested_cv = nested_cv
        self.penalty_factor = penalty_factor
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.a_grid = a_grid
        self.k_grid = k_grid
        self.c_grid = c_grid
        self.b = b
        self.quadrant = quadrant
        self.fit_intercept = fit_intercept
