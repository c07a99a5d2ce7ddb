"""The paper's settings as data, and the cells and units of work that follow from them.

A cell is one method at one setting; a unit, the smallest piece of work that is written and
resumed, is one family of methods on one fold.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from itertools import product

STANDIN = "-standin"  # ends the names of generated sets


@dataclass(frozen=True)
class Settings:
    """What is run on every data set.

    Attributes
    ----------
    powers, strengths, densities : tuple of float
        The paper's k, c and shares of kept features.
    shown_strength, free_strength, shown_power : float
        c and c of Fig. 9 and 10 (the second is the paper's solution without regularisation), and
        k of Fig. 11.
    mixings : tuple of float
        Elastic-net mixing values of the LASSO.
    lambda_counts : tuple of int
        MATLAB's ``NumLambda`` of LASSO1, LASSO2 and LASSO100.
    searched_counts : tuple of int
        The ``NumLambda`` values that LASSOCV searches.
    search_folds : int
        Inner folds of that search; the paper does not state its number.
    trials, folds, seed : int
        Trials of 2-fold, and the seed of the first trial's split.
    searched_trials : pairs of str and int
        Trials of LASSOCV where they are fewer than `trials`, by data set.
    projection_powers : pairs of int and tuple
        The k that are run for every size of the random projection network.
    projected_features : int
        Features that the network sees.
    descent_trials : int
        Trials of the coordinate descent that stops as MATLAB's, which is slow.
    standin_trials : int
        Trials on generated stand-ins, which are there for pipelines and timings.
    other_draws : int
        Further draws of the 20 points of Fig. 5 and 6.
    """

    powers: tuple[float, ...] = (1.1, 1.25, 1.5, 1.75, 2.0)
    strengths: tuple[float, ...] = (10.0, 1e2, 1e3, 1e4, 1e8, 1e100)
    densities: tuple[float, ...] = (1.0, 0.5, 0.1, 0.01)
    shown_strength: float = 1e2
    free_strength: float = 1e100
    shown_power: float = 1.25
    a: float = -0.2
    mixings: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25, 0.0001)
    lambda_counts: tuple[int, ...] = (1, 2, 100)
    searched_counts: tuple[int, ...] = (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)
    search_folds: int = 5
    trials: int = 10
    folds: int = 2
    seed: int = 0
    searched_trials: tuple[tuple[str, int], ...] = ()
    projection_powers: tuple[tuple[int, tuple[float, ...]], ...] = (
        (500, (1.1, 1.25, 1.5, 1.75, 2.0)),
        (1000, (1.1, 1.25, 1.5, 1.75, 2.0)),
        (5000, (1.5, 2.0)),
        (10000, (2.0,)),
        (20000, (2.0,)),
    )
    projected_features: int = 8
    descent_trials: int = 2
    standin_trials: int = 1
    other_draws: int = 100

    def trials_of(self, dataset: str, family: str) -> int:
        """Trials of a family of methods on a data set."""
        if dataset.endswith(STANDIN):
            return min(self.trials, self.standin_trials)
        if family == "DESCENT":
            return min(self.trials, self.descent_trials)
        if family != "LASSOCV":
            return self.trials
        return min(self.trials, dict(self.searched_trials).get(dataset, self.trials))


# The paper has no LASSOCV on Gaze either, because of its time.
UNSEARCHED = (("gaze", 0), ("gaze-standin", 0))
FULL = Settings(searched_trials=UNSEARCHED)
KS, MIXINGS = FULL.powers, FULL.mixings
QUICK = replace(
    FULL,
    powers=(1.1, 1.25, 2.0),
    strengths=(10.0, 1e2, 1e4, 1e100),
    mixings=(1.0, 0.5, 0.0001),
    searched_counts=(1, 2, 10, 40, 100),
    trials=1,
    other_draws=20,
    projection_powers=((500, (1.1, 2.0)), (1000, (1.1, 2.0)), (5000, (2.0,))),
)
FAMILIES = ("SR", "LASSO", "LASSOCV", "DESCENT", "RPN")
DESCENT = "descent"  # LASSO by a coordinate descent that stops as MATLAB's
ORACLE = "oracle"  # LASSO at the penalty of least test error: not a method one can use


@dataclass(frozen=True)
class Cell:
    """A method and its setting; what does not apply is None."""

    piece: str
    method: str
    k: float | None = None
    c: float | None = None
    density: float | None = None
    mixing: float | None = None
    size: int | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The cell as the words of a result line."""
        return tuple("" if value is None else str(value) for value in astuple(self))


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work that is written and resumed: one family on one fold."""

    dataset: str
    family: str
    trial: int
    fold: int
    cells: tuple[Cell, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Data set, family, trial and fold as words."""
        return (self.dataset, self.family, str(self.trial), str(self.fold))

    @property
    def wanted(self) -> set[tuple[str, ...]]:
        """The result lines that make the unit complete, by data set, trial, fold and cell."""
        place = (self.dataset, str(self.trial), str(self.fold))
        return {(*place, *cell.key) for cell in self.cells}


def cells_of(family: str, settings: Settings, *, large: bool) -> tuple[Cell, ...]:
    """All cells of a family. On a large set SR runs what the paper shows, not the product."""
    build = {"SR": _stretchy, "LASSO": _lasso, "LASSOCV": _searched, "RPN": _projected}
    return build[family](settings, large)


def _stretchy(settings: Settings, large: bool) -> tuple[Cell, ...]:
    grid = product(settings.powers, settings.strengths, settings.densities)
    return tuple(
        Cell("study", "SR", k=k, c=c, density=density)
        for k, c, density in grid
        if not large or _is_shown(settings, k, c, density)
    )


def _is_shown(settings: Settings, k: float, c: float, density: float) -> bool:
    """Fig. 9, 10: every density at c = 1e2, all features at 1e100. Fig. 11: all c at k = 1.25."""
    full = density == 1.0
    return (
        c == settings.shown_strength
        or (full and c == settings.free_strength)
        or (full and k == settings.shown_power)
    )


def _lasso(settings: Settings, large: bool) -> tuple[Cell, ...]:
    chosen = [
        Cell("study", f"LASSO{count}", mixing=mixing)
        for mixing, count in product(settings.mixings, settings.lambda_counts)
    ]
    best = [
        Cell(ORACLE, f"LASSO{count}", mixing=mixing)
        for mixing, count in product(settings.mixings, settings.lambda_counts)
        if count > 1
    ]
    return (*chosen, *best)


def _searched(settings: Settings, large: bool) -> tuple[Cell, ...]:
    return tuple(Cell("study", "LASSOCV", mixing=mixing) for mixing in settings.mixings)


def _projected(settings: Settings, large: bool) -> tuple[Cell, ...]:
    return tuple(
        Cell("projection", "RPN", k=k, c=settings.shown_strength, density=1.0, size=size)
        for size, powers in settings.projection_powers
        for k in powers
    )


def units_of(dataset: str, family: str, settings: Settings, *, large: bool) -> list[Unit]:
    """The units of a family on a data set, trial after trial."""
    cells = cells_of(family, settings, large=large)
    trials = settings.trials_of(dataset, family)
    return [
        Unit(dataset, family, trial, fold, cells)
        for trial, fold in product(range(trials), range(settings.folds))
    ]
