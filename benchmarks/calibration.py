"""``make calibration``: are probabilities as sure as they are right? Writes docs/calibration.md.

Run from the root of the repository: ``python -m benchmarks.calibration``; with names of sets, their
rows alone are printed. Sets are read from the folder that SKSTRETCH_DATA names.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.arena.data import load_task
from benchmarks.page import write_page
from skstretch import StretchyClassifierCV

PAGE, FIGURE = Path("docs/calibration.md"), Path("docs/images/calibration.png")
SETS = (
    *("colon", "allaml", "shipp", "gravier", "dhfr", "lymphoma", "brca_tcga_subtype"),
    *("breast_tumors", "subramanian", "lung_small", "phenyl_ms", "pld_pipelinepilot"),
    "mayonnaise",
)
REPEATS = 3
STRENGTHS = np.logspace(-5, 1, 13)
N_BINS = 8
# columns of the table: log loss and mean confidence, of ours and of logistic regression
Found = dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]


def logistic(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Probabilities of ridge logistic regression on z-scores, its strength by log loss.

    In the space of the samples, which gives the same model and is faster.
    """
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    if X.shape[1] > X.shape[0]:
        _, sizes, directions = np.linalg.svd(X, full_matrices=False)
        kept = directions[sizes > 1e-10 * sizes[0]].T
        X, new = X @ kept, new @ kept
    folds = StratifiedKFold(max(2, min(5, np.bincount(y).min())), shuffle=True, random_state=0)
    search = {"Cs": STRENGTHS, "cv": folds, "scoring": "neg_log_loss", "max_iter": 500}
    return np.asarray(LogisticRegressionCV(**search).fit(X, y).predict_proba(new))


def stretchy(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Probabilities of the default search."""
    return StretchyClassifierCV().fit(X, y).predict_proba(new)


METHODS = {"skstretch": stretchy, "logistic": logistic}


def measured(name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Probabilities of samples that were not trained on, and their codes, by method."""
    X, y = load_task(name).rows("class")
    y = np.unique(y, return_inverse=True)[1]
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {method: [] for method in METHODS}
    halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=REPEATS, random_state=0)
    for train, test in halves.split(X, y):
        for method, fit in METHODS.items():
            found[method].append((fit(X[train], y[train], X[test]), y[test]))
    return {
        method: (np.vstack([p for p, _ in parts]), np.concatenate([code for _, code in parts]))
        for method, parts in found.items()
    }


def facts(probability: np.ndarray, codes: np.ndarray) -> tuple[float, float, float]:
    """Log loss, mean confidence and accuracy, the last two of the most probable class."""
    own = probability[np.arange(codes.size), codes]
    loss = -np.log(np.maximum(own, np.finfo(float).tiny)).mean()
    right = (probability.argmax(axis=1) == codes).mean()
    return float(loss), float(probability.max(axis=1).mean()), float(right)


def row(name: str, found: dict[str, tuple[np.ndarray, np.ndarray]]) -> list[Any]:
    """A row of the table: name, classes, and three numbers of each method."""
    numbers = [facts(*found[method]) for method in METHODS]
    return [name, found["skstretch"][0].shape[1], *numbers[0], *numbers[1]]


def told(rows: list[list[Any]]) -> list[str]:
    """The table, with means."""
    lines = [
        "| set | classes | log loss | logistic | confidence | accuracy | logistic: confidence | "
        "accuracy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    means = [float(np.mean([r[i] for r in rows])) for i in range(2, 8)]
    for name, classes, *numbers in [*rows, ["**mean**", "", *means]]:
        loss, sure, right, other, other_sure, other_right = numbers
        lines.append(
            f"| {name} | {classes} | {loss:.3f} | {other:.3f} | {100 * sure:.1f} | "
            f"{100 * right:.1f} | {100 * other_sure:.1f} | {100 * other_right:.1f} |"
        )
    return lines


def summary(rows: list[list[Any]]) -> str:
    """How many sets are won, and how far confidence is from accuracy."""
    won = sum(r[2] <= r[5] for r in rows)
    off = [[100 * abs(r[i] - r[i + 1]) for r in rows] for i in (3, 6)]
    return (
        f"The log loss is at most that of logistic regression on {won} of {len(rows)} sets. "
        f"Confidence is off by {np.mean(off[0]):.1f} points in the mean and {max(off[0]):.1f} at "
        f"most (logistic regression: {np.mean(off[1]):.1f} and {max(off[1]):.1f})."
    )


def draw(found: Found) -> None:
    """Reliability: what the most probable class was given against how often it was right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, method in zip(figure.subplots(1, 2), METHODS, strict=True):
        axes.plot([0, 1], [0, 1], color="0.7", lw=1)
        sure = np.concatenate([found[name][method][0].max(axis=1) for name in found])
        right = [found[name][method][0].argmax(axis=1) == found[name][method][1] for name in found]
        # every set counts alike
        weight = np.concatenate([np.full(r.size, 1.0 / r.size) for r in right])
        happened = np.concatenate(right)
        for part in np.array_split(np.argsort(sure, kind="stable"), N_BINS):
            w = weight[part] / weight[part].sum()
            axes.plot(w @ sure[part], w @ happened[part], "o", color="black")
        axes.set(xlabel="probability of the predicted class", ylabel="share that was right")
        axes.set(title=method, xlim=(0.2, 1.02), ylim=(0.2, 1.02))
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    temporary = FIGURE.with_name(FIGURE.stem + ".tmp.png")
    figure.savefig(temporary, dpi=110)
    temporary.replace(FIGURE)


def main(names: list[str]) -> None:
    """Measure, print, and write the page if all sets were asked for."""
    warnings.simplefilter("ignore")
    found: Found = {}
    for name in names or SETS:
        found[name] = measured(name)
        print(told([row(name, found[name])])[2], flush=True)
    rows = [row(name, parts) for name, parts in found.items()]
    print(summary(rows))
    if not names:
        draw(found)
        write_page(PAGE, [*HEAD, *told(rows), "", summary(rows), "", *TAIL])


HEAD = [
    "# Calibration of probabilities",
    "",
    "Written by `make calibration` (`python -m benchmarks.calibration`); do not edit.",
    "",
    f"{REPEATS} × two-fold, trained on one half and tried on the other. Ours is "
    "`StretchyClassifierCV()`; logistic regression has a ridge penalty on z-scores, its strength "
    "chosen by log loss in stratified folds. Confidence is the mean probability of the most "
    "probable class, accuracy how often that class was right, both in per cent: of calibrated "
    "probabilities they are equal.",
    "",
]
TAIL = [
    "Samples of all sets in eight bins of equal count, every set weighing alike:",
    "",
    "![Reliability of the probabilities](images/calibration.png)",
    "",
    "Scores are multiplied by a factor, and a part of the logarithms of the shares of the classes "
    "is added: two numbers, fitted to exact out-of-fold scores by greatest likelihood, as if "
    "every label were wrong with probability 0.5 / (n + 1). Then the factor is times 1 - 1/g for a "
    "gain g of log likelihood over the shares alone: two fitted numbers gain one by themselves. "
    "Form and numbers were settled on simulated classes and on other sets (vac18, koren_16s, "
    "spikepos, coffee_origin_atr, glioma, borovecki, su, warpar10p). A limit: the search has seen "
    "the scores, so that on small and difficult sets probabilities are somewhat too sure. "
    "[How it works](crossvalidation.md), and [what a fold is](glossary.md).",
]

if __name__ == "__main__":
    main(sys.argv[1:])
