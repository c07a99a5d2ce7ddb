"""The search surface: every cell with its place, its error and its colour."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.estimators.choice import family_name
from skstretch.estimators.strengths import places_of
from skstretch.report.subject import Subject, short
from skstretch.style import SHADES, count, number, plain, share, thousands

# How the error of a cell is named and written.


@dataclass(frozen=True)
class Measure:
    """A figure of merit; `lower` says that small is good."""

    name: str
    lower: bool
    of_scores: Callable[[Array], Array]
    write: Callable[[Any], str]
    slope: Callable[[float], float] = lambda score: 1.0  # |d measure / d score|

    @property
    def better(self) -> str:
        return "lower is better" if self.lower else "greater is better"


def best_error(subject: Subject) -> str:
    """The error of the model with its standard error, to first order, where it has one."""
    return f"{measure_of(subject).name} {_error(subject, 'best_score_')}"


def nested_error(subject: Subject) -> str:
    """The error of a search that never saw the sample, where it is known; else nothing."""
    known = np.isfinite(float(getattr(subject.model, "nested_score_", np.nan)))
    return _error(subject, "nested_score_") if known else ""


def _error(subject: Subject, attribute: str) -> str:
    measure, score = measure_of(subject), float(getattr(subject.model, attribute))
    text = measure.write(measure.of_scores(np.array([score]))[0])
    error = getattr(subject.model, f"{attribute}se_", np.nan) * measure.slope(score)
    return text if not np.isfinite(error) else f"{text}, standard error {measure.write(error)}"


def _root(scores: Array) -> Array:
    return np.asarray(np.sqrt(-scores))


def _root_slope(score: float) -> float:
    """``d sqrt(m) / d m = 1 / (2 sqrt(m))`` at the mean square error m."""
    return 0.5 / float(np.sqrt(-score)) if score < 0 else np.nan


def measure_of(subject: Subject) -> Measure:
    """Root mean square error, balanced error rate, or the score that the search was given.

    A model file does not store a scorer that is a function, so a loaded model may have scores of
    another kind than its ``scoring`` says; scores above zero show it.
    """
    scoring, scores = subject.model.scoring, subject.model.cv_results_["mean_test_score"]
    if scoring is None and not np.nanmax(scores) > 0:
        if subject.classifies:
            return Measure("balanced error rate", True, np.negative, share)
        return Measure("typical error (root mean square)", True, _root, number, _root_slope)
    if isinstance(scoring, str):
        return Measure(f"score ({short(scoring)})", False, np.asarray, number)
    return Measure("score", False, np.asarray, number)


LEVELS = SHADES
MOST_CELLS = 2000
AXES = {
    "s": "strength s of the penalty, weak to strong",
    "c": "c, from strong to weak penalty",
    "paths": (
        "strength s of the penalty, weak to strong; rows of exact minimisers: along their own paths"
    ),
    "numbers": "place on the path of a row, from weak to strong penalty",
}


@dataclass(frozen=True)
class Cell:
    """One cell: its row in ``cv_results_``, its place on the surface, its words."""

    index: int
    row: int
    column: int
    error: float
    level: int  # 0 is poor, LEVELS - 1 is best, -1 unusable
    within: bool
    name: str
    text: str


@dataclass(frozen=True)
class Surface:
    """Cells of one density, or of all where they are mixed.

    Rows are (a, k), with the density where there are several; columns strengths of the penalty.
    """

    cells: list[Cell]
    rows: list[str]
    columns: list[str]
    column_title: str
    measure: Measure
    poor: str
    best: str
    note: str

    def ranked(self, ranks: Array, chosen: Sequence[int]) -> list[Cell]:
        """Usable cells, those of the model first, then from the best on."""
        usable = [cell for cell in self.cells if cell.level >= 0]
        return sorted(usable, key=lambda cell: (cell.index not in chosen, ranks[cell.index]))


def same_density(values: Any, density: Any) -> Index:
    """Rows with one density, where 1 is a count and 1.0 a share."""
    kind = isinstance(density, Integral)
    return np.flatnonzero([v == density and isinstance(v, Integral) == kind for v in values])


def surface_of(subject: Subject) -> Surface:
    """The surface at the chosen density; of a mixture with the families of all densities."""
    model, results = subject.model, subject.model.cv_results_
    every = np.arange(len(results["usable"]))
    rows = every if subject.mixture else same_density(results["param_density"], model.density_)
    rows, note = _bounded(rows, results, subject)
    measure = measure_of(subject)
    errors = measure.of_scores(results["mean_test_score"])
    levels, poor = _levels(errors[rows], results["usable"][rows], measure)
    names = [_row_names(subject, row) for row in rows.tolist()]
    families = list(dict.fromkeys(family for family, _ in names))
    lines = np.array([families.index(family) for family, _ in names])
    axis = "s" if isinstance(model.c_grid, str) else "c"
    places = places_of(results, rows, lines, axis)
    cells = []
    for i, row in enumerate(rows.tolist()):
        words = _words(results, row, measure, errors[row], names[i][1])
        within, error = bool(results["within_1se"][row]), float(errors[row])
        place = int(lines[i]), int(places.at[i])
        cells.append(Cell(row, *place, error, int(levels[i]), within, *words))
    best = float(np.nanmin(errors[rows]) if measure.lower else np.nanmax(errors[rows]))
    legend = _legend(errors[rows], poor, best, measure)
    columns, title = _column_names(places.values), AXES.get(places.kind, AXES[axis])
    return Surface(cells, families, columns, title, measure, *legend, note)


def _bounded(rows: Index, results: Any, subject: Subject) -> tuple[Index, str]:
    """At most MOST_CELLS cells: those of the chosen a, then the best."""
    total = rows.size
    if total > MOST_CELLS and not subject.mixture:
        rows = rows[results["param_a"][rows] == subject.model.a_]
    if rows.size > MOST_CELLS:
        order = np.argsort(results["rank_test_score"][rows], kind="stable")
        members = subject.members
        rows = np.union1d(rows[order[: MOST_CELLS - len(members)]], members)
    note = (
        ""
        if rows.size == total
        else f"Shown are {thousands(rows.size)} of the {count(total, 'cell')}."
    )
    return rows, note


def _levels(errors: Array, usable: Any, measure: Measure) -> tuple[Any, float]:
    """Colour levels from poor to the best, and the error from which on all are as poor.

    Poor is what the poorest quarter begins with; where that reads like the best, as where most
    cells make no error at all, the poorest tenth, or the poorest cell.
    """
    badness = errors if measure.lower else -errors
    known = usable & np.isfinite(badness)
    best = np.min(badness[known])
    for part in (0.75, 0.9, 1.0):
        poor = np.quantile(badness[known], part)
        if measure.write(abs(poor)) != measure.write(abs(best)):
            break
    width = poor - best if poor > best else 1.0
    goodness = 1.0 - np.clip((np.where(known, badness, poor) - best) / width, 0.0, 1.0)
    levels = np.where(known, np.rint(goodness * (LEVELS - 1)), -1).astype(int)
    return levels, float(poor if measure.lower else -poor)


def _legend(errors: Array, poor: float, best: float, measure: Measure) -> tuple[str, str]:
    """What the two ends of the colours mean; nothing at the poor one where all cells are alike."""
    worst = np.nanmax(errors) if measure.lower else np.nanmin(errors)
    if measure.write(worst) == measure.write(best):
        return "", f"{measure.write(best)}, all of them"
    clipped = measure.write(worst) != measure.write(poor)
    low = f"{measure.write(poor)} or worse" if clipped else f"{measure.write(poor)}, the worst"
    if clipped:
        low += (
            f" (up to {measure.write(worst)})"
            if measure.lower
            else f" (down to {measure.write(worst)})"
        )
    return low, f"{measure.write(best)}, the best"


def _row_names(subject: Subject, row: int) -> tuple[str, str]:
    """The family of a cell: short beside the surface, and in the words of a mixture's table."""
    results, identity = subject.model.cv_results_, subject.model.quadrant == "identity"
    a, k = float(results["param_a"][row]), float(results["param_k"][row])
    if not subject.mixture:
        form = "a = 0, linear" if a == 0 and k == 2 else f"a = {plain(a)}, k = {plain(k)}"
        return (f"k = {plain(k)}",) * 2 if identity else (form, form)
    name = family_name(a, k, results["param_density"][row], subject.shape[1], identity)
    if "param_recipe" in results:
        name = f"{name} ({results['param_recipe'][row]})"
    short_name = name.replace("minimiser with ", "").replace("stretching with ", "")
    return short_name.replace(" of the features", ""), name


def _column_names(strengths: Array) -> list[str]:
    """Short names; longer where these would be alike."""
    for digits in (2, 4, 8, 17):
        names = [_column_name(float(f"{s:.{digits}g}")) for s in strengths]
        if len(set(names)) == len(names):
            break
    return names


def _column_name(strength: float) -> str:
    text = f"{strength:.12g}"
    return re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), text).replace("-", "−")


def _words(results: Any, row: int, measure: Measure, error: float, family: str) -> tuple[str, str]:
    name = f"{family}, c = {number(results['param_c'][row], 2)}"
    if not results["usable"][row]:
        return name, f"{name}: not usable, {results['reason'][row]}"
    features = round(float(results["n_features"][row]))
    text = (
        f"{name}: {measure.name} {measure.write(error)}, "
        f"{number(results['dof'][row])} degrees of freedom, {count(features, 'feature')}"
    )
    near = ", within one standard error of the best" if results["within_1se"][row] else ""
    return name, text + near


def density_curve(subject: Subject) -> list[dict[str, Any]]:
    """For every density the best error of its cells, and how many features they keep."""
    results, measure = subject.model.cv_results_, measure_of(subject)
    errors = measure.of_scores(results["mean_test_score"])
    pick = np.nanargmin if measure.lower else np.nanargmax
    points = []
    for density in dict.fromkeys((v, isinstance(v, Integral)) for v in results["param_density"]):
        rows = same_density(results["param_density"], density[0])
        if not np.isfinite(errors[rows]).any():
            continue
        best = int(rows[pick(errors[rows])])
        points.append(
            {
                "density": plain(density[0]) if not density[1] else str(density[0]),
                "features": float(results["n_features"][best]),
                "error": float(errors[best]),
                "written": measure.write(errors[best]),
                "within": bool(results["within_1se"][rows].any()),
                "chosen": bool(np.isin(subject.members, rows).any()),
            }
        )
    return sorted(points, key=lambda point: point["features"])
