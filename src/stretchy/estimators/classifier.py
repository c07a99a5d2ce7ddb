"""Stretchy classification for one choice of a, k, c and density."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from stretchy.core.classes import class_weights, signed_targets
from stretchy.core.types import Array
from stretchy.estimators.model import StretchyModel
from stretchy.estimators.parameters import checked_weights


class StretchyClassifier(ClassifierMixin, StretchyModel):
    """Classification by stretchy regression on targets +-1.

    Two classes: one regression, cut at zero. More: one against the rest, all from one
    factorisation; the largest score wins.

    Parameters
    ----------
    k, c, a, b, quadrant, density, fit_intercept, solver, n_jobs
        As in `StretchyRegressor`; k is 1.25 by default.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, times the sample weights. ``"balanced"`` gives all classes the
        same total weight.
    threshold : {"zero"}, default="zero"
        Where the scores are cut: at zero, as in the paper.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_features,) for two classes, else (n_classes, n_features)
    intercept_, slope_, dual_coef_, support_, space_, solver_, rcond_, dof_, n_features_in_
        As in `StretchyRegressor`, with one target for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stretchy import StretchyClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StretchyClassifier(class_weight="balanced").fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
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
        n_jobs: int | None = None,
        class_weight: Any = None,
        threshold: str = "zero",
    ):
        self.k = k
        self.c = c
        self.a = a
        self.b = b
        self.quadrant = quadrant
        self.density = density
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.threshold = threshold

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StretchyClassifier":
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,)."""
        if self.threshold != "zero":
            raise ValueError(f'threshold={self.threshold!r} is not known: use "zero".')
        X, y = validate_data(self, X, y, dtype="numeric")
        check_classification_targets(y)
        weights = checked_weights(sample_weight, X)
        # samples of weight zero are as if they were not there: their classes too
        self.classes_ = np.unique(y[weights > 0])
        if self.classes_.size < 2:
            raise ValueError(
                f"y has one class ({self.classes_[0]!r}): a classifier needs samples of at least "
                "two classes."
            )
        codes = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1)
        weights = class_weights(self.class_weight, self.classes_, codes, weights)
        self._single = self.classes_.size == 2
        self._fit_targets(X, signed_targets(codes, self.classes_.size), weights)
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of shape (n_samples,) for two classes, else (n_samples, n_classes)."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._single else outputs

    def predict(self, X: Any) -> Any:
        """The class of every sample: positive score, or largest."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if self._single else scores.argmax(axis=1)
        return self.classes_[codes]
