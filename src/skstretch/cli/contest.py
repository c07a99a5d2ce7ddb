"""Several methods on the same folds."""

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.console import Talk
from skstretch.cli.folds import check_classes, check_number
from skstretch.cli.losses import Estimate, error_rates, squared_error
from skstretch.cli.problem import Problem
from skstretch.cli.rivals import features_used, rivals


@dataclass(frozen=True)
class Place:
    """How one method did: error, seconds and features of a fit, each the mean over folds."""

    method: str
    error: Estimate | None
    seconds: float = np.nan
    features: float = np.nan
    trouble: str = ""


def outer_folds(problem: Problem, n_folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Splits of the rows: shuffled, by class for classes, of whole groups where there are any."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    check_number("--folds", n_folds, problem)
    check_classes("--folds", n_folds, problem)
    if problem.groups is not None:
        return list(GroupKFold(n_folds).split(problem.X, problem.y, problem.groups))
    kind: Any = StratifiedKFold if problem.classifies else KFold
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(problem.X, problem.y))


def contest(problem: Problem, splits: list[Any], talk: Talk) -> list[Place]:
    """Every method on every fold; the best first, and the baseline among them."""
    methods = list(rivals(problem.classifies))
    places = []
    with talk.steps(len(methods) * len(splits)) as step:
        for name, fit in methods:
            places.append(_compete(name, fit, problem, splits, step))
    places.append(_baseline(problem, splits))
    return sorted(places, key=lambda place: np.inf if place.error is None else place.error.mean)


def _compete(name: str, fit: Any, problem: Problem, splits: list[Any], step: Any) -> Place:
    predictions = np.empty_like(problem.y)
    seconds: list[float] = []
    features: list[int] = []
    for train, test in splits:
        step(name, 0)
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fit(problem.X[train], problem.y[train])
                seconds.append(perf_counter() - start)
                predictions[test] = np.ravel(model.predict(problem.X[test]))
        except (ValueError, ArithmeticError, TypeError) as error:
            step(name, len(splits) - len(features))
            return Place(name, None, trouble=str(error).splitlines()[0])
        features.append(features_used(model))
        step(name)
    return Place(
        name, _judge(problem, predictions), float(np.mean(seconds)), float(np.mean(features))
    )


def _judge(problem: Problem, predictions: Any) -> Estimate:
    if not problem.classifies:
        return squared_error(problem.y, predictions, None, problem.groups).model
    classes, codes = np.unique(problem.y, return_inverse=True)
    guessed = np.searchsorted(classes, predictions)
    return error_rates(codes, guessed, classes.size, None, problem.groups)[0].model


def _baseline(problem: Problem, splits: list[Any]) -> Place:
    """Predicting the mean, or the largest class, of the training part."""
    predictions = np.empty_like(problem.y)
    for train, test in splits:
        y = problem.y[train]
        if problem.classifies:
            classes, counts = np.unique(y, return_counts=True)
            predictions[test] = classes[counts.argmax()]
        else:
            predictions[test] = y.mean()
    name = "the largest class" if problem.classifies else "predicting the mean"
    return Place(name, _judge(problem, predictions), 0.0, 0.0)
