"""Stretchy classification with a, k, c and density chosen by exact cross-validation."""

from functools import partial
from typing import Any

from skstretch.estimators.base import whole_or_nothing
from skstretch.estimators.classifier import Classification, Labels, check_choices, read_labels
from skstretch.estimators.inputs import checked_X_y, make_folds, prepare
from skstretch.estimators.parameters import checked_weights
from skstretch.estimators.progress import CallbackSupport, with_callbacks
from skstretch.estimators.search import StretchySearch, classification_scoring, route


class StretchyClassifierCV(CallbackSupport, Classification, StretchySearch):
    """`StretchyClassifier` that finds its own a, k, c and density.

    Parameters
    ----------
    a_grid, k_grid, c_grid, density_grid, b, quadrant, fit_intercept, cv, n_jobs, verbose
        As in `StretchyRegressorCV`; an int `cv` is stratified.
    scoring : None, str or callable, default=None
        None is minus the balanced error rate, ties broken by the squared error of the scores.
    rule : {"guarded", "best", "1se"}, default="guarded"
        As in `StretchyRegressorCV`, with the balanced 0/1 loss (or the 0/1 loss for another
        scoring) as paired loss. ``"guarded"`` with the default scoring lets the squared error of
        the scores decide among cells within a quarter of a standard error of the best.
    class_weight : None, "balanced" or dict, default="balanced"
        As in `StretchyClassifier`.
    threshold, calibration
        As in `StretchyClassifier`. Cells are compared at a cut of zero; the cut is learned for
        the chosen cell.

    Attributes
    ----------
    classes_, threshold_ : as in `StretchyClassifier`
    a_, k_, c_, density_, best_index_, cv_results_ : as in `StretchyRegressorCV`
    best_score_, best_score_se_ : as in `StretchyRegressorCV`
    cv_predictions_ : array of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold scores of the chosen cell, before the cut.
    rule_loss_ : str
        The loss by which the rule compares cells sample by sample.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skstretch import StretchyClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StretchyClassifierCV().fit(X, y)
    >>> bool(-model.best_score_ < 0.06)
    True
    """

    def __init__(
        self,
        a_grid: Any = (-0.2, 0.0),
        k_grid: Any = (1.1, 1.25, 1.5, 1.75, 2.0),
        c_grid: Any = "auto",
        density_grid: Any = (1.0,),
        *,
        b: Any = 0.0,
        quadrant: str = "exp",
        fit_intercept: bool | str = True,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "guarded",
        class_weight: Any = "balanced",
        threshold: str = "auto",
        calibration: str = "sigmoid",
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
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.class_weight = class_weight
        self.threshold = threshold
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @whole_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> "StretchyClassifierCV":
        """Search and fit; `params` such as groups are routed to the splitter."""
        check_choices(self.threshold, self.calibration)
        X, y = checked_X_y(self, X, y)
        labels = read_labels(y, checked_weights(sample_weight, X), self.class_weight)
        with self._planned(X, labels.weights, labels.Y.shape[1]) as X:
            return self._fit(X, y, labels, sample_weight, params)

    def _fit(
        self, X: Any, y: Any, labels: Labels, sample_weight: Any, params: dict[str, Any]
    ) -> "StretchyClassifierCV":
        """Search and fit checked data."""
        split_params = route(self, sample_weight, params)
        prepared = prepare(self, X, labels.weights, self._powers(X.shape[1]))
        folds = make_folds(
            self.cv,
            X,
            y,
            prepared.rows,
            classifier=True,
            compressed=self._compresses(X.shape[1]),
            **split_params,
        )
        scoring = classification_scoring(
            self.scoring, y, labels, prepared, folds, weighted=sample_weight is not None
        )
        self.classes_ = labels.classes
        self._single = labels.classes.size == 2
        tested = prepared.rows[folds.tested]
        calibrate = partial(
            self._calibrate, codes=labels.codes[tested], weights=labels.sample_weights[tested]
        )
        self._search(
            prepared,
            labels.Y[prepared.rows],
            folds,
            scoring,
            split_params.get("groups"),
            labels.sample_weights[prepared.rows],
            calibrate,
        )
        scores = self._scattered(prepared)
        self.cv_predictions_ = scores[:, 0] if self._single else scores
        return self
