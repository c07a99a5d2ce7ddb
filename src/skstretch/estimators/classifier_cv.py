"""Stretchy classification with a, k, c and density chosen by exact cross-validation."""

from typing import Any

from skstretch.estimators.classifier import Classification
from skstretch.estimators.search import StretchySearch


class StretchyClassifierCV(Classification, StretchySearch):
    """`StretchyClassifier` that finds its own a, k, c and density, and mixes the best of them.

    As `StretchyRegressorCV`, with a loss that is made for classes.

    Parameters
    ----------
    a_grid : sequence of float, default=(-0.2, 0.0)
        Transforms ``exp(a z)`` to try; 0 is the linear limit.
    k_grid : "auto" or sequence of float, default="auto"
        Stretching powers to try. ``"auto"``: 1.25, 1.5 and 2; at a = 0, where cells are exact
        minimisers, 1.02, 1.05, 1.1, 1.25, 1.5 and 2 (or 2 alone, as in `StretchyRegressorCV`). From
        six classes on a = 0 has 1.05, 1.25, 1.5 and 2, and features are selected at half as many
        strengths. Of given powers a = 0 takes those up to 2.
    c_grid : "auto" or sequence of float, default="auto"
        Inverse strengths of regularisation; ``"auto"`` ties them to the scale of the data, as in
        `StretchyRegressorCV`.
    density_grid : "auto" or sequence of float or int, default="auto"
        Shares or numbers of features to keep, as in `StretchyRegressorCV`.
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
        None is leave one out, or ten folds where features are selected; an int makes so many
        stratified folds. With ``fit(..., groups=...)`` None leaves one group out, an int makes
        folds of whole groups (`GroupKFold`), and a splitter is handed the groups.
    scoring : None, str or callable, default=None
        None is minus the balanced error rate, ties broken by the squared error of the scores.
    rule : {"mix", "guarded", "best", "1se"}, default="mix"
        ``"mix"``: the best cell of a family is the one of least log loss, of probabilities that
        the out-of-fold scores give at their best temperature, classes weighed alike; its share
        falls with that loss, ``exp(-0.3 n (loss - least))``. All classes share cells and weights.
        The other rules as in `StretchyRegressorCV`, with the balanced 0/1 loss (or the 0/1 loss
        for another scoring) as paired loss. ``"guarded"`` with the default scoring lets the
        squared error of the scores decide among cells within a quarter of a standard error of the
        best.
    nested : bool or "refit", default=True
        Whether to work out ``nested_score_``, as in `StretchyRegressorCV`.
    class_weight : None, "balanced" or dict, default="balanced"
        Weights of the classes, times the sample weights; ``"balanced"`` gives all classes the same
        total weight.
    threshold : {"auto", "zero", "balanced"}, default="auto"
        Where scores are cut, as in `StretchyClassifier`. Cells are compared at a cut of zero; the
        cut is learned for the model.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How the scores of the model become probabilities; isotonic for two classes only.
    n_jobs : int or None, default=None
        Threads for the second passes of several classes, where the chosen cell has them.
    verbose : int, default=0
        With 1 or more, the plan of the search, a bar, and at the end the number of
        factorisations on stderr.

    Attributes
    ----------
    classes_, threshold_, held_out_ : as in `StretchyClassifier`
    a_, k_, c_, density_, best_index_ : as in `StretchyRegressorCV`
    cv_results_ : dict of arrays
        One row a cell, as in `StretchyRegressorCV`. ``loo`` is ``"exact"`` where the out-of-fold
        scores are those of literal refits, and ``"approximate"`` where they are one Newton step
        from the fit of all samples: with ``cv=None`` cells at a = 0 and k < 2 other than the chosen
        one and the best of every k (with six classes or more and ``rule="mix"``, the best of those
        k alone that come near a share of the mixture). ``"held out"`` as in `StretchyRegressorCV`.
    weights_, best_score_, best_score_se_ : as in `StretchyRegressorCV`
    nested_score_, nested_score_se_ : as in `StretchyRegressorCV`
    cv_predictions_ : array of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold scores of the model, before the cut.
    rule_loss_ : str
        The loss by which the rule compares cells sample by sample.

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
    >>> bool(-model.best_score_ < 0.06)
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
        nested: bool | str = True,
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
        self.penalty_factor = penalty_factor
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.nested = nested
        self.class_weight = class_weight
        self.threshold = threshold
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.verbose = verbose
