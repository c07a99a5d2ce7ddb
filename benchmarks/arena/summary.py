"""The arena's results as Markdown, from the file of results alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.ranks import RankTest

from . import ledger
from .data import CLASSIFICATION, FAMILIES, REGRESSION, family_of
from .methods import OURS, PEERS, RIDGE
from .run import DEVELOPMENT, TEST
from .standings import (
    MARGIN,
    SMALLEST_RATE,
    Standing,
    comparable,
    error_table,
    fold_counts,
    geometric_mean,
    outsiders_too,
    ranked_methods,
    ranking,
    standings,
)
from .worker import DONE

NO_RESULT = "-"
TITLES = {
    "regression": "Regression: squared error over that of the training mean",
    "classification": "Classification: balanced error rate",
}
SETS = {"regression": REGRESSION, "classification": CLASSIFICATION}
RIDGE_NAMES = {"regression": "RidgeCV", "classification": "RidgeClassifierCV"}


def summarise(
    path: Path, seed: str = TEST, kinds: Iterable[str] = tuple(SETS), page: str = ""
) -> str:
    """Markdown for some kinds of task in the file of results, of the folds of one seed.

    Sections of other kinds stay as they stand on the page.
    """
    rows = ledger.read(path)
    rows = rows[rows["seed"] == seed]
    if rows.empty:
        return f"No results of the seed {seed!r} in {path}.\n"
    parts = ["# Arena", _explanation(seed), _families()]
    for kind, sets in SETS.items():
        of_kind = rows[rows["kind"] == kind]
        if kind not in kinds:
            parts += [f"## {part.strip()}" for part in page.split("\n## ") if TITLES[kind] in part]
        elif not of_kind.empty:
            order = of_kind["task"].map({name: i for i, name in enumerate(sets)})
            parts.append(_section(kind, of_kind.iloc[order.argsort(kind="stable")]))
    return "\n\n".join(parts) + "\n"


def _explanation(seed: str) -> str:
    command = "make arena" if seed == TEST else f"python -m benchmarks.arena --seed {seed}"
    kind = {TEST: "test", DEVELOPMENT: "development"}[seed]
    return (
        f"Written by `{command}`, on the folds of the {kind} seed. Real data are split into two "
        "halves, and each half is predicted by models of the other. Every fit is a line of "
        "`benchmarks/arena/results.csv`; what is there already is not run again.\n\n"
        "- **Repeats**: three; five for sets of one target and fewer than 100 rows, two from 250 "
        "rows on. Rows of a group stay in one half; no method is told of groups.\n"
        "- **Settings**: every method chooses the strength of its penalty inside the training "
        "half. One thread. A fit that takes more than 60 CPU seconds is a dash unless it was run "
        "again with a longer `--limit` (the lasso on madelon).\n"
        f"- **Peers** are {', '.join(PEERS['regression'])} for regression and "
        f"{', '.join(PEERS['classification'])} for classes: the linear methods with which ours is "
        "ranked. `enet-full` is `enet` on all 100 penalties of its path, and the forest (200 "
        "trees, its settings fixed) is another kind of method; these two count only where the "
        'page says "all methods".\n'
        "- **Marks**: a star is a mean over fewer folds than other methods of that set have, a "
        "dash a method without a result.\n"
        "- **A caution**: our defaults were settled on other folds of these data sets "
        "([how](rules.md)), those of the other methods were not. The folds are new to ours, the "
        "data are not, and our ranks are somewhat optimistic."
    )


def _families() -> str:
    named = "; ".join(f"{family}: {', '.join(sets)}" for family, sets in FAMILIES.items())
    return (
        "Sets that share samples or targets are one family and count once in ranks, ratios and "
        f"means ({named}). At most 2,000 rows of a set are used, at most 600 where it has more "
        "than 600 features; the first three targets, the first where it has more than 400 rows."
    )


def _origin(rows: pd.DataFrame) -> str:
    ours = rows[rows["method"] == OURS]
    if ours.empty:
        return f"{OURS} has not been run on these folds."
    made = ours.groupby(["commit", "date"], sort=False).size()
    parts = [f"commit {commit}, {date} ({n} fits)" for (commit, date), n in made.items()]
    return f"The rows of {OURS} come from {'; '.join(parts)}."


def _section(kind: str, rows: pd.DataFrame) -> str:
    done = rows[rows["status"] == DONE]
    if done.empty:
        return _troubles(rows)
    table = comparable(done)
    ranked, everyone = ranked_methods(kind, table), outsiders_too(table)
    test, wide = ranking(table, ranked), ranking(table, everyone)
    parts = [
        f"## {TITLES[kind]}",
        _count(kind, table),
        _origin(rows),
        _errors(error_table(done), rows),
        _standings(kind, standings(kind, table), test, wide),
        _friedman("Peers", test, left_out=table.index[table[ranked].isna().any(axis=1)]),
        _friedman("All methods", wide, left_out=table.index[table[everyone].isna().any(axis=1)]),
        _lost(kind, table),
        _against_ridge(kind, table),
        _worse_than_baseline(table, done),
        _times(table, done, ranked),
        _troubles(rows),
    ]
    return "\n\n".join(part for part in parts if part)


def _count(kind: str, table: pd.DataFrame) -> str:
    families = {family_of(name) for name in table.index}
    every = {family_of(name) for name in SETS[kind]}
    return (
        f"{len(table)} of {len(SETS[kind])} sets, {len(families)} of {len(every)} families. "
        "The training fold is given as samples x features."
    )


def _errors(table: pd.DataFrame, rows: pd.DataFrame) -> str:
    counts = fold_counts(rows[rows["status"] == DONE])
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


def _standings(
    kind: str, places: list[Standing], test: RankTest | None, wide: RankTest | None
) -> str:
    ranks, of_all = (
        dict(zip(t.names, t.mean_ranks, strict=True)) if t else {} for t in (test, wide)
    )
    lines = []
    for place in places:
        worst = place.to_peers.idxmax() if len(place.to_peers) else None
        lines.append(
            [
                place.method,
                _number(ranks.get(place.method), 2),
                _number(of_all.get(place.method), 2),
                _number(geometric_mean(place.to_peers), 3),
                f"{len(place.lost)} of {len(place.to_peers)}",
                f"{place.to_peers[worst]:.2f} ({worst})" if worst else NO_RESULT,
                _number(geometric_mean(place.to_all), 3),
                _number(place.mean_error, 4),
            ]
        )
    head = ["method", "mean rank among peers", "mean rank, all methods", "ratio to the best peer"]
    head += ["families lost to it by > 5 %", "worst family", "ratio to the best of all"]
    head += ["mean BER" if kind == "classification" else "mean error"]
    floor = f" Rates below {SMALLEST_RATE:g} count as that in ratios."
    return _markdown(head, lines) + (
        "\n\nRatios are geometric means over families, and the best peer of a set is the best of "
        f"the peers other than the method itself; the best of all leaves out {OURS} and the method."
        + (floor if kind == "classification" else "")
        + " Mean errors are over the families that are ranked among peers."
    )


def _friedman(title: str, test: RankTest | None, left_out: Iterable[str]) -> str:
    if test is None:
        return f"{title}: too few complete sets for ranks."
    groups = "; ".join(", ".join(group) for group in test.groups) or "none"
    text = (
        f"{title}: Friedman on {test.n_sets} families: chi² = {test.chi2:.2f} "
        f"(p = {test.chi2_pvalue:.2g}), Iman-Davenport F = {test.f:.2f} (p = {test.f_pvalue:.2g}). "
        f"Nemenyi critical difference of mean ranks at {test.alpha:g}: {test.cd:.2f}. "
        f"Not told apart: {groups}."
    )
    names = ", ".join(left_out)
    return text + (f" Not ranked (incomplete): {names}." if names else "")


def _lost(kind: str, table: pd.DataFrame) -> str:
    ours = next((place for place in standings(kind, table) if place.method == OURS), None)
    if ours is None or ours.of_sets.empty:
        return ""
    families, sets = ours.lost, ours.of_sets[ours.of_sets > MARGIN]
    worst = ours.of_sets.idxmax()
    return (
        f"{OURS} loses to the best peer by more than 5 % on {len(families)} of "
        f"{len(ours.to_peers)} families{_named_ratios(families.sort_values(ascending=False))}, on "
        f"{len(sets)} of {len(ours.of_sets)} sets; worst set: {worst} ({ours.of_sets[worst]:.2f})."
    )


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
    head = ["method", "sets worse than the baseline by > 5 %", "folds worse by > 5 %"]
    return _markdown([*head, "worst fold, times the baseline"], lines)


def _times(table: pd.DataFrame, done: pd.DataFrame, ranked: list[str]) -> str:
    tasks = table.index[table[ranked].notna().all(axis=1)]
    lines = []
    for method in table.columns:
        fits = done[(done["method"] == method) & done["task"].isin(tasks)]
        wall, cpu = (geometric_mean(fits[c].clip(lower=1e-3)) for c in ("seconds", "cpu_seconds"))
        lines.append([method, f"{wall:.3g}", f"{cpu:.3g}", f"{fits['cpu_seconds'].max():.3g}"])
    head = ["method", "seconds, geometric mean", "CPU seconds", "slowest fit, CPU"]
    return _markdown(head, lines)


def _troubles(rows: pd.DataFrame) -> str:
    bad = rows[rows["status"] != DONE]
    counts = bad.groupby(["task", "method", "status"], sort=False).size()
    lines = [
        f"- {task}, {method}: {status} ({n} folds)" for (task, method, status), n in counts.items()
    ]
    return "Without a result:\n\n" + "\n".join(lines) if lines else ""


def _number(value: float | None, digits: int) -> str:
    return NO_RESULT if value is None or np.isnan(value) else f"{value:.{digits}f}"


def _named_ratios(ratios: pd.Series) -> str:
    return _listed(f"{task} {ratio:.2f}" for task, ratio in ratios.items())


def _listed(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return f" ({text})" if text else ""


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])
