"""What was measured: means and deviations of the results, as figures, tables and claims ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.ranks import RankTest, compare_ranks
from reproduction.sets import SETS
from reproduction.settings import DESCENT, KS, MIXINGS, ORACLE, STANDIN

if TYPE_CHECKING:
    import pandas as pd

METHODS = (
    "SR1.0", "SR0.5", "SR0.1", "SR0.01", "SR1.0 (c=1e100)",
    "LASSO1", "LASSO2", "LASSO100", "LASSOCV",
)  # fmt: skip
REGRESSION = ("prostate", "diabetes", "corn", "tfidf", "gaze")
CLASSIFICATION = ("arcene", "dexter", "dorothea", "gisette", "madelon")
UNREGULARISED = 1e90  # the paper's 1e100 stands for no regularisation; so does infinity
APART = (ORACLE, DESCENT)  # pieces beside the study, in no figure
RANKED = {"error": "BER", "cpu": "Training CPU"}
NUMBERS = ("k", "c", "density", "mixing", "size", "trial", "error", "cpu")


def placed(results: pd.DataFrame, piece: str | None = None) -> pd.DataFrame:
    """The rows of Fig. 9 and 10, or those of a piece, with two more columns: `name` and `place`.

    `name` is one of `METHODS`: SR at c = 100 by its density, SR1.0 without regularisation, and the
    four LASSO. `place` counts along the common axis: the index of k, or of the mixing value.
    """
    rows = _numbers(results)
    rows = rows[~rows["piece"].isin(APART)] if piece is None else rows[rows["piece"] == piece]
    is_sr = rows["method"] == "SR"
    density = rows["density"].fillna(1.0)
    name = rows["method"].where(~is_sr, "SR" + density.map(_density_name).astype(str))
    free = is_sr & (rows["c"] >= UNREGULARISED)
    name = name.mask(free, name + " (c=1e100)")
    used = ~is_sr | np.isclose(rows["c"].fillna(0), 100.0) | free
    place = rows["k"].map(_index_in(KS)).where(is_sr, rows["mixing"].map(_index_in(MIXINGS)))
    rows = rows.assign(name=name, place=place)
    return rows[used & name.isin(METHODS) & place.notna()]


def spread(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Mean and deviation over trials, each trial being the mean of its folds.

    One row per combination of `by`, with columns `mean`, `std` (NaN for a single trial) and
    `trials`.
    """
    per_trial = rows.dropna(subset=[value]).groupby([*by, "trial"], dropna=False)[value].mean()
    grouped = per_trial.groupby(level=by, dropna=False)
    table = grouped.agg(mean="mean", std="std", trials="size")
    return table.reset_index()


def trial_words(counts: pd.Series) -> str:
    """How many trials the means are over, and what the bars are; `counts` by what is drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> from reproduction.evidence import trial_words
    >>> trial_words(pd.Series([1, 1]))
    'Mean over 1 trial of two folds; no bars: a single trial.'
    """
    few, many = int(counts.min()), int(counts.max())
    number = str(many) if few == many else f"{few} to {many}"
    bars = "bars: one standard deviation over trials" if many > 1 else "no bars: a single trial"
    return f"Mean over {number} trial{'s' if many > 1 else ''} of two folds; {bars}."


def errors_against_c(results: pd.DataFrame) -> pd.DataFrame:
    """SR1.0 at k = 1.25: mean and deviation of the error by data set and c."""
    rows = _numbers(without_standins(results))
    rows = rows[(rows["method"] == "SR") & np.isclose(rows["k"], 1.25)]
    rows = rows[np.isclose(rows["density"].fillna(1.0), 1.0) & rows["c"].notna()]
    return spread(rows, ["dataset", "measure", "c"], "error")


def block_table(results: pd.DataFrame, value: str) -> tuple[pd.DataFrame, list[str]]:
    """Classification sets (rows) by methods (columns), and what had to be left out.

    A cell is the mean of `value` (``"error"`` or ``"cpu"``) over all k or mixing values, trials
    and folds. Generated stand-ins take no part. A rank needs every cell: while one is empty, the
    set or the method with the larger share of empty cells is left out.
    """
    rows = without_standins(placed(results))
    rows = rows[rows["measure"] == "ber"]
    per_place = rows.groupby(["dataset", "name", "place"])[value].mean()
    table = per_place.groupby(level=["dataset", "name"]).mean().unstack("name")
    table = table.reindex(columns=[m for m in METHODS if m in table.columns])
    left_out = []
    while table.isna().any(axis=None):
        by_set, by_method = table.isna().mean(axis=1), table.isna().mean(axis=0)
        if by_set.max() >= by_method.max():
            left_out.append(dataset_title(str(by_set.idxmax())))
            table = table.drop(index=by_set.idxmax())
        else:
            left_out.append(str(by_method.idxmax()))
            table = table.drop(columns=by_method.idxmax())
    return table, left_out


def rank_test(results: pd.DataFrame, value: str) -> tuple[RankTest, pd.DataFrame, list[str]]:
    """Ranks over the classification sets of ``"error"`` or ``"cpu"``.

    Returns
    -------
    test : RankTest
    table : DataFrame
        The ranked values, sets by methods.
    left_out : list of str
        Sets and methods without a full row or column.
    """
    table, left_out = block_table(results, value)
    if min(table.shape) < 2:
        raise ValueError(
            f"fig12: after leaving out {left_out or 'nothing'} the table of {RANKED[value]} has "
            f"{table.shape[0]} data sets and {table.shape[1]} methods; two of each are needed."
        )
    return compare_ranks(table.to_numpy(), list(table.columns)), table, left_out


def without_standins(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of real data sets: what is generated is in no figure."""
    return rows[~rows["dataset"].str.endswith(STANDIN)]


def datasets_in(rows: pd.DataFrame, known: tuple[str, ...]) -> list[str]:
    """The data sets that `rows` hold, known ones first and in the paper's order."""

    def key(name: str) -> tuple[int, str]:
        hits = [i for i, word in enumerate(known) if name.lower().startswith(word)]
        return (hits[0] if hits else len(known), name)

    return sorted({str(name) for name in rows["dataset"]}, key=key)


def dataset_title(name: str) -> str:
    """The name as the paper writes it, with stand-ins marked.

    Examples
    --------
    >>> from reproduction.evidence import dataset_title
    >>> dataset_title("tfidf-standin")
    'TFIDF (stand-in)'
    """
    name, mark = name.removesuffix(STANDIN), " (stand-in)" if name.endswith(STANDIN) else ""
    return ("TFIDF" if name == "tfidf" else name.capitalize()) + mark


def missing_from(rows: pd.DataFrame, known: tuple[str, ...]) -> list[str]:
    """What a reader would expect in `rows` (from `placed`) and does not find, in words."""
    there = datasets_in(rows, known)
    absent = [w for w in known if not any(name.lower().startswith(w) for name in there)]
    gaps = ["all of " + ", ".join(map(dataset_title, absent))] if absent else []
    where: dict[str, list[str]] = {}
    for dataset in there:
        names = set(rows.loc[rows["dataset"] == dataset, "name"])
        lacking = ", ".join(method for method in METHODS if method not in names)
        where.setdefault(lacking, []).append(dataset_title(dataset))
    return gaps + [f"{what} on {', '.join(sets)}" for what, sets in where.items() if what]


def _numbers(results: pd.DataFrame) -> pd.DataFrame:
    """A copy in which the numeric columns are numbers, empty ones NaN."""
    import pandas as pd

    lacking = [column for column in NUMBERS if column not in results.columns]
    if lacking:
        raise ValueError(f"the table of results lacks the columns {lacking}.")
    return results.assign(**{column: pd.to_numeric(results[column]) for column in NUMBERS})


def _index_in(values: tuple[float, ...]) -> Any:
    def index(value: float) -> float:
        hits = np.flatnonzero(np.isclose(value, values, rtol=1e-6, atol=0))
        return float(hits[0]) if hits.size else np.nan

    return index


def _density_name(density: float) -> str:
    return "1.0" if density == 1 else f"{density:g}"


SR = "SR1.0"
LASSOS = ("LASSO1", "LASSO2", "LASSO100", "LASSOCV")
SEARCHING = LASSOS[1:]
FOLD = ["trial", "fold"]


@dataclass(frozen=True)
class Evidence:
    """The two tables of a run, with the means that the claims compare.

    Methods are named as in Fig. 9 and 10: SR at c = 100 by its density (``"SR0.1"``), SR without
    regularisation (``"SR1.0 (c=1e100)"``), and the four LASSO.
    """

    results: pd.DataFrame
    curves: pd.DataFrame

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The results of Fig. 9 and 10 with `name` and `place`."""
        return placed(self.results)

    @cached_property
    def _by_figure(self) -> dict[str, pd.DataFrame]:
        return {str(name): part for name, part in self.curves.groupby("figure")}

    def curves_of(self, figure: str) -> pd.DataFrame:
        """The curves of one figure, empty where there are none."""
        return self._by_figure.get(figure, self.curves.iloc[:0])

    def along(
        self, dataset: str, name: str, value: str = "error", like: str | None = None
    ) -> dict[float, float]:
        """Mean of a method at each of its places: k for SR, the place itself for LASSO.

        With `like`, over those trials and folds alone that this other method has as well.
        """
        rows = self.rows[self.rows["dataset"] == dataset]
        part = rows[rows["name"] == name]
        if like is not None:
            other = rows.loc[rows["name"] == like, FOLD].drop_duplicates()
            part = part.merge(other, on=FOLD)
        key = (lambda i: KS[int(i)]) if name.startswith("SR") else float
        return {key(i): float(v) for i, v in part.groupby("place")[value].mean().items()}

    def level(
        self, dataset: str, name: str, value: str = "error", like: str | None = None
    ) -> float:
        """Mean over all k or mixing values, NaN where nothing was measured."""
        values = list(self.along(dataset, name, value, like).values())
        return float(np.mean(values)) if values else float("nan")

    def best(self, dataset: str, name: str, like: str | None = None) -> float:
        """The least mean error over k or mixing values, NaN where nothing was measured."""
        return min(self.along(dataset, name, like=like).values(), default=float("nan"))

    def has(self, dataset: str, names: Sequence[str] = ()) -> bool:
        """Whether the set has rows of all these methods."""
        there = set(self.rows.loc[self.rows["dataset"] == dataset, "name"])
        return bool(there) and there >= set(names)

    def sets(self, task: str) -> list[str]:
        """Measured sets of a task, in the paper's order; stand-ins are no evidence."""
        there = set(self.rows["dataset"])
        return [
            name for name, entry in SETS.items()
            if entry.task == task and not entry.standin and name in there
        ]  # fmt: skip

    def against_c(self, dataset: str, power: float = 1.25) -> dict[float, float]:
        """Mean error of SR1.0 at this k by c."""
        rows = self.results
        rows = rows[(rows["dataset"] == dataset) & (rows["method"] == "SR")]
        rows = rows[np.isclose(rows["k"], power) & (rows["density"] == 1)]
        return {float(c): float(v) for c, v in rows.groupby("c")["error"].mean().items()}

    def oracle(self, dataset: str, name: str) -> float:
        """Mean error of a LASSO at the penalty of least *test* error, over mixing values."""
        rows = self.results
        rows = rows[(rows["piece"] == ORACLE) & (rows["dataset"] == dataset)]
        return float(rows.loc[rows["method"] == name, "error"].mean())

    def projection(self) -> dict[tuple[int, float], float]:
        """Mean error of the random projection network by size and k."""
        rows = self.results[self.results["method"] == "RPN"]
        means = rows.groupby(["size", "k"])["error"].mean()
        return {(int(size), float(k)): float(v) for (size, k), v in means.items()}

    def points(self, figure: str, panel: str, series: str) -> dict[float, float]:
        """y by x of one series of the curves; empty where there is none."""
        table = self.curves_of(figure)
        part = table[(table["panel"] == panel) & (table["series"] == series)]
        return dict(zip(part["x"], part["y"], strict=True))

    def panels(self, figure: str) -> list[str]:
        """Names of the panels of a figure."""
        return list(dict.fromkeys(self.curves_of(figure)["panel"]))

    def ranks(self, value: str) -> RankTest | None:
        """Friedman and Nemenyi over the classification sets; None with fewer than two sets."""
        try:
            return rank_test(self.results, value)[0]
        except ValueError:
            return None
