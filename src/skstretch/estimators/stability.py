"""Features that a lasso path selects again and again in halves of the samples."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstretch._version import Versioned
from skstretch.core.classes import signed_targets
from skstretch.core.stability import (
    BOUNDS,
    complementary_halves,
    false_selections,
    least_threshold,
)
from skstretch.core.stretch import checked_number
from skstretch.core.types import Array, Index, Mask
from skstretch.designs import is_dask
from skstretch.estimators.inputs import (
    check_among,
    check_count,
    checked_X_y,
    group_codes,
    numeric_targets,
    prepare,
)
from skstretch.estimators.regressor import StretchyRegressor
from skstretch.search.selection import path_supports
from skstretch.solve.choose import count_for_stability


class StabilitySelector(SelectorMixin, Versioned, BaseEstimator):
    """Select features that keep being selected in halves of the samples, with few false ones.

    The samples are cut into two halves at random, again and again, and the lasso path of every half
    selects a few features. Those that enough halves select are kept, and a bound tells how many of
    them are expected to be there by chance (Shah and Samworth 2013; Meinshausen and Buehlmann
    2010).

    Parameters
    ----------
    expected_false : float, default=1.0
        How many false features may be expected, at most: it settles the threshold.
    threshold : float or None, default=None
        The share of halves that must select a feature, above 0.5; takes the place of
        `expected_false`.
    n_features_to_select : int or "auto", default="auto"
        Features that a half selects. ``"auto"``: ``sqrt(0.8 * expected_false * n_features)``, at
        most a quarter of the samples.
    n_pairs : int, default=50
        Pairs of complementary halves.
    bound : {"r-concave", "unimodal", "none"}, default="r-concave"
        What the bound assumes of how often features are selected, see Notes.
    classes : bool or None, default=None
        Whether y holds classes. None: text, truth values and two numbers are classes.
    random_state : int, RandomState or None, default=None
        What the halves are drawn with; an int gives the same ones every time.
    n_jobs : int or None, default=None
        Threads over halves.

    Attributes
    ----------
    frequency_ : ndarray of shape (n_features,)
        The share of halves that selected each feature.
    threshold_ : float
        The share from which on a feature is kept.
    expected_false_ : float
        The bound on the expected number of false features at this threshold.
    n_per_half_ : int
        Features that a half selects, at most.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    StretchyRegressorCV : Its ``effects()`` tell how stable the signs of a model are.

    Notes
    -----
    A feature is false if a half selects it no more often than a draw of as many features at random
    would. Features that correlate with true ones can be selected in their place more often than
    that, and are not counted. Each false feature is selected by some share of the halves.
    ``"r-concave"`` assumes that this share has a smooth distribution, as it has in practice,
    ``"unimodal"`` that it has one mode, ``"none"`` nothing. Where neighbours are alike, as in
    spectra, each half may select another of them, so that none reaches the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch import StabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 300))
    >>> y = X[:, 7] - X[:, 70] + rng.standard_normal(100)
    >>> selector = StabilitySelector(random_state=0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [7, 25, 70]

    Features 7 and 70 are true, and 25 is there by chance: one false feature may be expected.

    >>> selector.expected_false_ <= 1
    True
    """

    def __init__(
        self,
        expected_false: Any = 1.0,
        *,
        threshold: Any = None,
        n_features_to_select: Any = "auto",
        n_pairs: Any = 50,
        bound: str = "r-concave",
        classes: bool | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.expected_false = expected_false
        self.threshold = threshold
        self.n_features_to_select = n_features_to_select
        self.n_pairs = n_pairs
        self.bound = bound
        self.classes = classes
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> "StabilitySelector":
        """Select features in every half, and settle the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data: an array, a frame, a sparse matrix or a memory map.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets or classes.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group stay in one half.

        Returns
        -------
        self : StabilitySelector
            Fitted.
        """
        self._check_parameters()
        if is_dask(X):
            raise TypeError("StabilitySelector needs X in memory: pass X.compute().")
        X, y = checked_X_y(self, X, y, multi_output=True)
        Y, strata = self._targets(y)
        units = np.arange(len(Y)) if groups is None else group_codes(groups, len(Y))
        n_units = int(units.max()) + 1
        if n_units < 4:
            what = "n_samples" if groups is None else "n_groups"
            raise ValueError(f"{what}={n_units}: two halves of at least two need four.")
        if not np.ptp(Y, axis=0).any():
            raise ValueError("y does not vary: there is nothing to select for.")
        design = prepare(StretchyRegressor(), X, np.ones(len(Y))).at(0.0)
        n_varying = int(design.columns.size)
        if n_varying == 0:
            raise ValueError("no column of X varies: there is nothing to select.")
        self.n_per_half_ = self._count(n_varying, len(Y) // 2)
        rng = check_random_state(self.random_state)
        strata = strata if groups is None else np.zeros_like(strata)
        halves = complementary_halves(units, strata, self.n_pairs, rng)
        found = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_selected)(X, Y, half, self.n_per_half_) for half in halves.reshape(-1, len(Y))
        )
        self.frequency_ = np.mean(found, axis=0)
        self._settle(n_varying)
        return self

    def _check_parameters(self) -> None:
        expected = checked_number("expected_false", self.expected_false, "pass a number, say 1.")
        if not expected > 0:
            raise ValueError(f"expected_false={self.expected_false!r} must be positive, say 1.")
        if self.threshold is not None:
            share = checked_number("threshold", self.threshold, "pass a share, say 0.75, or None.")
            if not 0.5 < share <= 1:
                raise ValueError(
                    f"threshold={self.threshold!r} must lie above 0.5 and up to 1, say 0.75."
                )
        check_count("n_pairs", self.n_pairs, 2, "say 50")
        check_among("bound", self.bound, [*BOUNDS])

    def _targets(self, y: Any) -> tuple[Array, Index]:
        """Targets (n, t), and the classes that halves should share evenly."""
        classes = self.classes
        if classes is None:
            classes = y.ndim == 1 and (y.dtype.kind not in "iuf" or np.unique(y).size == 2)
        if not classes:
            return numeric_targets(y), np.zeros(len(y), dtype=np.intp)
        if y.ndim > 1:
            raise ValueError(f"y has shape {y.shape}: classes need one label a sample.")
        labels, codes = np.unique(y, return_inverse=True)
        if labels.size < 2:
            raise ValueError(f"y holds one class, {labels[0]!r}: there is nothing to select for.")
        return signed_targets(codes, labels.size), codes

    def _count(self, n_features: int, half: int) -> int:
        """Features that a half selects."""
        given = self.n_features_to_select
        if isinstance(given, str) and given == "auto":
            return count_for_stability(float(self.expected_false), n_features, half)
        check_count("n_features_to_select", given, 1, 'or "auto"')
        return min(int(given), n_features)

    def _settle(self, n_features: int) -> None:
        """The threshold, and what it bounds."""
        shape = self.n_per_half_, n_features, int(self.n_pairs), self.bound
        share = self.threshold
        if share is None:
            share = least_threshold(float(self.expected_false), *shape)
        if share is None:
            raise ValueError(
                f"expected_false={self.expected_false:g} is out of reach where halves select "
                f"{self.n_per_half_} of {n_features} features: at least "
                f"{false_selections(1.0, *shape):.2g} are expected by the bound. Select fewer "
                "(n_features_to_select), or raise expected_false."
            )
        self.threshold_ = float(share)
        self.expected_false_ = false_selections(self.threshold_, *shape)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.frequency_ >= self.threshold_ * (1 - 1e-12))


def _selected(X: Any, Y: Array, half: Mask, count: int) -> Mask:
    """The features that one half selects, standardised by its own samples."""
    view = prepare(StretchyRegressor(), X, half.astype(np.float64)).at(0.0)
    found = np.zeros(X.shape[1], dtype=bool)
    if view.columns.size and np.ptp(Y[half], axis=0).any():
        design, weights = view.design, np.ones(int(half.sum()))
        found[view.columns[path_supports(design, Y[half], weights, [count])[count]]] = True
    return found
