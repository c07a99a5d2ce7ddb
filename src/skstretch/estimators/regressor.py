"""Stretchy regression: what the two regressors share, and the one for given a, k, c, density.

Stretchy regression with a, k, c and density chosen by exact cross-validation.
"""

from typing import Any, cast

import numpy as np
from sklearn import get_config
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skstretch.core.stretch import checked_number, keep_count
from skstretch.core.types import Array, Index
from skstretch.designs import checked_weights, computed_rows, is_dask
from skstretch.estimators.base import StretchyModel, checked_noise
from skstretch.estimators.inputs import Targets, checked_X, checked_X_y, numeric_targets, prepare
from skstretch.estimators.intervals import nested_bounds, unit_bounds
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.partial import add_rows, has_rows
from skstretch.estimators.progress import fit_plan, following
from skstretch.estimators.search import StretchySearch
from skstretch.estimators.state import or_as_before, whole_or_nothing
from skstretch.solve import checked_spec, fit_model, with_penalty


class Regression(MultiOutputMixin, RegressorMixin, StretchyModel):
    """Predictions, intervals and the spread of the coefficients."""

    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Targets]:
        """Checked X, and y as float64 of shape (n, t)."""
        X, y = checked_X_y(self, X, y, multi_output=True, y_numeric=True, reset=reset)
        weights = checked_weights(sample_weight, X)
        Y = numeric_targets(y)
        return X, Targets(y, Y, weights, weights, single=y.ndim == 1)

    def _decide(self, outputs: Array, targets: Targets, tested: Index) -> None:
        """Nothing: what is predicted are the outputs."""

    def predict(self, X: Any) -> Array:
        """Predict the target of new samples; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples: an array, a frame, a sparse matrix, a memory map or a Dask array.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        outputs = self._outputs(X)
        return cast(Array, self._state.flat(outputs))

    def predict_interval(
        self, X: Any, coverage: Any = 0.9, method: str = "plus"
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
        coverage = checked_number("coverage", coverage, "pass a share between 0 and 1, say 0.9.")
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must lie between 0 and 1, say 0.9.")
        if method not in ("plus", "residual", "nested"):
            raise ValueError(f'method={method!r} is not known: use "plus", "residual" or "nested".')
        X = checked_X(self, X)
        if is_dask(X):
            parts = [self.predict_interval(part, coverage, method) for part in computed_rows(X)]
            lower, upper = (np.concatenate(side) for side in zip(*parts, strict=True))
            return lower, upper
        state = self._state
        if method == "nested":
            bounds = nested_bounds(self, X, coverage)
        elif state.units is not None:
            bounds = unit_bounds(self, X, coverage, method)
        else:
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
        state = self._state
        if isinstance(state, Mixture):
            raise ValueError(
                "the covariance of a mixture of candidates is not known: use coef_std(), or "
                'rule="best" for a model of one candidate.'
            )
        n_targets, D = state.n_targets, state.n_features
        need, limit = 8 * n_targets * D * D, int(get_config()["working_memory"] * 2**20)
        if need > limit:
            raise MemoryError(
                f"the covariance of {D} coefficients would take {need / 2**20:,.0f} MiB, and "
                f"working_memory is {limit / 2**20:,.0f} MiB. Use coef_std(), or "
                "sklearn.set_config(working_memory=...) if the memory is there."
            )
        noise = checked_noise(noise_variance, n_targets)
        covariance = np.zeros((n_targets, D, D))
        covariance[np.ix_(np.arange(n_targets), state.columns, state.columns)] = (
            state.quadrant.outer(state.model.covariance(noise), 2.0)
        )
        return cast(Array, state.shaped(covariance))


class StretchyRegressor(Regression):
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
    c : float or "auto", default=100.0
        Inverse strength of regularisation, ``np.inf`` for none. ``"auto"`` ties it to the scale of
        the data: ``1 / (c k)``, what is added to the diagonal of K, is 0.1 times the mean diagonal
        of the centred K. At ``a = 0`` and ``k < 2``, where there is no K, it is 100.
    a : float, default=-0.2
        Slope of the transform ``exp(a z + b)``. At ``a = 0`` the features are the z-scores
        themselves and the coefficients the exact minimiser of the paper's objective,
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
        slower, accurate pivoted QR where LU would lose digits (of more than 256 samples and
        features, where fewer than ten would be left). ``"krylov"`` forms no matrix of
        either side: GMRES on products with the features, down to a relative residual of 1e-10,
        for samples and features that are both many. ``"auto"`` turns to it where the smaller side
        exceeds 10,000, or where three matrices of that side would take more than half of the
        machine's memory (and more than ``working_memory``); where 150 steps do not suffice, since
        the penalty is weak, it goes back to LU. At ``a = 0`` and ``k < 2`` there is
        no closed form: ``"auto"`` takes Newton's method on the dual problem, and the other solvers
        are an error.
    n_jobs : int or None, default=None
        Threads for the second passes of several targets.
    verbose : int, default=0
        With 1 or more, the plan of the fit and the progress of reading on stderr.

    Attributes
    ----------
    c_ : float
        The inverse strength of regularisation in use.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the transformed features, zero where not kept.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant of the model on the transformed features.
    slope_ : ndarray, of the shape of ``coef_``
        Effect of one unit of each raw feature at its mean. Read this one: with a < 0 the signs of
        ``coef_`` are the opposite.
    contributions_base_ : float or ndarray of shape (n_targets,)
        What `contributions` are added to: the mean prediction of the training data.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Weights of the training samples, ``coef_ = Q' dual_coef_``.
    support_ : ndarray of bool, of the shape of ``coef_``
        The features that are kept.
    space_ : {"dual", "primal"}
        Whether the system had the size of the samples or of the features.
    solver_ : {"dual", "primal", "qr", "krylov", "newton"}
        The solver that was used.
    rcond_ : float
        Reciprocal condition number of the solve; the relative error is about ``1e-15 / rcond_``
        or less. NaN after Krylov, which does not see it; of the last Newton matrix after Newton's
        method, whose accuracy ``dual_gap_`` tells.
    dof_ : float
        Effective degrees of freedom, the intercept included: the trace of the derivative of the
        predictions by y. NaN after Krylov: the trace of an inverse that is never formed. Of LU
        systems of more than 10,000 rows it is estimated from 64 solutions for random signs.
    n_iter_ : int or None
        Iterations of Krylov, or evaluations of Newton's method, each one pass over the data; None
        for the direct solvers.
    residual_ : float or None
        Relative residual that Krylov left of the system it solved, the largest of all targets;
        above 1e-10 a ``ConvergenceWarning`` says so. None for the direct solvers.
    dual_gap_ : float or None
        After Newton's method the certificate: primal minus dual objective, relative to the primal
        one. The objective at the coefficients found exceeds its minimum by no more than this
        share; above 1e-10 a ``ConvergenceWarning`` says so. None for the closed forms.
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
    ``rcond_``, ``dof_``, ``n_iter_`` and ``residual_`` hold one value per target where these
    differ. `predict_interval`, `coef_std` and `coef_covariance` need an inverse, and say so after
    Krylov.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
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
        c: float | str = 100.0,
        *,
        a: float = -0.2,
        b: Any = 0.0,
        quadrant: str = "exp",
        density: float = 1.0,
        fit_intercept: bool | str = True,
        penalty_factor: Any = None,
        solver: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.k = k
        self.c = c
        self.a = a
        self.b = b
        self.quadrant = quadrant
        self.density = density
        self.fit_intercept = fit_intercept
        self.penalty_factor = penalty_factor
        self.solver = solver
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        count = keep_count(self.density, X.shape[1])
        self.plan_ = fit_plan(self, X, targets.weights)
        with following(self.plan_, X, self.verbose) as (X, report):
            prepared = prepare(self, X, targets.weights, [(self.a, [self.k])])
            view = prepared.at(self.a)
            linear, unit = view.quadrant.kind == "linear", view.quadrant.unit
            spec = checked_spec(self.k, self.c, linear, self.fit_intercept, self.solver, unit)
            design, spec = with_penalty(view.design, prepared.weights, spec)
            Y, weights = targets.Y[prepared.rows], prepared.weights
            model = fit_model(design, Y, weights, spec, count, self.n_jobs, report)
        self._store(prepared.state(view, model, targets.single))
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
    """`StretchyRegressor` that finds its own a, k, c and density, and mixes the best of them.

    A family is one (a, k, density), and its best c represents it. By default the best candidates of
    all families are mixed into one model, with weights from their out-of-fold residuals: choosing
    one of many candidates on few samples is a gamble, and their mean is not. Candidates of one a
    merge into one vector of coefficients; those of a = 0 alone make a linear model.

    Every closed form of the grid is cross-validated exactly and without refitting: the out-of-fold
    residuals follow from one inverse per candidate. Candidates at a = 0 and k < 2, which have no
    closed form, are compared by approximate leave-one-out residuals (one Newton step from the fit),
    and exact ones are made for the best candidate of every k and for the chosen candidate; with
    folds all are exact, by refits that start from the fit. ``cv_results_["loo"]`` says which is
    which. Exact given the z-scores, which are those of all samples.

    Parameters
    ----------
    a_grid : sequence of float, default=(-0.2, 0.0)
        Transforms ``exp(a z)`` to try; 0 is the exact minimiser on z, ridge regression at k = 2.
    k_grid : "auto" or sequence of float, default="auto"
        Stretching powers to try. ``"auto"``: 1.25, 1.5 and 2; at a = 0, where candidates are exact
        minimisers, 1.02, 1.05, 1.1, 1.25, 1.5 and 2, or 2 alone where every step of Newton's method
        would read the data again (wide Dask arrays, and files or tall sparse matrices whose
        z-scores take more than half the working memory). Of given powers a = 0 takes those up to 2.
        With more than 10,000 samples and features ``"auto"`` is 1.25 and 2, at a = 0 2 alone, and
        candidates are fitted without the matrix of samples: see the guide, "Many rows".
    c_grid : "auto" or sequence of float, default="auto"
        ``"auto"`` ties the penalty to the scale of the data, ``lambda = s * scale`` for relative
        strengths s from 1e-12 to 1e2 (25 values at k = 2, else 13), so that the same grid serves
        every a and k. At a = 0 and k < 2 up to 20 values of c lead from about one degree of
        freedom to saturation, or to where three in a row err by a tenth more than the best.
    density_grid : "auto" or sequence of float or int, default="auto"
        Shares or numbers of features to keep: the model reads at most so many columns, one support
        from the lasso path that every fold chooses for itself. ``"auto"``: all features; a mixture
        also tries ridge on 5, 10, 30 and 100 of them, for data in memory.
    b : float or array of shape (n_features,), default=0.0
        Shift of the transform ``exp(a z + b)``, for all features or for each.
    quadrant : {"exp", "identity"}, default="exp"
        ``"exp"`` standardises and maps to ``exp(a z + b)``; ``"identity"`` takes non-negative data
        as it is, and a_grid is not used.
    fit_intercept : {True, "column", False}, default=True
        Free (not penalised), the paper's penalised column of ones, or none.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        What the penalty of every feature is multiplied by, ``sum_j p_j |alpha_j|^k``: 0 for a
        feature that is never penalised (age, sex, batch), ``np.inf`` for one that is left out,
        else as in glmnet. Only ratios count: factors that are neither 0 nor inf are divided by
        their mean, so that equal ones change nothing. See the guide, "Penalty factors".
    cv : None, int, splitter or list of splits, default=None
        None is leave one out; where features are selected it is ten folds, since leaving one out
        would cost a second pass per sample. With ``fit(..., groups=...)`` None leaves one group
        out (ten folds of whole groups where features are selected), a number makes so many folds
        of whole groups (`GroupKFold`), and a splitter is handed the groups. A sample that a split
        trains on several times (a bootstrap) is fitted as so many repetitions.
    scoring : None, str or callable, default=None
        None is minus the mean squared error; else any scikit-learn scorer that works on
        predictions. Scores are pooled over all out-of-fold predictions. The rules compare
        candidates by the loss that ``rule_loss_`` names: the squared error, whatever the scorer.
    rule : {"mix", "best", "1se"}, default="mix"
        ``"mix"`` mixes the best candidates of all families, for every target on its own: weights w,
        not negative and with sum one, of least squared error plus a pull towards equal weights of
        the families that are not plainly worse. The other rules choose one candidate, with the
        default scoring for every target on its own, as ``weights_`` tells. ``"best"`` takes the
        best score. ``"1se"`` takes, among the
        candidates whose paired losses are at most one standard error worse than the best, a = 0
        before others, then the fewest features, then the fewest degrees of freedom.
    nested_cv : int, splitter or None, default=None
        Folds without each of which the whole search is repeated, which then predicts the fold: the
        only score here that has not seen the choice. It costs one more search for every fold.
    n_jobs : int or None, default=None
        Threads for the second passes of several targets, where the chosen candidate has them.
    verbose : int, default=0
        With 1 or more, the plan of the search, a bar, and at the end the number of
        factorisations on stderr.

    Attributes
    ----------
    a_, k_, c_, density_ : the chosen candidate, or the one of the largest weight or of most targets
    weights_ : dict of arrays
        The candidates of the model and their weights, the heaviest first: ``a``, ``k``, ``c``,
        ``density``, ``weight`` (a column for every target, where they differ), ``score`` and
        ``row`` in ``cv_results_``.
    best_score_ : float
        The score of the model's out-of-fold predictions, greater is better. It has seen every
        sample when it chose: ``nested_score_`` has not.
    nested_score_, nested_score_se_ : float
        Of `nested_cv`: the score of samples that were predicted by searches which had never seen
        them, and its standard error.
    nested_predictions_ : ndarray
        These predictions, as scikit-learn's `cross_val_predict` makes them.
    best_score_se_ : float
        The standard error of ``best_score_``, from the spread of the losses of single samples, or
        of whole groups where `fit` was given groups:
        ``sqrt(sum_i w_i (l_i - mean)^2) / sum_i w_i``. NaN for a `scoring` that is not the mean of
        such losses: the squared error, for classes the (balanced) 0/1 loss.
    best_index_ : int
        The row of the candidate in ``cv_results_``.
    cv_results_ : dict of arrays
        One row a candidate; ``pandas.DataFrame(model.cv_results_)`` opens it. ``loo`` is
        ``"exact"`` where the residuals behind the score are those of literal refits, and
        ``"approximate"`` where they are one Newton step from the fit of all samples: with
        ``cv=None`` candidates at a = 0 and k < 2 other than the chosen one and the best of every k.
        ``"held out"``: with more than 10,000 samples and features, a part is held out and predicted
        by iterated fits of the rest. ``score_error`` bounds what rounding does to a score: no
        candidate wins by less than that, and of equal scores the stronger penalty wins.
    cv_predictions_ : array of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions of the model: the mean over repeats, NaN for samples in no
        test set. Samples of weight zero, which no fold trains on, get the prediction of the model.
    rule_loss_ : str
        The loss by which the rule compares candidates sample by sample.
    coef_, intercept_, slope_, dual_coef_, support_, space_, solver_, rcond_, dof_
        As in `StretchyRegressor`.

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
    2990 ± 184
    >>> lower, upper = model.predict_interval(X[:3], coverage=0.9)
    >>> bool((lower < upper).all())
    True
    """

    def __init__(
        self,
        a_grid: Any = (-0.2, 0.0),
        k_grid: Any = "auto",
        c_grid: Any = "auto",
        density_grid: Any = "auto",
        *,
        b: Any = 0.0,
        quadrant: str = "exp",
        fit_intercept: bool | str = True,
        penalty_factor: Any = None,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "mix",
        nested_cv: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.a_grid = a_grid
        self.k_grid = k_grid
        self.c_grid = c_grid
        self.density_grid = density_grid
        self.b = b
        self.quadrant = quadrant
        self.fit_intercept = fit_intercept
        self.penalty_factor = penalty_factor
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.nested_cv = nested_cv
        self.n_jobs = n_jobs
        self.verbose = verbose
