"""Several methods on the same folds: each a function (X, y) -> fitted object with ``predict``."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.console import Talk
from skstretch.cli.data.matrices import dense
from skstretch.cli.training import (
    LARGEST,
    MEAN,
    Training,
    check_classes,
    check_number,
    error_of,
    shuffled,
)

SEED = 0
INNER_FOLDS = 5
GLMNET_FOLDS = 10
GLMNET: dict[str, Any] = {"cut_point": 0.0, "random_state": SEED}
MAX_COMPONENTS = 20
# a sparse matrix is made dense for methods that need it up to this size
MAX_DENSE_BYTES = 1 << 30
Fit = Callable[[Any, Any], Any]


def methods(y: Any, classifies: bool) -> Iterator[tuple[str, Fit]]:
    """Names and fits of the methods that are installed, ours first, knowing nothing last.

    The largest class is that of all y: the one of other folds is a worse guess than by chance where
    folds differ in their shares.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if classifies:
        yield "skstretch", stretchy_classifier
        yield "RidgeClassifierCV", ridge_classifier
        yield "LinearSVC", support_vectors
    else:
        yield "skstretch", stretchy_regressor
        yield "RidgeCV", ridge
        yield "PLS", partial_least_squares
    if find_spec("glmnet") is not None:
        fit = glmnet_classification if classifies else glmnet_regression
        yield "glmnet lasso", partial(fit, alpha=1.0)
        yield "glmnet elastic net", partial(fit, alpha=0.5)
    if not classifies:
        yield MEAN, DummyRegressor().fit
        return
    names, sizes = np.unique(y, return_counts=True)
    yield LARGEST, DummyClassifier(strategy="constant", constant=names[sizes.argmax()]).fit


def stretchy_regressor(X: Any, y: Any) -> Any:
    from skstretch import StretchyRegressorCV

    return StretchyRegressorCV().fit(X, y)


def stretchy_classifier(X: Any, y: Any) -> Any:
    from skstretch import StretchyClassifierCV

    return StretchyClassifierCV().fit(X, y)


def _scaled(X: Any, estimator: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=isinstance(X, np.ndarray)), estimator)


def ridge(X: Any, y: Any) -> Any:
    """100 penalties, exact leave-one-out."""
    from sklearn.linear_model import RidgeCV

    return _scaled(X, RidgeCV(np.logspace(-6, 6, 100))).fit(X, y)


def ridge_classifier(X: Any, y: Any) -> Any:
    from sklearn.linear_model import RidgeClassifierCV

    alphas = np.logspace(-6, 6, 100)
    return _scaled(X, RidgeClassifierCV(alphas, class_weight="balanced")).fit(X, y)


def support_vectors(X: Any, y: Any) -> Any:
    """C by 5-fold balanced accuracy."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import LinearSVC

    pipeline = _scaled(X, LinearSVC(class_weight="balanced", random_state=SEED))
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=SEED)
    grid = {"linearsvc__C": np.logspace(-6, 1, 8)}
    return GridSearchCV(pipeline, grid, cv=folds, scoring="balanced_accuracy").fit(X, y)


def partial_least_squares(X: Any, y: Any) -> Any:
    """1 to 20 components by 5-fold squared error; sparse X is made dense where that fits."""
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    if not isinstance(X, np.ndarray) and 8 * X.shape[0] * X.shape[1] > MAX_DENSE_BYTES:
        raise ValueError("it needs dense data, and these would not fit into memory")
    n, p = X.shape
    largest = max(1, min(MAX_COMPONENTS, p, n - -(-n // INNER_FOLDS) - 1))
    pipeline = make_pipeline(FunctionTransformer(dense, accept_sparse=True), PLSRegression())
    folds = KFold(INNER_FOLDS, shuffle=True, random_state=SEED)
    grid = {"plsregression__n_components": range(1, largest + 1)}
    return GridSearchCV(pipeline, grid, cv=folds, scoring="neg_mean_squared_error").fit(X, y)


def glmnet_regression(X: Any, y: Any, *, alpha: float, **options: Any) -> Any:
    """100 penalties, 10-fold squared error, lambda.min; `options` are further ones of glmnet."""
    from glmnet import ElasticNet

    settings = {"alpha": alpha, "n_splits": GLMNET_FOLDS, "scoring": "mean_squared_error"}
    return ElasticNet(**GLMNET | settings | options).fit(X, y)


def glmnet_classification(X: Any, y: Any, *, alpha: float, **options: Any) -> Any:
    """Binomial or multinomial, balanced, 10-fold deviance, lambda.min.

    Folds are fewer where no class has ten members, because glmnet's folds are made by class.
    """
    from glmnet import LogitNet
    from sklearn.utils.class_weight import compute_sample_weight

    largest = int(np.unique(y, return_counts=True)[1].max())
    n_splits = max(3, min(GLMNET_FOLDS, largest))
    settings = {"alpha": alpha, "n_splits": n_splits, "scoring": _balanced_deviance}
    return LogitNet(**GLMNET | settings | options).fit(X, y, compute_sample_weight("balanced", y))


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


def compare_methods(
    training: Training, n_folds: int, seed: int, talk: Talk
) -> list[dict[str, Any]]:
    """Every method on every fold, the best first; a note says of others why they are left out."""
    check_number("--folds", n_folds, training)
    check_classes("--folds", n_folds, training)
    folds = shuffled(n_folds, training.groups is not None, training.classifies, seed)
    splits = list(folds.split(training.X, training.y, training.groups))
    named, found, notes = list(methods(training.y, training.classifies)), [], []
    if not any(name.startswith("glmnet") for name, _ in named):
        notes.append("glmnet is not installed: pip install python-glmnet")
    with talk.steps(len(named) * len(splits)) as step:
        for name, fit in named:
            try:
                found.append({"method": name, **_crossvalidated(name, fit, training, splits, step)})
            except (ValueError, ArithmeticError, TypeError) as error:
                notes.append(f"{name} is left out: {str(error).splitlines()[0]}")
    for note in notes:
        talk.note(note)
    return sorted(found, key=lambda row: float(row["error"]))


def _crossvalidated(
    name: str, fit: Any, training: Training, splits: list[Any], step: Any
) -> dict[str, float]:
    """Error, seconds and features of a fit, each the mean over folds."""
    predictions = np.empty_like(training.y)
    seconds: list[float] = []
    features: list[int] = []
    for train, test in splits:
        step(name, 0)
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(training.X[train], training.y[train])
            seconds.append(perf_counter() - start)
            predictions[test] = np.ravel(model.predict(training.X[test]))
        features.append(_features_used(model))
        step(name)
    kind = "classes" if training.classifies else "numbers"
    error, spread = error_of(training.y, predictions, kind, None, training.groups)
    return {
        "error": error,
        "standard_error": spread,
        "seconds": float(np.mean(seconds)),
        "features_used": float(np.mean(features)),
    }


def _features_used(model: Any) -> int:
    """How many features have a coefficient that is not zero; pipelines and searches included."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    coef = getattr(steps[-1][1] if steps else model, "coef_", 0.0)
    return int(np.any(np.atleast_2d(coef), axis=0).sum())
