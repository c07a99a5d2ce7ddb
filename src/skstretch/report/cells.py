"""The cells that can be chosen on the page: their coefficients and out-of-fold outputs."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skstretch.core.stretch import selects
from skstretch.core.types import Array, Index
from skstretch.estimators import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.estimators.inputs import N_FOLDS, make_folds
from skstretch.exceptions import GridEdgeWarning, IllConditionedWarning
from skstretch.report.subject import Subject
from skstretch.report.surface import Surface

# Out-of-fold outputs of every cell, by one more search that only listens.


@dataclass(frozen=True)
class Foretold:
    """Out-of-fold outputs (n, t) by row of ``cv_results_``; `why` says why there are no more."""

    outputs: dict[int, Array]
    why: str = ""


def chosen_outputs(subject: Subject) -> Array | None:
    """Out-of-fold outputs (n, t) of the model itself; of a plain estimator they need X and y."""
    if subject.searched:
        return np.asarray(subject.model.cv_predictions_, dtype=float).reshape(subject.shape[0], -1)
    if subject.X is None:
        return None
    with quiet():
        again = _one_cell(subject).fit(subject.X, subject.y)
    return np.asarray(again.cv_predictions_, dtype=float).reshape(subject.shape[0], -1)


def all_outputs(subject: Subject) -> Foretold:
    """Out-of-fold outputs of all usable cells, if X and y give what the model remembers.

    The search is run again with a scorer that keeps what it is shown. Where the outputs of the
    chosen cell are not those of the fit, something that is not at hand took part in it (sample
    weights, groups, a random splitter, other data), and no other cell can be shown.
    """
    model, n = subject.model, subject.shape[0]
    kept: list[Array] = []
    usable = np.flatnonzero(model.cv_results_["usable"])
    winner = int(np.searchsorted(usable, model.best_index_))

    def listen(foretold: Any, X: Any, y: Any) -> float:
        ask = foretold.decision_function if subject.classifies else foretold.predict
        kept.append(np.asarray(ask(X), dtype=float).reshape(len(X), -1))
        return float(len(kept) - 1 == winner)

    try:
        _search_again(model, subject, listen)
        folds = _folds(subject)
        outputs = [folds.mean(values, n) for values in kept]
    except (ValueError, TypeError) as error:
        return Foretold({}, f"the search could not be run again ({error})")
    if len(outputs) != usable.size or not _alike(outputs[winner], chosen_outputs(subject)):
        return Foretold(
            {},
            "the data that were passed do not give the out-of-fold predictions that the model "
            "holds: it was fitted with sample weights, groups, random folds, or on other data",
        )
    return Foretold(dict(zip(usable.tolist(), outputs, strict=True)))


def _search_again(model: Any, subject: Subject, scorer: Callable[..., float]) -> None:
    again = clone(model).set_params(scoring=scorer, rule="best", verbose=0)
    if subject.classifies:
        again.set_params(threshold="zero")
    with quiet():
        again.fit(subject.X, subject.y)


def _folds(subject: Subject) -> Any:
    n, D = subject.shape
    compressed = selects(subject.model.cv_results_["param_density"], D)
    rows = np.arange(n)
    return make_folds(
        subject.model.cv,
        np.zeros((n, 1)),
        np.asarray(subject.y),
        rows,
        classifier=subject.classifies,
        compressed=compressed,
    )


def _one_cell(subject: Subject) -> Any:
    """The search estimator with the one cell of a plain estimator."""
    cls: Any = StretchyClassifierCV if subject.classifies else StretchyRegressorCV
    given, known = subject.model.get_params(), cls().get_params()
    grids = {f"{name}_grid": [value] for name, value in subject.cell.items()}
    return cls(**{name: value for name, value in given.items() if name in known}, **grids)


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


# How much a report may compute: rules in floating-point operations.


# What a core does in a few seconds; a report is for waiting at, not for leaving overnight.
SEARCH_WORK = 2e11


REFIT_WORK = 6e10


INTERVAL_WORK = 1e11


# What one file has room for: targets or classes, and cells times these.
MOST_OUTPUTS = 30


MOST_PICTURES = 150


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

    def search_fits(self, n_pairs: int, n_cells: int) -> bool:
        """Whether a second search, for the out-of-fold outputs of all cells, is affordable."""
        second = (self.folds * self.t if self.folds > 1 else 0) * n_cells * self.fit
        return n_pairs * self.fit + n_cells * 4.0 * min(self.n, self.D) ** 3 + second <= SEARCH_WORK

    def n_refits(self, n_cells: int) -> int:
        """How many cells to fit again for their coefficients, the chosen one included."""
        passes = 1 + self.t * (self.folds > 1)
        return int(min(n_cells, max(1, REFIT_WORK // (passes * self.fit)), self.most))

    @property
    def most(self) -> int:
        """How many cells have room for their pictures."""
        return max(1, MOST_PICTURES // min(self.t, MOST_OUTPUTS))

    def intervals_fit(self, n_folds: int, n_levels: int) -> bool:
        """Whether jackknife+ in folds is affordable."""
        return n_folds * (3 + n_levels) * self.fit <= INTERVAL_WORK


# Coefficients made small: the strongest features, and a profile of bounded length.


TOP = 50


POINTS = 500


@dataclass(frozen=True)
class Picture:
    """One output of one cell: its strongest features, and its slopes along all of them."""

    top: Index  # (TOP,) features by the size of their effect
    slopes: Array  # (TOP,) their ``slope_``
    profile: Array  # (POINTS,)


def starts(n_features: int) -> Index:
    """Where groups of neighbouring features begin, at most POINTS of them."""
    return np.arange(0, n_features, -(-n_features // POINTS))


def picture(slope: Array, scale: Array) -> Picture:
    """The picture of slopes (D,) whose features have standard deviations `scale` (D,).

    Features are ranked by the effect of one standard deviation, ``|slope * scale|``, which does
    not depend on units. A point of the profile is the largest slope, by size, of its group.
    """
    effect = np.abs(slope * scale)
    order = np.argsort(-effect, kind="stable")[:TOP]
    top = order[effect[order] > 0]
    begin = starts(slope.size)
    low, high = np.minimum.reduceat(slope, begin), np.maximum.reduceat(slope, begin)
    return Picture(top, slope[top], np.where(-low > high, low, high))


# With this rcond LU keeps four digits, which is all that a picture shows.
ENOUGH_RCOND = 1e-11


MATCH = 1e-3


@dataclass(frozen=True)
class Fitted:
    """A cell that was fitted: a picture of each output, and out-of-fold outputs (n, t)."""

    pictures: list[Picture]
    outputs: Array | None


@dataclass(frozen=True)
class Cells:
    """Fitted cells by row of ``cv_results_`` (0 for a plain estimator), and why no more."""

    fitted: dict[int, Fitted]
    chosen: int
    why: str
    verified: bool  # X and y are those of the fit


def effort_of(subject: Subject) -> Effort:
    n, D = subject.shape
    compressed = selects([subject.cell["density"]], D)
    return Effort(n, D, subject.slope.shape[0], N_FOLDS if compressed else 1)


def fitted_cells(subject: Subject, surface: Surface | None) -> Cells:
    """The chosen cell, and as many of the best as effort and size allow."""
    chosen = int(subject.model.best_index_) if subject.searched else 0
    own = Fitted(_pictures(subject.slope, subject.scale), chosen_outputs(subject))
    if surface is None or subject.X is None:
        why = "" if subject.X is not None else "the training data were not at hand"
        return Cells({chosen: own}, chosen, why, _remembered(subject))
    results, effort = subject.model.cv_results_, effort_of(subject)
    pairs = {*zip(results["param_a"], results["param_k"], strict=True)}
    if not effort.search_fits(len(pairs), len(results["param_a"])):
        why = "fitting other cells again would take too long for data of this size"
        return Cells({chosen: own}, chosen, why, _remembered(subject))
    foretold = all_outputs(subject)
    if foretold.why:
        return Cells({chosen: own}, chosen, foretold.why, False)
    ranked = [c.index for c in surface.ranked(results["rank_test_score"], chosen)]
    wanted = ranked[: effort.n_refits(len(ranked))]
    fitted = {chosen: own} | {row: _fit(subject, row, foretold) for row in wanted if row != chosen}
    return Cells(fitted, chosen, "", True)


def _fit(subject: Subject, row: int, foretold: Foretold) -> Fitted:
    """A cell fitted to targets, or to +-1 with the weights of the classes."""
    results = subject.model.cv_results_
    accurate = results["rcond"][row] < ENOUGH_RCOND
    slope = _slope(subject, results["params"][row], "auto" if accurate else subject.model.space_)
    return Fitted(_pictures(slope, subject.scale), foretold.outputs[row])


def _slope(subject: Subject, cell: dict[str, Any], solver: str) -> Array:
    given = subject.model.get_params()
    shared = {name: given[name] for name in ("b", "quadrant", "fit_intercept", "n_jobs")}
    with quiet():
        again = StretchyRegressor(**cell, **shared, solver=solver)
        again.fit(subject.X, subject.Y, sample_weight=subject.weights)
    return np.atleast_2d(again.slope_)


def _remembered(subject: Subject) -> bool:
    """Whether a fit to X and y gives the slopes of the model."""
    if subject.X is None:
        return False
    slope, own = _slope(subject, subject.cell, "auto"), subject.slope
    return bool(np.allclose(slope, own, rtol=0, atol=MATCH * np.abs(own).max(initial=0.0)))


def _pictures(slope: Array, scale: Array) -> list[Picture]:
    return [picture(row, scale) for row in slope[:MOST_OUTPUTS]]
