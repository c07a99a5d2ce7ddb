"""``make few``: the error of models of 5, 10 and 20 features on real data, beside the lasso.

Writes its part of docs/guide/few.md. ``python -m benchmarks.few --write`` writes it from what an
earlier run left in out/few.json; ``--seed 7`` and names of sets are for development, and write
nothing.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV, RidgeCV, enet_path, lars_path
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.arena.data import load_task
from benchmarks.arena.run import commit
from benchmarks.page import keep, write_part
from skstretch import StretchyClassifierCV, StretchyRegressorCV

PAGE, RESULTS = Path("docs/guide/few.md"), Path("out/few.json")
SETS = ("riboflavin", "cookie", "eyedata", "pac", "corn_m5", "colon", "gravier", "allaml")
COUNTS, FOLDS, REPEATS, SEED, LITTLE = (5, 10, 20), 5, 2, 28, 1.05
PENALTIES = np.logspace(-6, 6, 50)


def splits(X: Any, y: Any, classes: bool, seed: int) -> Iterator[tuple[Any, Any]]:
    """Repeated folds."""
    kind: Any = StratifiedKFold if classes else KFold
    for repeat in range(REPEATS):
        yield from kind(FOLDS, shuffle=True, random_state=seed + repeat).split(X, y)


def elastic_net(Z: Any, y: Any) -> Any:
    """Coefficients (D, n) along a path, until they are more than are asked for."""
    steps = [np.zeros(Z.shape[1])]
    for alpha in 2.0 * np.abs(Z.T @ y).max() / len(y) * np.geomspace(1.0, 1e-3, 100)[1:]:
        _, coef, _ = enet_path(Z, y, alphas=[alpha], coef_init=steps[-1], max_iter=1_000)
        steps.append(coef[:, 0])
        if np.count_nonzero(steps[-1]) > max(COUNTS):
            break
    return np.column_stack(steps)


def rivals(X: Any, y: Any, new: Any, classes: bool) -> dict[str, Any]:
    """Predictions by name and number of features: the last model of each path that has no more,
    and ridge on its features."""
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    Z, Z_new = (X - X.mean(axis=0)) / scale, (new - X.mean(axis=0)) / scale
    # classes count alike, as in ours
    weights = 0.5 / np.mean(y == y[:, None], axis=1) if classes else np.ones(len(y))
    root, level = np.sqrt(weights)[:, None], weights @ y / weights.sum()
    centre = weights @ Z / weights.sum()
    found: dict[str, Any] = {}
    given = root * (Z - centre), root[:, 0] * (y - level)
    paths = {
        "lasso": lars_path(*given, method="lasso", max_iter=500)[2],
        "elastic net": elastic_net(*given),
    }
    for name, coefs in paths.items():
        for count in COUNTS:
            sizes = np.count_nonzero(coefs, axis=0)
            more = np.flatnonzero(sizes > count)
            last = (more[0] if more.size else sizes.size) - 1
            some = np.flatnonzero(coefs[:, last])
            found[f"{name}, {count}"] = (Z_new - centre) @ coefs[:, last] + level
            ridge: Any = RidgeCV(PENALTIES)
            if classes:
                ridge = RidgeClassifierCV(PENALTIES, class_weight="balanced")
            some = some if some.size else np.array([0])
            found[f"{name} and ridge, {count}"] = ridge.fit(Z[:, some], y).predict(Z_new[:, some])
    return found


def measure(name: str, seed: int) -> dict[str, Any]:
    """Errors of all methods on one set: mean squared error over that of the mean, or one minus the
    balanced accuracy."""
    task = load_task(name)
    classes = task.kind == "classification"
    X, y = task.rows(next(iter(task.targets)))
    if classes:
        y = np.where(y == np.unique(y)[0], -1.0, 1.0)
    make: Any = StretchyClassifierCV if classes else StretchyRegressorCV
    outputs: dict[str, list[Any]] = {}
    truth, base = [], []
    for train, test in splits(X, y, classes, seed):
        found = rivals(X[train], y[train], X[test], classes)
        for count in COUNTS:
            own = make(n_features_to_select=count).fit(X[train], y[train])
            found[f"ours, {count}"] = own.predict(X[test])
        for method, predicted in found.items():
            outputs.setdefault(method, []).append(predicted)
        truth.append(y[test])
        base.append(np.full(test.size, y[train].mean()))
    true = np.concatenate(truth)

    def error(parts: list[Any]) -> float:
        predicted = np.concatenate(parts)
        if classes:
            return 1.0 - float(balanced_accuracy_score(true, np.where(predicted > 0, 1.0, -1.0)))
        return float(np.mean((predicted - true) ** 2) / np.mean((np.concatenate(base) - true) ** 2))

    errors = {method: error(parts) for method, parts in outputs.items()}
    return {"data": name, "shape": X.shape, "classes": classes, "errors": errors}


METHODS = ("lasso", "lasso and ridge", "elastic net", "elastic net and ridge", "ours")


def ratio(found: dict[str, Any], count: int) -> float:
    """Our error over that of the best of the others."""
    *others, ours = (found["errors"][f"{method}, {count}"] for method in METHODS)
    return float(ours / min(others))


def rows(results: list[dict[str, Any]]) -> Iterator[str]:
    """The table."""
    yield "| set | features | " + " | ".join(METHODS) + " | ours over the best of the others |"
    yield "|---|---|" + "---|" * (len(METHODS) + 1)
    for found in results:
        (n, D), kind = found["shape"], " (classes)" if found["classes"] else ""
        for count in COUNTS:
            errors = (f"{found['errors'][f'{method}, {count}']:.3g}" for method in METHODS)
            said = f"| {found['data']}{kind}, {n} × {D:,} | {count} | " + " | ".join(errors)
            yield f"{said} | **{ratio(found, count):.2f}** |"


def part(results: list[dict[str, Any]], at: str) -> list[str]:
    """The part of the page."""
    ratios = {(f["data"], count): ratio(f, count) for f in results for count in COUNTS}
    missed = [f"{name} at {n}: {x:.2f}" for (name, n), x in ratios.items() if x > LITTLE]
    mean = np.exp(np.mean(np.log(list(ratios.values()))))
    named = "; ".join(missed)
    return [
        f"Written by `make few` at commit {at}: {REPEATS} × {FOLDS} folds drawn with the seed "
        f"{SEED}, settled before any run. Mean squared error over that of the mean, of classes one "
        "minus the balanced accuracy. The lasso and the elastic net (mixing 0.5) end at the last "
        "point of their path with at most so many features; ridge is fitted again on these, its "
        "penalty by leave one out. Ours: `n_features_to_select`, everything else as it comes.",
        "",
        *rows(results),
        "",
        f"Over the best of the four others, which is known only afterwards: {mean:.2f} on "
        f"(geometric) average, more than {LITTLE} in {len(missed)} of {len(ratios)}"
        + (f" ({named})." if missed else "."),
    ]


def main() -> None:
    """Measure (or read what was measured) and write."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.write:
        kept = json.loads(RESULTS.read_text("utf-8"))
    else:
        kept = {"commit": commit(), "results": []}
        for name in asked.sets:
            kept["results"].append(measure(name, asked.seed))
            print(*[*rows(kept["results"][-1:])][2:], sep="\n", flush=True)
            if asked.seed == SEED:
                keep(RESULTS, kept)
    if asked.seed == SEED:
        write_part(PAGE, "make few", part(kept["results"], kept["commit"]))


if __name__ == "__main__":
    main()
