"""Text shapes: one fit on generated TFIDF data and on news20, beside the bare products."""

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from benchmarks.limits import goals, rates
from benchmarks.peak import with_peak
from benchmarks.timing import best_time
from reproduction.standins import make_tfidf_standin
from skstretch import StretchyClassifier, StretchyRegressor

# a ninth of the documents, and all of them
PART, WHOLE = 1_654, 16_087
# inverse strengths for many words, and the folds that choose among them
TEXT_C, TEXT_FOLDS = (0.001, 0.003, 0.01, 0.03, 0.1), 3


def measure_part() -> dict[str, Any]:
    """One fit at 1,654 x 150,360, sparse and dense, and scipy's product of the same pattern."""
    bunch = make_tfidf_standin(n_samples=PART)
    X, y = bunch.data.tocsr(), bunch.target
    model = StretchyRegressor(k=1.25)
    ours = best_time(lambda: model.fit(X, y), 3)
    product = best_time(lambda: X @ X.T.tocsr(), 2)
    dense = X.toarray()
    found = {
        "shape": list(X.shape),
        "nnz": int(X.nnz),
        "ours": ours,
        "product": product,
        "dense": best_time(lambda: model.fit(dense, y), 1),
    }
    by_column = np.diff(X.tocsc().indptr).astype(float)
    flops = 2.0 * float(np.square(by_column).sum()) + 2 / 3 * PART**3
    found["limit"] = rates().seconds(flops)
    return found


def fit_whole(solver: str) -> dict[str, Any]:
    """One fit of all documents; its time, and predictions to compare with another solver's."""
    bunch = make_tfidf_standin(n_samples=WHOLE)
    X, y = bunch.data.tocsr(), bunch.target
    del bunch
    start = time.perf_counter()
    model = StretchyRegressor(k=1.5, c=100.0, solver=solver).fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "solver": model.solver_,
        "iterations": getattr(model, "n_iter_", None),
        "outputs": model.predict(X[:500]).tolist(),
    }


def measure_whole() -> dict[str, Any]:
    """Direct and Krylov at 16,087 x 150,360, each in a process of its own."""
    direct, memory = with_peak("benchmarks.text", "fit_whole", "dual")
    krylov, memory_krylov = with_peak("benchmarks.text", "fit_whole", "krylov")
    a, b = np.array(direct.pop("outputs")), np.array(krylov.pop("outputs"))
    return {
        "direct": direct | {"peak": memory},
        "krylov": krylov | {"peak": memory_krylov},
        "difference": float(np.abs(a - b).max() / np.abs(a).max()),
        "limit": rates().seconds(2 / 3 * WHOLE**3),
    }


def measure_news() -> dict[str, Any]:
    """news20: four fifths of the documents for training, the rest for testing."""
    folder = Path(os.environ["SKSTRETCH_DATA"])
    X, y = sparse.load_npz(folder / "news20_X.npz").tocsr(), np.load(folder / "news20_y.npy")
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, stratify=y, random_state=0
    )
    krylov = StretchyClassifier(solver="krylov", threshold="zero")
    search = GridSearchCV(krylov, {"c": TEXT_C}, cv=TEXT_FOLDS)
    rows = []
    for model in (StretchyClassifier(), RidgeClassifier(), LinearSVC(), search):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            model.fit(X_train, y_train)
            seconds = time.perf_counter() - start
        name, score = type(model).__name__, model.score(X_test, y_test)
        if model is search:
            c = model.best_params_["c"]
            name = f"c of {len(TEXT_C)} by {TEXT_FOLDS} folds (`GridSearchCV`): {c:g}"
            fitted = '`StretchyClassifier(solver="krylov", threshold="zero")`, that c alone'
            rows.append({"name": fitted, "seconds": model.refit_time_, "score": score})
        rows.append({"name": name, "seconds": seconds, "score": score})
    M, n_classes = X_train.shape[0], int(np.unique(y).size)
    limit = rates().seconds(2.0 * M**3)
    return {"shape": X_train.shape, "classes": n_classes, "rows": rows, "limit": limit}


def part_table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    return [
        "| rows x features | stored entries | ours, s | our dense path / ours "
        "| bare sparse product, s | ours / product | ours / limit |",
        "|---|---|---|---|---|---|---|",
        f"| {t['shape'][0]:,} x {t['shape'][1]:,} | {t['nnz']:,} | {t['ours']:.2f} | "
        f"**{t['dense'] / t['ours']:.1f}** | {t['product']:.2f} | "
        f"{t['ours'] / t['product']:.2f} | {t['ours'] / t['limit']:.1f} |",
    ]


def part_goals(t: dict[str, Any]) -> str:
    """Target beside result."""
    faster = t["dense"] / t["ours"]
    return goals(("ten times faster than the dense path", f"{faster:.1f}", faster >= 10.0))


def whole_goals(t: dict[str, Any]) -> str:
    """Targets beside results."""
    peak = max(t["direct"]["peak"], t["krylov"]["peak"])
    gap = t["difference"]
    return goals(
        ("both within 8 GB", f"{peak / 1e9:.1f} GB", peak <= 8e9),
        ("predictions agree to 1e-6", f"{gap:.0e}", gap <= 1e-6),
    )


def whole_table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    lines = [
        "| solver | s | iterations | peak anonymous memory, GB | s / limit of the direct solve |",
        "|---|---|---|---|---|",
    ]
    for name in ("direct", "krylov"):
        row = t[name]
        lines.append(
            f"| {row['solver']} | {row['seconds']:.0f} | {row['iterations'] or '-'} | "
            f"{row['peak'] / 1e9:.1f} | {row['seconds'] / t['limit']:.2f} |"
        )
    difference = t["difference"]
    return [*lines, "", f"Largest difference of their predictions, relative: {difference:.0e}."]


def news_table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    ours = t["rows"][0]["seconds"]
    return [
        f"Training on {t['shape'][0]:,} documents of {t['classes']} classes, "
        f"{t['shape'][1]:,} words; testing on a fifth of the data. The first three have their "
        "defaults; ours also finds its cut and probabilities by exact leave one out, and its limit "
        f"is the inverse of one square system: ours / limit is {ours / t['limit']:.2f}. Its "
        "default c is far too large for so many features; the last rows look for another, and do "
        "without the inverse.",
        "",
        "| | s | time / ours | accuracy |",
        "|---|---|---|---|",
        *(
            f"| {row['name']} | {row['seconds']:.1f} | {row['seconds'] / ours:.2f} | "
            f"{row['score']:.3f} |"
            for row in t["rows"]
        ),
    ]
