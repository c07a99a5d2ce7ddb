"""The same searches beside a program that keeps one core busy: how much longer they take."""

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from benchmarks.arena.data import load_task
from benchmarks.honest import SHAPES, generated
from benchmarks.limits import goals
from benchmarks.search import C_GRID, K_GRID
from benchmarks.sparse_search import LOADERS
from benchmarks.timing import best_time
from skstretch import StretchyRegressorCV

# times longer that a search may take where half of two cores is left to it
WANTED = 2.5


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy_core() -> Iterator[None]:
    """A process of its own that never waits."""
    process = multiprocessing.get_context("fork").Process(target=_spin, daemon=True)
    process.start()
    try:
        time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.join()


def measure() -> list[dict[str, Any]]:
    """Seconds of every row, quiet and beside a busy core: the best of three runs each."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, ours, work in _works():
            quiet = best_time(work, 3)
            with busy_core():
                beside = best_time(work, 3)
            rows.append({"search": name, "ours": ours, "quiet": quiet, "beside": beside})
    return rows


def _works() -> Iterator[tuple[str, bool, Callable[[], object]]]:
    """``(name, whether it is ours, what to time)``, one after another to save memory."""
    exact = StretchyRegressorCV(a_grid=(-0.2,), k_grid=K_GRID, c_grid=C_GRID, combine="best")
    X = np.asarray(load_task("arcene").X, dtype=np.float64)
    y = next(iter(load_task("arcene").targets.values()))
    yield "5 k x 6 c, arcene", True, partial(exact.fit, X, np.where(y > 0, 1.0, -1.0))
    for name, fetch in LOADERS.items():
        bunch = fetch()
        y = np.where(bunch.target > 0, 1.0, -1.0)
        yield f"5 k x 6 c, {name}, sparse", True, partial(exact.fit, bunch.data, y)
    for n, D in SHAPES:
        data = generated(n, D)
        closed = StretchyRegressorCV(a_grid=(-0.2,))
        yield f"closed forms, {n:,} x {D:,}", True, partial(closed.fit, *data)
    task = load_task("riboflavin")
    data = task.rows(next(iter(task.targets)))
    yield "default search, riboflavin", True, partial(StretchyRegressorCV().fit, *data)
    data = generated(1_000, 1_000)
    ridge = RidgeCV(np.logspace(-4, 6, 100))
    yield "scikit-learn's RidgeCV, 1,000 x 1,000", False, partial(ridge.fit, *data)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Markdown."""
    lines = [
        "| search | alone, s | beside a busy core, s | times longer |",
        "|---|---|---|---|",
    ]
    for row in rows:
        quiet, beside = row["quiet"], row["beside"]
        lines.append(f"| {row['search']} | {quiet:.2f} | {beside:.2f} | **{beside / quiet:.1f}** |")
    return lines


def neighbour_goals(rows: list[dict[str, Any]]) -> str:
    """The target beside the search that suffers most."""
    ratios = {row["search"]: row["beside"] / row["quiet"] for row in rows if row["ours"]}
    worst = max(ratios, key=lambda name: ratios[name])
    found = f"{ratios[worst]:.1f}, {worst}"
    return goals(
        (f"no search takes more than {WANTED} times longer", found, ratios[worst] <= WANTED)
    )
