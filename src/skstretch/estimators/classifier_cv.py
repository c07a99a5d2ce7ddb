"""Stretchy classification with a, k, c and density chosen by exact cross-validation."""

from typing import Any

from skstretch.estimators.classifier import Classification
from skstretch.estimators.search import StretchySearch


class StretchyClassifierCV(Classification, StretchySearch):
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
