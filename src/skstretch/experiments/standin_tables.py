"""The stand-ins on the page: shapes, errors and times, apart from everything measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skstretch.experiments.dataset_tables import loaded
from skstretch.experiments.evidence import Evidence
from skstretch.experiments.sets import SETS
from skstretch.experiments.settings import STANDIN
from skstretch.experiments.standins import PROBES
from skstretch.experiments.tables import markdown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["standin_section"]

HEADING = "## Stand-ins: pipelines and timings, no evidence about the paper"
WORDS = (
    "Generated in the shape and sparsity of Gisette, TFIDF and Gaze, which are hard to get. Their "
    "errors say nothing about the real sets and take no part in claims, ranks or figures. SR at "
    "c = 100; the features of Gaze (stand-in) are grey levels 0 to 255, not transformed."
)
UNITS = {"mse": "MSE", "rmse": "√MSE", "ber": "BER"}


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
