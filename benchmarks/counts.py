"""``make counts``: counts beside the elastic nets of glum and the ridge regression of scikit-learn.

Needs glum, so it runs in the environment of ``make test-clients``. Writes its table of
docs/guide/counts.md.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from glum import GeneralizedLinearRegressorCV
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.datasets import load_gbsg2

from benchmarks.page import write_part
from skstretch import StretchyRegressorCV

PAGE = Path("docs/guide/counts.md")
SETS, SEED, N, NEW, P = 5, 31, 100, 2_000, 300
# true features, correlation of neighbours, mean count
SIMULATED = {
    "5 of 300 true": (5, 0.0, 2.0),
    "5, correlated": (5, 0.8, 2.0),
    "all of 300 true": (300, 0.0, 2.0),
    "5 of 300 true, rare": (5, 0.0, 0.3),
}
MIXES = (1.0, 0.75, 0.5, 0.25)
# numbers of features to try, beside all of them
COUNTS = [2, 3, 5, 7, 10, 14, 20, 1.0]


def simulated(n_true: int, correlation: float, mean: float) -> Iterator[Any]:
    """Training and new samples of counts whose log rate has a standard deviation of 0.8."""
    for number in range(SETS):
        rng = np.random.default_rng([SEED, n_true, int(10 * correlation), int(10 * mean), number])
        X = rng.standard_normal((N + NEW, P))
        for j in range(1, P):
            X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
        eta = X[:, rng.choice(P, n_true, replace=False)] @ rng.standard_normal(n_true)
        rate = np.exp(0.8 * eta / eta.std())
        y = rng.poisson(mean * rate / rate.mean()).astype(float)
        yield X[:N], y[:N], X[N:], y[N:]


def nodes() -> Iterator[Any]:
    """Tumour-positive lymph nodes of 400 patients of GBSG2 by seven other findings, in halves."""
    frame, _ = load_gbsg2()
    X, y = frame.drop(columns="pnodes"), frame["pnodes"].astype(float).to_numpy()
    X = pd.get_dummies(X, drop_first=True).astype(float).to_numpy()
    rows = np.random.default_rng(0).permutation(len(X))[:400]
    X, y = X[rows], y[rows]
    for repeat in range(3):
        for train, test in KFold(2, shuffle=True, random_state=repeat).split(X):
            yield X[train], y[train], X[test], y[test]


def elastic_net(X: Any, y: Any) -> Any:
    """Mix and strength by five folds."""
    own = GeneralizedLinearRegressorCV(
        l1_ratio=list(MIXES), family="poisson", cv=5, n_alphas=50, min_alpha_ratio=0.01
    )
    return make_pipeline(StandardScaler(), own).fit(X, y)


def ridge(X: Any, y: Any) -> Any:
    """Strength by five folds."""
    one = make_pipeline(StandardScaler(), PoissonRegressor(max_iter=1_000))
    grid = {"poissonregressor__alpha": np.logspace(-3, 3, 25)}
    return GridSearchCV(one, grid, cv=5).fit(X, y)


METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "skstretch": lambda X, y: StretchyRegressorCV(loss="poisson").fit(X, y),
    "few features tried too": lambda X, y: StretchyRegressorCV(
        [n for n in COUNTS if n <= X.shape[1]], loss="poisson"
    ).fit(X, y),
    "glum, 4 elastic nets": elastic_net,
    "PoissonRegressor": ridge,
}


def rows() -> list[str]:
    """One line for each kind of data: means of D² on new samples, and seconds of the processor."""
    sets = {f"simulated, {name}": [*simulated(*kind)] for name, kind in SIMULATED.items()}
    sets["lymph nodes (GBSG2)"] = [*nodes()]
    lines = [
        "| set | samples x features | " + " | ".join(METHODS) + " |",
        "|---|---|" + "---|" * len(METHODS),
    ]
    for name, parts in sets.items():
        shown = []
        for fit in METHODS.values():
            start, found = time.process_time(), []
            for X, y, new, true in parts:
                predicted = np.maximum(fit(X, y).predict(new), 1e-12)
                found.append(d2_tweedie_score(true, predicted, power=1))
            seconds = (time.process_time() - start) / len(parts)
            shown.append(f"{np.mean(found):.3f} ({seconds:.1f} s)")
        n, p = parts[0][0].shape
        lines.append(f"| {name} | {n} x {p} | " + " | ".join(shown) + " |")
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_part(PAGE, "counts", rows())
