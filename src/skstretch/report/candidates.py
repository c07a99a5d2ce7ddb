"""The candidates of a search: their surface, and coefficients and outputs of those to pick.

A search keeps what every candidate gave (`skstretch.search.candidates`), and the page is made from
that: nothing is fitted again. So it is for a model from a file that holds them, where its training
data are at hand (`skstretch.io.outcomes`). Other files and pickles have kept the model alone.
Beside them: how sure the effects of the model are.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index, Mask
from skstretch.estimators import StretchyClassifierCV, StretchyRegressorCV
from skstretch.estimators.quality import (
    Measure,
    field_edges,
    grid_positions,
    same_density,
    selecting,
)
from skstretch.estimators.summary import SURE, family_name
from skstretch.exceptions import GridEdgeWarning, IllConditionedWarning
from skstretch.report.subject import Subject, distinct, short
from skstretch.style import SHADES, count, number, plain, share, thousands

# what a heat map has room for
MOST_CANDIDATES = 2000
AXES = {
    "s": "strength s of the penalty, weak to strong",
    "c": "c, from strong to weak penalty",
    "paths": "strength s of the penalty, weak to strong\nsparse models have steps of their own",
    "numbers": "steps of a row, from weak to strong penalty",
}


@dataclass(frozen=True)
class PlacedCandidate:
    """One candidate: its row in ``cv_results_``, its place on the surface, its words."""

    index: int
    row: str
    at: tuple[int, int]
    left: float  # the sides of its field, in columns, and its middle
    middle: float
    right: float
    error: float
    level: int  # 0 is poor, SHADES - 1 is best, -1 unusable
    within: bool
    name: str
    text: str


@dataclass(frozen=True)
class Surface:
    """Candidates of one density, or of all where they are mixed.

    Rows are (a, k), with the density where there are several; columns strengths of the penalty.
    """

    candidates: list[PlacedCandidate]
    rows: list[str]
    columns: list[str]
    column_title: str
    measure: Measure
    poor: str
    best: str
    note: str

    def ranked(self, ranks: Array, chosen: Sequence[int]) -> list[PlacedCandidate]:
        """Usable candidates, those of the model first, then from the best on."""
        usable = [candidate for candidate in self.candidates if candidate.level >= 0]
        return sorted(usable, key=lambda one: (one.index not in chosen, ranks[one.index]))


def surface_of(subject: Subject) -> Surface:
    """The surface at the chosen density; of a mixture with the families of all densities."""
    model, results = subject.model, subject.model.cv_results_
    rows = np.arange(len(results["usable"]))
    if not subject.mixture:
        rows = same_density(results["param_density"], model._leader["density"])
    rows, note = _bounded(rows, results, subject)
    measure = subject.measure
    errors = measure.of_scores(results["mean_test_score"])
    levels, poor = _levels(errors[rows], results["usable"][rows], measure)
    names = [_row_names(subject, row) for row in rows.tolist()]
    families = list(dict.fromkeys(family for family, _ in names))
    lines = np.array([families.index(family) for family, _ in names])
    axis = "s" if isinstance(model.c_grid, str) else "c"
    places = grid_positions(results, rows, lines, axis)
    sides = np.empty((rows.size, 2))
    for line in range(len(families)):
        own = np.flatnonzero(lines == line)
        taken, at = np.unique(places.at[own], return_inverse=True)
        edges = field_edges(taken, places.values.size)
        sides[own] = np.column_stack([edges[at], edges[at + 1]])
    candidates = []
    for i, row in enumerate(rows.tolist()):
        words = _words(results, row, measure, errors[row], names[i][1])
        within, error = bool(results["within_1se"][row]), float(errors[row])
        left, right = sides[i].tolist()
        place = names[i][0], (int(lines[i]), int(places.at[i])), left, (left + right) / 2, right
        candidates.append(PlacedCandidate(row, *place, error, int(levels[i]), within, *words))
    best = float(np.nanmin(errors[rows]) if measure.lower else np.nanmax(errors[rows]))
    legend = _legend(errors[rows], poor, best, measure)
    columns, title = _column_names(places.values), AXES.get(places.kind, AXES[axis])
    return Surface(candidates, families, columns, title, measure, *legend, note)


def _bounded(rows: Index, results: Any, subject: Subject) -> tuple[Index, str]:
    """At most MOST_CANDIDATES: those of the model, then the best; and a note on the others."""
    total = rows.size
    if total <= MOST_CANDIDATES:
        return rows, ""
    order = np.argsort(results["rank_test_score"][rows], kind="stable")
    members = subject.members
    rows = np.union1d(rows[order[: MOST_CANDIDATES - len(members)]], members)
    return rows, f"Shown are {thousands(rows.size)} of the {count(total, 'model')}."


def _levels(errors: Array, usable: Any, measure: Measure) -> tuple[Any, float]:
    """Colour levels from poor to the best, and the error from which on all are as poor.

    Poor is what the poorest quarter begins with; where that reads like the best, as where most
    candidates make no error at all, the poorest tenth, or the poorest candidate.
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
    levels = np.where(known, np.rint(goodness * (SHADES - 1)), -1).astype(int)
    return levels, float(poor if measure.lower else -poor)


def _legend(errors: Array, poor: float, best: float, measure: Measure) -> tuple[str, str]:
    """What the two ends of the colours mean; nothing at the poor one where all candidates are
    alike."""
    worst = np.nanmax(errors) if measure.lower else np.nanmin(errors)
    if measure.write(worst) == measure.write(best):
        return "", f"{measure.write(best)}, all of them"
    if measure.write(worst) == measure.write(poor):
        low = f"{measure.write(poor)}, the worst"
    else:
        way = "up" if measure.lower else "down"
        low = f"{measure.write(poor)} or worse ({way} to {measure.write(worst)})"
    return low, f"{measure.write(best)}, the best"


def _row_names(subject: Subject, row: int) -> tuple[str, str]:
    """The family of a candidate: short beside the surface, and in the words of a mixture's
    table."""
    results, identity = subject.model.cv_results_, subject.model.quadrant == "identity"
    a, k = float(results["param_a"][row]), float(results["param_k"][row])
    if not subject.mixture:
        form = family_name(a, k)
        return (f"k = {plain(k)}",) * 2 if identity else (form, form)
    density, kept = results["param_density"][row], float(results["n_features"][row])
    name = family_name(a, k, density, subject.shape[1], identity, kept)
    if "param_recipe" in results:
        name = f"{name} ({results['param_recipe'][row]})"
    short = re.sub(r" of the features| \(.* asked for\)", "", name)
    return short.replace("sparse linear", "sparse"), name


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
    """For every density the best error of its candidates, and how many features they keep.

    Nothing where there is one.
    """
    results, measure = subject.model.cv_results_, subject.measure
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
    return sorted(points, key=lambda point: point["features"]) if len(points) > 1 else []


# multiplications of a core in a few seconds: a report is for waiting at
PAGE_WORK = 1e11
# what one file has room for: targets or classes, and candidates times these
MOST_OUTPUTS, MOST_PICTURES = 30, 150
# strongest features of one output of one candidate
TOP = 50
# samples that are drawn, and points of a profile; more features are groups of neighbours
POINTS, GROUPS = 500, 300
# effects with a bar
MOST_EFFECTS = 20
# the place of a mixture, which is no candidate of its search
MIXTURE = -1


NOT_KEPT = (
    "the other models were not kept with it; fit with --report, or write_report right after the "
    "fit, shows them"
)
TOO_MUCH = "the search was too large to keep what its other models gave"

OTHER = "the data that were passed are not, value by value, those that it was fitted on"


@dataclass(frozen=True)
class Known:
    """Outcomes of the search, of which the model is number `own`; None with a reason `why`.

    Of a mixture `own` is the heaviest candidate. `verified` says that X and y are those of the
    fit.
    """

    outcomes: Any = None
    own: int = 0
    why: str = ""
    verified: bool = True


def known_of(subject: Subject) -> Known:
    """What is known about the candidates, from the search itself."""
    model = subject.model
    if subject.X is None:
        return Known(why="the training data were not at hand")
    if not subject.searched:
        return _single_candidate(subject)
    if not _may_be_those_of_the_fit(subject):
        return Known(why=OTHER)
    if subject.state.loss != "squared":
        return Known(why="of other losses than squared error the search keeps no other models")
    if not hasattr(model, "_outcomes"):
        return Known(why=OTHER if hasattr(model, "_kept") else NOT_KEPT)
    if model._outcomes is None:
        return Known(why=TOO_MUCH)
    return Known(model._outcomes, int(model.best_index_))


def _may_be_those_of_the_fit(subject: Subject) -> bool:
    """Whether y is that of the fit and X gives its fitted values, where the model has its rows."""
    state, used = subject.state, subject.state.used
    if not np.isfinite(state.model.Y).all():  # a model file has none
        return True
    if not np.array_equal(subject.Y[used], state.model.Y):
        return False
    if subject.in_blocks:  # not passed over for a check
        return True
    return _alike(subject.model._linear(subject.X)[used], state.fitted)


def _single_candidate(subject: Subject) -> Known:
    """Outcomes of a search that has the parameters of a plain estimator as its only candidate."""
    cls: Any = StretchyClassifierCV if subject.classifies else StretchyRegressorCV
    given, known = subject.model.get_params(), cls().get_params()
    grids = {f"{name}_grid": [subject.candidate[name]] for name in ("a", "k", "c")}
    grids["n_features_to_select"] = subject.candidate["density"]
    search = cls(**{name: given[name] for name in given if name in known} | grids)
    search.set_params(combine="best", **({"threshold": "zero"} if subject.classifies else {}))
    with quiet():
        search.fit(subject.X, subject.y)
    why = "" if search._outcomes is not None else TOO_MUCH
    same = _alike(np.atleast_2d(search.coef_), subject.slope)
    return Known(search._outcomes, 0, why, same)


def n_shown(subject: Subject, rows: Sequence[int]) -> int:
    """How many of these candidates to make coefficients of.

    ``Q' beta``: ``40 n D`` for the transform of each (a, k), and of each candidate that selects
    features, and ``2 n D t`` for each candidate.
    """
    (n, D), t, results = subject.shape, len(subject.slope), subject.model.cv_results_
    pairs = {(results["param_a"][row], results["param_k"][row]) for row in rows}
    n_transforms = len(pairs) + int(selecting(subject.model)[rows].sum())
    affordable = int(max(1, (PAGE_WORK - 40.0 * n * D * n_transforms) // (2.0 * n * D * t)))
    return min(len(rows), affordable, max(1, MOST_PICTURES // min(t, MOST_OUTPUTS)))


def chosen_outputs(subject: Subject) -> Array | None:
    """Held-out outputs (n, t) of a search: of the search repeated, where it was, else plain."""
    if not subject.searched:
        return None
    if subject.nested and not subject.classifies:
        return np.asarray(subject.model.nested_predictions_).reshape(subject.shape[0], -1)
    return np.asarray(subject.model.cv_predictions_, dtype=float).reshape(subject.shape[0], -1)


def scattered(outcomes: Any, row: int, used: Mask) -> Array:
    """Out-of-fold outputs (n, t) of a candidate; NaN for samples of weight zero."""
    outputs = np.full((used.size, outcomes.Y.shape[1]), np.nan)
    outputs[used] = outcomes.outputs[row]
    return outputs


def _alike(first: Array, second: Array | None) -> bool:
    """Equal but for rounding; NaN in the same places."""
    if second is None or first.shape != second.shape:
        return False
    size = np.nanmax(np.abs(second), initial=0.0)
    return bool(np.allclose(first, second, rtol=0, atol=1e-5 * size, equal_nan=True))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that the fit itself has given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        warnings.simplefilter("ignore", IllConditionedWarning)
        yield


@dataclass(frozen=True)
class Picture:
    """One output of one candidate: its strongest features, and its slopes along all of them."""

    top: Index  # (TOP,) features by the size of their effect
    slopes: Array  # (TOP,) their ``coef_``
    profile: Array  # (POINTS,) or the means of GROUPS
    low: Array  # the least slope of each group
    high: Array  # and the greatest


def starts(n_features: int) -> Index:
    """Where groups of neighbouring features begin: one each, or at most GROUPS of them."""
    return np.arange(0, n_features, 1 if n_features <= POINTS else -(-n_features // GROUPS))


def picture(slope: Array, scale: Array) -> Picture:
    """The picture of slopes (D,) whose features have standard deviations `scale` (D,).

    Features are ranked by the effect of one standard deviation, ``|slope * scale|``, which does
    not depend on units. A point of the profile is the mean of its group, between its extremes.
    """
    effect = np.abs(slope * scale)
    order = np.argsort(-effect, kind="stable")[:TOP]
    top = order[effect[order] > 0]
    begin = starts(slope.size)
    low, high = np.minimum.reduceat(slope, begin), np.maximum.reduceat(slope, begin)
    mean = np.add.reduceat(slope, begin) / np.diff(begin, append=slope.size)
    return Picture(top, slope[top], mean, low, high)


@dataclass(frozen=True)
class Fitted:
    """A candidate with a picture of each output, and its out-of-fold outputs (n, t)."""

    pictures: list[Picture]
    outputs: Array | None


@dataclass(frozen=True)
class FittedCandidates:
    """Candidates by row of ``cv_results_`` (0 for a plain estimator), and what is known of all.

    A mixture has the row MIXTURE.
    """

    fitted: dict[int, Fitted]
    chosen: int
    known: Known


def fitted_candidates(subject: Subject, surface: Surface | None) -> FittedCandidates:
    """The chosen candidate or the mixture, and as many of the best as effort and size allow."""
    known = known_of(subject)
    chosen = int(subject.model.best_index_) if subject.searched else 0
    chosen = MIXTURE if subject.mixture else chosen
    outputs = chosen_outputs(subject)
    if outputs is None and known.outcomes is not None:
        outputs = np.array(known.outcomes.outputs[known.own])
    fitted = {chosen: Fitted(_pictures(subject.slope, subject.scale), outputs)}
    if surface is not None and known.outcomes is not None:
        fitted |= _others(subject, surface, known.outcomes)
    return FittedCandidates(fitted, chosen, known)


def _others(subject: Subject, surface: Surface, outcomes: Any) -> dict[int, Fitted]:
    """Candidates beside the chosen one, those of a mixture and then the best first."""
    ranks = subject.model.cv_results_["rank_test_score"]
    ranked = [candidate.index for candidate in surface.ranked(ranks, subject.members)]
    others = ranked if subject.mixture else ranked[1:]
    wanted = [row for row in others[: n_shown(subject, ranked) - 1] if outcomes.unknowns[row]]
    made = {
        row: Fitted(_pictures(slope, subject.scale), scattered(outcomes, row, subject.state.used))
        for row, slope in outcomes.slopes(wanted, subject.shape[1])
    }
    return {row: made[row] for row in wanted}


def _pictures(slope: Array, scale: Array) -> list[Picture]:
    return [picture(row, scale) for row in slope[:MOST_OUTPUTS]]


@dataclass(frozen=True)
class Panel:
    """Columns of the data of a chart by name, its caption, and a table with a head and a title."""

    columns: dict[str, Any]
    caption: str
    rows: Sequence[tuple[str, ...]]
    head: tuple[str, ...] = ()
    title: str = ""


def evenly(n: int, most: int) -> Index:
    """Places at even steps among n, both ends included: all of them, or at most so many."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def sure_effects(subject: Subject) -> Panel | None:
    """Effects of the first target between two standard errors, as `effects` told them.

    All of them `at` places along an axis where names are numbers, else the strongest.
    """
    table = getattr(subject.model, "effects_", None)
    if table is None:
        return None
    columns = ("feature", "effect_per_sd", "standard_error", "sign_stability")
    names, effect, error, stable = (
        np.asarray(table[name])[: len(table["feature"]) // len(subject.outputs)] for name in columns
    )
    each = names.size == subject.shape[1]  # not bands
    known = subject.names if each else [short(name) for name in names]
    sure, order = (stable >= SURE) & (effect != 0.0), np.argsort(-np.abs(effect), kind="stable")
    shown = order = order[:MOST_EFFECTS]
    along = subject.positions if each else None
    if along is not None:
        shown = evenly(names.size, POINTS)
    of = f" of {subject.outputs[0]}" if len(subject.outputs) > 1 else ""
    caption = (
        f"Effects{of} of one standard deviation, two standard errors to either side, from fits "
        f"without parts of the samples. Marked are those whose sign {share(SURE, 0)} of pairs of "
        f"halves agree on: {sure.sum()} of {names.size}; of features without any effect about "
        "one in twenty is marked by chance."
    )
    found = {
        "name": distinct([known[i] for i in shown]),
        **{
            end: (effect + side * error)[shown]
            for end, side in (("low", -2.0), ("effect", 0.0), ("high", 2.0))
        },
        "sure": sure[shown],
        **({} if along is None else {"at": along[shown]}),
    }
    rows = [
        (known[i], number(effect[i], 3), number(error[i], 2), share(stable[i], 0)) for i in order
    ]
    return Panel(found, caption, rows)
