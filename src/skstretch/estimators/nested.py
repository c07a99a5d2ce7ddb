"""The score to trust: the whole search is repeated without each fold, which it then predicts.

Nothing has seen the fold: not the z-scores, not the candidates and their weights, not the features
that are kept. What is repeated is the public estimator itself (clone, fit, predict), so that the
predictions are those of scikit-learn's `cross_val_predict`. It costs one search for every fold.
"""

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, check_cv

from skstretch.core.classes import balanced_weights
from skstretch.core.crossfit import paired_error
from skstretch.core.types import Array, Index
from skstretch.designs import is_source
from skstretch.estimators.inputs import seed_of
from skstretch.estimators.intervals import FoldModels, masses
from skstretch.estimators.progress import Progress
from skstretch.estimators.state import Units

Split = tuple[Index, Index]


@dataclass(frozen=True)
class NestedScore:
    """Predictions of all samples by searches without them, their score and its standard error.

    Classes are predicted as labels. The score is minus the mean squared error, or the balanced
    accuracy; with a `scoring` of the user's the mean over the folds. Of regressors the
    models are kept, without their training data.
    """

    predictions: Any
    score: float
    standard_error: float
    models: FoldModels | None = None


def nested_score(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
) -> NestedScore:
    """Repeat a search without each fold of its ``nested_cv``."""
    if is_source(X):
        raise ValueError(
            "nested_cv takes rows out of X, which an array in a file does not allow: load it into "
            "memory, or leave nested_cv=None."
        )
    y = y if hasattr(y, "iloc") else np.asarray(y)
    splits = _splits(estimator, X, y, groups)
    given = {"sample_weight": sample_weight, "groups": groups}
    given = {name: np.asarray(value) for name, value in given.items() if value is not None}
    own = clone(estimator).set_params(nested_cv=None, verbose=0)
    progress = Progress(len(splits), "folds of nested_cv", estimator.verbose)
    jobs = (delayed(_without)(own, X, y, given, split) for split in splits)
    found = []
    # the folds and their keywords are handed over by name: nothing is left to be routed
    with config_context(enable_metadata_routing=False):
        for each in Parallel(n_jobs=estimator.n_jobs, return_as="generator")(jobs):
            found.append(each)
            progress.step()
    progress.close()
    predictions, scores, fits = zip(*found, strict=True)
    tested = np.concatenate([test for _, test in splits])
    whole = np.concatenate(predictions)[np.argsort(tested, kind="stable")]
    weights = given.get("sample_weight", np.ones(len(whole)))
    models = None
    if not is_classifier(estimator):
        units = _units(splits, weights, given.get("groups"))
        residuals = (np.asarray(y) - whole).reshape(len(whole), -1)
        models = FoldModels(fits, units, residuals)
    if estimator.scoring is not None:
        error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
        return NestedScore(whole, float(np.mean(scores)), error, models)
    losses = _losses(np.asarray(y), whole, weights, classes=is_classifier(estimator))
    mean, error = paired_error(losses, weights, given.get("groups"))
    return NestedScore(whole, float(is_classifier(estimator)) - mean, error, models)


def _units(splits: list[Split], weights: Array, groups: Any) -> Units:
    """The fold of every sample, with the mass of exchangeable samples or groups."""
    codes = np.empty(len(weights), dtype=np.intp)
    for number, (_, test) in enumerate(splits):
        codes[test] = number
    return Units(codes, masses(weights, groups))


def _splits(estimator: Any, X: Any, y: Any, groups: Any) -> list[Split]:
    """The folds, which must test every sample once."""
    cv = estimator.nested_cv
    if not isinstance(estimator.cv, numbers.Integral | None) and not hasattr(estimator.cv, "split"):
        raise ValueError(
            "cv is a list of splits, which says nothing of searches on fewer rows: pass a number "
            "of folds or a splitter where nested_cv is given."
        )
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    if isinstance(cv, numbers.Integral) and groups is not None:
        splitter = GroupKFold(int(cv))
    elif isinstance(cv, numbers.Integral):  # whatever the order of the rows
        seed = seed_of(estimator.random_state)
        splitter = type(splitter)(int(cv), shuffle=True, random_state=seed)
    splits = [*splitter.split(np.zeros((len(y), 1)), y, groups)]
    tested = np.sort(np.concatenate([test for _, test in splits]))
    if not np.array_equal(tested, np.arange(len(y))):
        raise ValueError(
            f"nested_cv={cv!r} does not test every sample once: use folds that do, say "
            "nested_cv=10 or KFold(10, shuffle=True)."
        )
    return splits


def _without(
    own: Any, X: Any, y: Any, given: dict[str, Array], split: Split
) -> tuple[Any, float, Any]:
    """Predictions of a fold by the search without it, their score by the user's scorer, and what
    the search found, as transforms with coefficients."""
    train, test = split
    model = clone(own)
    with warnings.catch_warnings():
        # the search on all samples has said what there is to say
        warnings.simplefilter("ignore")
        try:
            model.fit(
                rows_of(X, train), rows_of(y, train), **{n: v[train] for n, v in given.items()}
            )
        except ValueError as error:
            raise ValueError(
                f"nested_cv: the search without samples {_some(test)} fails: {error} Use fewer or "
                "other folds, or nested_cv=None."
            ) from error
    X, y, score = rows_of(X, test), rows_of(y, test), np.nan
    if own.scoring is not None:
        weighted = {n: v[test] for n, v in given.items() if n == "sample_weight"}
        score = float(check_scoring(model, scoring=own.scoring)(model, X, y, **weighted))
    return np.asarray(model.predict(X)), score, (model._terms(), model._state.level)


def _losses(y: Array, predictions: Array, weights: Array, *, classes: bool) -> Array:
    """Squared errors, or balanced errors of classes, by sample."""
    if not classes:
        squared = np.square(y - predictions)
        return np.asarray(squared if squared.ndim == 1 else squared.mean(axis=1))
    names, codes = np.unique(y, return_inverse=True)
    return np.asarray((predictions != y) * balanced_weights(codes, names.size, weights)[codes])


def rows_of(X: Any, rows: Index) -> Any:
    """Some rows of an array, a frame or a sparse matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _some(rows: Index) -> str:
    shown = ", ".join(str(row) for row in rows[:5])
    return shown + (" ..." if len(rows) > 5 else "")
