"""Data larger than memory: the shape of the gaze images, and how time and memory grow."""

import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.limits import goals, rates
from benchmarks.peak import with_peak
from benchmarks.search import C_GRID, K_GRID
from skstretch import StretchyRegressor, StretchyRegressorCV

# samples and pixels of half of the gaze set
GAZE = (980, 1_200_000)
# samples, and numbers of features between which the exponent is taken
GROWTH_ROWS, GROWTH_COLUMNS = 500, (10_000, 31_623, 100_000, 316_228, 1_000_000)
GROWTH_SAMPLES, GROWTH_WIDTH = (100, 250, 630, 1_600, 4_000), 20_000


def write_pixels(path: str, n_rows: int, n_columns: int) -> np.ndarray:
    """A map of random pixels, row by row, with a weak signal for the targets."""
    rng = np.random.default_rng(0)
    pixels = np.memmap(path, dtype=np.uint8, mode="w+", shape=(n_rows, n_columns))
    y = rng.standard_normal(n_rows)
    for i in range(n_rows):
        noise = rng.integers(0, 200, n_columns, dtype=np.uint8)
        pixels[i] = noise + np.uint8(20 * np.clip(y[i] + 1.5, 0, 2.5))
    pixels.flush()
    return y


def open_pixels(path: str, n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The map, and targets."""
    X = np.memmap(path, dtype=np.uint8, mode="r", shape=(n_rows, n_columns))
    return X, np.random.default_rng(0).standard_normal(n_rows)


def fit_once(path: str, n_rows: int, n_columns: int) -> float:
    """Seconds of one fit."""
    X, y = open_pixels(path, n_rows, n_columns)
    start = time.perf_counter()
    StretchyRegressor(k=1.25, quadrant="identity").fit(X, y)
    return time.perf_counter() - start


def fit_warm(path: str, n_rows: int, n_columns: int) -> float:
    """Seconds of the faster of two fits, after a small one."""
    fit_once(path, n_rows, min(n_columns, 5_000))
    return min(fit_once(path, n_rows, n_columns) for _ in range(2))


def fit_grid(path: str, n_rows: int, n_columns: int) -> float:
    """Seconds of an exact search over five k."""
    X, y = open_pixels(path, n_rows, n_columns)
    model = StretchyRegressorCV(
        k_grid=K_GRID, c_grid=C_GRID[:1], combine="best", quadrant="identity"
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.perf_counter() - start


def bare_products(n_rows: int, n_columns: int, count: int) -> float:
    """Seconds of so many products P Q' of this size by BLAS alone, from a slice of it."""
    width = 40_000
    P = np.random.default_rng(0).standard_normal((n_rows, width))
    Q = P[::-1].copy()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        P @ Q.T
        times.append(time.perf_counter() - start)
    return count * min(times) * n_columns / width


def measure_gaze() -> dict[str, Any]:
    """One fit and five k on pixels that are never in memory at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "pixels")
        write_pixels(path, *GAZE)
        bare = bare_products(*GAZE, 1)
        one, peak = with_peak("benchmarks.blocked", "fit_once", path, *GAZE)
        five, peak_five = with_peak("benchmarks.blocked", "fit_grid", path, *GAZE)
        bare = min(bare, bare_products(*GAZE, 1))
    M, D = GAZE
    return {
        "one": one, "five": five, "bare": bare, "peak": peak, "peak_five": peak_five,
        "limit": rates().seconds(2.0 * M * M * D, 2.0 * M * D),
        "limit_five": rates().seconds(5 * 2.0 * M * M * D, 2.0 * M * D),
    }  # fmt: skip


def measure_growth() -> dict[str, Any]:
    """Time and memory against D at M = 500, and time against M."""
    columns, samples = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "pixels")
        for D in GROWTH_COLUMNS:
            write_pixels(path, GROWTH_ROWS, D)
            seconds, peak = with_peak("benchmarks.blocked", "fit_warm", path, GROWTH_ROWS, D)
            limit = rates().seconds(2.0 * GROWTH_ROWS**2 * D, 2.0 * GROWTH_ROWS * D)
            columns.append({"D": D, "seconds": seconds, "peak": peak, "limit": limit})
        for M in GROWTH_SAMPLES:
            write_pixels(path, M, GROWTH_WIDTH)
            seconds = min(fit_once(path, M, GROWTH_WIDTH) for _ in range(2))
            flops = 2.0 * M * M * GROWTH_WIDTH + 2 / 3 * M**3
            samples.append({"M": M, "seconds": seconds, "limit": rates().seconds(flops)})
    logs = np.log([[row["D"], row["seconds"]] for row in columns])
    exponent = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    return {"columns": columns, "samples": samples, "exponent": exponent}


def gaze_table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    return [
        "| | s | bare products, s | ratio | ratio to the limit | peak anonymous memory, GB |",
        "|---|---|---|---|---|---|",
        f"| one fit | {t['one']:.0f} | {t['bare']:.0f} | **{t['one'] / t['bare']:.2f}** | "
        f"{t['one'] / t['limit']:.2f} | {t['peak'] / 1e9:.2f} |",
        f"| five k, exact leave one out | {t['five']:.0f} | {5 * t['bare']:.0f} | "
        f"**{t['five'] / (5 * t['bare']):.2f}** | {t['five'] / t['limit_five']:.2f} | "
        f"{t['peak_five'] / 1e9:.2f} |",
    ]


def gaze_goals(t: dict[str, Any]) -> str:
    """Targets beside results."""
    one, five = t["one"] / t["bare"], t["five"] / (5 * t["bare"])
    peak = max(t["peak"], t["peak_five"])
    return goals(
        ("one fit at most 1.5 times the bare product", f"{one:.2f}", one <= 1.5),
        ("five k at most 1.2 times five products", f"{five:.2f}", five <= 1.2),
        ("at most 1 GB", f"{peak / 1e9:.2f} GB", peak <= 1e9),
    )


def growth_goals(t: dict[str, Any]) -> str:
    """Target beside result, and what memory does."""
    # moments, means and coefficients: about ten numbers a feature grow with D whatever is done
    rest = [row["peak"] - 80 * row["D"] for row in t["columns"]]
    exponent = t["exponent"]
    return (
        goals(("an exponent of at most 1.05", f"{exponent:.2f}", exponent <= 1.05))
        + f" Memory less ten numbers a feature (moments, coefficients): {min(rest) / 1e6:.0f} to "
        f"{max(rest) / 1e6:.0f} MB."
    )


def growth_table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    return [
        f"| features, {GROWTH_ROWS} samples | s | s / limit | peak anonymous memory, MB |",
        "|---|---|---|---|",
        *(
            f"| {row['D']:,} | {row['seconds']:.2f} | {row['seconds'] / row['limit']:.2f} | "
            f"{row['peak'] / 1e6:.0f} |"
            for row in t["columns"]
        ),
        "",
        f"Time grows as D to the power **{t['exponent']:.2f}** (least squares on the logs).",
        "",
        f"| samples, {GROWTH_WIDTH:,} features | s | s / limit |",
        "|---|---|---|",
        *(
            f"| {row['M']:,} | {row['seconds']:.2f} | {row['seconds'] / row['limit']:.2f} |"
            for row in t["samples"]
        ),
    ]
