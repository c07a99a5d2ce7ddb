"""``make classes``: classes by squared error, by log loss, and by the mean of both probabilities.

Sets of the arena that are not sparse, repeated halves of its development seed. Writes its table of
docs/guide/logodds.md.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss

from benchmarks.arena.data import CLASSIFICATION, SPARSE, Task, load_task
from benchmarks.arena.run import DEVELOPMENT, splits
from benchmarks.page import write_part
from skstretch import StretchyClassifierCV

PAGE = Path("docs/guide/logodds.md")
SETS = [name for name in CLASSIFICATION if name not in SPARSE]
REPEATS = 2
METHODS = ("squared", "log", "both")


def judged(task: Task) -> tuple[Any, Any]:
    """Log loss and balanced error (methods, 2), means over all halves; seconds of each loss."""
    found, seconds = [], np.zeros(2)
    for split in splits(task, DEVELOPMENT, REPEATS):
        X, y = task.rows(split.target)
        train, test = split.train, split.test
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
    """One line for each set, and the means."""
    lines = [
        "| set | samples x features, classes | " + " | ".join(METHODS) + " | seconds |",
        "|---|---|" + "---|" * (len(METHODS) + 1),
    ]
    all_found, spent = [], np.zeros(2)
    for name in SETS:
        task = load_task(name)
        X, y = task.rows(next(iter(task.targets)))
        found, seconds = judged(task)
        all_found.append(found)
        spent += seconds
        lines.append(
            line(f"{name} | {X.shape[0]} x {X.shape[1]:,}, {np.unique(y).size}", found, seconds)
        )
        print(lines[-1], flush=True)
    means = np.mean(all_found, axis=0)
    return [*lines, line(f"**mean of {len(SETS)}** | ", means, spent)]


def line(about: str, found: Any, seconds: Any) -> str:
    shown = " | ".join(f"{loss:.3f} / {100 * error:.1f} %" for loss, error in found)
    return f"| {about} | {shown} | {seconds[0]:.0f}, {seconds[1]:.0f} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_part(PAGE, "classes", rows())
