"""The cells of the study: one method at one setting, and the units of work that hold them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product

from skstretch.experiments.settings import Settings

__all__ = ["FAMILIES", "Cell", "Unit", "cells_of", "units_of"]

FAMILIES = ("SR", "LASSO", "LASSOCV", "RPN")
PIECES = {"SR": "study", "LASSO": "study", "LASSOCV": "study", "RPN": "projection"}
ORACLE = "oracle"


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
