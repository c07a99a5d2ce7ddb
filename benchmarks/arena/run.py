"""Repeated 2-fold runs of methods on tasks, into the file of results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from . import ledger
from .data import KINDS, Task, load_task
from .ledger import Row
from .methods import METHODS
from .worker import DONE, TOO_SLOW, fit_predict, warm_up

SEED = 0
FOLDS = 2
REPEATS = 5
LIMIT = 300.0


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    out : Path
        The file of results.
    tasks, methods : list of str
        Run in this order; a method that has no form for a task's kind is passed over.
    repeats : int
        Repeats of 2-fold; those of a quick run are the first ones of a full run.
    fresh : bool
        Run again what the file already has.
    limit : float
        CPU seconds for one fit. A method that reaches it is not tried again on that task; the
        remaining rows say so.
    """

    out: Path
    tasks: list[str]
    methods: list[str]
    repeats: int = REPEATS
    fresh: bool = False
    limit: float = LIMIT


@dataclass(frozen=True)
class Split:
    """One training and test fold of one target of a task."""

    target: str
    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def run(plan: Plan) -> None:
    """Run the plan, appending each row as soon as it is known."""
    for kind in dict.fromkeys(KINDS[name] for name in plan.tasks):
        for method in _methods(plan, kind):
            warm_up(kind, method)
    for name in plan.tasks:
        task = load_task(name)
        for method in _methods(plan, task.kind):
            _run_method(plan, task, method)


def _methods(plan: Plan, kind: str) -> list[str]:
    return [name for name in plan.methods if name in METHODS[kind]]


def _run_method(plan: Plan, task: Task, method: str) -> None:
    planned = [(_blank_row(task, method, split), split) for split in splits(task, plan.repeats)]
    done = ledger.done_rows(plan.out)
    if plan.fresh:
        old = [replace(row, status=ledger.STALE) for row, _ in planned if row.key in done]
        ledger.append(plan.out, old)
        done = {}
    usable = task if METHODS[task.kind][method].takes_sparse else task.densified()
    known = [done[row.key].status for row, _ in planned if row.key in done]
    give_up = TOO_SLOW if TOO_SLOW in known else None
    if usable is None:
        give_up = "skipped: takes no sparse X, and a dense one has 1 GB or more"
    for row, split in planned:
        if row.key in done:
            continue
        row = replace(row, status=give_up) if give_up else _fit(row, usable, split, plan.limit)
        if row.status == TOO_SLOW:
            give_up = TOO_SLOW
        ledger.append(plan.out, [row])
        _report(row)


def splits(task: Task, repeats: int) -> Iterator[Split]:
    """The same splits in every run, stratified for classes."""
    splitter = RepeatedKFold if task.kind == "regression" else RepeatedStratifiedKFold
    for target in task.targets:
        X, y = task.rows(target)
        folds = splitter(n_splits=FOLDS, n_repeats=repeats, random_state=SEED).split(X, y)
        for i, (train, test) in enumerate(folds):
            yield Split(target, i // FOLDS, i % FOLDS, train, test)


def error_of(kind: str, y_train: NDArray, y_test: NDArray, prediction: NDArray) -> float:
    """Squared error over that of the training mean, or the balanced error rate."""
    if kind == "classification":
        return float(1 - balanced_accuracy_score(y_test, prediction))
    of_mean = np.mean((y_test - y_train.mean()) ** 2)
    return float(np.mean((y_test - prediction) ** 2) / of_mean)


def _blank_row(task: Task, method: str, split: Split) -> Row:
    sides = len(np.unique(task.targets[split.target])) if task.kind == "classification" else None
    return Row(
        kind=task.kind,
        task=task.name,
        target=split.target,
        repeat=split.repeat,
        fold=split.fold,
        method=method,
        error=np.nan,
        baseline=1 - 1 / sides if sides else 1.0,
        seconds=np.nan,
        cpu_seconds=np.nan,
        n_train=len(split.train),
        n_features=task.X.shape[1],
        status="",
    )


def _fit(row: Row, task: Task, split: Split, limit: float) -> Row:
    X, y = task.rows(split.target)
    train: tuple[Any, NDArray] = X[split.train], y[split.train]
    outcome = fit_predict(task.kind, row.method, train, X[split.test], limit)
    error = np.nan
    if outcome.status == DONE:
        error = error_of(task.kind, train[1], y[split.test], outcome.prediction)
    return replace(
        row,
        error=error,
        seconds=outcome.seconds,
        cpu_seconds=outcome.cpu_seconds,
        status=outcome.status,
    )


def _report(row: Row) -> None:
    print(
        f"{row.task} {row.target} {row.repeat}.{row.fold} {row.method}: "
        f"{row.error:.4f} in {row.seconds:.2f} s, {row.status}",
        file=sys.stderr,
        flush=True,
    )
