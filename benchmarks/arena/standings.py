"""The arithmetic of the summary: errors of sets, families, ranks, ratios to the best peer.

Errors of the folds of a target are averaged, then those of the targets of a set. Sets of one family
count once: their errors are averaged where methods are ranked or means are taken, the logarithms of
their ratios where ratios are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.ranks import RankTest, compare_ranks

from .data import family_of
from .methods import BASELINES, METHODS, OURS, PEERS

# A loss counts when it is larger than this factor.
MARGIN = 1.05
# Rates below this one count as this one in ratios: no ratio to a rate of zero is of use.
SMALLEST_RATE = 0.01


def error_table(done: pd.DataFrame) -> pd.DataFrame:
    """Mean error of each method (column) on each set (row); targets of a set count equally."""
    per_target = done.groupby(["task", "target", "method"], sort=False)["error"].mean()
    table = per_target.groupby(["task", "method"], sort=False).mean().unstack("method")
    return _in_order(table, done)


def fold_counts(done: pd.DataFrame) -> pd.DataFrame:
    """Number of folds with a result, methods in columns and sets in rows."""
    counts = done.groupby(["task", "method"], sort=False).size().unstack("method")
    return _in_order(counts.fillna(0).astype(int), done)


def comparable(done: pd.DataFrame) -> pd.DataFrame:
    """The table of errors without those of methods that miss some folds of the set."""
    counts = fold_counts(done)
    return error_table(done).where(counts.eq(counts.max(axis=1), axis=0))


def by_family(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each family: the mean of its sets."""
    return table.groupby(table.index.map(family_of), sort=False).mean()


def ranking(table: pd.DataFrame, methods: Sequence[str]) -> RankTest | None:
    """Ranks over the families, from the sets where every one of the methods has its error."""
    complete = table[list(methods)].dropna()
    families = by_family(complete)
    if len(methods) < 2 or len(families) < 2:
        return None
    return compare_ranks(families, list(methods))


def ratios(table: pd.DataFrame, method: str, rivals: Sequence[str], floor: float) -> pd.Series:
    """Error of a method on each set over that of the best of the rivals other than itself."""
    others = [name for name in rivals if name in table and name != method]
    both = table[[method, *others]].dropna(subset=[method]).clip(lower=floor)
    both = both[both[others].notna().any(axis=1)]
    return both[method] / both[others].min(axis=1)


def family_ratios(of_sets: pd.Series) -> pd.Series:
    """Geometric mean of the ratios of each family."""
    families = of_sets.index.map(family_of)
    return np.exp(np.log(of_sets).groupby(families, sort=False).mean())


def geometric_mean(values: pd.Series) -> float:
    """exp of the mean logarithm; NaN where there are none."""
    return float(np.exp(np.log(values).mean())) if len(values) else np.nan


@dataclass(frozen=True)
class Standing:
    """Where one method stands.

    Attributes
    ----------
    mean_error : float
        Over the families where every peer (and ours, where it has run) has a result.
    of_sets : Series
        Ratio to the best peer other than the method, for each set.
    to_all : Series
        Ratio to the best of all methods but ours, for each family.
    """

    method: str
    mean_error: float
    of_sets: pd.Series
    to_all: pd.Series

    @property
    def to_peers(self) -> pd.Series:
        """Ratio to the best peer for each family."""
        return family_ratios(self.of_sets)

    @property
    def lost(self) -> pd.Series:
        """Families lost to the best peer by more than 5 %."""
        return self.to_peers[self.to_peers > MARGIN]


def ranked_methods(kind: str, table: pd.DataFrame) -> list[str]:
    """The peers and ours, as far as they have run."""
    return [name for name in table.columns if name in (*PEERS[kind], OURS)]


def outsiders_too(table: pd.DataFrame) -> list[str]:
    """Every method but the baseline."""
    return [name for name in table.columns if name not in BASELINES]


def standings(kind: str, table: pd.DataFrame) -> list[Standing]:
    """Where every method stands, from the table of comparable errors."""
    floor = SMALLEST_RATE if kind == "classification" else 0.0
    complete = by_family(table.dropna(subset=ranked_methods(kind, table)))
    everyone = [name for name in outsiders_too(table) if name != OURS]
    return [
        Standing(
            method,
            float(complete[method].mean()),
            ratios(table, method, PEERS[kind], floor),
            family_ratios(ratios(table, method, everyone, floor)),
        )
        for method in table.columns
    ]


def _in_order(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    methods = [name for name in METHODS[rows["kind"].iloc[0]] if name in table.columns]
    return table.loc[list(dict.fromkeys(rows["task"])), methods]
