"""Cross-validated error with its standard error, beside that of knowing nothing."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Judged:
    """Error of a model and of the baseline, by one measure."""

    measure: str
    model: Estimate
    baseline: Estimate
    baseline_name: str


def estimate(losses: Any, weights: Any = None, groups: Any = None) -> Estimate:
    """Weighted mean of losses, and its standard error.

    A weight counts repetitions; with groups, whole groups are the independent units.
    ``se = sqrt(sum_i w_i (l_i - mean)^2) / sum(w)``, or with sums over groups inside the square.
    """
    weights = np.ones(len(losses)) if weights is None else weights
    total = weights.sum()
    mean = float(weights @ losses / total)
    deviations = losses - mean
    if groups is None:
        return Estimate(mean, float(np.sqrt(weights @ np.square(deviations)) / total))
    sums = np.bincount(groups, weights=weights * deviations)
    return Estimate(mean, float(np.sqrt(np.square(sums).sum()) / total))


def left_out_means(y: Any, weights: Any = None, groups: Any = None) -> Any:
    """For every row the mean of the others, or of those outside its group."""
    weights = np.ones(len(y)) if weights is None else weights
    units = np.arange(len(y)) if groups is None else groups
    sums = np.bincount(units, weights=weights * y)[units]
    totals = np.bincount(units, weights=weights)[units]
    rest = weights.sum() - totals
    means = (weights @ y - sums) / np.where(rest > 0, rest, 1.0)
    return np.where(rest > 0, means, weights @ y / weights.sum())


def squared_error(y: Any, predictions: Any, weights: Any = None, groups: Any = None) -> Judged:
    """Mean squared error beside that of predicting the mean of the other rows."""
    means = left_out_means(y, weights, groups)
    return Judged(
        "mean squared error",
        estimate(np.square(y - predictions), weights, groups),
        estimate(np.square(y - means), weights, groups),
        "predicting the mean",
    )


def error_rates(
    codes: Any, predicted: Any, n_classes: int, weights: Any = None, groups: Any = None
) -> list[Judged]:
    """Balanced error rate (the mean over classes) and error rate, beside the largest class."""
    own = np.ones(len(codes)) if weights is None else weights
    sizes = np.bincount(codes, weights=own, minlength=n_classes)
    balance = (own.sum() / (n_classes * np.where(sizes > 0, sizes, np.inf)))[codes]
    wrong, other = predicted != codes, codes != np.argmax(sizes)
    return [
        Judged(
            measure,
            estimate(wrong * factor, weights, groups),
            estimate(other * factor, weights, groups),
            "the largest class",
        )
        for measure, factor in (("balanced error rate", balance), ("error rate", 1.0))
    ]


def cross_validated(model: Any, problem: Any) -> list[Judged]:
    """Errors of a fitted search, that of its score first, beside knowing nothing."""
    first, *others = _out_of_fold(model, problem)
    return [replace(first, model=Estimate(-model.best_score_, model.best_score_se_)), *others]


def _out_of_fold(model: Any, problem: Any) -> list[Judged]:
    scores, units = model.cv_predictions_, (problem.weights, problem.groups)
    if not problem.classifies:
        return [squared_error(problem.y, scores, *units)]
    predicted = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    codes = np.searchsorted(model.classes_, problem.y)
    codes = codes.clip(max=model.classes_.size - 1)
    return error_rates(codes, predicted, model.classes_.size, *units)
