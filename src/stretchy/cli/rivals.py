"""Methods to compare with: each a function (X, y) -> fitted object with ``predict``.

All standardise the features and choose their own strength inside the training part. Those for
classes weight the classes equally, because the error is the balanced error rate.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

SEED = 0
INNER_FOLDS = 5
GLMNET_FOLDS = 10
MAX_COMPONENTS = 20
# a sparse matrix is made dense for methods that need it up to this size
MAX_DENSE_BYTES = 1 << 30
Fit = Callable[[Any, Any], Any]


def rivals(classifies: bool) -> Iterator[tuple[str, Fit]]:
    """Names and fits of the methods that are installed, ours first."""
    if classifies:
        yield "stretchy", _stretchy_classifier
        yield "RidgeClassifierCV", _ridge_classifier
        yield "LinearSVC", _support_vectors
    else:
        yield "stretchy", _stretchy_regressor
        yield "RidgeCV", _ridge
        yield "PLS", _partial_least_squares
    if find_spec("glmnet") is not None:
        fit = _glmnet_classifier if classifies else _glmnet
        yield "glmnet lasso", partial(fit, alpha=1.0)
        yield "glmnet elastic net", partial(fit, alpha=0.5)


def _stretchy_regressor(X: Any, y: Any) -> Any:
    from stretchy import StretchyRegressorCV

    return StretchyRegressorCV().fit(X, y)


def _stretchy_classifier(X: Any, y: Any) -> Any:
    from stretchy import StretchyClassifierCV

    return StretchyClassifierCV().fit(X, y)


def _scaled(X: Any, estimator: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=isinstance(X, np.ndarray)), estimator)


def _ridge(X: Any, y: Any) -> Any:
    """100 penalties, exact leave-one-out."""
    from sklearn.linear_model import RidgeCV

    return _scaled(X, RidgeCV(np.logspace(-6, 6, 100))).fit(X, y)


def _ridge_classifier(X: Any, y: Any) -> Any:
    from sklearn.linear_model import RidgeClassifierCV

    alphas = np.logspace(-6, 6, 100)
    return _scaled(X, RidgeClassifierCV(alphas, class_weight="balanced")).fit(X, y)


def _support_vectors(X: Any, y: Any) -> Any:
    """C by 5-fold balanced accuracy."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import LinearSVC

    pipeline = _scaled(X, LinearSVC(class_weight="balanced", random_state=SEED))
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=SEED)
    grid = {"linearsvc__C": np.logspace(-6, 1, 8)}
    return GridSearchCV(pipeline, grid, cv=folds, scoring="balanced_accuracy").fit(X, y)


def _partial_least_squares(X: Any, y: Any) -> Any:
    """1 to 20 components by 5-fold squared error."""
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.model_selection import GridSearchCV, KFold

    if not isinstance(X, np.ndarray):
        if 8 * X.shape[0] * X.shape[1] > MAX_DENSE_BYTES:
            raise ValueError("needs dense data, and these would not fit")
        X = X.toarray()
    n, p = X.shape
    largest = max(1, min(MAX_COMPONENTS, p, n - -(-n // INNER_FOLDS) - 1))
    folds = KFold(INNER_FOLDS, shuffle=True, random_state=SEED)
    grid = {"n_components": range(1, largest + 1)}
    search = GridSearchCV(PLSRegression(), grid, cv=folds, scoring="neg_mean_squared_error")
    return search.fit(X, y)


def _glmnet(X: Any, y: Any, *, alpha: float) -> Any:
    """100 penalties, 10-fold squared error, lambda.min."""
    from glmnet import ElasticNet

    model = ElasticNet(
        alpha=alpha,
        n_splits=GLMNET_FOLDS,
        scoring="mean_squared_error",
        cut_point=0.0,
        random_state=SEED,
    )
    return model.fit(X, y)


def _glmnet_classifier(X: Any, y: Any, *, alpha: float) -> Any:
    """Binomial or multinomial, balanced, 10-fold deviance, lambda.min."""
    from glmnet import LogitNet
    from sklearn.utils.class_weight import compute_sample_weight

    model = LogitNet(
        alpha=alpha,
        n_splits=GLMNET_FOLDS,
        scoring=_balanced_deviance,
        cut_point=0.0,
        random_state=SEED,
    )
    return model.fit(X, y, sample_weight=compute_sample_weight("balanced", y))


def _balanced_deviance(model: Any, X: Any, y: Any, lamb: Any) -> Any:
    """Minus the class-balanced log-loss for each penalty; glmnet's scorers ignore weights."""
    from scipy.special import log_softmax
    from sklearn.utils.class_weight import compute_sample_weight

    scores = model.decision_function(X, lamb=lamb).reshape(len(y), -1, len(lamb))
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    own = np.searchsorted(model.classes_, y)
    chances = log_softmax(scores, axis=1)[np.arange(len(y)), own]
    return np.average(chances, axis=0, weights=compute_sample_weight("balanced", y))


def features_used(model: Any) -> int:
    """How many features have a coefficient that is not zero."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    coef = np.atleast_2d((steps[-1][1] if steps else model).coef_)
    return int(np.any(coef, axis=0).sum())
