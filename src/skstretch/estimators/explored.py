"""What a search has seen, before anything is chosen from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skstretch.core.moments import side_by_side
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import keep_count
from skstretch.core.types import Array, Index
from skstretch.estimators.inputs import Prepared, Targets, View
from skstretch.estimators.state import Decision, State
from skstretch.search import (
    Contest,
    Outcome,
    Outcomes,
    finished_model,
    in_one_walk,
    kept_outcomes,
    light_design,
)
from skstretch.solve import checked_spec


@dataclass(frozen=True)
class Explored:
    """What a search has evaluated: the data, seen through every a, and the contest of all cells."""

    prepared: Prepared
    views: dict[float, View]
    targets: Targets
    contest: Contest
    automatic: bool  # whether strengths were
    # some samples and their outputs by searches without them, where any are run again
    again: Callable[[], tuple[Index, Array] | None] | None = None

    @property
    def linear(self) -> Quadrant:
        """The transform to z-scores."""
        return (self.views[0.0] if 0.0 in self.views else self.prepared.at(0.0)).quadrant

    def states(self, estimator: Any, rows: Sequence[int], decision: Decision | None) -> list[State]:
        """The fitted models of some cells, in one walk over data that has to be read."""
        outcomes = in_one_walk([self.contest.results[row] for row in rows])
        found = zip(rows, outcomes, strict=True)
        return [self._state(estimator, row, outcome, decision) for row, outcome in found]

    def _state(
        self, estimator: Any, row: int, outcome: Outcome, decision: Decision | None
    ) -> State:
        cell, problem = self.contest.cells[row], self.contest.problem
        view, count = self.views[cell.a], keep_count(cell.density, self.prepared.X.shape[1])
        unit, linear = view.quadrant.unit, view.quadrant.kind == "linear"
        spec = checked_spec(cell.k, cell.c, linear, estimator.fit_intercept, "auto", unit)
        data = view.design, problem.Y, problem.weights
        model = finished_model(outcome, *data, spec, count, estimator.n_jobs)
        return self.prepared.state(view, model, self.targets.single, decision)

    def outcomes(self) -> Outcomes | None:
        """What is kept of all cells."""
        contest = self.contest
        light = {
            a: replace(seen, design=light_design(seen.design)) for a, seen in self.views.items()
        }
        grouped, found = contest.units is not None, (contest.cells, contest.results)
        kept = kept_outcomes(*found, contest.problem, light, grouped, contest.weights)
        return None if kept is None else replace(kept, X=self.prepared.X)


@dataclass(frozen=True)
class Joined(Explored):
    """Searches on consecutive blocks of columns as one search on all of them.

    A cell of a block is one that keeps some of the columns.
    """

    parts: tuple[Explored, ...] = ()

    def first_row(self, number: int) -> int:
        """The row of the first cell of a part."""
        return sum(len(part.contest.cells) for part in self.parts[:number])

    def _state(
        self, estimator: Any, row: int, outcome: Outcome, decision: Decision | None
    ) -> State:
        """The fitted model of one cell, among all columns."""
        number = max(i for i in range(len(self.parts)) if self.first_row(i) <= row)
        part, view = self.parts[number], self.views[self.contest.cells[row].a]
        own = row - self.first_row(number)
        state = part._state(estimator, own, part.contest.results[own], decision)
        start = sum(before.prepared.X.shape[1] for before in self.parts[:number])
        places = np.searchsorted(view.columns, start + state.columns)
        passes = [replace(p, columns=places[p.columns]) for p in state.model.passes]
        model = replace(state.model, design=view.design, passes=passes)
        return replace(state, model=model, quadrant=view.quadrant, columns=view.columns)

    def outcomes(self) -> None:
        """Nothing: cells of different blocks have no design in common."""


def joined(parts: Sequence[Explored], names: Sequence[str], X: Any, b: Any) -> Joined:
    """The searches of blocks of X, named; `b` is that of all columns."""
    first, all_moments = parts[0], [part.prepared.moments for part in parts]
    factors = [part.prepared.factors for part in parts if part.prepared.factors is not None]
    given = np.concatenate(factors) if len(factors) == len(parts) else None
    moments = side_by_side(all_moments)
    prepared = replace(first.prepared, X=X, moments=moments, b=b, ready={}, factors=given)
    one = first.contest
    contest = Contest(one.problem, one.scoring, one.loss, one.weights, one.units)
    for part, name in zip(parts, names, strict=True):
        own = part.contest
        if not np.array_equal(own.problem.folds.tested, one.problem.folds.tested):
            raise ValueError(
                "cv drew other folds for every recipe, and these can only be compared on the same: "
                "give it a random_state."
            )
        contest.cells += [replace(cell, recipe=name) for cell in own.cells]
        contest.results += own.results
        contest.scores += own.scores
        contest.paired += own.paired
        contest.losses += own.losses
    views = {a: prepared.at(a) for part in parts for a in part.views}
    automatic = first.automatic
    return Joined(prepared, views, first.targets, contest, automatic, parts=tuple(parts))
