"""Times until an event, some of them censored: Cox's model with stretchy penalties."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skstretch.core.stretch import checked_number
from skstretch.core.survival import (
    Baseline,
    concordance,
    event_and_time,
    signed_times,
    uno_concordance,
)
from skstretch.core.types import Array, Mask
from skstretch.designs import checked_weights
from skstretch.estimators.inputs import Targets, checked_X_y
from skstretch.estimators.losses import checked_survival, read_survival
from skstretch.estimators.search import StretchySearch
from skstretch.estimators.state import State


class StretchySurvivalCV(StretchySearch):
    """Survival from wide data: Cox's model, with powers k and strengths c found by itself.

    The hazard of a sample is ``h0(t) exp(risk)``, the risk a linear score of its features. The
    coefficients minimise ``sum_j |alpha_j|^k / (4c)`` plus Cox's negative log partial likelihood,
    alpha those of z-scores, each solution with a certificate. The best c of every k, by the
    cross-validated partial likelihood (Verweij and van Houwelingen), are averaged.

    Parameters
    ----------
    n_features_to_select : None, int, float or list, default=None
        The model reads at most so many columns (a float: this share of them), selected anew in
        every fold; of a list the best is found by cross-validation. None: all features.
    combine : {"average", "best", "1se"}, default="average"
        Average the best candidates of all k by what they do out of fold; or take the best
        candidate; or the simplest within one standard error of it.
    ties : {"breslow", "efron"}, default="breslow"
        How events at the same time are counted.
    cv : None, int, splitter or list of splits, default=None
        None makes ten folds with equal shares of events, or of whole groups.
    nested_cv : None, int or splitter, default=None
        Folds without each of which the whole search is repeated, which then predicts the fold:
        the concordance to trust. It costs one more search for every fold.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        Times the penalty: 0 for a feature that is never penalised (age, stage, treatment), inf for
        one that is left out.
    n_jobs : int or None, default=None
        Parallel jobs of `nested_cv`.
    verbose : int, default=0
        With 1 or more, the plan and a bar on stderr.
    random_state : int, RandomState or None, default=None
        Shuffles the folds; None gives the same ones every time.
    k_grid, c_grid : "auto" or sequence of float, default="auto"
        Powers (1 < k <= 2) and inverse strengths to try.

    Attributes
    ----------
    coef_, effect_ : ndarray of shape (n_features,)
        Change of the log hazard for one unit, and for one standard deviation, of a feature:
        ``exp(effect_)`` are hazard ratios.
    intercept_ : float
        ``X @ coef_ + intercept_`` is `predict`; 0 is the risk of a sample at the means.
    unique_times_, cum_baseline_hazard_ : ndarray of shape (n_times,)
        Times of events, and the cumulative hazard at risk 0 from each of them on (Breslow).
    weights_ : DataFrame, or dict of arrays without pandas
        The candidates of the model and their weights, the heaviest first.
    best_score_, best_score_se_, best_index_ : float, float, int
        Concordance of the out-of-fold risks, which has seen the choice; its standard error; the
        row of the (heaviest) candidate in ``cv_results_``.
    nested_score_, nested_score_se_, nested_predictions_ : float, float, ndarray
        Of `nested_cv`: what searches say of samples that they have never seen.
    cv_results_ : dict of arrays, one row for every candidate
    cv_predictions_ : ndarray of shape (n_samples,)
        Out-of-fold risks of the model.
    support_, dof_, dual_gap_, plan_ : as in `StretchyRegressorCV`

    See Also
    --------
    StretchyRegressorCV : For numbers, and counts by ``loss="poisson"``.
    StretchyClassifierCV : For classes.

    Notes
    -----
    y may have two more columns, by these names: ``entry``, the time from which on a sample was
    watched (left truncation), and ``stratum``, a label: samples are at risk together only within
    their stratum. A model with strata has risks and no curves. Concordances compare all samples.

    Intervals are not promised for survival. Risks of different folds come from different models;
    concordances of out-of-fold risks compare them all.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch import StretchySurvivalCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 200))
    >>> time, end = rng.exponential(np.exp(-2 * X[:, 0])), rng.exponential(3.0, 80)
    >>> y = np.empty(80, dtype=[("event", bool), ("time", float)])
    >>> y["event"], y["time"] = time <= end, np.minimum(time, end)
    >>> model = StretchySurvivalCV(k_grid=(1.1, 2.0), cv=4).fit(X, y)
    >>> int(np.argmax(np.abs(model.coef_))), bool(model.best_score_ > 0.7)
    (0, True)
    """

    # of the search for squared error what survival has not
    scoring = None
    a_grid = "auto"
    b = 0.0
    quadrant = "exp"
    fit_intercept = False
    _loss = "cox"

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        combine: str = "average",
        ties: str = "breslow",
        cv: Any = None,
        nested_cv: Any = None,
        penalty_factor: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        k_grid: Any = "auto",
        c_grid: Any = "auto",
    ):
        self.n_features_to_select = n_features_to_select
        self.combine = combine
        self.ties = ties
        self.cv = cv
        self.nested_cv = nested_cv
        self.penalty_factor = penalty_factor
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.k_grid = k_grid
        self.c_grid = c_grid

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Targets]:
        """Checked X, and y as signed times of shape (n, 1)."""
        own = checked_survival(y)
        X, _ = checked_X_y(self, X, own["time"], y_numeric=True, reset=reset)
        weights = checked_weights(sample_weight, X)
        signed = signed_times(own["event"], own["time"])
        return X, Targets(own, signed[:, None], weights, weights, single=True)

    def _completed(self, state: State, targets: Targets) -> State:
        event, time = event_and_time(state.model.Y[:, 0])
        own, names = targets.y[state.used], targets.y.dtype.names
        if "stratum" in names:  # each has a hazard of its own
            return replace(state, loss="cox", survival=own)
        entry = own["entry"] if "entry" in names else None
        found = Baseline.of(event, time, state.fitted[:, 0], state.model.weights, entry)
        return replace(state, loss="cox", baseline=found, survival=own)

    @property
    def _baseline(self) -> Baseline:
        check_is_fitted(self)
        if self._state.baseline is None:
            raise ValueError(
                "the model has strata, each with a hazard of its own, and is kept for risks alone: "
                "use predict, or fit without the column stratum for times and curves."
            )
        return self._state.baseline

    @property
    def unique_times_(self) -> Array:
        """Times of events of the training data, rising."""
        return self._baseline.times

    @property
    def cum_baseline_hazard_(self) -> Array:
        """The cumulative hazard at risk 0 from each of these times on."""
        return self._baseline.hazard

    def predict(self, X: Any) -> Array:
        """Score the risk of new samples: the log hazard beside that of a sample at the means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            The higher, the sooner the event.
        """
        return np.asarray(self._outputs(X)[:, 0])

    def _scores(self, X: Any) -> Array:
        return self.predict(X).astype(np.float64)

    def _times(self, times: Any) -> Array:
        if times is None:
            return self._baseline.times
        found = np.asarray(times, dtype=np.float64)
        if found.ndim != 1:
            raise ValueError(f"times has shape {found.shape}: pass a list of times.")
        return found

    def predict_survival_function(self, X: Any, times: Any = None) -> Array:
        """Predict the probability that the event has not happened, at some times.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        times : array-like of shape (n_times,) or None, default=None
            Times up to the last of the training data; None is ``unique_times_``.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            Curves that fall from 1.
        """
        return self._baseline.survival(self._scores(X), self._times(times))

    def predict_cumulative_hazard_function(self, X: Any, times: Any = None) -> Array:
        """Predict the cumulative hazard at some times: minus the logarithm of the survival.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        times : array-like of shape (n_times,) or None, default=None
            Times up to the last of the training data; None is ``unique_times_``.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times)
            Curves that rise from 0.
        """
        return self._baseline.hazards(self._scores(X), self._times(times))

    predict_cumulative_hazard = predict_cumulative_hazard_function

    def predict_median(self, X: Any) -> Array:
        """Predict the time at which half of such samples have had the event.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        times : ndarray of shape (n_samples,)
            ``np.inf`` where more than half are without the event at the last time of the data.
        """
        return self._baseline.median(self._scores(X))

    def predict_restricted_mean(self, X: Any, until: Any = None) -> Array:
        """Predict the mean time without the event, counted up to a time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        until : float or None, default=None
            Where the count ends; None is the last time of the training data.

        Returns
        -------
        times : ndarray of shape (n_samples,)
            The area under each survival curve up to then.
        """
        found = self._baseline
        until = found.last if until is None else checked_number("until", until, "pass a time.")
        if not 0.0 < until <= found.last:
            raise ValueError(
                f"until={until:g} must be above 0 and at most {found.last:g}, the last time of the "
                "training data: nothing is known beyond."
            )
        return found.restricted_mean(self._scores(X), until)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compare risks of new samples with what happened to them: Harrell's concordance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : structured array or frame with the columns (event, time)
            What happened to them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample.

        Returns
        -------
        concordance : float
            The share of pairs in which the sample of higher risk had the event first: 0.5 by
            chance, 1 at best.
        """
        risk, event, time = self._beside(X, y)
        return concordance(event, time, risk, checked_weights(sample_weight, risk))

    def score_uno(self, X: Any, y: Any, until: float | None = None) -> float:
        """Compare likewise by Uno's concordance, which does not depend on the censoring.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : structured array or frame with the columns (event, time)
            What happened to them; the censoring is estimated from these.
        until : float or None, default=None
            Count only events before this time; use one at which many are still seen.

        Returns
        -------
        concordance : float
            0.5 by chance, 1 at best.
        """
        if until is not None:
            until = checked_number("until", until, "pass a time.")
        risk, event, time = self._beside(X, y)
        return uno_concordance(event, time, risk, until=until)

    def _beside(self, X: Any, y: Any) -> tuple[Array, Mask, Array]:
        """Risks, events and times of new samples."""
        risk = self.predict(X)
        event, time = read_survival(y)
        check_consistent_length(risk, time)
        return risk, event, time
