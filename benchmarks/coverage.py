"""``make coverage``: how often do intervals cover? Writes docs/coverage.md.

Run from the root of the repository: ``python -m benchmarks.coverage``. Real sets are read from the
folder that SKSTRETCH_DATA names. ``python -m benchmarks.coverage exact`` measures one group of
models only and replaces its part of the page.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold

from benchmarks.page import write_page, write_part
from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning

PAGE = Path("docs/coverage.md")
COVERAGE = 0.9
SETS_OF_A_KIND = 40
NEW_SAMPLES = 400
REPEATS = 10
SEED = 2024
REAL = ("prostate", "diabetes", "triazines", "corn_m5", "riboflavin")
Estimators = dict[str, Callable[[], Any]]
ESTIMATORS: Estimators = {
    "fixed": lambda: StretchyRegressor(k=1.5, c=1.0),
    "searched": StretchyRegressorCV,
}
EXACT: Estimators = {
    "exact": lambda: StretchyRegressor(k=1.25, c=0.02, a=0.0),
    "exact, searched": lambda: StretchyRegressorCV(a_grid=(0.0,), combine="best"),
}
GROUPS = {"default": ESTIMATORS, "exact": EXACT}
TITLES = {"default": "Closed form and default search", "exact": "The exact minimiser"}
MODELS = {
    "default": '"fixed" is `StretchyRegressor(k=1.5, c=1)`, "searched" is `StretchyRegressorCV()`.',
    "exact": '"exact" is `StretchyRegressor(k=1.25, c=0.02, a=0)`, "exact, searched" is '
    '`StretchyRegressorCV(a_grid=(0.0,), combine="best")`. The intervals rest on exact leave one '
    "out ([how](exact.md)).",
}
METHODS = ("plus", "residual")
PROMISES = (
    "| interval | promises, asked for 90 % | needs | does not count |",
    "| --- | --- | --- | --- |",
    '| `"plus"` | 80 % of new samples (jackknife+); about 90 % are measured | '
    "exchangeable samples; the training data | the search, z-scores and kept "
    "features, which have seen all samples |",
    '| `"plus"`, fitted with `groups` | the same for a sample of a new group '
    "(hierarchical jackknife+) | exchangeable groups, 9 or more; one more fit for "
    "each | the same |",
    '| `"plus"`, `cv` a list of splits | 80 % less about √(2/n) (CV+) | exchangeable '
    "samples; folds that test each once | the same |",
    '| `"nested"` | 80 % less about √(2/n) (CV+); with `groups` folds are of whole '
    "groups | exchangeable samples or groups; `nested_cv`, a search for each fold | "
    "nothing |",
    '| `"residual"` | nothing | a saved model is enough | the same as "plus", and how'
    " models vary |",
    "| splits in the order of time | refused | `groups` or another `cv` | |",
)


def linear(X: np.ndarray) -> np.ndarray:
    """A signal in five features."""
    return X[:, :5] @ np.array([2.0, -1.5, 1.0, 1.0, -0.5])


def curved(X: np.ndarray) -> np.ndarray:
    """A signal that no linear model has."""
    return 2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + np.exp(X[:, 2] / 2)


@dataclass(frozen=True)
class Kind:
    """How one kind of data is made."""

    signal: Callable[[np.ndarray], np.ndarray]
    n_samples: int
    n_features: int
    tails: float = np.inf

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Samples; noise is normal, or Student's t with `tails` degrees of freedom."""
        X = rng.standard_normal((n, self.n_features))
        noise = rng.standard_normal(n) if np.isinf(self.tails) else rng.standard_t(self.tails, n)
        return X, self.signal(X) + noise


KINDS = {
    "sparse linear, wide": Kind(linear, 60, 200),
    "sparse linear, tall": Kind(linear, 80, 8),
    "curved, wide": Kind(curved, 60, 200),
    "curved, tall": Kind(curved, 80, 8),
    "heavy tails (t, 2 degrees), tall": Kind(linear, 80, 8, tails=2.0),
}


@dataclass(frozen=True)
class Trial:
    """One fitted model: which new samples its intervals cover, and how wide they are."""

    data: str
    estimator: str
    method: str
    covered: np.ndarray
    width: float

    @property
    def share(self) -> float:
        """The share of new samples that is covered."""
        return float(self.covered.mean())


def trials(data: str, train: tuple, test: tuple, estimators: Estimators) -> Iterator[Trial]:
    """All estimators and methods on one training and one test set."""
    (X, y), (new, true) = train, test
    for estimator, make in estimators.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GridEdgeWarning)
            model = make().fit(X, y)
        for method in METHODS:
            lower, upper = model.predict_interval(new, COVERAGE, method)
            covered = (lower <= true) & (true <= upper)
            yield Trial(data, estimator, method, covered, float(np.median(upper - lower) / y.std()))


def simulated(
    kinds: tuple[str, ...] = tuple(KINDS), estimators: Estimators = ESTIMATORS
) -> list[Trial]:
    """Forty data sets of each kind."""
    found = []
    for name in kinds:
        for i in range(SETS_OF_A_KIND):
            rng = np.random.default_rng([SEED, list(KINDS).index(name), i])
            train = KINDS[name].draw(rng, KINDS[name].n_samples)
            found += trials(name, train, KINDS[name].draw(rng, NEW_SAMPLES), estimators)
        print(f"{name}: done", file=sys.stderr)
    return found


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """X and the first target of a real set, rows with an unknown target left out."""
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    y = y.reshape(len(y), -1)[:, 0]
    return X[np.isfinite(y)], y[np.isfinite(y)]


def real(
    folder: Path,
    names: tuple[str, ...] = REAL,
    repeats: int = REPEATS,
    estimators: Estimators = ESTIMATORS,
) -> list[Trial]:
    """Repeated two-fold: train on one half, cover the other."""
    found = []
    for name in names:
        X, y = read(folder, name)
        folds = RepeatedKFold(n_splits=2, n_repeats=repeats, random_state=SEED)
        for train, test in folds.split(X):
            found += trials(name, (X[train], y[train]), (X[test], y[test]), estimators)
        print(f"{name}: done", file=sys.stderr)
    return found


def of(found: list[Trial], data: str, estimator: str, method: str) -> list[Trial]:
    """The trials of one entry of the table."""
    wanted = (data, estimator, method)
    return [trial for trial in found if (trial.data, trial.estimator, trial.method) == wanted]


def table(found: list[Trial]) -> list[str]:
    """Coverage in per cent, its standard error and range over sets or splits; width of plus."""
    estimators = list(dict.fromkeys(trial.estimator for trial in found))
    columns = [(e, m) for e in estimators for m in METHODS]
    head = ["data", *(f"{e}, {m}" for e, m in columns), *(f"width: {e}" for e in estimators)]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for data in dict.fromkeys(trial.data for trial in found):
        entries = []
        for estimator, method in columns:
            shares = 100 * np.array([t.share for t in of(found, data, estimator, method)])
            low, high = np.quantile(shares, [0.05, 0.95])
            error = shares.std(ddof=1) / np.sqrt(shares.size) if shares.size > 1 else np.nan
            entries.append(f"{shares.mean():.1f} ± {error:.1f} ({low:.0f} to {high:.0f})")
        widths = [np.median([t.width for t in of(found, data, e, "plus")]) for e in estimators]
        lines.append([data, *entries, *(f"{width:.2f}" for width in widths)])
    return ["| " + " | ".join(line) + " |" for line in lines]


def part(group: str, on_simulated: list[Trial], on_real: list[Trial]) -> list[str]:
    """The tables of one group of models."""
    absent = ["Not measured: the environment variable SKSTRETCH_DATA names no folder."]
    return [
        f"## {TITLES[group]}",
        "",
        MODELS[group],
        "",
        "Simulated:",
        "",
        *table(on_simulated),
        "",
        "Real:",
        "",
        *(table(on_real) if on_real else absent),
    ]


def page(parts: dict[str, list[str]]) -> list[str]:
    """The whole page."""
    sizes = "; ".join(f"{n}: {k.n_samples} × {k.n_features}" for n, k in KINDS.items())
    return [
        "# Coverage of prediction intervals",
        "",
        "Written by `make coverage` (`python -m benchmarks.coverage`); do not edit.",
        "",
        f"Shares of new samples, in per cent, that `predict_interval(X, coverage={COVERAGE})` "
        'covers. "plus" is jackknife+, "residual" the quantile of the leave-one-out residuals '
        "around the prediction. ± is one standard error of the mean over training sets (of real "
        "data these share samples, and it is larger than that), in brackets are their 5 % and "
        "95 % quantiles. "
        "Widths are medians of jackknife+ intervals, in standard deviations of y. Simulated: "
        f"{SETS_OF_A_KIND} training sets of each kind, {NEW_SAMPLES} new samples each ({sizes}). "
        f"Real: {REPEATS} × two-fold, trained on one half, tried on the other; the first target.",
        "",
        "**Guaranteed** (Barber, Candès, Ramdas and Tibshirani, 2021): jackknife+ of one fixed "
        "(a, k, c, density) with z-scores fixed beforehand covers a new sample, exchangeable with "
        f"the training samples, with probability at least {2 * COVERAGE - 1:.0%}, whatever the "
        f"distribution; {COVERAGE:.0%} is what theory and measurement expect of stable models.",
        "",
        "**Not guaranteed**: that a given training set covers so many (the brackets), that each "
        "kind of sample is covered as often as another, that it still holds when new samples "
        "come from elsewhere. A search has seen the residuals that it is judged by, z-scores and "
        "(with a density below one) the kept features are those of all training samples: each "
        'loosens the guarantee. "residual" has none.',
        "",
        *PROMISES,
        *(
            line
            for group, lines in parts.items()
            for line in ("", f"<!-- begin: {group} -->", "", *lines, "", f"<!-- end: {group} -->")
        ),
    ]


def main() -> None:
    """Measure all groups of models, or those that are named, and write."""
    names = sys.argv[1:] or list(GROUPS)
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        sys.exit(f"no group {unknown[0]!r}: there are {', '.join(GROUPS)}.")
    folder = os.environ.get("SKSTRETCH_DATA", "")
    parts = {}
    for name in names:
        models = GROUPS[name]
        on_real = real(Path(folder), estimators=models) if folder else []
        parts[name] = part(name, simulated(estimators=models), on_real)
    if len(parts) == len(GROUPS):
        write_page(PAGE, page(parts))
    else:
        for name, lines in parts.items():
            write_part(PAGE, name, lines)


if __name__ == "__main__":
    main()
