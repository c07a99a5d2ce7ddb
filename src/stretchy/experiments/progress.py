"""How far a run is, and how long it may still take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from .cells import Unit
from .plan import CurveTask

__all__ = ["Progress", "in_words"]

Task = Unit | CurveTask

# Seconds of one unit on a laptop, for an estimate before the first of its kind has ended.
GUESSES = {
    ("corn", "LASSOCV"): 30, ("corn", "LASSO"): 2,
    ("arcene", "SR"): 6, ("arcene", "LASSO"): 3, ("arcene", "LASSOCV"): 40,
    ("dexter", "SR"): 6, ("dexter", "LASSO"): 2, ("dexter", "LASSOCV"): 20,
    ("dorothea", "SR"): 60, ("dorothea", "LASSO"): 12, ("dorothea", "LASSOCV"): 150,
    ("madelon", "SR"): 3, ("madelon", "LASSO"): 6, ("madelon", "LASSOCV"): 130,
    ("madelon", "RPN"): 60,
}  # fmt: skip
OTHERWISE = 1.0


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
        self._left: dict[tuple[str, str], int] = defaultdict(int)
        self._spent: dict[tuple[str, str], list[float]] = defaultdict(list)
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

    def _mean(self, kind: tuple[str, str]) -> float:
        spent = self._spent[kind]
        return sum(spent) / len(spent) if spent else GUESSES.get(kind, OTHERWISE)


def _kind(task: Task) -> tuple[str, str]:
    return (task.dataset, task.family if isinstance(task, Unit) else task.figure)


def in_words(seconds: float) -> str:
    """A duration for people.

    Examples
    --------
    >>> from stretchy.experiments.progress import in_words
    >>> in_words(42), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
