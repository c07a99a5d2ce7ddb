"""Exact leave-one-out searches on sparse data, beside those of glmnet and scikit-learn."""

import multiprocessing
import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, RidgeCV

from benchmarks.limits import goals, rates
from benchmarks.search import C_GRID, K_GRID, MIXING
from benchmarks.timing import bare_lapack_time, best_time
from skstretch import StretchyRegressorCV
from skstretch.datasets import fetch_dexter, fetch_dorothea

LOADERS = {"dexter": fetch_dexter, "dorothea": fetch_dorothea}
PENALTIES = np.logspace(-6, 6, 100)
# seconds after which LassoCV is stopped
LASSO_LIMIT = 150.0


def measure(name: str) -> dict[str, Any]:
    """Seconds of one data set, all in one run."""
    bunch = LOADERS[name]()
    X, y = bunch.data, np.where(bunch.target > 0, 1.0, -1.0)
    model = StretchyRegressorCV(a_grid=(-0.2,), k_grid=K_GRID, c_grid=C_GRID, combine="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "data": name,
            "shape": list(X.shape),
            "nnz": int(X.nnz),
            "ours": best_time(lambda: model.fit(X, y), 3),
            "glmnet": glmnet_time(X.tocsc(), y, full=True),
            "glmnet_short": glmnet_time(X.tocsc(), y, full=False),
            "ridge": _time(lambda: RidgeCV(PENALTIES).fit(X, y)),
            "lasso": _time_within(LASSO_LIMIT, lambda: LassoCV(cv=10, n_jobs=2).fit(X, y)),
        }
        dense = X.toarray()
        found["dense"] = best_time(lambda: model.fit(dense, y), 1)
    M = X.shape[0]
    found["lapack"] = bare_lapack_time(M, len(K_GRID), len(C_GRID))
    candidates = (len(K_GRID) - 1) * len(C_GRID)
    found["limit"] = rates().seconds(candidates * 4 / 3 * M**3 + 9.0 * M**3)
    return found


def _time(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _time_within(limit: float, work: Any) -> float | None:
    """Seconds of work in a process of its own, None where it takes longer than the limit."""
    process = multiprocessing.get_context("fork").Process(target=work)
    start = time.perf_counter()
    process.start()
    process.join(limit)
    seconds = time.perf_counter() - start
    if process.is_alive():
        process.terminate()
        process.join()
        return None
    if process.exitcode:
        raise RuntimeError(f"the process ended with code {process.exitcode}")
    return seconds


def glmnet_time(X: Any, y: np.ndarray, *, full: bool) -> float:
    """10-fold search over five mixing values, two processes.

    `full` gives glmnet all 100 penalties, from the largest that matters down to 1e-4 of it;
    otherwise it makes its own path of up to 100, which it ends where the fit hardly changes.
    """
    from glmnet import ElasticNet

    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    scale = np.sqrt(np.maximum(square - mean**2, 0.0))
    scores = np.abs(X.T @ (y - y.mean()))[scale > 0] / scale[scale > 0]

    def search() -> None:
        for mixing in MIXING:
            # glmnet itself takes the largest penalty as if the mixing value were at least 1e-3
            largest = scores.max() / y.size / max(mixing, 1e-3)
            path = np.geomspace(largest, 1e-4 * largest, 100) if full else None
            ElasticNet(
                alpha=mixing, n_lambda=100, lambda_path=path, n_splits=10, n_jobs=2, random_state=0
            ).fit(X, y)

    return _time(search)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Markdown."""
    lines = [
        "| data | rows x features | stored entries | ours, s | glmnet, 100 penalties / ours "
        "| glmnet, own path / ours | RidgeCV / ours | LassoCV / ours | our dense path / ours "
        "| bare LAPACK, s | ours / LAPACK | ours / limit |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for t in rows:
        ours = t["ours"]
        lines.append(
            f"| {t['data']} | {t['shape'][0]:,} x {t['shape'][1]:,} | {t['nnz']:,} | {ours:.2f} | "
            f"**{t['glmnet'] / ours:.1f}** | {t['glmnet_short'] / ours:.1f} | "
            f"{t['ridge'] / ours:.2f} | "
            f"{_ratio(t['lasso'], ours)} | {t['dense'] / ours:.2f} | {t['lapack']:.2f} | "
            f"**{ours / t['lapack']:.2f}** | {ours / t['limit']:.2f} |"
        )
    return lines


# times faster than glmnet, and times the bare LAPACK calls
FASTER = {"dexter": 10.0, "dorothea": 18.0}
BARE = {"dexter": 1.6, "dorothea": 1.5}


def search_goals(rows: list[dict[str, Any]]) -> str:
    """Targets beside results."""
    said = []
    for t in rows:
        name, ours = t["data"], t["ours"]
        wanted, most, bare = FASTER[name], BARE[name], ours / t["lapack"]
        for path, seconds in (("all penalties", t["glmnet"]), ("its own path", t["glmnet_short"])):
            faster = seconds / ours
            what = f"{name}, {wanted:.0f} times faster than glmnet with {path}"
            said.append((what, f"{faster:.1f}", faster >= wanted))
        said.append((f"{name}, at most {most} times LAPACK", f"{bare:.2f}", bare <= most))
    return goals(*said)


def _ratio(seconds: float | None, ours: float) -> str:
    return f"> {LASSO_LIMIT / ours:.0f}" if seconds is None else f"{seconds / ours:.1f}"
