"""How strong an automatic penalty should be: classifiers of one candidate at several strengths.

``python -m benchmarks.penalty`` (``make penalty``) fits `StretchyClassifier` on halves of the sets
of classes of the arena, folds of its development seed, and writes the table of
``docs/guide/letters.md``: the share of right labels on the other halves at c = 100 and at
penalties of a few shares s of the mean diagonal of K. ``c="auto"`` has the share
``skstretch.solve.choose.AUTOMATIC_STRENGTH``; other shares only divide its c.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.arena.data import CLASSIFICATION, available_tasks, load_task
from benchmarks.arena.run import DEVELOPMENT, splits
from benchmarks.page import write_part
from skstretch import StretchyClassifier
from skstretch.solve.choose import AUTOMATIC_STRENGTH

SHARES = (0.01, 0.03, 0.1, 0.3)
FIXED = 100.0
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "letters.md"


def right_labels(name: str) -> np.ndarray:
    """The shares of right labels at c = 100 and at every share, means over two folds."""
    task, found = load_task(name), []
    for split in splits(task, DEVELOPMENT, repeats=1):
        X, y = task.rows(split.target)
        train, test = (X[split.train], y[split.train]), (X[split.test], y[split.test])
        automatic = StretchyClassifier(threshold="zero").fit(*train).c_
        strengths = [FIXED, *(automatic * AUTOMATIC_STRENGTH / s for s in SHARES)]
        found.append([StretchyClassifier(c=c).fit(*train).score(*test) for c in strengths])
    return np.mean(found, axis=0)


def table(names: list[str], found: np.ndarray) -> list[str]:
    """Means over sets, and how many sets each share gains or loses against c = 100."""
    lines = [
        f"Written by `make penalty`: labels of {len(names)} sets that are right, 2-fold, means "
        "over sets; a set gains or loses where it differs from c = 100 by more than 0.01.",
        "",
        "| penalty | right | sets that gain | sets that lose | largest loss |",
        "|---|---|---|---|---|",
    ]
    for i, title in enumerate([f"c = {FIXED:g}", *(f"s = {s:g}" for s in SHARES)]):
        change = found[:, i] - found[:, 0]
        least = int(np.argmin(change))
        loss = f"{-change[least]:.2f} ({names[least]})" if change[least] < -0.01 else "-"
        title = f"**{title}**" if i and SHARES[i - 1] == AUTOMATIC_STRENGTH else title
        gains, losses = int((change > 0.01).sum()), int((change < -0.01).sum())
        lines.append(f"| {title} | {found[:, i].mean():.3f} | {gains} | {losses} | {loss} |")
    return lines


def main() -> None:
    """Measure every set that is there, then write the table."""
    names = [name for name in available_tasks() if name in CLASSIFICATION]
    if not names:
        raise SystemExit("no data: set SKSTRETCH_DATA to the folder of the data sets.")
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ill-conditioned fits at c = 100 are part of the question
        for name in names:
            found.append(right_labels(name))
            print(name, found[-1].round(3), file=sys.stderr, flush=True)
    write_part(PAGE, "penalty", table(names, np.array(found)))


if __name__ == "__main__":
    main()
