"""Stretchy classification: what the two classifiers share, and the one for given a, k, c.

Stretchy classification with a, k, c and density chosen by exact cross-validation.
"""

import math
import numbers
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skstretch.core.classes import (
    balanced_cuts,
    calibrated,
    class_weights,
    decided,
    favoured_cuts,
    model_biases,
    probabilities,
    settled,
    signed_targets,
)
from skstretch.core.types import Array, Index
from skstretch.designs import checked_weights, lazily
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.inputs import (
    Targets,
    check_among,
    check_labels,
    checked_X_y,
    held_out_name,
    warn_of_targets,
)
from skstretch.estimators.losses import fit_single
from skstretch.estimators.partial import add_rows, has_rows
from skstretch.estimators.search import StretchySearch
from skstretch.estimators.state import Decision, names_of_today, or_as_before, whole_or_nothing
from skstretch.search import Folds
from skstretch.solve.choose import N_FOLDS

THRESHOLDS = ("zero", "balanced", "auto")
CALIBRATIONS = ("auto", "sigmoid", None)


def read_labels(y: Any, weights: Array, class_weight: Any, classes: Any = None) -> Targets:
    """Labels as regression targets; the classes are those of the samples of positive weight.

    A batch of rows need not show every class: it is told the `classes`, and has no others.
    """
    check_classification_targets(y)
    # samples of weight zero are as if they were not there: their classes too
    shown = np.unique(y[weights > 0])
    if classes is None:
        classes = shown
    unknown = np.setdiff1d(shown, classes)
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown[0].item()!r}, which is not among the classes "
            f"{classes.tolist()} of the first call."
        )
    if classes.size < 2:
        only = classes.tolist()[0]
        raise ValueError(
            f"y has one class ({only!r}): a classifier needs samples of at least two classes."
        )
    codes = np.searchsorted(classes, y).clip(max=classes.size - 1)
    combined = class_weights(class_weight, classes, codes, weights)
    Y = signed_targets(codes, classes.size)
    return Targets(y, Y, combined, weights, classes.size == 2, classes, codes)


def is_number(threshold: Any) -> bool:
    """Whether a threshold is the cut itself."""
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real):
        return False
    return math.isfinite(threshold)


def given_cuts(threshold: Any, n_scores: int) -> Array:
    """The cut that was asked for, zero where it is to be learned or was not named."""
    if not is_number(threshold):
        return np.zeros(n_scores)
    if n_scores > 1:
        raise ValueError(
            f"threshold={threshold!r} cuts the score of two classes, and y has {n_scores}: the "
            'largest score wins; use "auto", "zero" or "balanced".'
        )
    return np.array([float(threshold)])


def check_threshold(threshold: Any) -> None:
    """Refuse unknown thresholds."""
    if not is_number(threshold) and threshold not in THRESHOLDS:
        raise ValueError(
            f"threshold={threshold!r} is not known: use one of {', '.join(THRESHOLDS)}, or a "
            "finite number that scores of two classes are cut at."
        )


def check_calibration(calibration: Any) -> None:
    """Refuse unknown ways from scores to probabilities."""
    if calibration not in CALIBRATIONS:
        rising = " A rising curve was worse in every comparison." * (calibration == "isotonic")
        raise ValueError(
            f'calibration={calibration!r} is not known: use "auto", "sigmoid" or None.{rising}'
        )


class Classification(ClassifierMixin, StretchyModel):
    """Scores, labels and probabilities."""

    classes_: Any
    class_weight: Any
    threshold: Any
    calibration: Any

    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Targets]:
        """Checked X, and the labels y as +-1 of shape (n, t)."""
        check_threshold(self.threshold)
        check_calibration(self.calibration)
        check_among("loss", self._loss, ("squared", "log"))
        check_labels(y)
        X, y = checked_X_y(self, X, y, reset=reset)
        targets = read_labels(y, checked_weights(sample_weight, X), self.class_weight)
        if not reset and not np.array_equal(targets.classes, self.classes_):
            raise ValueError(
                f"y has the classes {targets.classes.tolist()}, and the model was fitted to "
                f"{self.classes_.tolist()}: pass the data that it was fitted to."
            )
        self.classes_ = targets.classes
        return X, targets

    def _decide(self, outputs: Array, targets: Targets, rows: Index, folds: Folds) -> Decision:
        """Cut and probabilities; those of log loss are the model's own, unless asked otherwise."""
        found = self._learned_decision(outputs, targets, rows[folds.tested])
        if self._loss == "log" and self.calibration != "sigmoid":
            weights = targets.weights, targets.sample_weights
            biases = model_biases(found.cuts, cast(Index, targets.codes), *weights)
            found = replace(found, factor=1.0, biases=biases)
        elif not self.calibration:
            found = Decision(found.cuts)
        return replace(found, held_out=held_out_name(self.cv, folds))

    def _learned_decision(self, outputs: Array, targets: Targets, tested: Index) -> Decision:
        """Both learned from out-of-fold outputs (n_tested, t)."""
        codes, weights = cast(Index, targets.codes)[tested], targets.sample_weights[tested]
        outputs, n_classes = settled(outputs), targets.classes.size
        cuts = given_cuts(self.threshold, outputs.shape[1])
        if not (np.isfinite(outputs).all() and np.unique(codes).size == n_classes):
            if self.threshold == "balanced":
                raise ValueError(
                    'threshold="balanced" needs finite out-of-fold scores of every class: use '
                    'threshold="zero", a smaller c, or another cv.'
                )
            return Decision(cuts)
        if self.threshold == "balanced":
            cuts = balanced_cuts(outputs, codes, weights)
        elif self.threshold == "auto":
            cuts = favoured_cuts(outputs, codes, n_classes, weights, N_FOLDS)
        return Decision(cuts, *calibrated(outputs - cuts, codes, weights))

    @property
    def _decision(self) -> Decision:
        check_is_fitted(self)
        return cast(Decision, self._state.decision)

    @property
    def threshold_(self) -> Any:
        """The cut of the raw scores: a number for two classes, else one per class."""
        cuts = self._decision.cuts
        return float(cuts[0]) if self._state.single else cuts

    def _cut_outputs(self, X: Any) -> Array:
        return self._outputs(X) - self._decision.cuts.astype(self._state.dtype)

    def decision_function(self, X: Any) -> Array:
        """Score new samples, the cut already subtracted; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes: positive for the second. Else the largest wins.
        """
        outputs = self._cut_outputs(X)
        return cast(Array, self._state.flat(outputs))

    def predict(self, X: Any) -> Any:
        """Predict the class of new samples; lazy for a Dask array.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples: an array, a frame, a sparse matrix, a memory map or a Dask array.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            The class with a positive score, or with the largest.
        """
        outputs = self._cut_outputs(X)
        return lazily(partial(_named, self.classes_), outputs)

    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes.

        A softmax of the scores times a factor, plus a part of the logarithm of the shares of the
        classes (of two classes a sigmoid with slope and intercept): those of greatest likelihood on
        exact out-of-fold scores, where every label is taken to be wrong with probability
        ``0.5 / (n_samples + 1)``, the factor less what two fitted numbers gain by themselves.
        With ``loss="log"`` they are those of the model itself, class weights taken out again,
        unless ``calibration="sigmoid"`` asks for the above.

        `predict` goes by the scores and their cut, and not by the shares of the classes. With
        classes of equal size that is the largest probability. Else `predict` may name a rare class
        at less than one half: it has the least balanced error rate, and
        ``classes_[proba.argmax(axis=1)]`` makes the fewest errors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        outputs = self._cut_outputs(X)
        decision = self._decision
        if decision.factor is None and self.calibration is None:
            raise ValueError(
                "the model was fitted with calibration=None and has no probabilities: fit it with "
                'calibration="auto".'
            )
        if decision.factor is None:
            raise ValueError(
                "there are no finite out-of-fold scores of every class to calibrate "
                "probabilities on: use a smaller c, another cv, or fit in place of partial_fit."
            )
        return lazily(partial(_probable, decision), outputs)

    def _probable(self, outputs: Array) -> Array:
        """Probabilities (n, n_classes) of scores (n, t) that have been cut."""
        return _probable(self._decision, outputs)


def _named(classes: Any, outputs: Array) -> Any:
    return classes[decided(outputs)]


def _probable(decision: Decision, outputs: Array) -> Array:
    if decision.curve is None:
        assert decision.factor is not None
        return probabilities(outputs, decision.factor, decision.biases)
    raw = np.interp(outputs[:, 0], *decision.curve)
    positive = np.where(outputs[:, 0] > 0, np.maximum(raw, 0.5 + 1e-9), np.minimum(raw, 0.5))
    return np.column_stack([1.0 - positive, positive])


def check_streamable(threshold: Any, class_weight: Any) -> None:
    """Refuse what can only be learned from all rows at once."""
    if threshold == "balanced":
        raise ValueError(
            'threshold="balanced" needs out-of-fold scores, and partial_fit keeps no rows: use '
            '"zero" or "auto", or fit.'
        )
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} needs the labels of all rows, and partial_fit sees a "
            "batch at a time: pass a dict, for instance from "
            "sklearn.utils.class_weight.compute_class_weight, or use fit."
        )


def known_classes(estimator: Any, classes: Any) -> Any:
    """The classes of the first call; later ones may repeat them."""
    earlier = getattr(estimator, "classes_", None)
    if classes is None:
        if earlier is None:
            raise ValueError(
                "classes is missing: the first call of partial_fit needs all classes, since a "
                "batch may not show every one, for instance classes=np.unique(y_of_all_rows)."
            )
        return earlier
    given = np.unique(np.asarray(classes))
    if earlier is not None and not np.array_equal(given, earlier):
        raise ValueError(
            f"classes={given.tolist()} are not those of the first call, {earlier.tolist()}: leave "
            "classes out, or begin anew with sklearn.base.clone(model)."
        )
    if given.size < 2:
        raise ValueError(f"classes={given.tolist()}: a classifier needs at least two.")
    return given


class StretchyClassifier(Classification):
    """Classification by stretchy regression on targets +-1.

    Two classes: one regression. More: one against the rest, all from one factorisation; the
    largest score wins.

    Parameters
    ----------
    k : float, default=1.5
        Stretching power, ``1 < k < inf``; (1, 2] is the useful range.
    c : float or "auto", default="auto"
        Inverse strength of regularisation, ``np.inf`` for none. ``"auto"`` ties it to the scale of
        the data: ``1 / (c k)``, what is added to the diagonal of K, is 0.1 times the mean diagonal
        of the centred K. At ``a = 0`` and ``k < 2`` it gives the second derivative of the problem
        the trace that it has at ``k = 2``;
        with another `loss` ten times the c at which features begin to matter.
    loss : {"squared", "log"}, default="squared"
        Squared error of targets +-1; or, at ``a = 0``, log loss (logistic, softmax), whose scores
        are log-odds: ``sum |alpha|^k / (4c)`` plus the log loss.
    a : float, default=-0.2
        Slope of the transform ``exp(a z + b)``; at ``a = 0`` the coefficients are the exact
        minimiser on z-scores, for ``k <= 2``.
    b : float or array of shape (n_features,), default=0.0
        Shift of the transform ``exp(a z + b)``, for all features or for each.
    quadrant : {"exp", "identity"}, default="exp"
        ``"exp"`` standardises and maps to ``exp(a z + b)``; ``"identity"`` takes non-negative data
        as it is.
    density : float or int, default=1.0
        Share (float) or number (int) of features kept by a second pass, for every class its own.
    fit_intercept : {True, "column", False}, default=True
        Free (not penalised), the paper's penalised column of ones, or none.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        What the penalty of every feature is multiplied by, ``sum_j p_j |alpha_j|^k``: 0 for a
        feature that is never penalised (age, sex, batch), ``np.inf`` for one that is left out,
        else as in glmnet. Only ratios count: factors that are neither 0 nor inf are divided by
        their mean, so that equal ones change nothing. See the guide, "Penalty factors".
    solver : {"auto", "dual", "primal", "qr", "krylov"}, default="auto"
        As in `StretchyRegressor`, where it is told when ``"auto"`` takes which.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, times the sample weights. ``"balanced"`` gives all classes the
        same total weight.
    threshold : {"auto", "zero", "balanced"} or float, default="auto"
        Where scores are cut: at a number (two classes); ``"zero"`` as in the paper;
        ``"balanced"`` where the balanced error rate of exact out-of-fold scores is least;
        ``"auto"`` the latter where a paired, cross-fitted comparison favours it by more than one
        standard error.
    calibration : {"auto", "sigmoid", None}, default="auto"
        How scores become probabilities: by a slope and an intercept that are learned from
        out-of-fold scores; None for no probabilities.
    cv : None, int, splitter or list of splits, default=None
        Which out-of-fold scores; None is leave one out, or ten folds with ``density < 1``, where
        every fold selects its own features. With more than 10,000 samples and features, and with
        ``solver="krylov"``, leaving single samples out would cost more than the fit: None is then
        as many of ten stratified folds (drawn with a fixed seed) as hold out 1,000 samples, each
        predicted by one more fit of the others; with 10,000 samples that is one fold, which
        Krylov fits to a relative residual of 1e-4.
        ``plan_.held_out`` tells which it was.
    n_jobs : int or None, default=None
        Threads for the second passes of several classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    threshold_ : float or ndarray of shape (n_classes,)
        The cut that `decision_function` subtracts.
    c_ : float
        The inverse strength of regularisation in use.
    coef_, effect_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Change of `decision_function` for one unit, and for one standard deviation, of each
        feature; one row for two classes, whose second it speaks for.
    intercept_ : float or ndarray of shape (n_classes,)
        Where ``is_linear_``, ``X @ coef_.T + intercept_`` is `decision_function`.
    contributions_base_ : float or ndarray of shape (n_classes,)
        What `contributions` are added to: the mean of `decision_function` over the training data.
    alpha_, is_linear_, dual_coef_, support_, plan_, solver_, rcond_, dof_, n_iter_, dual_gap_
    n_features_in_, n_samples_seen_
        As in `StretchyRegressor`, with one target for two classes.

    See Also
    --------
    StretchyClassifierCV : Finds a, k, c and density itself.
    StretchyRegressor : The same for numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skstretch import StretchyClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StretchyClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict_proba(X).shape
    (569, 2)
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
        class_weight: Any = None,
        threshold: Any = "auto",
        calibration: Any = "auto",
        cv: Any = None,
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
        self.class_weight = class_weight
        self.threshold = threshold
        self.calibration = calibration
        self.cv = cv
        self.n_jobs = n_jobs

    @property
    def c_(self) -> float:
        """The inverse strength of regularisation in use."""
        check_is_fitted(self)
        return float(self._state.model.spec.c)

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StretchyClassifier":
        """Fit the model to samples and their classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data: an array, a frame, a sparse matrix, a memory map or a Dask array.
        y : array-like of shape (n_samples,)
            Classes: numbers, text or Booleans.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample; zero leaves it out.

        Returns
        -------
        self : StretchyClassifier
            Fitted.
        """
        X, targets = self._read(X, y, sample_weight)
        warn_of_targets(targets, stacklevel=4)
        self._store(fit_single(self, X, targets))
        return self

    @or_as_before
    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        moments: Any = None,
    ) -> "StretchyClassifier":
        """Add a batch of rows to those seen so far; equal to one `fit` with the same moments.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of rows; every batch has the same features.
        y : array-like of shape (n_samples,)
            Their classes; a batch need not have every class.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            As in `fit`.
        classes : array-like of shape (n_classes,) or None, default=None
            All classes, needed in the first call.
        moments : StandardScaler, FirstQuadrant, pair (mean, scale) or None, default=None
            As in `StretchyRegressor.partial_fit`, where all else is told too.

        Returns
        -------
        self : StretchyClassifier
            Fitted to all rows so far.

        Notes
        -----
        Rows are not kept, so there are no out-of-fold scores: scores are cut at zero
        (``threshold="balanced"`` is an error), and `predict_proba` is an error.
        ``class_weight="balanced"`` needs all labels and is an error too; a dict works.
        """
        check_threshold(self.threshold)
        check_streamable(self.threshold, self.class_weight)
        X, y = checked_X_y(self, X, y, reset=not has_rows(self))
        self.classes_ = known_classes(self, classes)
        weights = checked_weights(sample_weight, X)
        targets = read_labels(y, weights, self.class_weight, self.classes_)
        add_rows(
            self, X, targets, moments, Decision(given_cuts(self.threshold, targets.Y.shape[1]))
        )
        return self


class StretchyClassifierCV(Classification, StretchySearch):
    """`StretchyClassifier` that finds its own settings and averages the best models.

    As `StretchyRegressorCV`, with a loss that is made for classes.

    Parameters
    ----------
    n_features_to_select : None, int, float or list, default=None
        The model reads at most so many columns (a float: this share of them), selected anew in
        every fold; of a list the best is found by cross-validation. None: all features, and an
        average also tries some of them; 1.0: all features, and no selection is tried.
    loss : {"squared", "log"}, default="squared"
        Squared error of targets +-1; or log loss (logistic, softmax): linear, scores are log-odds.
    combine : {"average", "best", "1se"}, default="average"
        Average the best candidates by what they do on left-out samples; or take the best
        candidate; or the simplest within one standard error of it.
    cv : None, int, splitter or list of splits, default=None
        None leaves out one sample (or group) at a time, or tenths where features are selected
        and with ``loss="log"``.
    scoring : None, str or callable, default=None
        None is ``"balanced_accuracy"``; scorers take labels or scores (log loss: probabilities).
    nested_cv : None, int or splitter, default=None
        Folds without each of which the whole search is repeated, which then predicts the fold:
        the score to trust. It costs one more search for every fold.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        Times the penalty: 0 for a feature that is never penalised, inf for one that is left out.
    class_weight : None, "balanced" or dict, default="balanced"
        Weights of the classes, times the sample weights.
    threshold, calibration : as in `StretchyClassifier`, default="auto"
        Where scores are cut, and how they become probabilities (of log loss by itself).
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
    coef_, effect_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Change of the score for one unit, and for one standard deviation, of a
        feature: everywhere where ``is_linear_``, else at the mean.
    intercept_, is_linear_, support_, solver_, rcond_, dof_, dual_gap_ : as in `StretchyClassifier`
    classes_, threshold_ : as in `StretchyClassifier`
    weights_, cv_results_ : DataFrame (dict of arrays without pandas), dict of arrays
        The candidates of the model and their weights, the heaviest first; and all that were tried.
    a_, k_, c_, density_ : float
        The chosen candidate; not of averages.
    best_score_, best_score_se_, best_index_ : float, float, int
        Score of the out-of-fold predictions, which has seen the choice; its standard error; the
        row of the (heaviest) candidate in ``cv_results_``.
    nested_score_, nested_score_se_, nested_predictions_ : float, float, ndarray
        Of `nested_cv`: what searches say of samples that they have never seen.
    cv_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold scores, before the cut, of the model.
    plan_ : Plan
        How it was computed, and what was left out; of a loaded model its text.

    See Also
    --------
    StretchyClassifier : One given a, k, c and density.
    StretchyRegressorCV : The same for numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skstretch import StretchyClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StretchyClassifierCV().fit(X, y)
    >>> bool(model.best_score_ > 0.94)
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
        class_weight: Any = "balanced",
        threshold: Any = "auto",
        calibration: Any = "auto",
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
        self.class_weight = class_weight
        self.threshold = threshold
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.a_grid = a_grid
        self.k_grid = k_grid
        self.c_grid = c_grid
        self.b = b
        self.quadrant = quadrant
        self.fit_intercept = fit_intercept
