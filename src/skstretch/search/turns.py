"""Cells that select features, and what they lose without parts of the samples.

Beside a part the other samples are left out in turns, a third of them at a time, and predicted:
features, coefficients and losses of the choice without the part have not seen it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from skstretch.core.crossfit import Fold
from skstretch.core.types import Array, Index
from skstretch.designs import Design
from skstretch.search.cells import Cell, Folds, Outcome, Problem
from skstretch.search.grid import Grid, outcomes
from skstretch.search.parts import STRIDE, Without

# in how many turns the others are left out beside a part
TURNS = 3


def selected_again(
    grid: Grid, design_at: Callable[[float], Design], problem: Problem
) -> Iterator[tuple[Cell, Outcome]]:
    """The cells of a grid that selects features, those of some strengths with what they lose
    without the parts of the problem, which are folds of its own."""
    turns = [_turns(problem.folds, part) for part in problem.parts]
    folds = [
        Fold(np.concatenate([part, turn]), turn)
        for part, own in zip(problem.parts, turns, strict=True)
        for turn in own
    ]
    few = replace(grid, strengths=tuple(grid.strengths[::STRIDE]))
    again = replace(problem, folds=Folds(folds, np.concatenate([f.tested for f in folds])))
    known = {cell: outcome.residuals for cell, outcome in outcomes(few, design_at, again)}
    for cell, outcome in outcomes(grid, design_at, problem):
        pairs = None
        if cell in known:
            pairs = Without(problem.parts, _told(problem, turns, outcome.residuals, known[cell]))
        yield cell, replace(outcome, pairs=pairs)


def _turns(folds: Folds, part: Index) -> list[Index]:
    """The samples of the other folds, as they are left out beside a part."""
    others = [fold.tested for fold in folds.folds or () if not np.isin(fold.tested, part).any()]
    return [np.concatenate(others[at::TURNS]) for at in range(min(TURNS, len(others)))]


def _told(problem: Problem, turns: Sequence[list[Index]], own: Array, again: Array) -> Array:
    """Residuals (P, n, t): of a part by its own fold, of the others turn by turn."""
    alone, at = np.empty_like(own), 0
    alone[problem.folds.tested] = own
    found = np.empty((len(problem.parts), *own.shape))
    for row, part, mine in zip(found, problem.parts, turns, strict=True):
        row[part] = alone[part]
        for turn in mine:
            row[turn] = again[at : at + turn.size]
            at += turn.size
    return found
