"""Stretchy regression with a, k, c and density chosen by exact cross-validation."""

from typing import Any

from skstretch.estimators.regressor import Regression
from skstretch.estimators.search import StretchySearch


class StretchyRegressorCV(Regression, StretchySearch):
    """`StretchyRegressor` that finds its own a, k, c and density, and mixes the best of them.

    A family is one (a, k, density), and its best c represents it. By default the best cells of all
    families are mixed into one model, with weights from their out-of-fold residuals: choosing one
    of many cells on few samples is a gamble, and their mean is not. Cells of one a merge into one
    vector of coefficients; those of a = 0 alone make a linear model.

    Every closed form of the grid is cross-validated exactly and without refitting: the out-of-fold
    residuals follow from one inverse per cell. Cells at a = 0 and k < 2, which have no closed
    form, are compared by approximate leave-one-out residuals (one Newton step from the fit), and
    exact ones are made for the best cell of every k and for the chosen cell; with folds all are
    exact, by refits that start from the fit. ``cv_results_["loo"]`` says which is which. Exact
    given the z-scores, which are those of all samples.

    Parameters
    ----------
    a_grid : sequence of float, default=(-0.2, 0.0)
        Transforms ``exp(a z)`` to try; 0 is the exact minimiser on z, ridge regression at k = 2.
    k_grid : "auto" or sequence of float, default="auto"
        Stretching powers to try. ``"auto"``: 1.25, 1.5 and 2; at a = 0, where cells are exact
        minimisers, 1.02, 1.05, 1.1, 1.25, 1.5 and 2, or 2 alone where every step of Newton's method
        would read the data again (wide Dask arrays, and files or tall sparse matrices whose
        z-scores take more than half the working memory). Of given powers a = 0 takes those up to 2.
        With more than 10,000 samples and features ``"auto"`` is 1.25 and 2, at a = 0 2 alone, and
        cells are fitted without the matrix of samples: see the guide, "Many rows".
    c_grid : "auto" or sequence of float, default="auto"
        ``"auto"`` ties the penalty to the scale of the data, ``lambda = s * scale`` for relative
        strengths s from 1e-12 to 1e2 (25 values at k = 2, else 13), so that the same grid serves
        every a and k. At a = 0 and k < 2 up to 20 values of c lead from about one degree of
        freedom to saturation, or to where three in a row err by a tenth more than the best.
    density_grid : "auto" or sequence of float or int, default="auto"
        Shares or numbers of features to keep. Below all of them, every fold selects its own and
        fits again. ``"auto"``: all features; a mixture also tries the 30 and the 100 strongest of
        ridge regression where there are twice as many, in ten folds, for data in memory.
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
        predictions. Scores are pooled over all out-of-fold predictions. The rules compare cells by
        the loss that ``rule_loss_`` names: the squared error, whatever the scorer.
    rule : {"mix", "guarded", "best", "1se"}, default="mix"
        ``"mix"`` mixes the best cells of all families, for every target on its own: weights w, not
        negative and with sum one, of least squared error plus a pull towards equal weights of the
        families that are not plainly worse. The other rules choose one cell, with the default
        scoring for every target on its own, as ``weights_`` tells. ``"best"`` takes the
        best score. ``"guarded"`` takes the best cell of a = 0, unless the best of all has paired
        losses that are lower by more than two standard errors. ``"1se"`` takes, among the cells
        whose paired losses are at most one standard error worse than the best, a = 0 before
        others, then the fewest features, then the fewest degrees of freedom.
    nested : bool or "refit", default=True
        Whether to work out ``nested_score_``. With ``rule="mix"``, leave one out, the default
        scoring and data in memory the search tells it: closed forms exactly, without a fit, and
        exact minimisers and selected features by fits without parts of the samples; of more than
        300 samples (or 2,000 of all targets) from closed forms alone, a little too good. With
        folds, groups, other rules or scorers the search is run again without each of ten parts of
        the samples (with `cv`: its own folds), if that takes a few seconds: parts times cells
        times N² L up to 5e9, N the smaller and L the larger side of X. ``"refit"``: always, and
        however long it takes.
    n_jobs : int or None, default=None
        Threads for the second passes of several targets, where the chosen cell has them.
    verbose : int, default=0
        With 1 or more, the plan of the search, a bar, and at the end the number of
        factorisations on stderr.

    Attributes
    ----------
    a_, k_, c_, density_ : the chosen cell, or the one of the largest weight or of most targets
    weights_ : dict of arrays
        The cells of the model and their weights, the heaviest first: ``a``, ``k``, ``c``,
        ``density``, ``weight`` (a column for every target, where they differ), ``score`` and
        ``row`` in ``cv_results_``.
    best_score_ : float
        The score of the model's out-of-fold predictions, greater is better. It has seen every
        sample when it chose: ``nested_score_`` has not.
    nested_score_, nested_score_se_ : float
        The score of samples that were predicted by a search (best cells and weights) which had
        never seen them, and its standard error. For closed forms alone it is that of leave one
        out, exact given the z-scores of all samples; of some samples where there are many or other
        cells take part: what these lose more than in the plain score is added to it. NaN where the
        search would have to be repeated and is long, for data that are read in blocks, and with
        two folds, without one of which none is left.
    best_score_se_ : float
        The standard error of ``best_score_``, from the spread of the losses of single samples, or
        of whole groups where `fit` was given groups:
        ``sqrt(sum_i w_i (l_i - mean)^2) / sum_i w_i``. NaN for a `scoring` that is not the mean of
        such losses: the squared error, for classes the (balanced) 0/1 loss.
    best_index_ : int
        The row of the cell in ``cv_results_``.
    cv_results_ : dict of arrays
        One row a cell; ``pandas.DataFrame(model.cv_results_)`` opens it. ``loo`` is ``"exact"``
        where the residuals behind the score are those of literal refits, and ``"approximate"``
        where they are one Newton step from the fit of all samples: with ``cv=None`` cells at a = 0
        and k < 2 other than the chosen one and the best of every k. ``"held out"``: with more than
        10,000 samples and features, a part is held out and predicted by iterated fits of the rest.
        ``score_error`` bounds what rounding does to a score: no cell wins by less than that, and of
        equal scores the stronger penalty wins.
    cv_predictions_ : array of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions of the model: the mean over repeats, NaN for samples in no
        test set. Samples of weight zero, which no fold trains on, get the prediction of the model.
    rule_loss_ : str
        The loss by which the rule compares cells sample by sample.
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
    2999 ± 185
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
        nested: bool | str = True,
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
        self.n_jobs = n_jobs
        self.verbose = verbose
