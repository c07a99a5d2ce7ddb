"""The arena's results as Markdown, from the file of results alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.ranks import RankTest, compare_ranks

from . import ledger
from .methods import BASELINES, METHODS, OURS, RIDGE
from .worker import DONE

# A loss counts when it is larger than this factor.
MARGIN = 1.05
NO_RESULT = "-"
TITLES = {
    "regression": "Regression: squared error over that of the training mean",
    "classification": "Classification: balanced error rate",
}
RIDGE_NAMES = {"regression": "RidgeCV", "classification": "RidgeClassifierCV"}


def summarise(path: Path) -> str:
    """Markdown for all kinds of task in the file of results."""
    rows = ledger.read(path)
    if rows.empty:
        return f"No results in {path}.\n"
    parts = ["# Arena", _explanation()]
    for kind in TITLES:
        of_kind = rows[rows["kind"] == kind]
        if not of_kind.empty:
            parts.append(_section(kind, of_kind))
    return "\n\n".join(parts) + "\n"


def error_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean error of each method (column) on each set (row); targets of a set count equally."""
    per_target = rows.groupby(["task", "target", "method"], sort=False)["error"].mean()
    table = per_target.groupby(["task", "method"], sort=False).mean().unstack("method")
    return _in_order(table, rows)


def complete_tasks(rows: pd.DataFrame, methods: list[str]) -> list[str]:
    """Sets on which every one of the methods has a result for the same folds."""
    done = rows[rows["method"].isin(methods)]
    fold = ["target", "repeat", "fold"]
    complete = []
    for task, of_task in done.groupby("task", sort=False):
        seen = {m: set(g[fold].itertuples(index=False)) for m, g in of_task.groupby("method")}
        if len(seen) == len(methods) and len(set(map(frozenset, seen.values()))) == 1:
            complete.append(task)
    return complete


def _explanation() -> str:
    return (
        "Written by `make arena`. Repeated 2-fold on real data; each method chooses its strength "
        "inside the training fold; one thread. A star marks a mean over fewer folds than other "
        "methods of that set have, a dash a method without a result. Ranks and times are over the "
        "sets where every ranked method has the same folds; the baseline is not ranked. Our "
        "defaults were settled on these data sets (docs/rules.md says how), those of the others "
        "were not: our ranks are somewhat optimistic."
    )


def _section(kind: str, rows: pd.DataFrame) -> str:
    done = rows[rows["status"] == DONE]
    table = error_table(done)
    ranked = [name for name in table.columns if name not in BASELINES]
    tasks = complete_tasks(done, ranked)
    test = None
    if len(ranked) > 1 and len(tasks) > 1:
        test = compare_ranks(table.loc[tasks, ranked], ranked)
    parts = [
        f"## {TITLES[kind]}",
        _errors(table, rows),
        _methods(table, done, tasks, test),
        _friedman(test, left_out=[t for t in table.index if t not in tasks]),
        _against_ridge(kind, table),
        _worse_than_baseline(table, done),
        _troubles(rows),
    ]
    return "\n\n".join(part for part in parts if part)


def _in_order(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    methods = [name for name in METHODS[rows["kind"].iloc[0]] if name in table.columns]
    return table.loc[list(dict.fromkeys(rows["task"])), methods]


def _errors(table: pd.DataFrame, rows: pd.DataFrame) -> str:
    done = rows[rows["status"] == DONE]
    counts = done.groupby(["task", "method"]).size().unstack("method")
    shapes = rows.groupby("task")[["n_train", "n_features"]].max()
    lines = []
    for task, errors in table.iterrows():
        best = errors.min()
        cells = []
        for method, error in errors.items():
            text = NO_RESULT if np.isnan(error) else f"{error:.4f}"
            text = f"**{text}**" if error == best else text
            fewer = counts.loc[task, method] < counts.loc[task].max()
            cells.append(text + ("\\*" if fewer else ""))
        n_train, n_features = shapes.loc[task]
        lines.append([task, f"{n_train} x {n_features:,}", *cells])
    return _markdown(["set", "training fold", *table.columns], lines)


def _methods(
    table: pd.DataFrame, done: pd.DataFrame, tasks: list[str], test: RankTest | None
) -> str:
    ranks = dict(zip(test.names, test.mean_ranks, strict=True)) if test else {}
    lines = []
    for method in table.columns:
        of_method = done[(done["method"] == method) & done["task"].isin(tasks)]
        wall, cpu = (_geometric_mean(of_method[c]) for c in ("seconds", "cpu_seconds"))
        rank = f"{ranks[method]:.2f}" if method in ranks else NO_RESULT
        lines.append(
            [method, rank, f"{wall:.3g}", f"{cpu:.3g}", f"{of_method['cpu_seconds'].max():.3g}"]
        )
    head = ["method", "mean rank", "seconds, geometric mean", "CPU seconds", "slowest fit, CPU"]
    return _markdown(head, lines)


def _friedman(test: RankTest | None, left_out: list[str]) -> str:
    if test is None:
        return "Too few complete sets for ranks."
    groups = "; ".join(", ".join(group) for group in test.groups) or "none"
    text = (
        f"Friedman on {test.n_sets} sets: chi² = {test.chi2:.2f} (p = {test.chi2_pvalue:.2g}), "
        f"Iman-Davenport F = {test.f:.2f} (p = {test.f_pvalue:.2g}). Nemenyi critical "
        f"difference of mean ranks at {test.alpha:g}: {test.cd:.2f}. Not told apart: {groups}."
    )
    return text + (f" Not ranked (incomplete): {', '.join(left_out)}." if left_out else "")


def _against_ridge(kind: str, table: pd.DataFrame) -> str:
    if OURS not in table or RIDGE not in table:
        return ""
    both = table[[OURS, RIDGE]].dropna()
    ours, ridge = both[OURS], both[RIDGE]
    losses = both[ours > MARGIN * ridge]
    wins = both[ridge > MARGIN * ours]
    named = _named_ratios(losses[OURS] / losses[RIDGE])
    return (
        f"{OURS} against {RIDGE_NAMES[kind]} on {len(both)} sets: loses by more than 5 % on "
        f"{len(losses)}{named}, wins by more than 5 % on "
        f"{len(wins)}{_named_ratios(wins[OURS] / wins[RIDGE])}."
    )


def _worse_than_baseline(table: pd.DataFrame, done: pd.DataFrame) -> str:
    baseline = done.groupby("task")["baseline"].first()
    lines = []
    for method in table.columns:
        errors = table[method].dropna()
        bad_sets = errors.index[errors > MARGIN * baseline[errors.index]]
        folds = done[done["method"] == method]
        bad = folds[folds["error"] > MARGIN * folds["baseline"]]
        worst = ""
        if not bad.empty:
            ratio = bad["error"] / bad["baseline"]
            worst = f"{ratio.max():.3g} ({bad.loc[ratio.idxmax(), 'task']})"
        sets = f"{len(bad_sets)} of {len(errors)}" + _listed(bad_sets)
        lines.append([method, sets, f"{len(bad)} of {len(folds)}", worst or NO_RESULT])
    head = [
        "method",
        "sets worse than knowing nothing by > 5 %",
        "folds worse by > 5 %",
        "worst fold, times the baseline",
    ]
    return _markdown(head, lines)


def _troubles(rows: pd.DataFrame) -> str:
    bad = rows[rows["status"] != DONE]
    counts = bad.groupby(["task", "method", "status"]).size()
    lines = [
        f"- {task}, {method}: {status} ({n} folds)" for (task, method, status), n in counts.items()
    ]
    return "Without a result:\n\n" + "\n".join(lines) if lines else ""


def _geometric_mean(values: pd.Series) -> float:
    return float(np.exp(np.log(values).mean())) if len(values) else np.nan


def _named_ratios(ratios: pd.Series) -> str:
    return _listed(f"{task} {ratio:.2f}" for task, ratio in ratios.items())


def _listed(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return f" ({text})" if text else ""


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])
