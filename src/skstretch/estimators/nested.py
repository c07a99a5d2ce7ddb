"""The score to trust: the whole search is repeated without each fold, which it then predicts.

Nothing has seen the fold: not the z-scores, not the candidates and their weights, not the features
that are kept. What is repeated is the public estimator itself (clone, fit, predict), so that the
predictions are those of scikit-learn's `cross_val_predict`. So are ridge regression, chosen by the
same folds within, and the mean, beside which the score is read. It costs one search for every fold.
"""

import numbers
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.metrics import check_scoring

from skstretch.core.crossfit import paired_error
from skstretch.core.survival import signed_times
from skstretch.core.types import Array, Index
from skstretch.designs import is_source
from skstretch.estimators.inputs import seed_of, splitter_of, tested_units
from skstretch.estimators.intervals import FoldModels
from skstretch.estimators.losses import checked_survival
from skstretch.estimators.progress import Progress
from skstretch.estimators.quality import (
    Evidence,
    evidence_of,
    held_out_losses,
    kind_of,
    repetitions,
)
from skstretch.estimators.state import is_pipeline, last_step

Split = tuple[Index, Index]
# ridge regression as a search: what is left of the grids
RIDGE = {
    "a_grid": (0.0,),
    "k_grid": (2.0,),
    "n_features_to_select": 1.0,
    "combine": "best",
    "quadrant": "exp",
}


@dataclass(frozen=True)
class NestedScore:
    """Predictions of all samples by searches without them, their score and its standard error.

    Classes are predicted as labels. The score is minus the mean squared error, or the balanced
    accuracy; with a `scoring` of the user's the mean over the folds. `evidence` is for each target,
    or of all classes. Of regressors without steps before them the models are kept, without their
    training data.
    """

    predictions: Any
    score: float
    standard_error: float
    evidence: list[Evidence]
    models: FoldModels | None = None

    def store(self, model: Any) -> None:
        """Give a fitted search what was found, as it is written to files."""
        model.nested_predictions_ = self.predictions
        model.nested_score_, model.nested_score_se_ = self.score, self.standard_error
        found = [asdict(each) for each in self.evidence]
        # numbers and classes are told by their figures
        model.nested_results_ = [
            {n: v for n, v in each.items() if n != "kind" or v} for each in found
        ]
        model._nested = self.models


def nested_score(
    estimator: Any, X: Any, y: Any, cv: Any, sample_weight: Any = None, groups: Any = None
) -> NestedScore:
    """Repeat a search, or a pipeline that ends in one, without each fold of `cv`."""
    if is_source(X):
        raise ValueError(
            "nested_cv takes rows out of X, which an array in a file does not allow: load it into "
            "memory, or leave nested_cv=None."
        )
    search = search_in(estimator)
    if kind_of(search) == "survival":
        y = checked_survival(y)
    y = y if hasattr(y, "iloc") else np.asarray(y)
    splits = _splits(search, cv, y, groups)
    given = {"sample_weight": sample_weight, "groups": groups}
    given = {name: np.asarray(value) for name, value in given.items() if value is not None}
    methods = _methods(estimator)
    progress = Progress(len(splits), "repeats of the search", search.verbose)
    jobs = (delayed(_without)(methods, X, y, given, split) for split in splits)
    found = []
    # the folds and their keywords are handed over by name: nothing is left to be routed
    with config_context(enable_metadata_routing=False):
        for each in Parallel(n_jobs=search.n_jobs, return_as="generator")(jobs):
            found.append(each)
            progress.step()
    progress.close()
    predictions, scores, fits = zip(*found, strict=True)
    tested = [test for _, test in splits]
    order = np.argsort(np.concatenate(tested), kind="stable")
    whole = {name: np.concatenate([each[name] for each in predictions])[order] for name in methods}
    if "mean" not in methods:
        whole["mean"] = _same_for_all(kind_of(search), y, given.get("sample_weight"))
    judged = _judged(search, np.asarray(y), whole, given, scores)
    if fits[0] is None:
        return judged
    weights = given.get("sample_weight", np.ones(len(order)))
    units = tested_units(tested, weights, given.get("groups"))
    residuals = (np.asarray(y) - judged.predictions).reshape(len(order), -1)
    return replace(judged, models=FoldModels(fits, units, residuals))


def search_in(estimator: Any) -> Any:
    """The search within an estimator: its own, its last step, or that of its recipes."""
    own = last_step(estimator)
    return getattr(own, "estimator", own) or own.own()


def _methods(estimator: Any) -> dict[str, Any]:
    """What predicts every fold: the whole search, the mean, and ridge regression alone."""
    quiet = {"nested_cv": None, "verbose": 0}
    same = kind_of(search_in(estimator)) in ("classes", "survival")
    return {
        "model": _changed(estimator, quiet),
        "ridge": _changed(estimator, quiet | RIDGE),
        **({} if same else {"mean": DummyRegressor()}),
    }


def _same_for_all(kind: str, y: Any, weights: Array | None) -> Any:
    """The same risk, or the largest class, for every sample.

    The largest class of the other folds would be wrong more often than a guess where folds differ
    in their shares: a class that a fold has more of is rarer in the others.
    """
    if kind == "survival":
        return np.zeros(len(y))
    names, codes = np.unique(y, return_inverse=True)
    return np.full(len(y), names[np.argmax(np.bincount(codes, weights=weights))])


def _changed(estimator: Any, values: dict[str, Any]) -> Any:
    """A copy that is not fitted, with other parameters of the search within it."""
    own = clone(estimator)
    known = search_in(own).get_params(deep=False)
    search = search_in(own).set_params(**{name: v for name, v in values.items() if name in known})
    if hasattr(last_step(own), "estimator"):
        last_step(own).set_params(estimator=search)
    return own


def _splits(search: Any, cv: Any, y: Any, groups: Any) -> list[Split]:
    """The folds, which must test every sample once."""
    if not isinstance(search.cv, numbers.Integral | None) and not hasattr(search.cv, "split"):
        raise ValueError(
            "cv is a list of splits, which says nothing of searches on fewer rows: pass a number "
            "of folds or a splitter where nested_cv is given."
        )
    strata = y["event"] if kind_of(search) == "survival" else y
    classes = kind_of(search) in ("classes", "survival")
    splitter = splitter_of(cv, strata, groups, classifier=classes)
    if isinstance(cv, numbers.Integral) and groups is None:  # whatever the order of the rows
        seed = seed_of(search.random_state)
        splitter = type(splitter)(int(cv), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # a class of few samples: folds without it are as good as they can be
        warnings.filterwarnings("ignore", "The least populated class")
        splits = [*splitter.split(np.zeros((len(y), 1)), strata, groups)]
    tested = np.sort(np.concatenate([test for _, test in splits]))
    if not np.array_equal(tested, np.arange(len(y))):
        raise ValueError(
            f"nested_cv={cv!r} does not test every sample once: use folds that do, say "
            "nested_cv=10 or KFold(10, shuffle=True)."
        )
    return splits


def _without(
    methods: dict[str, Any], X: Any, y: Any, given: dict[str, Array], split: Split
) -> tuple[dict[str, Any], float, Any]:
    """Predictions of a fold by methods that are fitted without it, the user's score of ours, and
    what our search found, as transforms with coefficients."""
    train, test = split
    new, found, score = rows_of(X, test), {}, np.nan
    for name, method in methods.items():
        model = clone(method)
        keywords = {key: values[train] for key, values in given.items()}
        if name == "mean":
            keywords.pop("groups", None)
        if is_pipeline(model):
            keywords = {f"{model.steps[-1][0]}__{key}": each for key, each in keywords.items()}
        with warnings.catch_warnings():
            # the search on all samples has said what there is to say
            warnings.simplefilter("ignore")
            try:
                model.fit(rows_of(X, train), rows_of(y, train), **keywords)
            except ValueError as error:
                raise ValueError(
                    f"nested_cv: the search without samples {_some(test)} fails: {error} Use fewer "
                    "or other folds, or nested_cv=None."
                ) from error
            found[name] = np.asarray(model.predict(new))
        scoring = search_in(model).scoring if name == "model" else None
        if scoring is not None:
            weighted = {key: each[test] for key, each in given.items() if key == "sample_weight"}
            scorer = check_scoring(model, scoring=scoring)
            score = float(scorer(model, new, rows_of(y, test), **weighted))
        if name == "model":
            own = search_in(model) is model and kind_of(model) == "numbers"
            terms = (model._terms(), model._state.level) if own else None
    return found, score, terms


def _judged(
    search: Any, y: Any, found: dict[str, Any], given: dict[str, Array], scores: Any
) -> NestedScore:
    """Predictions of all methods beside the observed values."""
    kind, groups = kind_of(search), given.get("groups")
    weights = repetitions(kind, given.get("sample_weight", np.ones(len(y))))
    if kind == "survival":
        y = signed_times(y["event"], y["time"])
    evidence = evidence_of(kind, y, found, weights, groups, trusted=True)
    if search.scoring is not None:
        error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
        return NestedScore(found["model"], float(np.mean(scores)), error, evidence)
    losses = held_out_losses(y, found["model"], weights, kind)
    mean, error = paired_error(losses, weights, groups)
    best = float(kind in ("classes", "survival"))
    return NestedScore(found["model"], best - mean, error, evidence)


def rows_of(X: Any, rows: Index) -> Any:
    """Some rows of an array, a frame or a sparse matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _some(rows: Index) -> str:
    shown = ", ".join(str(row) for row in rows[:5])
    return shown + (" ..." if len(rows) > 5 else "")
