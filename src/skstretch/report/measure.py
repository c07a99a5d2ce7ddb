"""How the error of a cell is named and written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.types import Array
from skstretch.report.subject import Subject
from skstretch.report.words import number, share, short


@dataclass(frozen=True)
class Measure:
    """A figure of merit; `lower` says that small is good."""

    name: str
    lower: bool
    of_scores: Callable[[Array], Array]
    write: Callable[[Any], str]
    slope: Callable[[float], float] = lambda score: 1.0  # |d measure / d score|

    @property
    def better(self) -> str:
        return "lower is better" if self.lower else "greater is better"


def best_error(subject: Subject) -> str:
    """The error of the chosen cell with its standard error, to first order, where it has one."""
    measure, score = measure_of(subject), float(subject.model.best_score_)
    text = f"{measure.name} {measure.write(measure.of_scores(np.array([score]))[0])}"
    error = getattr(subject.model, "best_score_se_", np.nan) * measure.slope(score)
    return text if not np.isfinite(error) else f"{text}, standard error {measure.write(error)}"


def _root(scores: Array) -> Array:
    return np.asarray(np.sqrt(-scores))


def _root_slope(score: float) -> float:
    """``d sqrt(m) / d m = 1 / (2 sqrt(m))`` at the mean square error m."""
    return 0.5 / float(np.sqrt(-score)) if score < 0 else np.nan


def measure_of(subject: Subject) -> Measure:
    """Root mean square error, balanced error rate, or the score that the search was given.

    A model file does not store a scorer that is a function, so a loaded model may have scores of
    another kind than its ``scoring`` says; scores above zero show it.
    """
    scoring, scores = subject.model.scoring, subject.model.cv_results_["mean_test_score"]
    if scoring is None and not np.nanmax(scores) > 0:
        if subject.classifies:
            return Measure("balanced error rate", True, np.negative, share)
        return Measure("typical error (root mean square)", True, _root, number, _root_slope)
    if isinstance(scoring, str):
        return Measure(f"score ({short(scoring)})", False, np.asarray, number)
    return Measure("score", False, np.asarray, number)
