"""How far a run is, and how long it may still take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from skstretch.experiments.cells import Unit
from skstretch.experiments.plan import CurveTask

__all__ = ["Progress", "in_words"]

Task = Unit | CurveTask
Kind = tuple[str, str, int]

# Seconds of one cell of a unit, or of one part of the curves, on one core of a laptop: for an
# estimate before the first of its kind has ended.
GUESSES = {
    ("prostate", "SR"): 0.002, ("prostate", "LASSO"): 0.001, ("prostate", "LASSOCV"): 0.03,
    ("diabetes", "SR"): 0.002, ("diabetes", "LASSO"): 0.001, ("diabetes", "LASSOCV"): 0.04,
    ("corn", "SR"): 0.008, ("corn", "LASSO"): 0.07, ("corn", "LASSOCV"): 6.3,
    ("tfidf", "SR"): 14, ("tfidf", "LASSO"): 0.5, ("tfidf", "LASSOCV"): 24,
    ("gaze", "SR"): 90, ("gaze", "LASSO"): 120,
    ("arcene", "SR"): 0.09, ("arcene", "LASSO"): 0.1, ("arcene", "LASSOCV"): 6.4,
    ("dexter", "SR"): 0.03, ("dexter", "LASSO"): 0.025, ("dexter", "LASSOCV"): 1.5,
    ("dorothea", "SR"): 0.35, ("dorothea", "LASSO"): 0.2, ("dorothea", "LASSOCV"): 10,
    ("gisette", "SR"): 45, ("gisette", "LASSO"): 2.6, ("gisette", "LASSOCV"): 190,
    ("madelon", "SR"): 0.1, ("madelon", "LASSO"): 0.19, ("madelon", "LASSOCV"): 25,
    ("madelon", "RPN"): 4,
    ("tfidf-standin", "SR"): 3, ("tfidf-standin", "LASSO"): 0.8, ("tfidf-standin", "LASSOCV"): 24,
    ("gaze-standin", "SR"): 70, ("gaze-standin", "datasets"): 30,
    ("gisette-standin", "SR"): 45, ("gisette-standin", "LASSO"): 4.5,
    ("", "fig5"): 8, ("", "fig6"): 17,
    ("dorothea", "fig8"): 3, ("dorothea", "compression"): 4,
    ("madelon", "fig8"): 3, ("madelon", "compression"): 2,
    ("tfidf", "fig7"): 10, ("tfidf", "compression"): 10,
    ("gaze", "fig7"): 120, ("gaze", "compression"): 400,
    ("gisette", "fig8"): 80, ("gisette", "compression"): 230,
}  # fmt: skip
OTHERWISE = 0.5


class Progress:
    """Says after each task how many are done and how long the rest may take.

    Parameters
    ----------
    total : int
        Tasks of the plan, those found done among them.
    tasks : sequence
        Those still to do.
    jobs : int
        Processes that share them.
    say : callable
        Takes a line of text.
    """

    def __init__(self, total: int, tasks: Sequence[Task], jobs: int, say: Callable[[str], None]):
        self._left: dict[Kind, int] = defaultdict(int)
        self._spent: dict[Kind, list[float]] = defaultdict(list)
        for task in tasks:
            self._left[_kind(task)] += 1
        self._total, self._done = total, total - len(tasks)
        self._jobs, self._say = jobs, say
        if self._done:
            say(f"{self._done} of {total} parts are there already")
        if tasks:
            say(f"{len(tasks)} parts to do, about {in_words(self.seconds_left())}")

    def finished(self, task: Task, name: str, seconds: float) -> None:
        """Count a task."""
        self._left[_kind(task)] -= 1
        self._spent[_kind(task)].append(seconds)
        self._done += 1
        rest = in_words(self.seconds_left())
        left = f"about {rest} left" if self._done < self._total else "done"
        self._say(f"[{self._done}/{self._total}] {name}: {seconds:.1f} s; {left}")

    def seconds_left(self) -> float:
        """Mean seconds of the finished tasks of a kind, or a guess, times those left."""
        return sum(self._mean(kind) * left for kind, left in self._left.items()) / self._jobs

    def _mean(self, kind: Kind) -> float:
        spent = self._spent[kind]
        if spent:
            return sum(spent) / len(spent)
        dataset, noun, cells = kind
        return cells * GUESSES.get((dataset, noun), OTHERWISE)


def _kind(task: Task) -> Kind:
    """Data set, family or figure, and number of cells."""
    if isinstance(task, Unit):
        return task.dataset, task.family, len(task.cells)
    return task.dataset, task.figure, 1


def in_words(seconds: float) -> str:
    """A duration for people.

    Examples
    --------
    >>> from skstretch.experiments.progress import in_words
    >>> in_words(42), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
