"""``make classes``: classes by squared error, by log loss, and by the mean of both probabilities.

Real sets of the folder named by ``SKSTRETCH_DATA``, repeated halves of the development seed. Writes
its table of docs/guide/logodds.md.
"""

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks.arena.run import DEVELOPMENT, SEEDS
from benchmarks.page import write_part
from skstretch import StretchyClassifierCV

PAGE = Path("docs/guide/logodds.md")
SETS = ("colon", "more/vac18", "more/gravier", "lymphoma", "more/glioma", "allaml",
        "more/shipp", "more/chowdary")  # fmt: skip
REPEATS = 2
METHODS = ("squared", "log", "both")


def halves(y: Any) -> Iterator[Any]:
    """Halves in which classes are alike, each tested once in every repeat."""
    for repeat in range(REPEATS):
        state = np.random.RandomState([SEEDS[DEVELOPMENT], repeat])
        yield from StratifiedKFold(2, shuffle=True, random_state=state).split(y, y)


def judged(X: Any, y: Any) -> tuple[Any, Any]:
    """Log loss and balanced error (methods, 2), means over all halves; seconds of each loss."""
    found, seconds = [], np.zeros(2)
    for train, test in halves(y):
        said: dict[str, Any] = {}
        for i, loss in enumerate(METHODS[:2]):
            start = time.process_time()
            model = StretchyClassifierCV(loss=loss).fit(X[train], y[train])
            said[loss] = model.predict(X[test]), model.predict_proba(X[test])
            seconds[i] += time.process_time() - start
        mean = (said["squared"][1] + said["log"][1]) / 2
        # as `predict` does: classes count alike
        shares = np.bincount(np.searchsorted(model.classes_, y[train]))
        said["both"] = model.classes_[np.argmax(mean / shares, axis=1)], mean
        labels = model.classes_
        found.append([
            (log_loss(y[test], p, labels=labels), 1 - balanced_accuracy_score(y[test], label))
            for label, p in (said[method] for method in METHODS)
        ])  # fmt: skip
    return np.mean(found, axis=0), seconds


def rows() -> list[str]:
    """One line for each set."""
    lines = [
        "| set | samples x features, classes | " + " | ".join(METHODS) + " | seconds |",
        "|---|---|" + "---|" * (len(METHODS) + 1),
    ]
    for name in SETS:
        data = np.load(Path(os.environ["SKSTRETCH_DATA"]) / f"{name}.npz", allow_pickle=True)
        X, y = np.asarray(data["X"], dtype=float), np.unique(data["y"], return_inverse=True)[1]
        found, seconds = judged(X, y)
        shape = f"{X.shape[0]} x {X.shape[1]:,}, {y.max() + 1}"
        shown = " | ".join(f"{loss:.3f} / {100 * error:.1f} %" for loss, error in found)
        spent = f"{seconds[0]:.0f}, {seconds[1]:.0f}"
        lines.append(f"| {name.split('/')[-1]} | {shape} | {shown} | {spent} |")
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_part(PAGE, "classes", rows())
