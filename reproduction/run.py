"""Running a plan: several processes, one thread each; stopped at any time, resumed where it was."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from reproduction import study
from reproduction.curves import (
    absolute_curves,
    coefficient_curves,
    compression_curves,
    contour_curves,
    feature_curves,
)
from reproduction.files import CurveBook, Ledger, join
from reproduction.plan import CurveTask, Plan
from reproduction.sets import LOADED, lasso_fits, load_set, loaded_sizes
from reproduction.settings import Settings, Unit
from reproduction.study import warm_up
from reproduction.synthetic import boundary_curves, output_curves, repeated_counts, table_curves

if TYPE_CHECKING:
    import pandas as pd


def compute(task: Unit | CurveTask, settings: Settings) -> Any:
    """Rows of a unit, or the table of a curve task."""
    if isinstance(task, Unit):
        return study.run_unit(task, settings)
    return _curves(task, settings)


def _curves(task: CurveTask, settings: Settings) -> pd.DataFrame:
    if task.dataset:
        return _of_dataset(task, settings)
    seed = settings.seed
    tables = {
        "table1": lambda: table_curves(seed),
        "fig1": absolute_curves,
        "fig2": contour_curves,
        "fig3": lambda: feature_curves(load_set("madelon", False).X, a=settings.a, seed=seed),
        "fig4": lambda: output_curves(seed),
        "fig5": lambda: _boundaries("fig5", settings),
        "fig6": lambda: _boundaries("fig6", settings),
    }
    return tables[task.figure]()


def _boundaries(figure: str, settings: Settings) -> pd.DataFrame:
    others = repeated_counts(settings.other_draws)
    return join([boundary_curves(figure, settings.seed), others[others["figure"] == figure]])


def _of_dataset(task: CurveTask, settings: Settings) -> pd.DataFrame:
    if task.figure == LOADED:
        return loaded_sizes(task.dataset)
    if task.figure == "compression":
        half = study.halves(task.dataset, 0, 0, settings, sparse=study.SPARSE)
        return compression_curves(task.dataset, half.X, half.y, settings)
    X, y, _ = load_set(task.dataset, True)
    methods = ("SR", "LASSO") if lasso_fits(task.dataset) else ("SR",)
    return coefficient_curves(task.dataset, X, y, seed=settings.seed, methods=methods)


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
    ("prostate", "DESCENT"): 0.4, ("diabetes", "DESCENT"): 2, ("corn", "DESCENT"): 3,
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
    >>> from reproduction.run import in_words
    >>> in_words(42), in_words(600), in_words(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def missing_tasks(plan: Plan, ledger: Ledger, book: CurveBook) -> list[Task]:
    """The tasks of the plan that the two files do not hold yet."""
    curves = [task for task in plan.curves if not book.has(task.figure, task.prefix)]
    return [*curves, *(unit for unit in plan.units if not ledger.has(unit))]


def run_plan(
    plan: Plan,
    settings: Settings,
    ledger: Ledger,
    book: CurveBook,
    *,
    jobs: int,
    say: Callable[[str], None],
) -> list[str]:
    """Run what is missing, writing each finished task at once; returns what failed, in words."""
    tasks = missing_tasks(plan, ledger, book)
    progress = Progress(len(plan.curves) + len(plan.units), tasks, jobs, say)
    failures = []
    for task, seconds, result in _results(tasks, settings, jobs):
        if isinstance(result, Exception):
            failures.append(f"{describe(task)}: {type(result).__name__}: {result}")
            say(f"FAILED {failures[-1]}")
        elif isinstance(task, Unit):
            ledger.append(result)
        else:
            book.put(task.figure, task.prefix, result)
        progress.finished(task, describe(task), seconds)
    return failures


def describe(task: Task) -> str:
    """A task in words."""
    if isinstance(task, Unit):
        return f"{task.dataset} {task.family} trial {task.trial + 1} fold {task.fold + 1}"
    return f"{task.figure} {task.dataset}".strip()


def _results(tasks: list[Task], settings: Settings, jobs: int) -> Iterator[tuple[Task, float, Any]]:
    """Each task with its seconds and its result, or the exception that it raised, as they end."""
    if jobs == 1 or len(tasks) <= 1:
        with threadpool_limits(1):
            if tasks:
                warm_up()
            for task in tasks:
                yield (task, *_timed_compute(task, settings))
        return
    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (os.getpid(),))
    try:
        yield from _from_pool(pool, tasks, settings, jobs)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            worker.terminate()
        raise
    pool.shutdown()


def _from_pool(
    pool: ProcessPoolExecutor, tasks: list[Task], settings: Settings, jobs: int
) -> Iterator[tuple[Task, float, Any]]:
    """Few tasks wait in the pool at a time, so that a stop need not drain a queue."""
    waiting = iter(tasks)
    running: dict[Future[tuple[float, Any]], Task] = {}
    while True:
        for task in waiting:
            running[pool.submit(_timed_compute, task, settings)] = task
            if len(running) > jobs:
                break
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            try:
                yield (task, *future.result())
            except BrokenProcessPool:
                raise RuntimeError(
                    f"a worker process died while {describe(task)} was run, perhaps for want of "
                    "memory: try again with fewer --jobs; what is finished is kept."
                ) from None


def _timed_compute(task: Task, settings: Settings) -> tuple[float, Any]:
    start = time.perf_counter()
    try:
        result: Any = compute(task, settings)
    except Exception as error:
        result = error
    return time.perf_counter() - start, result


def _start_worker(parent: int) -> None:
    """One BLAS thread, first calls done, no life without the parent, which alone hears Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    warm_up()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
