"""Means and deviations from the table of results, as the figures draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skstretch.experiments.settings import STANDIN

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CLASSIFICATION",
    "KS",
    "METHODS",
    "MIXINGS",
    "REGRESSION",
    "block_table",
    "dataset_title",
    "datasets_in",
    "errors_against_c",
    "missing_from",
    "placed",
    "spread",
    "trial_words",
    "without_standins",
]

KS = (1.1, 1.25, 1.5, 1.75, 2.0)
MIXINGS = (1.0, 0.75, 0.5, 0.25, 0.0001)
METHODS = (
    "SR1.0", "SR0.5", "SR0.1", "SR0.01", "SR1.0 (c=1e100)",
    "LASSO1", "LASSO2", "LASSO100", "LASSOCV",
)  # fmt: skip
REGRESSION = ("prostate", "diabetes", "corn", "tfidf", "gaze")
CLASSIFICATION = ("arcene", "dexter", "dorothea", "gisette", "madelon")
UNREGULARISED = 1e90  # the paper's 1e100 stands for no regularisation; so does infinity
ORACLE = "oracle"  # LASSO at the penalty of least test error: not a method one can use
NUMBERS = ("k", "c", "density", "mixing", "size", "trial", "error", "cpu")


def placed(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of Fig. 9 and 10 with two more columns: `name` and `place`.

    `name` is one of `METHODS`: SR at c = 100 by its density, SR1.0 without regularisation, and the
    four LASSO. `place` counts along the common axis: the index of k, or of the mixing value.
    """
    rows = _numbers(results)
    rows = rows[rows["piece"] != ORACLE]
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
    >>> from skstretch.experiments.figures.summary import trial_words
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
    >>> from skstretch.experiments.figures.summary import dataset_title
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
