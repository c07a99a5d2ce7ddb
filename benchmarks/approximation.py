"""``make approximation``: how far approximate leave one out is from the exact values.

Writes its part of docs/exact.md. At a = 0 and k < 2 a search scores its candidates by one Newton
step of every left-out problem; here those residuals stand beside the exact ones, at each k's best
c.
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression import read
from benchmarks.page import keep, write_part
from skstretch.core.bridge_left_out import leave_one_out
from skstretch.core.bridge_path import Path as PathOfC
from skstretch.core.bridge_path import paths, solve, space, split
from skstretch.solve.choose import PATH, SCORING

PAGE, RESULTS = Path("docs/exact.md"), Path("out/approximation.json")
POWERS = (1.05, 1.1, 1.25, 1.5, 1.75)
SETS = (
    *("prostate", "pyrim", "nutrimouse", "diabetes", "triazines", "eyedata", "fermentation", "pac"),
    *("cookie", "corn_m5", "corn_mp5", "corn_mp6", "riboflavin"),
    *("lymphoma", "colon", "allaml", "arcene"),
)


def zscores(X: np.ndarray) -> np.ndarray:
    """Of the columns that vary."""
    scale = X.std(axis=0)
    varies = scale > 1e-12 * np.abs(X).max(axis=0)
    return np.asarray((X[:, varies] - X[:, varies].mean(axis=0)) / scale[varies])


def both(
    Z: np.ndarray, y: np.ndarray, powers: Sequence[float] = POWERS
) -> dict[float, dict[str, Any]]:
    """Approximate and exact residuals of every power, at the c of the best approximate score."""
    where = split(space(Z, np.ones(len(y))))
    found, asked = {}, [PathOfC(k, (0,)) for k in powers]
    for k, path in zip(powers, paths(where, asked, y[:, None], PATH, SCORING), strict=True):
        best = min((x for x in path if x.usable), key=lambda x: float(np.mean(x.loo**2)))
        at, point = solve(where, k, best.c, y, best.e)
        exact = leave_one_out(at, point, y)
        found[k] = {"c": best.c, "approximate": best.loo, "exact": exact.residual}
    return found


def compared(approximate: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """Root mean square of the difference over that of the exact residuals; ratio of the MSEs."""
    square = np.mean(exact**2)
    off = np.sqrt(np.mean((approximate - exact) ** 2) / square)
    return float(off), float(np.mean(approximate**2) / square)


def measure(name: str) -> dict[str, Any]:
    """One set."""
    X, y = read(name)
    found = both(zscores(X), y)
    pairs = {f"{k:g}": compared(one["approximate"], one["exact"]) for k, one in found.items()}
    return {"data": name, "shape": list(X.shape), "powers": pairs}


def line(found: dict[str, Any]) -> str:
    """One set as a line of the table."""
    M, D = found["shape"]
    entries = [f"{100 * off:.0f} % / {ratio:.2f}" for off, ratio in found["powers"].values()]
    return f"| {found['data']} ({M} × {D:,}) | " + " | ".join(entries) + " |"


def part(rows: list[dict[str, Any]]) -> list[str]:
    """The part of the page."""
    pairs = np.array([list(found["powers"].values()) for found in rows])
    worst = np.unravel_index(np.argmax(pairs[..., 0]), pairs.shape[:2])
    return [
        "Written by `make approximation`, at each k's best c: the root mean square of "
        "(approximate − exact) residuals relative to that of the exact ones / mean squared error "
        "by the approximation over the exact one. The first target of each set; of classes the "
        "last is 1, the others are −1.",
        "",
        "| set | " + " | ".join(f"k = {k}" for k in rows[0]["powers"]) + " |",
        "|" + "---|" * (1 + len(rows[0]["powers"])),
        *map(line, rows),
        "",
        f"Over {pairs[..., 0].size} pairs of a set and a k the median error of the residuals is "
        f"{100 * np.median(pairs[..., 0]):.1f} %, the largest {100 * pairs[..., 0].max():.0f} % "
        f"({rows[worst[0]]['data']}, k = {POWERS[worst[1]]:g}); the mean squared error is "
        f"{pairs[..., 1].min():.2f} to {pairs[..., 1].max():.2f} times the exact one.",
    ]


def main() -> None:
    """Measure and write."""
    warnings.simplefilter("ignore")
    rows = []
    for name in SETS:
        rows.append(measure(name))
        print(line(rows[-1]), file=sys.stderr, flush=True)
        keep(RESULTS, rows)
    write_part(PAGE, "make approximation", part(rows))


if __name__ == "__main__":
    main()
