"""``make rules``: how should the best candidates of a search be averaged? Writes docs/rules.md.

On every training fold a default search is made once. Its average takes the best candidate of every
family in equal parts here, so that each is fitted; what they say of left-out samples and of the
other half is kept in a file, and any weights can be judged afterwards. The folds are drawn with a
seed of their own, which is neither of the arena's; so are the simulated data, which are not those
of ``make sparse-truth``. At most 400 rows and two targets of a set.
"""

import argparse
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.arena.data import KINDS, available_tasks, family_of, load_task
from benchmarks.arena.run import commit
from benchmarks.page import write_page
from benchmarks.sparse_truth import CELLS, MAKERS, NEW, N
from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.estimators import search
from skstretch.search.choice import CandidateTable, fair_shares, tempered, trimmed
from skstretch.solve.choose import HANDICAP, TAU, TAU_CLASSES

SEED, MAX_ROWS, MAX_TARGETS, SETS = 4711, 400, 2, 4
Fold = dict[str, Any]
Rule = Callable[[Fold], np.ndarray]


# The best candidates of every training fold, with their outputs out of fold and on the test fold.


def folds_of(name: str) -> Iterator[tuple[str, np.ndarray, np.ndarray, tuple]]:
    """``(file name, X, y, (train, test))`` of every fold of a set."""
    task = load_task(name).densified()
    if task is None:
        return
    classes = task.kind == "classification"
    keep = np.arange(task.X.shape[0])
    if keep.size > MAX_ROWS:
        keep = np.sort(np.random.default_rng(SEED).permutation(keep.size)[:MAX_ROWS])
    for number, y in enumerate(list(task.targets.values())[:MAX_TARGETS]):
        known = keep if classes else keep[np.isfinite(y[keep])]
        X, target = np.asarray(task.X)[known], y[known]
        groups = None if task.groups is None else task.groups[known]
        if classes:
            target = np.unique(target, return_inverse=True)[1]
        for fold, parts in enumerate(_halves(X, target, classes, groups)):
            yield f"{name}_{number}_{fold}", X, target, parts


def _halves(X, y, classes, groups):
    """Two folds; whole groups where there are any."""
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        first = np.random.default_rng(SEED).permutation(codes.max() + 1) < (codes.max() + 1) // 2
        side = first[codes]
        return [
            (np.flatnonzero(side), np.flatnonzero(~side)),
            (np.flatnonzero(~side), np.flatnonzero(side)),
        ]
    kind = StratifiedKFold if classes else KFold
    return list(kind(2, shuffle=True, random_state=SEED).split(X, y))


def tried(model: Any, X: Any, y: Any, new: Any) -> Fold:
    """The best candidates of all families: what they are, their losses and outputs."""
    found: Fold = {}

    def shares(table: CandidateTable, rows: Any, part: Any) -> np.ndarray:
        candidates = [table.candidates[row] for row in rows]
        found["curved"] = np.array([one.a != 0.0 for one in candidates])
        found["ridge"] = np.array(
            [
                (one.a, one.k) == (0.0, 2.0) and not isinstance(one.density, int)
                for one in candidates
            ]
        )
        found["fair"], found["n"] = fair_shares(candidates), float(table.weights[table.seen].sum())
        found["losses"] = np.array([-table.alone[row][0].score for row in rows])
        return np.full(len(candidates), 1.0 / len(candidates))

    def kept(candidates: Any, *others: Any) -> Any:
        found["states"] = [one.state for one in candidates]
        return mixed(candidates, *others)

    mixed = search.mixed
    with (
        mock.patch.object(CandidateTable, "_shares", shares),
        mock.patch.object(CandidateTable, "_compared", lambda table, rows: rows),
        mock.patch.object(search, "mixed", kept),
    ):
        model.fit(X, y)
    outputs = []
    for state in found.pop("states"):
        model._state = state
        told = getattr(model, "decision_function", model.predict)
        outputs.append(told(new))
    return found | {"outputs": np.array(outputs), "train": y}


def simulated() -> Iterator[tuple[str, Callable[[], Fold]]]:
    """Data of known truths, with the risk of the rivals."""
    for number in range(SETS):
        for i, cell in enumerate(CELLS):

            def make(cell: Any = cell, i: int = i, number: int = number) -> Fold:
                rng = np.random.default_rng([SEED, i, number])
                X, truth, _ = cell.signal(rng, N + NEW)
                y = truth[:N] + rng.standard_normal(N) / np.sqrt(cell.ratio)
                found = tried(StretchyRegressorCV(), X[:N], y, X[N:])
                names = ("LassoCV", "relaxed lasso") if cell.few else ("RidgeCV",)
                rivals = [MAKERS[name]().fit(X[:N], y).predict(X[N:]) for name in names]
                risks = [np.mean(np.square(one - truth[N:])) for one in rivals]
                kind = "factors" if cell.factors else "few true" if cell.few else "all true"
                return found | {"test": truth[N:], "set": f"{kind} {i}", "rivals": risks}

            yield f"simulated_{i}_{number}", make


def real() -> Iterator[tuple[str, Callable[[], Fold]]]:
    """Halves of the sets of the arena."""
    for name in available_tasks():
        for file, X, y, (train, test) in folds_of(name):
            classes = KINDS[name] == "classification"
            if classes and np.unique(y[train]).size < np.unique(y).size:
                continue

            def make(X=X, y=y, train=train, test=test, classes=classes, name=name) -> Fold:
                model = StretchyClassifierCV() if classes else StretchyRegressorCV()
                return tried(model, X[train], y[train], X[test]) | {"test": y[test], "set": name}

            yield f"{KINDS[name]}_{file}", make


def collect(folder: Path) -> None:
    """One file a fold; those that are there are left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in chain(simulated(), real()):
        path = folder / f"{name}.pickle"
        if not path.exists():
            temporary = path.with_suffix(".part")
            temporary.write_bytes(pickle.dumps(make()))
            temporary.replace(path)
            print(name, file=sys.stderr, flush=True)


# Weights of families, and what they are worth.


def regression(tau: float, handicap: float, prior: str = "fair", ridge: float = 1.0) -> Rule:
    """``(A / least A)^(-tau n / 2)`` times a share before anything is known."""

    def rule(fold: Fold) -> np.ndarray:
        errors = fold["losses"] * (1.0 + handicap * fold["curved"] / fold["n"])
        shares = fold["fair"] if prior == "fair" else np.ones_like(errors)
        shares = shares * np.where(fold["ridge"], ridge, 1.0)
        return trimmed(tempered(0.5 * tau * fold["n"] * np.log(errors), shares))

    return rule


def classes(tau: float, prior: str = "equal") -> Rule:
    """``exp(-tau n loss)`` times a share before anything is known."""

    def rule(fold: Fold) -> np.ndarray:
        shares = fold["fair"] if prior == "fair" else 1.0
        return trimmed(tempered(tau * fold["n"] * fold["losses"], shares))

    return rule


def best(fold: Fold) -> np.ndarray:
    return np.eye(len(fold["losses"]))[fold["losses"].argmin()]


def ridge_alone(fold: Fold) -> np.ndarray:
    return fold["ridge"].astype(float)


REGRESSION: dict[str, Rule] = {
    f"**fair shares, tau {TAU:g}, handicap {HANDICAP:g}**": regression(TAU, HANDICAP),
    "ridge alone": ridge_alone,
    "best candidate": best,
    "fair shares alone (tau 0)": regression(0.0, HANDICAP),
    **{f"tau {tau:g}": regression(tau, HANDICAP) for tau in (0.1, 0.2, 0.3)},
    **{f"handicap {number:g}": regression(TAU, number) for number in (0.0, 8.0, 32.0)},
    "equal shares": regression(TAU, HANDICAP, "equal"),
    "ridge's share twice": regression(TAU, HANDICAP, ridge=2.0),
    "ridge's share three times": regression(TAU, HANDICAP, ridge=3.0),
}
CLASSES: dict[str, Rule] = {
    f"**equal shares, tau {TAU_CLASSES:g}**": classes(TAU_CLASSES),
    "ridge alone": ridge_alone,
    "best candidate": best,
    **{f"tau {tau:g}": classes(tau) for tau in (0.0, 0.1, 0.5, 1.0)},
    **{f"fair shares, tau {tau:g}": classes(tau, "fair") for tau in (0.1, 0.3, 1.0)},
}


def squares(fold: Fold, rule: Rule) -> float:
    """The squared error on the test fold over that of the training mean."""
    predicted = rule(fold) @ fold["outputs"]
    base = np.mean(np.square(fold["test"] - fold["train"].mean()))
    return float(np.mean(np.square(fold["test"] - predicted)) / base)


def balanced(fold: Fold, rule: Rule) -> float:
    """The balanced error rate on the test fold."""
    outputs, test = np.tensordot(rule(fold), fold["outputs"], 1), fold["test"]
    codes = (outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)
    return float(np.mean([np.mean(codes[test == c] != c) for c in np.unique(test)]))


def by_family(folds: list[Fold], error: Callable[[Fold], float]) -> np.ndarray:
    """Mean errors over folds, then over the sets of a family."""
    sets: dict[str, list[float]] = {}
    for fold in folds:
        sets.setdefault(fold["set"], []).append(error(fold))
    families: dict[str, list[float]] = {}
    for name, errors in sets.items():
        families.setdefault(family_of(name), []).append(float(np.mean(errors)))
    return np.array([np.mean(errors) for errors in families.values()])


def over_rivals(folds: list[Fold], rule: Rule, kind: str) -> str:
    """The mean risk over the best rival's: geometric mean and worst of the truths of a kind."""
    truths: dict[str, list[Fold]] = {}
    for fold in folds:
        if fold["set"].startswith(kind):
            truths.setdefault(fold["set"], []).append(fold)
    ratios = []
    for own in truths.values():
        risks = [np.mean(np.square(rule(f) @ f["outputs"] - f["test"])) for f in own]
        ratios.append(np.mean(risks) / np.mean([f["rivals"] for f in own], axis=0).min())
    return f"{np.exp(np.mean(np.log(ratios))):.2f} ({max(ratios):.2f})"


def regression_rows(folds: list[Fold], made: list[Fold]) -> Iterator[str]:
    """A line for every rule."""
    kinds = ("few true", "all true", "factors")
    first = next(iter(REGRESSION.values()))
    now = by_family(folds, lambda fold: squares(fold, first))
    yield (
        "| weights | error / today's, geometric mean | better by > 2 % | worse by > 2 % | worst "
        "| few true | all true | factors |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, rule in REGRESSION.items():
        ratio = by_family(folds, lambda fold, rule=rule: squares(fold, rule)) / now
        risks = " | ".join(over_rivals(made, rule, kind) for kind in kinds)
        yield (
            f"| {name} | {np.exp(np.log(ratio).mean()):.3f} | {(ratio < 0.98).sum()} "
            f"| {(ratio > 1.02).sum()} | {ratio.max():.2f} | {risks} |"
        )


def class_rows(folds: list[Fold]) -> Iterator[str]:
    """The mean balanced error rate of every rule."""
    first = next(iter(CLASSES.values()))
    now = by_family(folds, lambda fold: balanced(fold, first))
    yield "| weights | balanced error | better by > 0.5 points | worse by > 0.5 points |"
    yield "|---|---|---|---|"
    for name, rule in CLASSES.items():
        error = by_family(folds, lambda fold, rule=rule: balanced(fold, rule))
        better, worse = (error < now - 0.005).sum(), (error > now + 0.005).sum()
        yield f"| {name} | {error.mean():.4f} | {better} | {worse} |"


PAGE = """# How the averages of the search were settled

Written by `make rules` at commit {commit}. Two halves of real sets, at most 400 rows and two
targets of each, each half predicted by models of the other. The folds have a seed of their own, and
the averages were settled on them before the arena was run on its test seed. Every line weighs the
same candidates in another way: the best c of every family (a, k, number of features) of a default
search, by what it says of left-out samples. Sets that share samples count once. The data sets are
those of the arena, so only data of neither study would be a test of all choices. Words such as
*candidate* and *family* are in the [glossary](glossary.md).

The last three columns are simulated data (`make sparse-truth` has more, of another seed): the risk
over that of the better of lasso and relaxed lasso where few features are true, over ridge's where
all are, or where hidden factors make both the features and the target; in brackets the worst kind
of truth.

In bold what `combine="average"` does, and every other line changes that one thing. The handicap
counts squared errors of a other than 0 `1 + 16/n` times: on few samples they flatter that form,
whose z-scores have seen the samples that are left out. Real data and hidden factors want different
shares: where ridge counts three times as much, hidden factors gain and real data lose.

Tried before and left alone: k = 1.75 (as a further power it changed nothing), 50 selected features
beside 2 to 20 (no better, and slower), every strength of the penalty for selected features in place
of every other one, a handicap for selected features, k = 1.1 on selected features (no better, ten
times as long), least squares on the simplex pulled to these weights, weights by the loss of the
average itself (both as good, and more to explain), paired t statistics in place of ratios of errors
(worse on corn), choosing the best candidates of classes by squared error or by the 0/1 loss (a
little worse than by log loss)."""


def main() -> None:
    """Collect what is missing, and write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kept", type=Path, default=Path("out/rules"), help="folder of results")
    options.add_argument("--summary", action="store_true", help="only write the page")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    if not given.summary:
        collect(given.kept)
    read = {
        kind: [pickle.loads(path.read_bytes()) for path in sorted(given.kept.glob(f"{kind}_*"))]
        for kind in ("simulated", "regression", "classification")
    }
    write_page(
        "docs/rules.md",
        [
            PAGE.format(commit=commit()),
            "",
            "## Regression",
            "",
            f"{len(read['regression'])} training folds, {len(read['simulated'])} simulated sets.",
            "",
            *regression_rows(read["regression"], read["simulated"]),
            "",
            "## Classes",
            "",
            f"{len(read['classification'])} training folds; balanced error rates, averaged over "
            "families of sets.",
            "",
            *class_rows(read["classification"]),
        ],
    )


if __name__ == "__main__":
    main()
