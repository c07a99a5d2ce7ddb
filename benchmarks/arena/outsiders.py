"""Competitors that only the arena has: each a function (X, y) -> fitted object with ``predict``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from skstretch.cli.methods import INNER_FOLDS, MAX_COMPONENTS, SEED

PENALTIES = 100
RATIO = 1e-4
ITERATIONS = 1_000_000
TREES = 200


def whole_path(fit: Callable[..., Any], X: Any, y: NDArray, *, alpha: float) -> Any:
    """glmnet with all of its 100 penalties, and ten times its iterations.

    The penalties are ``lam_max * 1e-4 ** (i / 99)``, those that its own path starts with; given by
    hand they are all solved, because glmnet ends a path early only where it made it. ``lam_max``
    comes from a path of five penalties that all keep almost nothing. Classes that the features tell
    apart completely still end a path, where probabilities reach 0 and 1.
    """
    start = fit(X, y, alpha=alpha, n_splits=0, n_lambda=5, min_lambda_ratio=0.9).lambda_path_[0]
    path = start * RATIO ** (np.arange(PENALTIES) / (PENALTIES - 1))
    return fit(X, y, alpha=alpha, lambda_path=path, max_iter=ITERATIONS)


def forest_regressor(X: Any, y: NDArray) -> Any:
    """200 trees, each split among a third of the features, as is usual for regression."""
    return RandomForestRegressor(TREES, max_features=1 / 3, random_state=SEED).fit(X, y)


def forest_classifier(X: Any, y: NDArray) -> Any:
    """200 trees, each split among the square root of the features; classes weigh the same."""
    return RandomForestClassifier(TREES, class_weight="balanced", random_state=SEED).fit(X, y)


def discriminant(X: Any, y: NDArray) -> Any:
    """PLS-DA with its number of components by 5-fold balanced accuracy, fewer where they tie."""
    return PLSDiscriminant().fit(X, y)


class PLSDiscriminant(ClassifierMixin, BaseEstimator):
    """PLS regression on coded classes; a sample belongs to the nearest class mean.

    Nearness is that of the fitted codes ``T Q'``, so that classes weigh the same however large they
    are. Features are standardised once for the whole training fold. PLS does not change when the
    features are rotated, so that wide data are first written in the n coordinates of their rows:
    ``X' = V R``, and PLS sees ``R'``. The first h components do not depend on those that follow:
    one fit answers for every number of components.
    """

    def fit(self, X: Any, y: NDArray) -> PLSDiscriminant:
        """Choose the number of components, then fit."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._scaler = StandardScaler().fit(X)
        scaled = self._scaler.transform(X)
        n, p = scaled.shape
        self._axes = np.linalg.qr(scaled.T)[0] if p > n else None
        Z = self._coordinates(scaled)
        folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=SEED)
        splits = list(folds.split(Z, codes))
        most = min(MAX_COMPONENTS, Z.shape[1], min(len(train) for train, _ in splits) - 1)
        scores = np.zeros(most)
        for train, test in splits:
            guesses = _Codes(Z[train], codes[train], most).guesses(Z[test])
            scores += [balanced_accuracy_score(codes[test], guess) for guess in guesses]
        self.n_components_ = int(np.argmax(scores)) + 1
        self._codes = _Codes(Z, codes, self.n_components_)
        return self

    def predict(self, X: Any) -> NDArray:
        """The nearest class."""
        Z = self._coordinates(self._scaler.transform(X))
        return self.classes_[self._codes.guesses(Z)[-1]]

    def _coordinates(self, scaled: NDArray) -> NDArray:
        return scaled if self._axes is None else scaled @ self._axes


class _Codes:
    """Fitted codes of one training part, for 1, 2, ... components."""

    def __init__(self, Z: NDArray, codes: NDArray, n_components: int) -> None:
        Y = np.eye(codes.max() + 1)[codes]
        # Two classes need one column: then every component is found without iterations.
        Y = Y[:, 1:] if Y.shape[1] == 2 else Y
        self._pls = PLSRegression(n_components, scale=False).fit(Z, Y)
        present = np.unique(codes)
        fitted = self._fitted(Z)
        self._present = present
        self._means = [np.array([F[codes == k].mean(axis=0) for k in present]) for F in fitted]

    def guesses(self, Z: NDArray) -> list[NDArray]:
        """The nearest class of each row, one array for each number of components."""
        pairs = zip(self._fitted(Z), self._means, strict=True)
        return [
            self._present[np.square(F[:, None] - means).sum(axis=2).argmin(axis=1)]
            for F, means in pairs
        ]

    def _fitted(self, Z: NDArray) -> list[NDArray]:
        scores, loadings = self._pls.transform(Z), self._pls.y_loadings_
        return [scores[:, :h] @ loadings[:, :h].T for h in range(1, loadings.shape[1] + 1)]
