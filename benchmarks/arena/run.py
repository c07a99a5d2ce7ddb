"""Repeated 2-fold runs of methods on tasks, into the file of results.

Two seeds make two sets of folds: the test seed is for what is reported, the development seed for
everything before. What was settled (rule, constants, default grid) has folds of its own besides, in
benchmarks.rules.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from . import ledger
from .data import KINDS, Task, load_task
from .ledger import Row
from .methods import METHODS
from .worker import DONE, TOO_SLOW, fit_predict, warm_up

TEST, DEVELOPMENT = "test", "dev"
SEEDS = {TEST: 20_261, DEVELOPMENT: 77}
FOLDS = 2
# Small sets are noisy and cheap, large ones are neither.
FEW_ROWS, MANY_ROWS = 100, 250
LIMIT = 60.0


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    out : Path
        The file of results.
    tasks, methods : list of str
        Run in this order; a method that has no form for a task's kind is passed over.
    seed : {"test", "dev"}
        Which folds.
    repeats : int or None
        Repeats of 2-fold; None is what `usual_repeats` says. Fewer repeats are the first ones of
        more.
    fresh : bool
        Run again what the file already has.
    limit : float
        CPU seconds for one fit. A method that reaches it is not tried again on that task; the
        remaining rows say so.
    """

    out: Path
    tasks: list[str]
    methods: list[str]
    seed: str = TEST
    repeats: int | None = None
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
    planned = [
        (_blank_row(task, method, split, plan.seed), split)
        for split in splits(task, plan.seed, plan.repeats)
    ]
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


def splits(task: Task, seed: str, repeats: int | None = None) -> Iterator[Split]:
    """The same splits in every run: stratified for classes, groups whole."""
    for target in task.targets:
        X, y = task.rows(target)
        groups = task.groups_of(target)
        for repeat in range(repeats or usual_repeats(len(y), len(task.targets))):
            # A generator seeded by both numbers: repeats of one seed are none of another's.
            state = np.random.RandomState([SEEDS[seed], repeat])
            splitter = _splitter(task.kind, groups is not None)
            folds = splitter(n_splits=FOLDS, shuffle=True, random_state=state).split(X, y, groups)
            for fold, (train, test) in enumerate(folds):
                yield Split(target, repeat, fold, train, test)


def usual_repeats(n_rows: int, n_targets: int) -> int:
    """Five for one target with fewer than 100 rows, two from 250 rows on, otherwise three."""
    if n_rows >= MANY_ROWS:
        return 2
    return 5 if n_rows < FEW_ROWS and n_targets == 1 else 3


def _splitter(kind: str, grouped: bool) -> Any:
    if kind == "regression":
        return GroupKFold if grouped else KFold
    return StratifiedGroupKFold if grouped else StratifiedKFold


@cache
def commit() -> str:
    """The commit of this checkout; ``-dirty`` where tracked files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    here = Path(__file__).parent
    try:
        answer = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return answer.stdout.strip() or "unknown"


def error_of(kind: str, y_train: NDArray, y_test: NDArray, prediction: NDArray) -> float:
    """Squared error over that of the training mean, or the balanced error rate."""
    if kind == "classification":
        return float(1 - balanced_accuracy_score(y_test, prediction))
    of_mean = np.mean((y_test - y_train.mean()) ** 2)
    return float(np.mean((y_test - prediction) ** 2) / of_mean)


def _blank_row(task: Task, method: str, split: Split, seed: str) -> Row:
    sides = len(np.unique(task.targets[split.target])) if task.kind == "classification" else None
    return Row(
        seed=seed,
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
        commit=commit(),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
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
