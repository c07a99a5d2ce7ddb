"""Running a plan: several processes, one thread each; stopped at any time, resumed where it was."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import Any

from threadpoolctl import threadpool_limits

from skstretch.experiments.cells import Unit
from skstretch.experiments.curves import CurveBook
from skstretch.experiments.ledger import Ledger
from skstretch.experiments.plan import CurveTask, Plan
from skstretch.experiments.progress import Progress
from skstretch.experiments.settings import Settings
from skstretch.experiments.study import warm_up
from skstretch.experiments.tasks import compute

__all__ = ["missing_tasks", "run_plan"]

Task = Unit | CurveTask


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
