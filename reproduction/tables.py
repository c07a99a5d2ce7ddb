"""The tables of the page as Markdown: Tables 1 to 3, errors and times, and the stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reproduction.evidence import APART, METHODS, Evidence, spread
from reproduction.plan import PROBES
from reproduction.sets import LOADED, SETS, UNITS, panel_of
from reproduction.settings import STANDIN
from skstretch.datasets import list_datasets

if TYPE_CHECKING:
    import pandas as pd


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars within cells are escaped.

    Examples
    --------
    >>> from reproduction.tables import markdown
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
    rows = evidence.results[~evidence.results["piece"].isin(APART)]
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


DAGGER = "†"  # marks the registry's numbers


def loaded(evidence: Evidence, dataset: str) -> dict[str, float]:
    """The numbers that were counted in the arrays of a set, by name; empty where there are none."""
    rows = evidence.curves_of(LOADED)
    rows = rows[rows["panel"] == panel_of(dataset)]
    return dict(zip(rows["series"], rows["y"], strict=True))


def table_2(evidence: Evidence) -> str:
    """The regression sets."""
    body = []
    for row in list_datasets():
        if row["table"] == 2:
            sizes = loaded(evidence, row["name"])
            counts = [_count(sizes, row, name) for name in ("features", "samples")]
            body.append([SETS[row["name"]].title, row["domain"], *counts, _share(sizes)])
    return markdown(["data set", "domain", "features", "samples", "not zero"], body)


def table_3(evidence: Evidence) -> str:
    """The classification sets. The labels of the test parts were never published."""
    body = []
    for row in list_datasets():
        if row["table"] == 3:
            sizes = loaded(evidence, row["name"])
            names = ("features", "samples", "train", "valid")
            counts = [_count(sizes, row, name) for name in names]
            test = f"{row['test']:,}{DAGGER}"
            classes = [_classes(sizes), _share(sizes)]
            body.append(
                [SETS[row["name"]].title, row["domain"], row["kind"], *counts, test, *classes]
            )
    header = [
        "data set", "domain", "type", "features", "samples", "train", "validation", "test",
        "classes −1, +1", "not zero",
    ]  # fmt: skip
    return markdown(header, body)


def _count(sizes: dict[str, float], row: dict[str, Any], name: str) -> str:
    """The counted number, or the registry's with its mark."""
    return f"{sizes[name]:,.0f}" if name in sizes else f"{row[name]:,}{DAGGER}"


def _classes(sizes: dict[str, float]) -> str:
    found = [f"{size:,.0f}" for name, size in sizes.items() if name.startswith("class ")]
    return ", ".join(found) or "–"


def _share(sizes: dict[str, float]) -> str:
    return f"{100 * sizes['nonzero share']:.3g} %" if "nonzero share" in sizes else "–"


HEADING = "## Stand-ins: pipelines and timings, no evidence about the paper"
WORDS = (
    "Generated in the shape and sparsity of Gisette, TFIDF and Gaze, which are hard to get. Their "
    "errors say nothing about the real sets and take no part in claims, ranks or figures. SR at "
    "c = 100; the features of Gaze (stand-in) are grey levels 0 to 255, not transformed."
)


def standin_section(evidence: Evidence) -> list[str]:
    """Heading, shapes and measurements; nothing where no stand-in was run."""
    rows = evidence.results[evidence.results["dataset"].str.endswith(STANDIN)]
    sets = [name for name in PROBES if name in set(rows["dataset"])]
    if not sets:
        return []
    rows = rows[rows["piece"] != "oracle"]
    return [HEADING, f"{WORDS} {_trials(rows)}", _shapes(evidence, sets), _measures(rows, sets)]


def _trials(rows: pd.DataFrame) -> str:
    counts = sorted(set(rows.groupby(["dataset", "method"])["trial"].nunique()))
    number = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    return (
        f"By plan they have {number} trial{'' if counts[-1] == 1 else 's'} of two folds; means "
        "over them, too few for a deviation. Wall time depends on what else the machine did."
    )


def _shapes(evidence: Evidence, sets: list[str]) -> str:
    body = []
    for name in sets:
        sizes = loaded(evidence, name)
        shape = f"{sizes['samples']:,.0f} × {sizes['features']:,.0f}" if sizes else "–"
        share = f"{100 * sizes['nonzero share']:.3g} %" if sizes else "–"
        body.append([SETS[name].title, shape, share, PROBES[name].left_out])
    return markdown(["stand-in", "samples × features", "not zero", "not run"], body)


def _measures(rows: pd.DataFrame, sets: list[str]) -> str:
    """A line per data set, method and setting: mean error, CPU and wall seconds of a fit."""
    keys = ["method", "k", "c", "density", "mixing"]
    body = []
    for name in sets:
        part = rows[rows["dataset"] == name]
        means = part.groupby(keys, dropna=False, sort=False)[["error", "cpu", "wall"]].mean()
        for (method, k, c, density, mixing), (error, cpu, wall) in means.iterrows():
            label = f"SR{density if density < 1 else '1.0'}" if method == "SR" else method
            at = f"k = {k:g}" if method == "SR" else f"mixing {mixing:g}"
            at += f", c = {c:g}" if method == "SR" and c != 100 else ""
            body.append(
                [SETS[name].title, label, at, _error(name, error), _seconds(cpu), _seconds(wall)]
            )
    header = ["stand-in", "method", "at", "error", "CPU of a fit (s)", "wall (s)"]
    return markdown(header, body)


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _error(dataset: str, error: float) -> str:
    unit = UNITS[SETS[dataset].measure]
    return f"{unit} {100 * error:.3g} %" if unit == "BER" else f"{unit} {error:.3g}"
