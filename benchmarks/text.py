"""Text shapes: one fit on generated TFIDF data and on news20, beside the bare products.

``python -m benchmarks.text`` (``make texts``) instead compares classifiers behind TF-IDF on word
counts of newsgroups, and writes the table of ``docs/guide/which.md``. Every fifth document is left
out in turn; of news20 one fifth alone, since it is large.
"""

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.limits import goals, rates
from benchmarks.page import write_part
from benchmarks.peak import with_peak
from benchmarks.timing import best_time
from reproduction.standins import make_tfidf_standin
from skstretch import StretchyClassifier, StretchyClassifierCV, StretchyRegressor

# a ninth of the documents, and all of them
PART, WHOLE = 1_654, 16_087
# what is compared on news20, ours first
NEWS_MODELS = {
    "StretchyClassifier": StretchyClassifier,
    "RidgeClassifier": RidgeClassifier,
    "LinearSVC": LinearSVC,
}

# word counts in the folder of the data: file, and how many fifths are left out in turn
WORDS = {"basehock": ("basehock", 5), "pcmac": ("more/pcmac", 5), "news20": ("news20", 1)}
AS_THEY_ARE = {"quadrant": "identity", "n_features_to_select": 1.0, "k_grid": (2.0,)}
WORD_MODELS = {
    "`LinearSVC()`": LinearSVC(),
    '`StretchyClassifier(k=2, c=0.5, quadrant="identity")`': StretchyClassifier(
        k=2.0, c=0.5, quadrant="identity"
    ),
    '`StretchyClassifierCV(1.0, k_grid=(2,), quadrant="identity")`': StretchyClassifierCV(
        **AS_THEY_ARE
    ),
    "`StretchyClassifier()`": StretchyClassifier(),
}
LONG = 5_000  # documents from which on a search would take many minutes
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "which.md"


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


def news() -> tuple[Any, Any, Any, Any]:
    """news20: four fifths of the documents for training, the rest for testing."""
    folder = Path(os.environ["SKSTRETCH_DATA"])
    X, y = sparse.load_npz(folder / "news20_X.npz").tocsr(), np.load(folder / "news20_y.npy")
    return tuple(train_test_split(X, y, test_size=0.2, stratify=y, random_state=0))


def fit_news(name: str) -> dict[str, Any]:
    """One fit of news20 by a classifier with its defaults: time, accuracy and how it was found."""
    X_train, X_test, y_train, y_test = news()
    model = NEWS_MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
    found = {"name": name, "seconds": seconds, "score": model.score(X_test, y_test)}
    if isinstance(model, StretchyClassifier):
        told = ("c_", "solver_", "n_iter_")
        found |= {what: getattr(model, what) for what in told}
        found["held_out"] = model.plan_.held_out
    return found


def measure_news() -> dict[str, Any]:
    """Each model in a process of its own, so that memory can be told."""
    rows = []
    for name in NEWS_MODELS:
        found, memory = with_peak("benchmarks.text", "fit_news", name)
        rows.append(found | {"peak": memory})
    X_train, _, y_train, _ = news()
    return {"shape": X_train.shape, "classes": int(np.unique(y_train).size), "rows": rows}


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
    gap, slow = t["difference"], t["direct"]["seconds"] / t["limit"]
    return goals(
        ("both within 8 GB", f"{peak / 1e9:.1f} GB", peak <= 8e9),
        ("predictions agree to 1e-6", f"{gap:.0e}", gap <= 1e-6),
        ("direct at most four times the limit", f"{slow:.1f}", slow <= 4.0),
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


def news_goals(t: dict[str, Any]) -> str:
    """Targets beside results."""
    rows = {row["name"]: row for row in t["rows"]}
    ours, other = rows["StretchyClassifier"], rows["LinearSVC"]
    ratio, gap = ours["seconds"] / other["seconds"], other["score"] - ours["score"]
    return goals(
        ("at most three times as long as LinearSVC", f"{ratio:.1f}", ratio <= 3.0),
        ("at most two documents in a hundred fewer right", f"{100 * gap:.1f}", gap <= 0.02),
        ("below 3 GB", f"{ours['peak'] / 1e9:.1f} GB", ours["peak"] < 3e9),
    )


def news_table(t: dict[str, Any]) -> list[str]:
    """Markdown."""
    ours = t["rows"][0]
    return [
        f"Training on {t['shape'][0]:,} documents of {t['classes']} classes, "
        f"{t['shape'][1]:,} words; testing on a fifth of the data. All have their defaults. Ours "
        f'took c = {ours["c_"]:.2g} from the scale of the data (`c="auto"`), solved by '
        f"{ours['solver_']} in {ours['n_iter_']} steps, and learned its probabilities on "
        f"{ours['held_out']} of ten, which is one fit more.",
        "",
        "| | s | time / ours | accuracy | peak anonymous memory, GB |",
        "|---|---|---|---|---|",
        *(
            f"| {row['name']} | {row['seconds']:.1f} | {row['seconds'] / ours['seconds']:.2f} | "
            f"{row['score']:.3f} | {row['peak'] / 1e9:.1f} |"
            for row in t["rows"]
        ),
    ]


def compare_words(name: str) -> list[tuple[float, float] | None]:
    """Mean accuracy on documents that were left out, and seconds of one fit, of every model."""
    file, n_folds = WORDS[name]
    path = Path(os.environ["SKSTRETCH_DATA"]) / file
    X = sparse.csr_array(sparse.load_npz(f"{path}_X.npz")).astype(np.float64)
    y = np.load(f"{path}_y.npy")
    splits = [*StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)][:n_folds]
    found: list[tuple[float, float] | None] = []
    for model in WORD_MODELS.values():
        if isinstance(model, StretchyClassifierCV) and X.shape[0] > LONG:
            found.append(None)
            continue
        scores, begin = [], time.process_time()
        for train, test in splits:
            words = make_pipeline(TfidfTransformer(sublinear_tf=True), clone(model))
            scores.append(words.fit(X[train], y[train]).score(X[test], y[test]))
        found.append((float(np.mean(scores)), (time.process_time() - begin) / n_folds))
        print(name, found[-1], flush=True)
    return found


def word_table() -> list[str]:
    """Markdown: accuracies, and seconds in brackets."""
    columns = [compare_words(name) for name in WORDS]
    lines = [f"| after `TfidfTransformer(sublinear_tf=True)` | {' | '.join(WORDS)} |"]
    lines.append("|---" * (len(WORDS) + 1) + "|")
    for model, row in zip(WORD_MODELS, zip(*columns, strict=True), strict=True):
        said = [f"{one[0]:.3f} ({one[1]:.1f} s)" if one else "-" for one in row]
        lines.append(f"| {model} | {' | '.join(said)} |")
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_part(PAGE, "texts", word_table())
