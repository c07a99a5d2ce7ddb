"""``make sparse-truth``: risk on simulated data of which few or all features are true, and whether
the true ones are found.

Writes its part of docs/exact.md. ``python -m benchmarks.sparse_truth --write`` writes it from what
an earlier run left in out/sparse_truth.json; ``--seed 7 --sets 3`` is for development, and writes
nothing.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import toeplitz
from sklearn.base import BaseEstimator
from sklearn.linear_model import LassoCV, RidgeCV, lasso_path
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.arena.run import commit
from benchmarks.page import keep, write_part
from skstretch import StretchyRegressorCV

PAGE, RESULTS = Path("docs/exact.md"), Path("out/sparse_truth.json")
# samples, and new samples on which the risk is measured
N, NEW = 80, 1_000
SEED, SETS = 28, 60
# a default's risk that is hardly more than that of the better of lasso and relaxed lasso, of ridge
LITTLE_OF_FEW, LITTLE_OF_DENSE = 1.1, 1.05
SIZES = [2, 3, 5, 7, 10, 14, 20]


class RelaxedLasso(BaseEstimator):
    """Lasso coefficients mixed with least squares on the same features, penalty and mixing by five
    folds (Meinshausen; Hastie, Tibshirani and Tibshirani)."""

    mixing = np.linspace(0.0, 1.0, 5)

    def fit(self, X: Any, y: Any) -> "RelaxedLasso":
        """Choose both, and fit."""
        alphas = lasso_path(X - X.mean(axis=0), y - y.mean())[0]
        errors = 0.0
        for train, test in KFold(5).split(X):
            coefs, centre, level = self._along(X[train], y[train], alphas)
            outputs = np.tensordot(X[test] - centre, coefs, 1) + level
            errors = errors + np.square(y[test][:, None, None] - outputs).sum(axis=0)
        i, j = np.unravel_index(np.argmin(errors), np.shape(errors))
        coefs, self.centre, self.level = self._along(X, y, alphas)
        self.coef_ = coefs[:, i, j]
        return self

    def _along(self, X: Any, y: Any, alphas: Any) -> Any:
        centre, level = X.mean(axis=0), y.mean()
        Z, r = X - centre, y - level
        found = np.empty((X.shape[1], alphas.size, self.mixing.size))
        for i, lasso in enumerate(lasso_path(Z, r, alphas=alphas)[1].T):
            some, least = np.flatnonzero(lasso), lasso.copy()
            if 0 < some.size < len(y) - 1:
                least[some] = np.linalg.lstsq(Z[:, some], r, rcond=None)[0]
            found[:, i] = np.outer(lasso, self.mixing) + np.outer(least, 1.0 - self.mixing)
        return found, centre, level

    def predict(self, X: Any) -> Any:
        """Outputs of new samples."""
        return (X - self.centre) @ self.coef_ + self.level


MAKERS: dict[str, Callable[[], Any]] = {
    "RidgeCV": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-6, 6, 100))),
    "LassoCV": lambda: make_pipeline(StandardScaler(), LassoCV()),
    "relaxed lasso": lambda: make_pipeline(StandardScaler(), RelaxedLasso()),
    "default search": lambda: StretchyRegressorCV(),
    "a list of sizes": lambda: StretchyRegressorCV(
        SIZES, a_grid=(0.0,), k_grid=(2.0,), combine="best"
    ),
}
SELECTING = ("LassoCV", "relaxed lasso", "a list of sizes")


@dataclass(frozen=True)
class Truth:
    """A linear truth of so many features and a ratio of signal to noise variance.

    Normal features of correlation ``rho**|i-j|``, `true` of them, at random places, with normal
    coefficients. Or (`factors`) so many hidden factors that make both all features, with as much
    noise of their own, and the target.
    """

    true: int
    ratio: float
    rho: float
    n_features: int
    factors: bool = False

    @property
    def few(self) -> bool:
        """Whether few features are true."""
        return not self.factors and self.true < self.n_features

    def signal(self, rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
        """X (n, p), a signal (n) of variance one, and the true features."""
        p, true = self.n_features, self.true
        if self.factors:
            hidden, weights = rng.standard_normal((n, true)), rng.standard_normal(true)
            noise = np.sqrt(true) * rng.standard_normal((n, p))
            X = hidden @ rng.standard_normal((true, p)) + noise
            return X, hidden @ weights / np.linalg.norm(weights), np.arange(p)
        X = rng.standard_normal((n, p))
        for j in range(1, p):
            X[:, j] = self.rho * X[:, j - 1] + np.sqrt(1.0 - self.rho**2) * X[:, j]
        beta, places = np.zeros(p), rng.choice(p, true, replace=False)
        beta[places] = rng.standard_normal(true)
        beta /= np.sqrt(beta @ toeplitz(self.rho ** np.arange(p)) @ beta)
        return X, X @ beta, places

    def named(self) -> str:
        """The first columns of its line."""
        true = f"{self.true} factors" if self.factors else f"{self.true}" if self.few else "all"
        rho = "–" if self.factors else f"{self.rho:g}"
        return f"| {true} | {self.ratio:g} | {rho} | {self.n_features:,} "


CELLS = (
    *(Truth(*cell) for cell in product((5, 10), (1.0, 5.0), (0.0, 0.8), (300, 1_000))),
    *(Truth(p, ratio, rho, p) for ratio, rho, p in product((1.0, 5.0), (0.0, 0.8), (300, 1_000))),
    *(Truth(5, ratio, 0.0, p, factors=True) for ratio, p in product((1.0, 5.0), (300, 1_000))),
)


def measure(cell: Truth, seed: int, number: int) -> dict[str, Any]:
    """Risks of all methods on one data set, and of those that select how many features they name
    and how many of these are true."""
    values = cell.true, int(10 * cell.ratio), int(10 * cell.rho), cell.n_features, cell.factors
    rng = np.random.default_rng([seed, *map(int, values), number])
    X, signal, places = cell.signal(rng, N + NEW)
    y = signal[:N] + rng.standard_normal(N) / np.sqrt(cell.ratio)
    found: dict[str, Any] = {"risk": {}, "named": {}, "right": {}}
    for name, make in MAKERS.items():
        if name == "a list of sizes" and not cell.few:
            continue
        model = make().fit(X[:N], y)
        # of answering the mean: the mean square of a signal of mean zero
        risk = np.mean((model.predict(X[N:]) - signal[N:]) ** 2) / np.mean(signal[N:] ** 2)
        found["risk"][name] = float(risk)
        if name in SELECTING and cell.few:
            support = np.flatnonzero((model if hasattr(model, "coef_") else model[-1]).coef_)
            found["named"][name] = support.size
            found["right"][name] = int(np.isin(support, places).sum())
    return found


def column(sets: list[dict[str, Any]], what: str, name: str) -> Any:
    """One number of every data set."""
    return np.array([one[what][name] for one in sets], dtype=float)


def against(cell: Truth, sets: list[dict[str, Any]]) -> tuple[float, float]:
    """The default's mean risk over that of ridge, or where few features are true of the better of
    lasso and relaxed lasso, and its standard error, that of the paired difference."""
    rivals = ("LassoCV", "relaxed lasso") if cell.few else ("RidgeCV",)
    best = min((column(sets, "risk", name) for name in rivals), key=np.mean)
    ours = column(sets, "risk", "default search")
    ratio = ours.mean() / best.mean()
    spread = (ours - ratio * best).std(ddof=1) / best.mean() if len(sets) > 1 else np.nan
    return float(ratio), float(spread / np.sqrt(len(sets)))


def row(cell: Truth, sets: list[dict[str, Any]]) -> str:
    """The risks of one kind of truth."""
    means = (column(sets, "risk", name).mean() for name in [*MAKERS][:4])
    ratio, error = against(cell, sets)
    said = " | ".join(f"{mean:.3f}" for mean in means)
    return f"{cell.named()}| {said} | **{ratio:.2f}** ± {error:.2f} |"


def found_row(cell: Truth, sets: list[dict[str, Any]]) -> str:
    """Precision, recall and number of the features that are named."""
    said = []
    for name in SELECTING:
        right, named = column(sets, "right", name), column(sets, "named", name)
        precision = right.sum() / max(named.sum(), 1.0)
        said.append(f"{precision:.0%}, {right.mean() / cell.true:.0%} ({named.mean():.0f})")
    return f"{cell.named()}| {' | '.join(said)} |"


def verdict(cells: list[tuple[Truth, Any]]) -> str:
    """How far the default is behind, and where by more than little."""
    said = []
    for few, goal in ((True, LITTLE_OF_FEW), (False, LITTLE_OF_DENSE)):
        ratios = [against(cell, sets)[0] for cell, sets in cells if cell.few == few]
        over = sum(ratio > goal for ratio in ratios)
        kind = "the better of lasso and relaxed lasso, where few are true" if few else "ridge, else"
        mean = np.exp(np.mean(np.log(ratios))) if ratios else np.nan
        said.append(f"over {kind}, {mean:.2f}, more than {goal} in {over} of {len(ratios)} lines")
    return f"The risk of the default search, geometric means: {'; '.join(said)}."


def part(kept: dict[str, Any]) -> list[str]:
    """The part of the page."""
    cells = [(Truth(**one["cell"]), one["sets"]) for one in kept["cells"] if one["sets"]]
    first = ["true features", "signal / noise", "correlation", "features"]
    risks = [*first, *[*MAKERS][:4], "default over the best rival"]
    names = [*first, *SELECTING]
    return [
        f"Written by `make sparse-truth` at commit {kept['commit']}, seed {kept['seed']}, "
        f"{min(len(sets) for _, sets in cells)} data sets a line: {N} samples of normal features, "
        "correlated as ρ^|i−j|, true ones at random places with normal coefficients; or five "
        "hidden factors that make both the features and the target. Risk is the mean of "
        f"(f(x) − truth)² over {NEW:,} new x, relative to that of answering the mean; ± is one "
        "standard error. RidgeCV: 100 penalties by leave one out; LassoCV as scikit-learn has it; "
        "the relaxed lasso mixes it with least squares on the same features, both by five folds; "
        "all on z-scores. The rival is ridge where all features are true, else the better of the "
        "other two.",
        "",
        *table(risks, [row(*one) for one in cells]),
        "",
        verdict(cells),
        "",
        "Which features are named: the share of true ones among them, the share of the true ones "
        f"that are found, and in brackets how many. A list of sizes: `StretchyRegressorCV({SIZES}, "
        'a_grid=(0,), k_grid=(2,), combine="best")`.',
        "",
        *table(names, [found_row(*one) for one in cells if one[0].few]),
    ]


def table(head: list[str], rows: list[str]) -> list[str]:
    """Lines of Markdown."""
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *rows]


def main() -> None:
    """Measure (or read what was measured) and write; all kinds of truth grow together, so that a
    run can be ended early."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.write:
        write_part(PAGE, "make sparse-truth", part(json.loads(RESULTS.read_text("utf-8"))))
        return
    cells: list[dict[str, Any]] = [{"cell": asdict(cell), "sets": []} for cell in CELLS]
    kept: dict[str, Any] = {"commit": commit(), "seed": asked.seed, "cells": cells}
    for number in range(asked.sets):
        sets = [measure(cell, asked.seed, number) for cell in CELLS]
        for one, found in zip(cells, sets, strict=True):
            one["sets"].append(found)
        print(number + 1, verdict([(Truth(**o["cell"]), o["sets"]) for o in cells]), flush=True)
        if asked.seed == SEED:
            keep(RESULTS, kept)
    if asked.seed == SEED:
        write_part(PAGE, "make sparse-truth", part(kept))
    else:
        print(*part(kept), sep="\n")


if __name__ == "__main__":
    main()
