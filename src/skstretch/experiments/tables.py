"""Table 1, and the tables of the measured errors and times, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from skstretch.experiments.evidence import Evidence
from skstretch.experiments.figures.summary import METHODS, spread
from skstretch.experiments.sets import SETS
from skstretch.experiments.settings import STANDIN

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "best_errors",
    "markdown",
    "mean_errors",
    "mean_times",
    "table_1",
    "trials_table",
]


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars within cells are escaped.

    Examples
    --------
    >>> from skstretch.experiments.tables import markdown
    >>> print(markdown(["a", "b"], [[1, "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    lines = [header, *rows]
    texts = ["| " + " | ".join(_cell(value) for value in line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(header), *texts[1:]])


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def table_1(evidence: Evidence) -> str:
    """Coefficients, noiseless / noisy mean (deviation): ours above, the paper's below."""
    panels = [panel for panel in evidence.panels("table1") if panel.startswith("k=")]
    if not panels:
        return "Not computed."
    rows = []
    for index in range(11):
        for label, prefix in ((f"α{index}", ""), ("paper", "paper ")):
            cells = [_coefficients(evidence, panel, prefix, index) for panel in panels]
            rows.append([label, *cells])
    return markdown(["", *panels], rows)


def _coefficients(evidence: Evidence, panel: str, prefix: str, index: int) -> str:
    kinds = ("noiseless", "noisy mean", "noisy std")
    plain, mean, std = (
        evidence.points("table1", panel, prefix + kind).get(index, float("nan")) for kind in kinds
    )
    return f"{plain:.3f} / {mean:.3f} ({std:.3f})"


def best_errors(evidence: Evidence) -> str:
    """Error at the best k or mixing value: mean ± deviation over trials."""
    table = spread(evidence.rows, ["dataset", "name", "place"], "error")
    return _by_set(evidence, lambda dataset, name: _best(table, dataset, name))


def mean_errors(evidence: Evidence) -> str:
    """Error, mean over all k or mixing values."""
    return _by_set(evidence, lambda dataset, name: _level(evidence, dataset, name))


def mean_times(evidence: Evidence) -> str:
    """CPU seconds, mean over all k or mixing values."""

    def cell(dataset: str, name: str) -> str:
        seconds = evidence.level(dataset, name, "cpu")
        return f"{seconds:.2g}" if seconds == seconds else "–"

    return _by_set(evidence, cell)


def _by_set(evidence: Evidence, cell: Callable[[str, str], str]) -> str:
    """Data sets by methods; stand-ins have tables of their own."""
    sets = evidence.sets("regression") + evidence.sets("classification")
    names = [name for name in METHODS if name in set(evidence.rows["name"])]
    if not sets:
        return "Not measured."
    body = [[SETS[dataset].title, *(cell(dataset, name) for name in names)] for dataset in sets]
    return markdown(["", *names], body)


def _level(evidence: Evidence, dataset: str, name: str) -> str:
    error = evidence.level(dataset, name)
    if error != error:
        return "–"
    return f"{100 * error:.3g} %" if SETS[dataset].measure == "ber" else f"{error:.3g}"


def _best(table: pd.DataFrame, dataset: str, name: str) -> str:
    part = table[(table["dataset"] == dataset) & (table["name"] == name)]
    if part.empty:
        return "–"
    best = part.loc[part["mean"].idxmin()]
    factor, unit = (100, " %") if SETS[dataset].measure == "ber" else (1, "")
    deviation = "" if best["std"] != best["std"] else f" ± {factor * best['std']:.2g}"
    return f"{factor * best['mean']:.3g}{deviation}{unit}"


def trials_table(evidence: Evidence) -> str:
    """Finished trials by data set and method; stand-ins have tables of their own."""
    rows = evidence.results[evidence.results["piece"] != "oracle"]
    rows = rows[~rows["dataset"].str.endswith(STANDIN)]
    if rows.empty:
        return "Nothing has been run."
    folds = rows.groupby(["dataset", "method"])[["trial", "fold"]].apply(
        lambda part: len(part.drop_duplicates())
    )
    table = (folds / 2).unstack("method")
    sets = [name for name in SETS if name in table.index]
    body = [
        [SETS[name].title, *("–" if v != v else f"{v:g}" for v in table.loc[name])] for name in sets
    ]
    return markdown(["", *map(str, table.columns)], body)
