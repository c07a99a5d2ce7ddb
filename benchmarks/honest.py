"""``make honest``: plain and nested scores of searches on pure noise, and the cost of the default.

Writes its parts of docs/mixing.md and docs/figures/honest.png.
"""

import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.arena.data import load_task
from benchmarks.limits import goals
from benchmarks.page import write_part
from skstretch import StretchyClassifierCV, StretchyRegressorCV, style
from skstretch.cli import methods as rivals

PAGE, FIGURE = Path("docs/mixing.md"), Path("docs/figures/honest.png")
N_FRESH = 2000
MIXING = (1.0, 0.75, 0.5, 0.25, 0.01)
SHAPES = ((200, 10_000), (500, 2_000), (1_000, 1_000), (2_000, 5_000), (5_000, 50))
# closed forms over RidgeCV
CLOSED_GOAL = 4.0
# sets, samples, features
FEW, WIDE = (100, 25, 40), (100, 60, 1000)
RIDGE = "ridge alone (`a_grid=(0,)`, `k_grid=(2,)`)"
SEARCHES = {
    "default": (StretchyRegressorCV(), FEW),
    RIDGE: (StretchyRegressorCV(a_grid=(0.0,), k_grid=(2.0,)), FEW),
    "default, wide": (StretchyRegressorCV(), WIDE),
}
# samples and features; the rule was settled on 25 sets from seed 1000 on
SQUARE = ((20, 17), (20, 18), (20, 20), (40, 37), (40, 38), (40, 40))
SQUARE_SETS, SQUARE_SEED = 50, 5000
SETS = ("corn_m5", "riboflavin", "colon", "arcene", "1,000 x 1,000")


def noise_scores(
    search: StretchyRegressorCV, size: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Plain, nested and true errors of every set, over those of answering with the mean.

    The true error is that of the fitted model on fresh samples.
    """
    plain, nested, fresh = [], [], []
    n_sets, n, D = size
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((n, D)), rng.standard_normal(n)
        model = search.set_params(nested_cv=KFold(10, shuffle=True, random_state=seed)).fit(X, y)
        base = y.var() * (n / (n - 1)) ** 2
        plain.append(-model.best_score_ / base)
        nested.append(-model.nested_score_ / base)
        new, truth = rng.standard_normal((N_FRESH, D)), rng.standard_normal(N_FRESH)
        errors = np.mean((truth - model.predict(new)) ** 2), np.mean((truth - y.mean()) ** 2)
        fresh.append(errors[0] / errors[1])
    return np.array(plain), np.array(nested), np.array(fresh)


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
    def told(values: np.ndarray) -> str:
        return f"{values.mean():.3f} ± {values.std() / np.sqrt(values.size):.3f}"

    rows = []
    for name, (search, size) in SEARCHES.items():
        plain, nested, fresh = noise_scores(search, size)
        if not rows:
            draw(plain, nested)
        parts = plain, nested, fresh, plain - fresh, nested - fresh
        rows.append(
            f"| {name} | {size[0]} of {size[1]} x {size[2]:,} | "
            + " | ".join(map(told, parts))
            + " |"
        )
    return [
        "Sets of pure noise, samples x features; errors are relative to "
        "answering with the mean of the other samples, which nothing beats here, with "
        "standard errors of the means:",
        "",
        "| search | sets | plain, `best_score_` | nested, `nested_score_` | fresh samples "
        "| plain - fresh | nested - fresh |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]


def seconds(work) -> float:
    """One run, as a user waits for it."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def generated(n: int, D: int) -> tuple[np.ndarray, np.ndarray]:
    """X of independent columns, and y that twenty of them make up, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D))
    return X, X[:, :20].sum(axis=1) + 3.0 * rng.standard_normal(n)


def data_of(name: str):
    """X, y and whether y are classes."""
    if name == "1,000 x 1,000":
        return *generated(1_000, 1_000), False
    task = load_task(name)
    X, y = task.rows(next(iter(task.targets)))
    return np.asarray(X), y, task.kind == "classification"


def cost_rows() -> list[str]:
    rows = [
        "| data | default search, s | with `nested_cv=10`, s | glmnet, five mixing values, s "
        "| glmnet over default |",
        "|---|---|---|---|---|",
    ]
    for name in SETS:
        X, y, classes = data_of(name)
        search = StretchyClassifierCV if classes else StretchyRegressorCV
        glmnet = rivals.glmnet_classification if classes else rivals.glmnet_regression
        ours = seconds(lambda s=search, X=X, y=y: s().fit(X, y))
        nested = seconds(lambda s=search, X=X, y=y: s(nested_cv=10).fit(X, y))
        theirs = sum(seconds(partial(glmnet, X, y, alpha=alpha)) for alpha in MIXING)
        shape = " x ".join(f"{side:,}" for side in X.shape)
        rows.append(
            f"| {name} ({shape}) | {ours:.1f} | {nested:.1f} | {theirs:.1f} | {theirs / ours:.1f} |"
        )
    return rows


def closed_rows() -> list[str]:
    """The closed forms of a = -0.2 alone beside scikit-learn's ridge search."""
    rows = [
        "| data | closed forms, s | with `nested_cv=10`, s | RidgeCV, 100 penalties, s "
        "| closed forms over RidgeCV |",
        "|---|---|---|---|---|",
    ]
    ratios = {}
    for n, D in SHAPES:
        X, y = generated(n, D)
        ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 6, 100)))
        times = [
            min(seconds(partial(model.fit, X, y)) for _ in range(3))
            for model in (
                StretchyRegressorCV(a_grid=(-0.2,)),
                StretchyRegressorCV(a_grid=(-0.2,), nested_cv=10),
                ridge,
            )
        ]
        ours, nested, theirs = times
        ratios[f"{n:,} x {D:,}"] = ours / theirs
        rows.append(
            f"| {n:,} x {D:,} | {ours:.2f} | {nested:.2f} | {theirs:.2f} | {ours / theirs:.1f} |"
        )
    said = (
        (f"{shape}, at most {CLOSED_GOAL:.0f} times RidgeCV", f"{ratio:.1f}", ratio <= CLOSED_GOAL)
        for shape, ratio in ratios.items()
    )
    return [*rows, "", goals(*said)]


def square_rows() -> list[str]:
    """Default searches and RidgeCV where samples and features are about equally many."""
    rows = [
        f"{SQUARE_SETS} sets each, errors on {N_FRESH:,} fresh samples relative to their variance:",
        "",
        "| samples x features | default search, mean | worst set | RidgeCV, mean | worst set |",
        "|---|---|---|---|---|",
    ]
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-6, 6, 100)))
    for n, D in SQUARE:
        errors = []
        for seed in range(SQUARE_SEED, SQUARE_SEED + SQUARE_SETS):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n + N_FRESH, D))
            signal = X @ rng.standard_normal(D)
            y = signal + signal.std() * rng.standard_normal(signal.size)
            models = (StretchyRegressorCV(), ridge)
            found = [y[n:] - model.fit(X[:n], y[:n]).predict(X[n:]) for model in models]
            errors.append([np.mean(e**2) / y[n:].var() for e in found])
        mean, worst = np.mean(errors, axis=0), np.max(errors, axis=0)
        rows.append(
            f"| {n} x {D} | **{mean[0]:.2f}** | {worst[0]:.2f} | {mean[1]:.2f} | {worst[1]:.2f} |"
        )
    return rows


def main() -> None:
    """Measure and write all parts, or those that are named."""
    warnings.simplefilter("ignore")
    parts = {
        "noise": noise_rows,
        "cost": cost_rows,
        "closed": closed_rows,
        "square": square_rows,
    }
    for name in sys.argv[1:] or parts:
        write_part(PAGE, name, parts[name]())


if __name__ == "__main__":
    main()
