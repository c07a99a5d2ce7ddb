"""Recipes for spectra, chosen by the search: beside every single recipe and beside PLS.

``python -m benchmarks.recipes`` (``make recipes``) splits every set into outer folds, fits
`RecipeRegressorCV` and PLS on each training part, and writes the errors of the left-out rows to
``out/recipes.csv`` and the table of ``docs/guide/preprocessing.md``. PLS chooses up to 20
components by ten folds inside the training part, for every recipe; its best recipe is chosen by
the same folds.
"""

import argparse
import csv
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.arena.data import load_task
from benchmarks.page import write_part
from skstretch import RecipeRegressorCV

SETS = ("corn_m5", "cookie", "beer_extract", "nirsoil")
ROWS, FOLDS, COMPONENTS = 300, 5, 20
HERE = Path(__file__).parents[1]
RESULTS = HERE / "out" / "recipes.csv"
PAGE = HERE / "docs" / "guide" / "preprocessing.md"
FIELDS = ("set", "target", "fold", "method", "recipe", "squares", "rows", "variance", "seconds")


def parts(name):
    """Outer folds of every target: name, X, y, training and test rows; at most 300 rows in all."""
    task = load_task(name)
    for target in task.targets:
        X, y = task.rows(target)
        chosen = np.random.default_rng(0).permutation(len(y))[:ROWS]
        for fold, (train, test) in enumerate(KFold(FOLDS).split(chosen)):
            yield target, fold, X, y, chosen[train], chosen[test]


def pls(step, X, y):
    """The best number of components by ten folds, its squared error there, and the fitted model."""
    Z = clone(step).fit_transform(X)
    folds = KFold(10, shuffle=True, random_state=0)
    most = min(COMPONENTS, Z.shape[1], int(0.9 * len(y)) - 1)
    errors = [
        np.mean((cross_val_predict(PLSRegression(n, scale=False), Z, y, cv=folds).ravel() - y) ** 2)
        for n in range(1, most + 1)
    ]
    best = int(np.argmin(errors))
    return errors[best], PLSRegression(best + 1, scale=False).fit(Z, y)


def measured(name):
    """Rows of the results of one set."""
    for target, fold, X, y, train, test in parts(name):
        common = {"set": name, "target": target, "fold": fold, "rows": len(test)}
        common["variance"] = float(np.sum((y[test] - y[train].mean()) ** 2))

        def row(method, recipe, predictions, seconds, common=common, y=y, test=test):
            squares = float(np.sum((np.ravel(predictions) - y[test]) ** 2))
            return (
                common
                | {"method": method, "recipe": recipe, "squares": squares}
                | {"seconds": round(seconds, 2)}
            )

        start = time.perf_counter()
        model = RecipeRegressorCV().fit(X[train], y[train])
        spent = time.perf_counter() - start
        yield row("ours", "mix", model.predict(X[test]), spent)
        best = model.best_recipe_
        yield row("ours", "best", model.pipelines_[best].predict(X[test]), spent)
        for recipe, pipe in model.pipelines_.items():
            yield row("ours", recipe, pipe.predict(X[test]), 0.0)
        tried = {}
        for recipe, pipe in model.pipelines_.items():
            start = time.perf_counter()
            tried[recipe] = pls(pipe[0], X[train], y[train])
            predictions = tried[recipe][1].predict(pipe[0].transform(X[test]))
            yield row("PLS", recipe, predictions, time.perf_counter() - start)
        best = min(tried, key=lambda recipe: tried[recipe][0])
        flt = model.pipelines_[best][0]
        yield row("PLS", "best", tried[best][1].predict(flt.transform(X[test])), 0.0)


def table(rows):
    """Root mean squared errors over the outer folds, as shares of the standard deviation."""
    sums, totals = defaultdict(float), defaultdict(float)
    for one in rows:
        key = one["set"], one["target"], one["method"], one["recipe"]
        sums[key] += float(one["squares"])
        totals[key] += float(one["variance"])
    shares = {key: np.sqrt(sums[key] / totals[key]) for key in sums}
    lines = [
        "| set | target | search, averaged | search, best | best single recipe | "
        "PLS, best by folds | PLS, best single recipe |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, target in dict.fromkeys((key[0], key[1]) for key in sums):
        own = {key[2:]: value for key, value in shares.items() if key[:2] == (name, target)}
        words = [f"{own['ours', 'mix']:.3f}", f"{own['ours', 'best']:.3f}"]
        words.append(_least(own, "ours"))
        words += [f"{own['PLS', 'best']:.3f}", _least(own, "PLS")]
        lines.append(f"| {name} | {target} | {' | '.join(words)} |")
    return [*lines, "", _ratio(shares)]


def _least(own, method):
    singles = {k[1]: v for k, v in own.items() if k[0] == method and k[1] not in ("mix", "best")}
    best = min(singles, key=singles.__getitem__)
    return f"{singles[best]:.3f} ({best})"


def _ratio(shares):
    """How far the mixture is from the single recipe that turned out best, which nobody knows."""
    ratios, theirs = {}, []
    for name, target in dict.fromkeys(key[:2] for key in shares):
        own = {key[2:]: value for key, value in shares.items() if key[:2] == (name, target)}
        singles = [v for k, v in own.items() if k[0] == "ours" and k[1] not in ("mix", "best")]
        ratios.setdefault(name, []).append(own["ours", "mix"] / min(singles))
        theirs.append(own["ours", "mix"] / own["PLS", "best"])
    every = [ratio for of_set in ratios.values() for ratio in of_set]
    sets = ", ".join(f"{name} {_mean(of_set):.3f}" for name, of_set in ratios.items())
    near = sum(ratio <= 1.03 for ratio in every)
    return (
        "Averaged error over that of the best single recipe, in the geometric mean over targets: "
        f"{sets}. It is within 3 % for {near} of {len(every)} targets, and {max(every):.3f} at "
        f"worst. Over the error of PLS with its recipe chosen by folds: {_mean(theirs):.3f} in the "
        f"geometric mean, {max(theirs):.3f} at worst."
    )


def _mean(ratios):
    return np.exp(np.mean(np.log(ratios)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--page", action="store_true", help="only write the page, from the file")
    asked = parser.parse_args()
    known = []
    RESULTS.parent.mkdir(exist_ok=True)
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            known = list(csv.DictReader(file))
    if not asked.page:
        warnings.simplefilter("ignore")
        for name in asked.sets:
            known = [one for one in known if one["set"] != name] + list(measured(name))
            print(name, file=sys.stderr)
            with RESULTS.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(known)
    known.sort(key=lambda one: (SETS.index(one["set"]), str(one["target"]), int(one["fold"])))
    write_part(PAGE, "benchmarks/recipes.py", table(known))


if __name__ == "__main__":
    main()
