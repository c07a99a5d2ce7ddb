"""The competitors, each a function (X_train, y_train) -> fitted object with ``predict``.

Every method standardises the features and chooses its own strength inside the training
fold. The competitors weight the classes equally, because the error for classes is the balanced
error rate. glmnet takes the penalty with the smallest cross-validated error
(``lambda.min`` in R, ``lambda_max_`` in python-glmnet, reached by ``cut_point=0``), not
the one-standard-error penalty that its ``predict`` uses by default. Its path is its own:
100 penalties, ended early where the deviance hardly changes from one to the next. On smooth
spectra that can be before the best penalty (one fold of wheat_kernels: 0.54, against 0.31
with all 100 penalties given by hand and ten times the iterations), as it is for its users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import log_softmax
from sklearn.cross_decomposition import PLSRegression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

SEED = 0
ALPHAS = np.logspace(-6, 6, 100)
SVM_STRENGTHS = np.logspace(-6, 1, 8)
MAX_COMPONENTS = 20
INNER_FOLDS = 5
GLMNET_FOLDS = 10


@dataclass(frozen=True)
class Method:
    """A competitor.

    Attributes
    ----------
    fit : callable
        ``fit(X_train, y_train)`` returns an object with ``predict``.
    takes_sparse : bool
        Whether it takes CSR; otherwise it gets the dense form where that fits.
    """

    fit: Callable[[Any, NDArray], Any]
    takes_sparse: bool = False


def _scaled(X: Any, estimator: Any) -> Any:
    """The estimator behind a scaler that keeps a sparse X sparse."""
    return make_pipeline(StandardScaler(with_mean=not issparse(X)), estimator)


def mean(X: Any, y: NDArray) -> Any:
    """The mean of the training targets."""
    return DummyRegressor().fit(X, y)


def ridge(X: Any, y: NDArray) -> Any:
    """Ridge, 100 penalties, exact leave-one-out."""
    return _scaled(X, RidgeCV(alphas=ALPHAS)).fit(X, y)


def pls(X: Any, y: NDArray) -> Any:
    """Partial least squares, 1 to 20 components by 5-fold squared error."""
    n, p = X.shape
    largest = min(MAX_COMPONENTS, p, n - -(-n // INNER_FOLDS) - 1)
    search = GridSearchCV(
        PLSRegression(),
        {"n_components": range(1, largest + 1)},
        cv=KFold(INNER_FOLDS, shuffle=True, random_state=SEED),
        scoring="neg_mean_squared_error",
    )
    return search.fit(X, y)


def glmnet_regression(X: Any, y: NDArray, *, alpha: float) -> Any:
    """glmnet, 100 penalties, 10-fold squared error as in R's cv.glmnet, lambda.min."""
    from glmnet import ElasticNet

    model = ElasticNet(
        alpha=alpha,
        n_splits=GLMNET_FOLDS,
        scoring="mean_squared_error",
        cut_point=0.0,
        random_state=SEED,
    )
    return model.fit(X, y)


def majority(X: Any, y: NDArray) -> Any:
    """The largest class: its balanced error rate is that of a fair coin (die)."""
    return DummyClassifier(strategy="most_frequent").fit(X, y)


def ridge_classifier(X: Any, y: NDArray) -> Any:
    """Balanced ridge classifier, 100 penalties, exact leave-one-out squared error."""
    return _scaled(X, RidgeClassifierCV(alphas=ALPHAS, class_weight="balanced")).fit(X, y)


def svm(X: Any, y: NDArray) -> Any:
    """Balanced linear support vectors, C by 5-fold balanced accuracy."""
    search = GridSearchCV(
        _scaled(X, LinearSVC(class_weight="balanced", random_state=SEED)),
        {"linearsvc__C": SVM_STRENGTHS},
        cv=StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=SEED),
        scoring="balanced_accuracy",
    )
    return search.fit(X, y)


def _balanced_deviance(model: Any, X: Any, y: NDArray, lamb: NDArray) -> NDArray:
    """Minus the class-balanced log-loss for each penalty: cv.glmnet's default measure.

    python-glmnet's own scorers ignore the weights that the model was fitted with, and its
    multi-class probabilities are not the softmax that glmnet fits.
    """
    scores = model.decision_function(X, lamb=lamb).reshape(len(y), -1, len(lamb))
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    own = np.searchsorted(model.classes_, y)
    log_probability = log_softmax(scores, axis=1)[np.arange(len(y)), own]
    return np.average(log_probability, axis=0, weights=compute_sample_weight("balanced", y))


def glmnet_classification(X: Any, y: NDArray, *, alpha: float) -> Any:
    """glmnet (binomial or multinomial), balanced, 10-fold deviance, lambda.min."""
    from glmnet import LogitNet

    model = LogitNet(
        alpha=alpha,
        n_splits=GLMNET_FOLDS,
        scoring=_balanced_deviance,
        cut_point=0.0,
        random_state=SEED,
    )
    return model.fit(X, y, sample_weight=compute_sample_weight("balanced", y))


def stretchy_regressor(X: Any, y: NDArray) -> Any:
    """Ours, with default parameters."""
    from stretchy import StretchyRegressorCV

    return StretchyRegressorCV().fit(X, y)


def stretchy_classifier(X: Any, y: NDArray) -> Any:
    """Ours, with default parameters."""
    from stretchy import StretchyClassifierCV

    return StretchyClassifierCV().fit(X, y)


OURS = "stretchy"
RIDGE = "ridge"
BASELINES = ("mean", "majority")
METHODS: dict[str, dict[str, Method]] = {
    "regression": {
        "mean": Method(mean, takes_sparse=True),
        "ridge": Method(ridge, takes_sparse=True),
        "pls": Method(pls),
        "lasso": Method(partial(glmnet_regression, alpha=1.0), takes_sparse=True),
        "enet": Method(partial(glmnet_regression, alpha=0.5), takes_sparse=True),
        OURS: Method(stretchy_regressor),
    },
    "classification": {
        "majority": Method(majority, takes_sparse=True),
        "ridge": Method(ridge_classifier, takes_sparse=True),
        "svm": Method(svm, takes_sparse=True),
        "lasso": Method(partial(glmnet_classification, alpha=1.0), takes_sparse=True),
        "enet": Method(partial(glmnet_classification, alpha=0.5), takes_sparse=True),
        OURS: Method(stretchy_classifier),
    },
}


def method_names() -> list[str]:
    """Names of all methods of both kinds."""
    return list(dict.fromkeys(name for methods in METHODS.values() for name in methods))


def choose_methods(names: list[str] | None) -> list[str]:
    """Check the names and spell out ``competitors`` (all but ours); None is all."""
    known = method_names()
    chosen: list[str] = []
    for name in names or known:
        if name not in (*known, "competitors"):
            raise ValueError(f"unknown method {name!r}; choose from {', '.join(known)}.")
        chosen += [n for n in known if n != OURS] if name == "competitors" else [name]
    return list(dict.fromkeys(chosen))
