"""Speed of the exact search beside glmnet's cross-validation, RidgeCV and the bare work."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from benchmarks.arena.data import load_task
from benchmarks.limits import goals
from benchmarks.timing import bare_search_time, best_time
from skstretch import StretchyRegressorCV

K_GRID = (1.1, 1.25, 1.5, 1.75, 2.0)
C_GRID = (1e1, 1e2, 1e3, 1e4, 1e8, 1e100)
MIXING = (1.0, 0.75, 0.5, 0.25, 0.0001)


@dataclass(frozen=True)
class SearchTimes:
    """Seconds of one data set, all in one run."""

    name: str
    shape: tuple[int, int]
    ours: float
    glmnet: float
    glmnet_short: float
    ridge: float
    bare: float


def measure(name: str, repeats: int = 5) -> SearchTimes:
    """Time the exact LOO search (5 k x 6 c) and its competitors on the targets +-1."""
    task = load_task(name)
    X = np.asarray(task.X.toarray() if hasattr(task.X, "toarray") else task.X, dtype=np.float64)
    y = np.where(next(iter(task.targets.values())) > 0, 1.0, -1.0)
    model = StretchyRegressorCV(a_grid=(-0.2,), k_grid=K_GRID, c_grid=C_GRID, combine="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = best_time(lambda: model.fit(X, y), repeats)
        ridge = best_time(lambda: RidgeCV(np.logspace(-6, 6, 100)).fit(X, y), 2)
        glmnet, glmnet_short = (glmnet_time(X, y, full=full) for full in (True, False))
    bare = bare_search_time(*model._state.model.design.shape, len(K_GRID), len(C_GRID))
    return SearchTimes(name, X.shape, ours, glmnet, glmnet_short, ridge, bare)


def glmnet_time(X: np.ndarray, y: np.ndarray, *, full: bool) -> float:
    """10-fold search over five mixing values, two processes.

    `full` gives glmnet all 100 penalties, from the largest that matters down to 1e-4 of it;
    otherwise it makes its own path of up to 100, which it ends where the fit hardly changes.
    """
    from glmnet import ElasticNet

    scale = X.std(axis=0)
    scores = np.abs(X.T @ (y - y.mean()))[scale > 0] / scale[scale > 0]
    start = time.perf_counter()
    for mixing in MIXING:
        # glmnet itself takes the largest penalty as if the mixing value were at least 1e-3
        largest = scores.max() / y.size / max(mixing, 1e-3)
        path = np.geomspace(largest, 1e-4 * largest, 100) if full else None
        ElasticNet(
            alpha=mixing, n_lambda=100, lambda_path=path, n_splits=10, n_jobs=2, random_state=0
        ).fit(X, y)
    return time.perf_counter() - start


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Markdown."""
    lines = [
        "| data | rows x features | ours, s | glmnet, 100 penalties, s | glmnet / ours "
        "| glmnet, own path, s | glmnet / ours | RidgeCV, s | ours / RidgeCV "
        "| bare BLAS + LAPACK, s | ours / bare |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for t in (SearchTimes(**row) for row in rows):
        lines.append(
            f"| {t.name} | {t.shape[0]} x {t.shape[1]:,} | {t.ours:.3f} | {t.glmnet:.1f} | "
            f"**{t.glmnet / t.ours:.0f}** | {t.glmnet_short:.1f} | "
            f"{t.glmnet_short / t.ours:.0f} | {t.ridge:.3f} | {t.ours / t.ridge:.2f} | "
            f"{t.bare:.3f} | **{t.ours / t.bare:.2f}** |"
        )
    return lines


# times faster than glmnet on its own path, and times the bare calls, of the set that has targets
NAME, FASTER, BARE = "arcene", 100.0, 1.3


def search_goals(rows: list[dict[str, Any]]) -> str:
    """Targets beside results."""
    (t,) = (SearchTimes(**row) for row in rows if row["name"] == NAME)
    faster, bare = t.glmnet_short / t.ours, t.ours / t.bare
    return goals(
        (
            f"{NAME}, {FASTER:.0f} times faster than glmnet on its own path",
            f"{faster:.0f}",
            faster >= FASTER,
        ),
        (f"{NAME}, at most {BARE} times BLAS and LAPACK", f"{bare:.2f}", bare <= BARE),
    )
