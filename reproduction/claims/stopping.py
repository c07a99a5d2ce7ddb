"""Whether the stopping rule of MATLAB's ``lasso`` explains two claims of the paper.

The paper finds SR and LASSO comparable on Corn, and SR up to thousands of times faster on Prostate
and Diabetes. Its LASSO is MATLAB's coordinate descent; ours is glmnet. `reproduction.descent` is a
descent with MATLAB's stopping rule; all comparisons here are on the folds that it has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.claims.verdicts import NEAR, shown
from reproduction.evidence import SR, Evidence, placed
from reproduction.sets import SETS, UNITS
from reproduction.settings import DESCENT
from reproduction.tables import markdown

if TYPE_CHECKING:
    import pandas as pd

HEADING = "## LASSO that stops as MATLAB's"
WORDS = (
    "MATLAB's `lasso` is an interpreted coordinate descent that stops when a cycle changes no "
    "coefficient by more than 1e-4 of one plus its size, which collinear features may meet early. "
    "glmnet is compiled and has a rule of its own, here at the tolerance that stands for steps of "
    "that size. The column *descent* is a descent in Python with MATLAB's rule "
    "(`reproduction/descent.py`, piece `descent`): the same penalties, and the same choice among "
    "them. Errors at the best k or mixing value, times as means over all of them, on the same "
    "folds ({}). Times may come from different runs, on a machine with more or less other work."
)
FOLD = ["trial", "fold"]
THOUSANDS = 1000.0


def stopping_section(evidence: Evidence) -> list[str]:
    """Heading, table and verdicts in words; nothing where the descent has not been run."""
    rows = placed(evidence.results, DESCENT)
    sets = [name for name in SETS if name in set(rows["dataset"])]
    if not sets:
        return []
    compared = {name: _compared(evidence.rows, rows, name) for name in sets}
    trials = sorted({int(n) for n in rows.groupby("dataset")["trial"].nunique()})
    number = " to ".join(str(n) for n in dict.fromkeys((trials[0], trials[-1])))
    folds = f"{number} trial{'' if trials[-1] == 1 else 's'} of two folds"
    said = [_of_errors(name, table) for name, table in compared.items()]
    said += [_of_times(name, table) for name, table in compared.items()]
    return [
        HEADING,
        f"{WORDS.format(folds)} {_origin(evidence)}",
        _table(compared),
        "\n".join(f"- {line}" for line in said if line),
    ]


Compared = dict[str, dict[str, tuple[float, float]]]


def _compared(study: pd.DataFrame, descent: pd.DataFrame, dataset: str) -> Compared:
    """Least mean error and mean seconds by method, of SR, glmnet and the descent.

    SR1.0 stands under its own name alone; a solver without the method is left out.
    """
    rows, own = (part[part["dataset"] == dataset] for part in (study, descent))
    folds = own[FOLD].drop_duplicates()
    shared = rows.merge(folds, on=FOLD)
    stretchy = shared[shared["name"] == SR]
    found: Compared = {SR: {"SR": _measures(stretchy)}} if len(stretchy) else {}
    for method in dict.fromkeys(own["name"]):
        by = {"glmnet": shared[shared["name"] == method], "descent": own[own["name"] == method]}
        found[method] = {solver: _measures(part) for solver, part in by.items() if len(part)}
    return found


def _measures(rows: pd.DataFrame) -> tuple[float, float]:
    means = rows.groupby("place")[["error", "cpu"]].mean()
    return float(means["error"].min()), float(means["cpu"].mean())


def _table(compared: dict[str, Compared]) -> str:
    body = []
    for dataset, methods in compared.items():
        unit = UNITS[SETS[dataset].measure]
        for method, solvers in methods.items():
            cells = [f"{SETS[dataset].title}, {unit}", method]
            for place in (0, 1):
                for solver in ("glmnet", "descent"):
                    pair = solvers.get("SR" if method == SR and solver == "glmnet" else solver)
                    text = "–" if pair is None else _cell(dataset, place, pair[place])
                    cells.append(text)
            body.append(cells)
    header = ["data set", "method", "error, SR or glmnet", "error, descent"]
    return markdown([*header, "CPU, SR or glmnet (s)", "CPU, descent (s)"], body)


def _cell(dataset: str, place: int, value: float) -> str:
    return f"{value:.2g}" if place else shown(dataset, value)


def _of_errors(dataset: str, table: Compared) -> str:
    """Whether SR1.0, not comparable with glmnet's LASSO100, is so with the descent's."""
    both = table.get("LASSO100", {})
    if SR not in table or not {"glmnet", "descent"} <= both.keys():
        return ""
    error, title = table[SR]["SR"][0], SETS[dataset].title
    ratio = {solver: error / both[solver][0] for solver in ("glmnet", "descent")}
    start = (
        f"{title}, error: SR1.0 has {ratio['glmnet']:.3g} times the error of LASSO100 by glmnet "
        f"and {ratio['descent']:.3g} times that by the descent"
    )
    near = {solver: 1 / NEAR <= value <= NEAR for solver, value in ratio.items()}
    if near["glmnet"] and near["descent"]:
        return f"{start}: comparable with both, there is nothing to explain."
    if near["descent"]:
        return f"{start}: MATLAB's stopping rule explains that the paper finds them comparable."
    if near["glmnet"]:
        return f"{start}: they are comparable only where the descent does not stop early."
    closed = abs(ratio["descent"] - 1) < abs(ratio["glmnet"] - 1) / 2
    verdict = "explains part of the difference" if closed else "does not explain the claim"
    return f"{start}: comparable with neither; MATLAB's stopping rule {verdict}."


def _of_times(dataset: str, table: Compared) -> str:
    """Whether the slowest LASSO by the descent takes a thousand times as long as SR1.0."""
    if SR not in table:
        return ""
    seconds, title = table[SR]["SR"][1], SETS[dataset].title
    times = [
        max((pair[solver][1] / seconds, name) for name, pair in table.items() if solver in pair)
        for solver in ("glmnet", "descent")
        if any(solver in pair for pair in table.values())
    ]
    if len(times) < 2:
        return ""
    (by_glmnet, first), (by_descent, second) = times
    start = (
        f"{title}, time: the slowest LASSO takes {by_glmnet:.3g} times as long as SR1.0 by glmnet "
        f"({first}) and {by_descent:.3g} times by the descent ({second})"
    )
    if by_descent >= THOUSANDS:
        return f"{start}: an interpreted descent alone gives a factor of thousands."
    if by_descent >= THOUSANDS / 10:
        return f"{start}: an interpreted descent gives hundreds, not thousands."
    return f"{start}: an interpreted descent does not give a factor of thousands."


def _origin(evidence: Evidence) -> str:
    rows = evidence.results[evidence.results["piece"] == DESCENT]
    commits = ", ".join(f"`{text}`" for text in dict.fromkeys(rows["commit"]))
    return f"{len(rows):,} measurements, at commit {commits}."
