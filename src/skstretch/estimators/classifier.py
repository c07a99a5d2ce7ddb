"""Stretchy classification for one choice of a, k, c and density."""

from typing import Any

import numpy as np

from skstretch.core.density import keep_count
from skstretch.estimators.batch_labels import batch_labels, check_streamable, known_classes
from skstretch.estimators.classification import Classification, check_choices, read_labels
from skstretch.estimators.model import whole_or_nothing
from skstretch.estimators.parameters import checked_spec, checked_weights
from skstretch.estimators.partial import add_rows, has_rows, or_as_before
from skstretch.estimators.planned import Size, fold_count, planned
from skstretch.estimators.prepared import prepare
from skstretch.estimators.splits import make_folds
from skstretch.estimators.validation import checked_X_y
from skstretch.search import crossfit
from skstretch.solve import iteration_line


class StretchyClassifier(Classification):
    """Classification by stretchy regression on targets +-1.

    Two classes: one regression. More: one against the rest, all from one factorisation; the
    largest score wins.

    Parameters
    ----------
    k, c, a, b, quadrant, density, fit_intercept, solver, n_jobs, verbose
        As in `StretchyRegressor`; k is 1.25 by default.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, times the sample weights. ``"balanced"`` gives all classes the
        same total weight.
    threshold : {"auto", "zero", "balanced"}, default="auto"
        Where scores are cut: ``"zero"`` as in the paper; ``"balanced"`` where the balanced error
        rate of exact out-of-fold scores is least; ``"auto"`` the second where a paired,
        cross-fitted comparison favours it by more than one standard error.
    cv : None, int, splitter or list of splits, default=None
        Which out-of-fold scores; None is leave one out, or ten folds with ``density < 1``, where
        every fold selects its own features. Krylov has no inverse to leave single samples out
        with: ``cv=None`` then cuts at zero and gives no probabilities, and with folds every fold
        is fitted on its own.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How scores become probabilities; isotonic for two classes only.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    threshold_ : float, or array of shape (n_classes,)
        The cut that `decision_function` subtracts.
    coef_ : array of shape (n_features,) for two classes, else (n_classes, n_features)
    intercept_, slope_, dual_coef_, support_, space_, solver_, rcond_, dof_, n_iter_, residual_
    n_features_in_, n_samples_seen_
        As in `StretchyRegressor`, with one target for two classes.

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

    def __init__(
        self,
        k: float = 1.25,
        c: float = 100.0,
        *,
        a: float = -0.2,
        b: Any = 0.0,
        quadrant: str = "exp",
        density: float = 1.0,
        fit_intercept: bool | str = True,
        solver: str = "auto",
        class_weight: Any = None,
        threshold: str = "auto",
        cv: Any = None,
        calibration: str = "sigmoid",
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
        self.solver = solver
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StretchyClassifier":
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,)."""
        check_choices(self.threshold, self.calibration)
        X, y = checked_X_y(self, X, y)
        labels = read_labels(y, checked_weights(sample_weight, X), self.class_weight)
        count = keep_count(self.density, X.shape[1])
        n_folds = fold_count(self.cv) if count < X.shape[1] else 0
        n_targets = labels.Y.shape[1]
        n_selections = n_targets * (count < X.shape[1])
        size = Size(n_selections=n_selections, n_folds=n_folds, held_out=True, n_targets=n_targets)
        with (
            planned(self, X, size, labels.weights) as X,
            iteration_line(self.verbose) as report,
        ):
            prepared = prepare(self, X, labels.weights, [(self.a, [self.k])])
            view = prepared.at(self.a)
            spec = checked_spec(self.k, self.c, view.quadrant.a, self.fit_intercept, self.solver)
            rows, compressed = prepared.rows, count < view.columns.size
            folds = make_folds(self.cv, X, y, rows, classifier=True, compressed=compressed)
            Y, weights = labels.Y[rows], prepared.weights
            fitted = crossfit(view.design, Y, weights, spec, count, folds, self.n_jobs, report)
        self.classes_ = labels.classes
        self._single = self.classes_.size == 2
        tested = rows[folds.tested]
        self._calibrate(fitted.outputs, labels.codes[tested], labels.sample_weights[tested])
        self._store(prepared, view, fitted.model)
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
        X, y, sample_weight
            As in `fit`; a batch need not have every class.
        classes : array of shape (n_classes,)
            All classes, needed in the first call.
        moments
            As in `StretchyRegressor.partial_fit`, where all else is told too.

        Returns
        -------
        self : StretchyClassifier

        Notes
        -----
        Rows are not kept, so there are no out-of-fold scores: scores are cut at zero
        (``threshold="balanced"`` is an error), and `predict_proba` is an error.
        ``class_weight="balanced"`` needs all labels and is an error too; a dict works.
        """
        check_choices(self.threshold, self.calibration)
        check_streamable(self.threshold, self.class_weight)
        X, y = checked_X_y(self, X, y, reset=not has_rows(self))
        self.classes_ = known_classes(self, classes)
        weights = checked_weights(sample_weight, X)
        labels = batch_labels(y, weights, self.classes_, self.class_weight)
        self._single = self.classes_.size == 2
        self._cuts, self._factor, self._isotonic = np.zeros(labels.Y.shape[1]), None, None
        add_rows(self, X, labels.Y, labels.weights, moments)
        return self
