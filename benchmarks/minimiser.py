"""The exact minimiser on pixels that are read in blocks: walks, memory, time, and growth with D.

Run as ``python -m benchmarks.minimiser [rows columns]``; a small version of the gaze images' shape
unless told otherwise.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy.linalg import blas

from benchmarks.blocked import open_pixels, write_pixels
from benchmarks.peak import with_peak
from skstretch.core.bridge_path import finish, solve
from skstretch.core.quadrant import Quadrant
from skstretch.designs import as_design, dual_space, measure, tidy

SHAPE = (300, 100_000)
GROWTH = (12_500, 25_000, 50_000, 100_000)
K, C = 1.25, 1.0
# MiB: less than twice the z-scores of the smallest shape, so that all are read at every step
WORKING_MEMORY = 40


class Counted:
    """Walks that are counted."""

    def __init__(self, walks: Any) -> None:
        self.walks, self.n_steps = walks, 0
        self.coef, self.transposed = walks.coef, walks.transposed

    def step(self, trials: Sequence[Any]) -> Any:
        self.n_steps += 1
        return self.walks.step(trials)


def fit(path: str, n_rows: int, n_columns: int) -> dict[str, Any]:
    """One fit from a cold start, moments included."""
    X, y = open_pixels(path, n_rows, n_columns)
    start, cpu = time.perf_counter(), time.process_time()
    with sklearn.config_context(working_memory=WORKING_MEMORY):
        data = tidy(X)
        moments = measure(data, np.ones(n_rows))
        used = np.flatnonzero(~moments.constant)
        quadrant = Quadrant("linear", moments, 0.0, np.zeros(n_columns))
        space = dual_space(as_design(data, quadrant, columns=used), np.ones(n_rows))
        walks = Counted(space.walks)
        solved, point = solve(replace(space, walks=walks), K, C, y)
        found = finish(solved, point, y)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "walks": walks.n_steps,
        "gap": found.gap,
        "kind": type(walks.walks).__name__,
    }


def bare_product(n_rows: int, n_columns: int) -> float:
    """Processor seconds of one product Z Z' of this size by BLAS alone, from a slice of it."""
    width = min(n_columns, 20_000)
    Z = np.random.default_rng(0).standard_normal((width, n_rows))
    times = []
    for _ in range(3):
        start = time.process_time()
        blas.dsyrk(1.0, Z.T, lower=1)
        times.append(time.process_time() - start)
    return min(times) * n_columns / width


def main(shape: tuple[int, int] = SHAPE) -> None:
    """Print one line for every number of features, and the exponent of time in D."""
    print("| samples x features | walks | s | cpu s | cpu / bare product | peak MB | gap |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "pixels")
        for D in sorted({*(d for d in GROWTH if d < shape[1]), shape[1]}):
            write_pixels(path, shape[0], D)
            found: Any
            found, peak = with_peak("benchmarks.minimiser", "fit", path, shape[0], D)
            rows.append((D, found["cpu"]))
            ratio = found["cpu"] / bare_product(shape[0], D)
            print(
                f"| {shape[0]} x {D:,} ({found['kind']}) | {found['walks']} | "
                f"{found['seconds']:.2f} | {found['cpu']:.2f} | {ratio:.1f} | {peak / 1e6:.0f} | "
                f"{found['gap']:.1e} |",
                flush=True,
            )
    logs = np.log(rows)
    print(f"\nTime grows as D to the power {np.polyfit(logs[:, 0], logs[:, 1], 1)[0]:.2f}.")


if __name__ == "__main__":
    main((int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) == 3 else SHAPE)
