"""``make honest``: plain and nested scores of searches on pure noise, and the cost of the default.

Writes its parts of docs/mixing.md and docs/figures/honest.png.
"""

import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.arena.data import load_task
from benchmarks.page import write_part
from skstretch import StretchyClassifierCV, StretchyRegressorCV, style
from skstretch.cli import contest as rivals

PAGE, FIGURE = Path("docs/mixing.md"), Path("docs/figures/honest.png")
N_SETS, N_SAMPLES, N_FEATURES = 200, 25, 40
MIXING = (1.0, 0.75, 0.5, 0.25, 0.01)
SETS = ("corn_m5", "riboflavin", "colon", "arcene", "1,000 x 1,000")


def noise_scores() -> tuple[np.ndarray, np.ndarray]:
    """Plain and nested errors of every set, over that of the mean of the other samples."""
    plain, nested = [], []
    for seed in range(N_SETS):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((N_SAMPLES, N_FEATURES)), rng.standard_normal(N_SAMPLES)
        model = StretchyRegressorCV().fit(X, y)
        base = y.var() * (N_SAMPLES / (N_SAMPLES - 1)) ** 2
        plain.append(-model.best_score_ / base)
        nested.append(-model.nested_score_ / base)
    return np.array(plain), np.array(nested)


def draw(plain: np.ndarray, nested: np.ndarray) -> None:
    """Both distributions beside the error of the mean."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
    bins = np.linspace(min(plain.min(), nested.min()), max(plain.max(), nested.max()), 31)
    ax.hist(plain, bins, alpha=0.6, label="plain: the search has seen every sample")
    ax.hist(nested, bins, alpha=0.6, label="nested: it has seen none that it predicts")
    ax.axvline(1.0, color="black", lw=1, ls="--", label="answering the mean of the others")
    ax.set_xlabel("mean squared error, relative to that of the mean", fontsize=style.NORMAL)
    ax.set_ylabel("sets of pure noise", fontsize=style.NORMAL)
    ax.tick_params(labelsize=style.SMALL)
    ax.legend(frameon=False, fontsize=style.SMALL)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    temporary = FIGURE.with_suffix(".tmp.png")
    figure.savefig(temporary, dpi=style.DPI, metadata={"Software": None})
    temporary.replace(FIGURE)
    plt.close(figure)


def noise_rows() -> list[str]:
    plain, nested = noise_scores()
    draw(plain, nested)

    def told(values: np.ndarray) -> str:
        return f"{values.mean():.3f} ± {values.std() / np.sqrt(values.size):.3f}"

    return [
        f"{N_SETS} sets of pure noise, {N_SAMPLES} samples of {N_FEATURES} features; errors are "
        "relative to answering with the mean of the other samples, which nothing beats here, with "
        "standard errors of the means:",
        "",
        "| plain, `best_score_` | nested, `nested_score_` |",
        "|---|---|",
        f"| {told(plain)} | {told(nested)} |",
    ]


def seconds(work) -> float:
    """One run, as a user waits for it."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def data_of(name: str):
    """X, y and whether y are classes."""
    if name == "1,000 x 1,000":
        rng = np.random.default_rng(0)
        X = rng.standard_normal((1000, 1000))
        return X, X[:, :20].sum(axis=1) + 3.0 * rng.standard_normal(1000), False
    task = load_task(name)
    X, y = task.rows(next(iter(task.targets)))
    return np.asarray(X), y, task.kind == "classification"


def cost_rows() -> list[str]:
    rows = [
        "| data | default search, s | without the nested score, s | glmnet, five mixing values, s "
        "| glmnet over default |",
        "|---|---|---|---|---|",
    ]
    for name in SETS:
        X, y, classes = data_of(name)
        search = StretchyClassifierCV if classes else StretchyRegressorCV
        glmnet = rivals.glmnet_classification if classes else rivals.glmnet_regression
        ours = seconds(lambda s=search, X=X, y=y: s().fit(X, y))
        bare = seconds(lambda s=search, X=X, y=y: s(nested=False).fit(X, y))
        theirs = sum(seconds(partial(glmnet, X, y, alpha=alpha)) for alpha in MIXING)
        shape = " x ".join(f"{side:,}" for side in X.shape)
        rows.append(
            f"| {name} ({shape}) | {ours:.1f} | {bare:.1f} | {theirs:.1f} | {theirs / ours:.1f} |"
        )
    return rows


def main() -> None:
    """Measure and write both parts, or the one that is named."""
    warnings.simplefilter("ignore")
    parts = {"noise": noise_rows, "cost": cost_rows}
    for name in sys.argv[1:] or parts:
        write_part(PAGE, name, parts[name]())


if __name__ == "__main__":
    main()
