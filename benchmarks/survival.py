"""``make survival``: survival beside Coxnet, ridge Cox and a random forest, repeated halves.

Needs scikit-survival, so it runs in the environment of ``make test-clients``. Writes its table of
docs/guide/survival.md.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv import datasets
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from sksurv.metrics import concordance_index_censored, integrated_brier_score

from benchmarks.page import write_part
from skstretch import StretchySurvivalCV

PAGE = Path("docs/guide/survival.md")
REPEATS, MOST_ROWS, N_FOLDS = 3, 400, 5
MIXES = (1.0, 0.75, 0.5, 0.25, 0.01)
SHIPPED: dict[str, Callable[[], Any]] = {
    "breast cancer": datasets.load_breast_cancer,
    "GBSG2": datasets.load_gbsg2,
    "veterans": datasets.load_veterans_lung_cancer,
    "WHAS500": datasets.load_whas500,
    "AIDS": datasets.load_aids,
}
SIMULATED = {"5 of 200 true": (5, 0.0), "all of 200 true": (200, 0.0), "5, correlated": (5, 0.8)}


def shipped(load: Callable[[], Any]) -> tuple[Any, Any]:
    """Features as numbers, and events with their times; at most MOST_ROWS, drawn once."""
    X, y = load()
    X = pd.get_dummies(X, drop_first=True).astype(float)
    X = X.fillna(X.median()).to_numpy()
    found = np.empty(len(X), dtype=[("event", bool), ("time", float)])
    found["event"], found["time"] = (y[name] for name in y.dtype.names)
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    return X[rows], found[rows]


def simulated(n_true: int, correlation: float, n: int = 200, p: int = 200) -> tuple[Any, Any]:
    """Exponential times whose risk has a standard deviation of 1, a third of them censored."""
    rng = np.random.default_rng(n_true + int(10 * correlation))
    shared = rng.standard_normal((n, 1))
    X = np.sqrt(1 - correlation) * rng.standard_normal((n, p)) + np.sqrt(correlation) * shared
    risk = X[:, :n_true] @ rng.choice([-1.0, 1.0], n_true)
    event_time = rng.exponential(np.exp(-risk / risk.std()))
    censored = rng.exponential(2 * np.median(event_time) / np.log(2), n)
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event_time <= censored, np.minimum(event_time, censored)
    return X, y


def folds(y: Any, n: int, seed: int) -> Iterator[Any]:
    """Folds in which events are alike."""
    return StratifiedKFold(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y["event"])


def coxnet(X: Any, y: Any) -> Any:
    """Mix and strength by folds, a path in each, as glmnet's users do."""
    best, chosen = -np.inf, (1.0, 1.0)
    Z = StandardScaler().fit_transform(X)
    for mix in MIXES:
        path = CoxnetSurvivalAnalysis(l1_ratio=mix, n_alphas=50, alpha_min_ratio=0.02).fit(Z, y)
        scores = np.zeros(path.alphas_.size)
        for train, test in folds(y, N_FOLDS, 0):
            part = CoxnetSurvivalAnalysis(l1_ratio=mix, alphas=path.alphas_).fit(Z[train], y[train])
            risks = Z[test] @ part.coef_
            for column in range(risks.shape[1]):
                found = concordance_index_censored(
                    y["event"][test], y["time"][test], risks[:, column]
                )
                scores[column] += found[0]
        if scores.max() > best:
            best, chosen = scores.max(), (mix, float(path.alphas_[scores.argmax()]))
    mix, alpha = chosen
    last = CoxnetSurvivalAnalysis(l1_ratio=mix, alphas=[alpha], fit_baseline_model=True)
    return make_pipeline(StandardScaler(), last).fit(X, y)


def ridge(X: Any, y: Any) -> Any:
    """Strength by folds."""
    one = make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis())
    grid = {"coxphsurvivalanalysis__alpha": np.logspace(-1, 5, 13)}
    search = GridSearchCV(one, grid, cv=[*folds(y, N_FOLDS, 0)], error_score=0.5)
    return search.fit(X, y).best_estimator_


def forest(X: Any, y: Any) -> Any:
    return RandomSurvivalForest(200, min_samples_leaf=5, random_state=0).fit(X, y)


METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "skstretch": lambda X, y: StretchySurvivalCV().fit(X, y),
    "Coxnet, 5 mixes": coxnet,
    "ridge Cox": ridge,
    "random forest": forest,
}


def curves(model: Any, X: Any, times: Any) -> Any:
    """Probabilities (n, T) of surviving some times."""
    if isinstance(model, StretchySurvivalCV):
        return model.predict_survival_function(X, times)
    found = np.array([each(times) for each in model.predict_survival_function(X)])
    return np.clip(np.nan_to_num(found), 0.0, 1.0)  # theirs may overflow at large risks


def judged(model: Any, X: Any, y: Any, train: Any) -> tuple[float, float]:
    """Harrell's concordance, and the integrated Brier score between common times."""
    harrell = concordance_index_censored(y["event"], y["time"], model.predict(X))[0]
    # beyond the last training time nothing is known of the censoring: there the study ends
    y, end = y.copy(), 0.999 * train["time"].max()
    y["event"] &= y["time"] <= end
    y["time"] = np.minimum(y["time"], end)
    ends = [(part["time"].min(), part["time"].max()) for part in (train, y)]
    low = max(np.quantile(y["time"], 0.1), *(end[0] for end in ends))
    high = min(np.quantile(y["time"], 0.8), *(0.999 * end[1] for end in ends))
    times = np.linspace(low, high, 50)
    return harrell, integrated_brier_score(train, y, curves(model, X, times), times)


def rows() -> list[str]:
    """One line for each set."""
    sets = {name: shipped(load) for name, load in SHIPPED.items()}
    sets |= {f"simulated, {name}": simulated(*kind) for name, kind in SIMULATED.items()}
    lines = [
        "| set | samples x features | " + " | ".join(METHODS) + " |",
        "|---|---|" + "---|" * len(METHODS),
    ]
    for name, (X, y) in sets.items():
        found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
        for repeat in range(REPEATS):
            for train, test in folds(y, 2, repeat):
                for method, fit in METHODS.items():
                    model = fit(X[train], y[train])
                    found[method].append(judged(model, X[test], y[test], y[train]))
        means = {method: np.mean(each, axis=0) for method, each in found.items()}
        shown = " | ".join(f"{c:.3f} / {b:.3f}" for c, b in means.values())
        lines.append(f"| {name} | {X.shape[0]} x {X.shape[1]} | {shown} |")
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_part(PAGE, "survival", rows())
