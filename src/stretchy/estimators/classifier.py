"""Stretchy classification for one choice of a, k, c and density."""

from typing import Any

from stretchy.core.density import keep_count
from stretchy.estimators.classification import Classification, check_choices, read_labels
from stretchy.estimators.model import whole_or_nothing
from stretchy.estimators.parameters import checked_spec, checked_weights
from stretchy.estimators.planned import planned
from stretchy.estimators.prepared import prepare
from stretchy.estimators.splits import make_folds
from stretchy.estimators.validation import checked_X_y
from stretchy.search import crossfit


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
        every fold selects its own features.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How scores become probabilities; isotonic for two classes only.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    threshold_ : float, or array of shape (n_classes,)
        The cut that `decision_function` subtracts.
    coef_ : array of shape (n_features,) for two classes, else (n_classes, n_features)
    intercept_, slope_, dual_coef_, support_, space_, solver_, rcond_, dof_, n_features_in_
        As in `StretchyRegressor`, with one target for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stretchy import StretchyClassifier
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
        with planned(self, X, compressed=count < X.shape[1]) as X:
            prepared = prepare(self, X, labels.weights, [(self.a, [self.k])])
            view = prepared.at(self.a)
            spec = checked_spec(self.k, self.c, view.quadrant.a, self.fit_intercept, self.solver)
            rows, compressed = prepared.rows, count < view.columns.size
            folds = make_folds(self.cv, X, y, rows, classifier=True, compressed=compressed)
            Y, weights = labels.Y[rows], prepared.weights
            fitted = crossfit(view.design, Y, weights, spec, count, folds, self.n_jobs)
        self.classes_ = labels.classes
        self._single = self.classes_.size == 2
        tested = rows[folds.tested]
        self._calibrate(fitted.outputs, labels.codes[tested], labels.sample_weights[tested])
        self._store(prepared, view, fitted.model)
        return self
