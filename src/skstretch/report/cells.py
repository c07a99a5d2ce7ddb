"""The cells that can be chosen on the page: their coefficients and out-of-fold outputs.

A search keeps what every cell gave (`skstretch.search.record`), and the page is made from that:
nothing is fitted again. So it is for a model from a file that holds them, where its training data
are at hand (`skstretch.io.outcomes`). Other files and pickles have no outcomes any more: one search
over the training data brings them back.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skstretch.core.stretch import selects
from skstretch.core.types import Array, Index, Mask
from skstretch.estimators import StretchyClassifierCV, StretchyRegressorCV
from skstretch.estimators.inputs import N_FOLDS
from skstretch.exceptions import GridEdgeWarning, IllConditionedWarning
from skstretch.report.subject import Subject
from skstretch.report.surface import Surface

# What a core does in a few seconds; a report is for waiting at, not for leaving overnight.
SEARCH_WORK = 2e11
PRODUCT_WORK = 1e11
INTERVAL_WORK = 1e11
# What one file has room for: targets or classes, and cells times these.
MOST_OUTPUTS = 30
MOST_PICTURES = 150
# Strongest features, and points of a profile, of one output of one cell.
TOP = 50
POINTS = 500
# Beyond POINTS features: groups of neighbours, each with its mean and its range.
GROUPS = 300
# The place of a mixture, which is no cell of its search.
MIXTURE = -1
# Slopes of a model and of one more fit to its data differ by less, relative to the largest.
MATCH = 1e-3

NO_DATA = "the training data were not at hand"
TOO_LONG = "fitting other cells again would take too long for data of this size"
TOO_MUCH = "the search was too large to keep what its other cells gave"
RECIPES = "recipes were searched each on its own, and are not searched again for a page"
OTHER = (
    "the data that were passed do not give the out-of-fold predictions that the model holds: it "
    "was fitted with sample weights, groups, random folds, or on other data"
)


@dataclass(frozen=True)
class Effort:
    """Sizes of a problem: n samples, D features, t outputs; F folds with a second pass, or 1."""

    n: int
    D: int
    t: int
    folds: int

    @property
    def fit(self) -> float:
        """One fit: ``40 n D`` for the transform, ``2 n D m`` for Gram, ``4 m^3``, m = min(n, D)."""
        m = min(self.n, self.D)
        return 40.0 * self.n * self.D + 2.0 * self.n * self.D * m + 4.0 * m**3

    def search_fits(self, n_pairs: int, n_cells: int, n_selecting: int | None = None) -> bool:
        """Whether a search over `n_pairs` of (a, k), for outcomes that are gone, is affordable.

        Cells that select features (all, where not said) make a second pass in every fold.
        """
        n_selecting = n_cells if n_selecting is None else n_selecting
        second = (self.folds * self.t if self.folds > 1 else 0) * n_selecting * self.fit
        return n_pairs * self.fit + n_cells * 4.0 * min(self.n, self.D) ** 3 + second <= SEARCH_WORK

    def n_shown(self, n_pairs: int, n_cells: int) -> int:
        """How many cells to make coefficients of, the chosen one included.

        ``Q' beta``: ``40 n D`` for the transform of each (a, k), or of each cell with features of
        its own, and ``2 n D t`` for each cell.
        """
        each = 2.0 * self.n * self.D * self.t
        walks = 40.0 * self.n * self.D * (n_cells if self.folds > 1 else n_pairs)
        return int(min(n_cells, max(1, (PRODUCT_WORK - walks) // each), self.most))

    @property
    def most(self) -> int:
        """How many cells have room for their pictures."""
        return max(1, MOST_PICTURES // min(self.t, MOST_OUTPUTS))

    def intervals_fit(self, n_folds: int, n_levels: int) -> bool:
        """Whether jackknife+ in folds is affordable; with a second pass every fold is fitted."""
        work = n_folds * (3 + n_levels) * self.fit if self.folds > 1 else n_folds * self.fit
        return work <= INTERVAL_WORK


def effort_of(subject: Subject) -> Effort:
    n, D = subject.shape
    compressed = selects([subject.cell["density"]], D) or _selecting(subject) > 0
    return Effort(n, D, subject.slope.shape[0], N_FOLDS if compressed else 1)


def _selecting(subject: Subject) -> int:
    """How many cells of a mixture's search select features."""
    if not subject.mixture:
        return 0
    densities, D = subject.model.cv_results_["param_density"], subject.shape[1]
    return sum(selects([density], D) for density in densities)


@dataclass(frozen=True)
class Known:
    """Outcomes of the search, of which the model is number `own`; None with a reason `why`.

    Of a mixture `own` is the heaviest cell.

    `verified` says that X and y are those of the fit. `again` is the search that was run again for
    a model without its training data, where it has found the same cells.
    """

    outcomes: Any = None
    own: int = 0
    why: str = ""
    verified: bool = False
    again: Any = None


def known_of(subject: Subject) -> Known:
    """What is known about the cells: from the search itself, or from one that is run for it."""
    model = subject.model
    if subject.X is None:
        return Known(why=NO_DATA)
    if not subject.searched:
        return _fitted_again(subject)
    if not hasattr(model, "_outcomes"):
        return _searched_again(subject)
    if not _are_those_of_the_fit(subject):
        return Known(why=OTHER)
    if model._outcomes is None:
        return Known(why=TOO_MUCH, verified=True)
    return Known(model._outcomes, int(model.best_index_), verified=True)


def _are_those_of_the_fit(subject: Subject) -> bool:
    """Whether y is that of the fit, and X gives its fitted values."""
    state, used = subject.state, subject.state.used
    if not np.array_equal(subject.Y[used], state.model.Y):
        return False
    if hasattr(subject.X, "dask"):  # not walked for a check
        return True
    return _alike(subject.model._linear(subject.X)[used], state.fitted)


def _searched_again(subject: Subject) -> Known:
    """One search over X and y; where the data are too large for it, of the model's own cell."""
    model, results = subject.model, subject.model.cv_results_
    if "param_recipe" in results:
        return Known(why=RECIPES)
    pairs = {*zip(results["param_a"], results["param_k"], strict=True)}
    n_selecting = _selecting(subject) if subject.mixture else None
    whole = effort_of(subject).search_fits(len(pairs), len(results["param_a"]), n_selecting)
    if subject.mixture and not whole:
        return Known(why=TOO_LONG)
    again = clone(model).set_params(verbose=0) if whole else _one_cell(subject)
    own = int(model.best_index_) if whole else 0
    try:
        outcomes = _outcomes(again, subject)
        if whole and outcomes is not None:
            for row in subject.members:
                outcomes = _exact_at(row, outcomes, again, subject)
    except (ValueError, TypeError) as error:
        return Known(why=f"the search could not be run again ({error})")
    if outcomes is None:
        return Known(why=TOO_MUCH)
    if len(outcomes.cells) != (len(results["usable"]) if whole else 1):
        return Known(why=OTHER)
    told = _told(outcomes, own, subject, again._state.used)
    if not _alike(told, chosen_outputs(subject)) or not _same_columns(again, model):
        return Known(why=OTHER)
    same = not whole or again.weights_["row"].tolist() == model.weights_["row"].tolist()
    return Known(outcomes, own, "" if whole else TOO_LONG, True, again if same else None)


def _same_columns(again: Any, model: Any) -> bool:
    """Whether columns have the same means and deviations: without names only these tell in which
    order they are."""
    ours, theirs = (one._state.quadrant.moments for one in (again, model))
    near = 1e-5 * theirs.scale
    shifted = np.abs(ours.mean - theirs.mean) > near
    return not (shifted | (np.abs(ours.scale - theirs.scale) > near)).any()


def _told(outcomes: Any, own: int, subject: Subject, used: Mask) -> Array:
    """Out-of-fold outputs (n, t) of the model: of its cell, or of all cells of its mixture."""
    if not subject.mixture:
        return scattered(outcomes, own, used)
    shares = subject.model.weights_["weight"]
    members = zip(subject.members, shares, strict=True)
    return np.asarray(sum(share * scattered(outcomes, row, used) for row, share in members))


def _exact_at(own: int, outcomes: Any, again: Any, subject: Subject) -> Any:
    """The outcomes with exact outputs of one of the model's own cells.

    A search whose scoring was not stored may have chosen another cell, and have kept approximate
    leave-one-out outputs of this one.
    """
    found = again.cv_results_["loo"]
    if own >= len(found) or found[own] == "exact":
        return outcomes
    alone = _outcomes(_one_cell(subject, subject.model.cv_results_["params"][own]), subject)
    outputs = outcomes.outputs.copy()
    outputs[own] = alone.outputs[0]
    return replace(outcomes, outputs=outputs)


def _fitted_again(subject: Subject) -> Known:
    """A plain estimator fitted once more, for its out-of-fold outputs."""
    again = _one_cell(subject)
    outcomes = _outcomes(again, subject)
    slope, own = np.atleast_2d(again.slope_), subject.slope
    same = np.allclose(slope, own, rtol=0, atol=MATCH * np.abs(own).max(initial=0.0))
    return Known(outcomes, 0, "" if outcomes is not None else TOO_MUCH, bool(same))


def _outcomes(search: Any, subject: Subject) -> Any:
    if subject.classifies:
        search.set_params(threshold="zero")
    if "nested" in search.get_params():
        search.set_params(nested=False)
    with quiet():
        search.fit(subject.X, subject.y)
    return search._outcomes


def _one_cell(subject: Subject, cell: dict[str, Any] | None = None) -> Any:
    """The search estimator with one cell, by default that of the model."""
    cell = subject.cell if cell is None else cell
    cls: Any = StretchyClassifierCV if subject.classifies else StretchyRegressorCV
    given, known = subject.model.get_params(), cls().get_params()
    grids = {f"{name}_grid": [value] for name, value in cell.items()}
    taken = {name: value for name, value in given.items() if name in known}
    alone = {"scoring": None, "rule": "best", "verbose": 0}
    return cls(**{**taken, **grids, **alone})


def chosen_outputs(subject: Subject) -> Array | None:
    """Out-of-fold outputs (n, t) that a search holds of its chosen cell or mixture."""
    if not subject.searched:
        return None
    return np.asarray(subject.model.cv_predictions_, dtype=float).reshape(subject.shape[0], -1)


def scattered(outcomes: Any, row: int, used: Mask) -> Array:
    """Out-of-fold outputs (n, t) of a cell; NaN for samples of weight zero."""
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
    """One output of one cell: its strongest features, and its slopes along all of them."""

    top: Index  # (TOP,) features by the size of their effect
    slopes: Array  # (TOP,) their ``slope_``
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
    """A cell with a picture of each output, and its out-of-fold outputs (n, t)."""

    pictures: list[Picture]
    outputs: Array | None


@dataclass(frozen=True)
class Cells:
    """Cells by row of ``cv_results_`` (0 for a plain estimator), and what is known of all.

    A mixture has the row MIXTURE.
    """

    fitted: dict[int, Fitted]
    chosen: int
    known: Known


def fitted_cells(subject: Subject, surface: Surface | None) -> Cells:
    """The chosen cell or the mixture, and as many of the best as effort and size allow."""
    known = known_of(subject)
    chosen = int(subject.model.best_index_) if subject.searched else 0
    chosen = MIXTURE if subject.mixture else chosen
    outputs = chosen_outputs(subject)
    if outputs is None and known.outcomes is not None:
        outputs = np.array(known.outcomes.outputs[known.own])
    fitted = {chosen: Fitted(_pictures(subject.slope, subject.scale), outputs)}
    if surface is not None and known.outcomes is not None and not known.why:
        fitted |= _others(subject, surface, known.outcomes)
    return Cells(fitted, chosen, known)


def _others(subject: Subject, surface: Surface, outcomes: Any) -> dict[int, Fitted]:
    """Cells beside the chosen one, those of a mixture and then the best first."""
    model, effort = subject.model, effort_of(subject)
    ranked = [
        c.index for c in surface.ranked(model.cv_results_["rank_test_score"], subject.members)
    ]
    if subject.mixture:
        ranked.insert(0, MIXTURE)
    pairs = {(outcomes.cells[row].a, outcomes.cells[row].k) for row in ranked if row >= 0}
    wanted = [
        row
        for row in ranked[: effort.n_shown(len(pairs), len(ranked))][1:]
        if outcomes.unknowns[row]
    ]
    made = {
        row: Fitted(_pictures(slope, subject.scale), scattered(outcomes, row, subject.state.used))
        for row, slope in outcomes.slopes(wanted, subject.shape[1])
    }
    return {row: made[row] for row in wanted}


def _pictures(slope: Array, scale: Array) -> list[Picture]:
    return [picture(row, scale) for row in slope[:MOST_OUTPUTS]]
