"""How the error of a cell is named and written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stretchy.core.types import Array
from stretchy.report.subject import Subject
from stretchy.report.words import number, share, short


@dataclass(frozen=True)
class Measure:
    """A figure of merit; `lower` says that small is good."""

    name: str
    lower: bool
    of_scores: Callable[[Array], Array]
    write: Callable[[Any], str]

    @property
    def better(self) -> str:
        return "lower is better" if self.lower else "greater is better"


def _root(scores: Array) -> Array:
    return np.asarray(np.sqrt(-scores))


def measure_of(subject: Subject) -> Measure:
    """Root mean square error, balanced error rate, or the score that the search was given.

    A model file does not store a scorer that is a function, so a loaded model may have scores of
    another kind than its ``scoring`` says; scores above zero show it.
    """
    scoring, scores = subject.model.scoring, subject.model.cv_results_["mean_test_score"]
    if scoring is None and not np.nanmax(scores) > 0:
        if subject.classifies:
            return Measure("balanced error rate", True, np.negative, share)
        return Measure("typical error (root mean square)", True, _root, number)
    if isinstance(scoring, str):
        return Measure(f"score ({short(scoring)})", False, np.asarray, number)
    return Measure("score", False, np.asarray, number)
