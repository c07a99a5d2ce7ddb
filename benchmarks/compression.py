"""``make compression``: how few features carry the effect as k falls, and what that costs.

Writes its part of docs/exact.md and docs/figures/compression.png. ``python -m
benchmarks.compression --write`` writes them from what an earlier run left in out/compression.json.
"""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.arena.data import load_task
from benchmarks.page import keep, write_part
from skstretch import StretchyRegressorCV, style

PAGE, RESULTS = Path("docs/exact.md"), Path("out/compression.json")
FIGURE = Path("docs/figures/compression.png")
SETS = ("riboflavin", "colon", "corn_m5", "arcene")
POWERS = (2.0, 1.5, 1.25, 1.1, 1.05)
LASSO = "LassoCV"
SHARE = 0.9
FOLDS, SEED = 10, 13


def exact(k: float) -> Any:
    """The exact minimiser at one k, its c by leave one out."""
    return StretchyRegressorCV(a_grid=(0.0,), k_grid=(k,), combine="best")


def lasso() -> Any:
    """On z-scores, its penalty by ten folds."""
    return make_pipeline(StandardScaler(), LassoCV(cv=10))


def effects(model: Any, X: np.ndarray) -> np.ndarray:
    """What one standard deviation of each feature does to the prediction, (D,)."""
    if isinstance(model, StretchyRegressorCV):
        return np.asarray(model.effect_)
    return np.asarray(model[-1].coef_)


def carriers(effect: np.ndarray, share: float = SHARE) -> int:
    """The least number of features whose absolute effects sum to this share of all.

    >>> carriers(np.array([6.0, -3.0, 1.0, 0.0])), carriers(np.zeros(3))
    (2, 0)
    """
    sizes = np.sort(np.abs(effect))[::-1]
    if not sizes.any():
        return 0
    # rounding of the sum must not ask for one feature more
    return int(np.searchsorted(np.cumsum(sizes), (share - 1e-12) * sizes.sum()) + 1)


def out_of_fold(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> float:
    """The mean squared error over folds that each search for themselves, over that of the mean."""
    lost = base = 0.0
    for train, test in KFold(FOLDS, shuffle=True, random_state=SEED).split(X):
        model = make().fit(X[train], y[train])
        lost += float(np.sum((y[test] - model.predict(X[test])) ** 2))
        base += float(np.sum((y[test] - y[train].mean()) ** 2))
    return lost / base


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X and the first target; of classes the last is 1, the others are -1."""
    task = load_task(name)
    X, y = task.rows(next(iter(task.targets)))
    if task.kind == "classification":
        y = np.where(y == y.max(), 1.0, -1.0)
    return np.asarray(X), y


def measure(name: str) -> dict[str, Any]:
    """Features that carry the effect and errors of one set, by model."""
    X, y = read(name)
    makers: dict[str, Callable[[], Any]] = {f"{k:g}": lambda k=k: exact(k) for k in POWERS}
    makers[LASSO] = lasso
    found: dict[str, Any] = {"data": name, "shape": list(X.shape), "models": {}}
    for label, make in makers.items():
        effect = effects(make().fit(X, y), X)
        found["models"][label] = {
            "carriers": carriers(effect),
            "nonzero": int(np.count_nonzero(effect)),
            "error": out_of_fold(make, X, y),
        }
    return found


def line(found: dict[str, Any]) -> str:
    """One set as a line of the table."""
    M, D = found["shape"]
    models = found["models"].values()
    entries = [f"{one['carriers']:,} ({style.number(one['error'])})" for one in models]
    return f"| {found['data']} ({M} × {D:,}) | " + " | ".join(entries) + " |"


def part(rows: list[dict[str, Any]]) -> list[str]:
    """The part of the page."""
    head = [LASSO if m == LASSO else f"k = {m}" for m in rows[0]["models"]]
    zeros = ", ".join(f"{r['data']} {r['models'][LASSO]['nonzero']:,}" for r in rows)
    absent = [name for name in SETS if name not in [found["data"] for found in rows]]
    return [
        f"Written by `make compression`. Features that carry {100 * SHARE:g} % of the sum of "
        "absolute effects (an effect: what one standard deviation of the feature does to the "
        "prediction), in the model of all samples; c of every k by its leave one out, the penalty "
        "of LassoCV by ten folds. In brackets the mean squared error over "
        f"{FOLDS} folds that each search for themselves, relative to the mean's. Classes "
        "(colon, arcene) are fitted as −1 and 1.",
        "",
        "| set | " + " | ".join(head) + " |",
        "|" + "---|" * (1 + len(head)),
        *map(line, rows),
        "",
        f"Coefficients of LassoCV that are not zero: {zeros}."
        + (f" **Not measured**: {', '.join(absent)}." if absent else ""),
        "",
        f"![features that carry the effect, and error, against k](figures/{FIGURE.name})",
    ]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Features and errors against k, and the lasso beside them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2)
    labels = list(rows[0]["models"])
    for found, look in zip(rows, style.LINES, strict=False):
        for ax, key in zip(axes, ("carriers", "error"), strict=True):
            values = [found["models"][label][key] for label in labels]
            ax.plot(range(len(POWERS)), values[:-1], label=found["data"], **look.kwargs)
            ax.plot([len(POWERS)], values[-1:], **{**look.kwargs, "linestyle": ""})
    said = (
        f"features with {100 * SHARE:g} % of the effect",
        "mean squared error / that of the mean",
    )
    for ax, label in zip(axes, said, strict=True):
        ax.set_yscale("log")
        ax.set_ylabel(label, fontsize=style.NORMAL)
        ax.set_xlabel("k", fontsize=style.NORMAL)
        ax.set_xticks(range(len(labels)), [*labels[:-1], "lasso"])
        ax.axvline(len(POWERS) - 0.5, color=style.FAINT, linewidth=0.8)
        ax.tick_params(which="both", labelsize=style.SMALL)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color=style.MESH, linewidth=0.7)
        ax.set_axisbelow(True)
    axes[0].legend(frameon=False, fontsize=style.SMALL)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.stem + ".tmp.png")
    # No version of the drawing library in the file: the same results give the same bytes.
    figure.savefig(temporary, dpi=style.DPI, metadata={"Software": None})
    temporary.replace(path)


def main() -> None:
    """Measure (or read what was measured), draw and write."""
    warnings.simplefilter("ignore")
    if "--write" in sys.argv[1:]:
        rows = json.loads(RESULTS.read_text("utf-8"))
    else:
        rows = []
        for name in SETS:
            rows.append(measure(name))
            print(line(rows[-1]), file=sys.stderr, flush=True)
            keep(RESULTS, rows)
    draw(rows, FIGURE)
    write_part(PAGE, "make compression", part(rows))


if __name__ == "__main__":
    main()
