"""Speed of the exact minimiser: its search beside glmnet's, one fit beside the bare product.

``make bench`` measures all of it; ``python -m benchmarks.minimiser`` tries fits on a smaller shape
of pixels that are read in blocks, of ``rows columns`` where these are given.
"""

import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from scipy.linalg import blas

from benchmarks import search, sparse_search
from benchmarks.blocked import GAZE, open_pixels, write_pixels
from benchmarks.compression import read
from benchmarks.limits import goals
from benchmarks.peak import with_peak
from benchmarks.timing import best_time
from skstretch import StretchyRegressor, StretchyRegressorCV

K_GRID = (1.05, 1.1, 1.25, 1.5, 1.75, 2.0)
# how many times faster than glmnet the whole search is to be
FASTER = {"arcene": 2.0, "riboflavin": 3.0, "dexter": 2.0}
FIT_K = 1.25
MOST_PRODUCTS, MOST_PASSES, MOST_BYTES, MOST_EXPONENT = 6.0, 10, 1e9, 1.05
SMALL = (300, 100_000)
GROWTH_ROWS, GROWTH_COLUMNS = 300, (25_000, 50_000, 100_000, 200_000, 400_000)
# MiB: less than twice the z-scores of the smallest shape, so that all are read at every step
WORKING_MEMORY = 80


def data(name: str) -> tuple[Any, np.ndarray]:
    """X, sparse for Dexter, and y."""
    if name != "dexter":
        return read(name)
    bunch = sparse_search.LOADERS[name]()
    return bunch.data, np.where(bunch.target > 0, 1.0, -1.0)


def measure_search(name: str) -> dict[str, Any]:
    """Seconds of the whole search, of glmnet's, and of one fit at its best c of k = 1.25."""
    X, y = data(name)
    model = StretchyRegressorCV(a_grid=(0.0,), k_grid=K_GRID, combine="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = best_time(lambda: model.fit(X, y), 3)
        if sparse.issparse(X):
            glmnet = sparse_search.glmnet_time(X.tocsc(), y, full=False)
        else:
            glmnet = search.glmnet_time(X, y, full=False)
    table = model.cv_results_
    refined = (table["loo"] == "exact") & (table["param_k"] < 2.0)
    scores = np.where(table["param_k"] == FIT_K, table["mean_test_score"], -np.inf)
    one = StretchyRegressor(FIT_K, float(table["param_c"][np.nanargmax(scores)]), a=0.0)
    fit = best_time(lambda: one.fit(X, y), 5)
    n_columns = int(np.count_nonzero(one.coef_))
    return {
        "data": name, "shape": list(X.shape), "sparse": bool(sparse.issparse(X)), "ours": ours,
        "candidates": len(scores), "exact": int(refined.sum()), "glmnet": glmnet,
        "fit": fit, "products": int(one.n_iter_), "bare": bare_product(len(y), n_columns),
    }  # fmt: skip


def bare_product(n_rows: int, n_columns: int) -> float:
    """Seconds of one symmetric product Z Z' of this size by BLAS alone, from a slice of it."""
    width = min(n_columns, 20_000)
    Z = np.random.default_rng(0).standard_normal((width, n_rows))
    return best_time(lambda: blas.dsyrk(1.0, Z.T, lower=1), 3) * n_columns / width


def fit(path: str, n_rows: int, n_columns: int, working_memory: float = 1024) -> dict[str, Any]:
    """One fit on a map of pixels, from a cold start; its passes, the one for moments included."""
    X, y = open_pixels(path, n_rows, n_columns)
    model = StretchyRegressor(FIT_K, 1.0, a=0.0)
    start = time.perf_counter()
    with sklearn.config_context(working_memory=working_memory):
        model.fit(X, y)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "products": int(model.n_iter_) + 1, "gap": float(model.dual_gap_)}


def measure_pixels(n_rows: int, n_columns: int, working_memory: float = 1024) -> dict[str, Any]:
    """One fit on pixels that are never in memory at once, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "pixels")
        write_pixels(path, n_rows, n_columns)
        found: Any
        found, peak = with_peak(
            "benchmarks.minimiser", "fit", path, n_rows, n_columns, working_memory
        )
    bare = bare_product(n_rows, n_columns)
    return {**found, "peak": peak, "bare": bare, "shape": [n_rows, n_columns]}


def measure_growth(columns: tuple[int, ...] = GROWTH_COLUMNS) -> dict[str, Any]:
    """One fit at every number of features, and the exponent of time in D."""
    rows = [measure_pixels(GROWTH_ROWS, D, WORKING_MEMORY) for D in columns]
    logs = np.log([[row["shape"][1], row["seconds"]] for row in rows])
    return {"rows": rows, "exponent": float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])}


def measure() -> dict[str, Any]:
    """All that `make bench` asks for."""
    return {
        "search": [measure_search(name) for name in FASTER],
        "gaze": measure_pixels(*GAZE),
        "growth": measure_growth(),
    }


def pixel_line(t: dict[str, Any]) -> str:
    """One fit from a map."""
    M, D = t["shape"]
    return (
        f"| {M} x {D:,} | {t['products']} | {t['seconds']:.2f} | {t['bare']:.2f} | "
        f"**{t['seconds'] / t['bare']:.1f}** | {t['peak'] / 1e6:.0f} | {t['gap']:.0e} |"
    )


PIXELS = [
    "| samples x pixels | passes | one fit, s | bare product, s | ratio "
    "| peak anonymous memory, MB | relative gap |",
    "|---|---|---|---|---|---|---|",
]


def table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    lines = [
        "| data | rows x features | candidates (made exact, of k below 2) | whole search, s "
        "| glmnet, own path, s | glmnet / ours | one fit at k = 1.25, s (passes) "
        "| bare product, s | fit / product |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for s in t["search"]:
        kind = ", sparse" if s["sparse"] else ""
        lines.append(
            f"| {s['data']} | {s['shape'][0]} x {s['shape'][1]:,}{kind} | {s['candidates']} "
            f"({s['exact']}) | {s['ours']:.2f} | {s['glmnet']:.2f} | "
            f"**{s['glmnet'] / s['ours']:.1f}** | {s['fit']:.3f} ({s['products']}) | "
            f"{s['bare']:.4f} | **{s['fit'] / s['bare']:.1f}** |"
        )
    lines += ["", "From memory maps, one byte a pixel, never in memory at once:", "", *PIXELS]
    lines += [pixel_line(row) for row in (t["gaze"], *t["growth"]["rows"])]
    exponent = t["growth"]["exponent"]
    return [*lines, "", f"Time grows as D to the power **{exponent:.2f}** (least squares on logs)."]


def said_goals(t: dict[str, Any]) -> str:
    """Targets beside results."""
    said = []
    for s in t["search"]:
        wanted, faster = FASTER[s["data"]], s["glmnet"] / s["ours"]
        what = f"{s['data']}, {wanted:g} times faster than glmnet"
        said.append((what, f"{faster:.1f}", faster >= wanted))
    fits = [(s["data"], s["fit"] / s["bare"]) for s in t["search"] if not s["sparse"]]
    gaze, exponent = t["gaze"], t["growth"]["exponent"]
    for name, ratio in [*fits, ("pixels", gaze["seconds"] / gaze["bare"])]:
        what = f"{name}, one fit within {MOST_PRODUCTS:g} products"
        said.append((what, f"{ratio:.1f}", ratio <= MOST_PRODUCTS))
    return goals(
        *said,
        (f"at most {MOST_PASSES} passes", f"{gaze['products']}", gaze["products"] <= MOST_PASSES),
        ("at most 1 GB", f"{gaze['peak'] / 1e9:.2f} GB", gaze["peak"] <= MOST_BYTES),
        (f"an exponent of at most {MOST_EXPONENT}", f"{exponent:.2f}", exponent <= MOST_EXPONENT),
    )


def main(shape: tuple[int, int] = SMALL) -> None:
    """Print a line for each of a few numbers of features up to that of the shape."""
    print("\n".join(PIXELS))
    for D in (shape[1] // 4, shape[1] // 2, shape[1]):
        print(pixel_line(measure_pixels(shape[0], D, WORKING_MEMORY)), flush=True)


if __name__ == "__main__":
    main((int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) == 3 else SMALL)
