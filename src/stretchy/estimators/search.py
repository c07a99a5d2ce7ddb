"""What the two search estimators share."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stretchy.core.density import keep_count
from stretchy.core.types import Array
from stretchy.estimators.callbacks import Reporter
from stretchy.estimators.model import StretchyModel
from stretchy.estimators.parameters import checked_spec
from stretchy.estimators.prepared import Prepared
from stretchy.estimators.routing import Routing
from stretchy.exceptions import GridEdgeWarning
from stretchy.search import (
    RULES,
    Cell,
    Folds,
    Grid,
    Problem,
    Progress,
    finished_model,
    judge,
    outcomes,
    results_table,
)


class StretchySearch(Routing, StretchyModel):
    """Base of the estimators that choose a, k, c and density by exact cross-validation."""

    a_grid: Any
    k_grid: Any
    c_grid: Any
    density_grid: Any
    quadrant: Any
    fit_intercept: Any
    rule: Any
    n_jobs: Any
    verbose: Any

    def _search(
        self, prepared: Prepared, Y: Array, folds: Folds, scoring: Any, groups: Any
    ) -> None:
        """Evaluate the grid, choose a cell, store its model."""
        grid = self._checked_grid(prepared.X.shape[1])
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} is not known: use one of {', '.join(RULES)}.")
        views = {a: prepared.at(a) for a in grid.a}
        if any(view.design.shape[1] == 0 for view in views.values()):
            raise ValueError("no column of X varies: there is nothing to choose between.")
        problem = Problem(Y, prepared.weights, prepared.intercept, folds)
        cells, results, scores = [], [], []
        progress = Progress(grid.n_cells, "cells", self.verbose)
        reporter = Reporter(self, grid.n_cells)
        try:
            for cell, outcome in outcomes(grid, lambda a: views[a].design, problem):
                cells.append(cell)
                results.append(outcome)
                scores.append(scoring(Y[folds.tested] - outcome.residuals))
                progress.step()
                reporter.step()
        finally:
            progress.close()
        reporter.close()
        sampled = folds.mean(np.column_stack([s.losses for s in scores]), len(Y))
        seen = np.isin(np.arange(len(Y)), folds.tested)
        paired = [replace(s, losses=sampled[seen, i]) for i, s in enumerate(scores)]
        units = None if groups is None else np.asarray(groups)[prepared.rows][seen]
        verdict = judge(cells, results, paired, prepared.weights[seen], units, self.rule)
        chosen, view = cells[verdict.chosen], views[cells[verdict.chosen].a]
        spec = checked_spec(chosen.k, chosen.c, chosen.a, self.fit_intercept, "auto")
        count = keep_count(chosen.density, prepared.X.shape[1])
        model = finished_model(
            results[verdict.chosen], view.design, Y, prepared.weights, spec, count, self.n_jobs
        )
        warn_at_edge(cells, chosen, automatic=grid.c is None)
        self.a_, self.k_, self.c_, self.density_ = chosen.a, chosen.k, chosen.c, chosen.density
        self.cv_results_ = results_table(cells, results, scores, verdict)
        self.best_index_ = verdict.chosen
        self.best_score_ = scores[verdict.chosen].score
        self._store(prepared, view, model)
        self._tested_outputs = Y[folds.tested] - results[verdict.chosen].residuals
        self._oof = folds.mean(self._tested_outputs, len(Y))

    def _compresses(self, n_features: int) -> bool:
        """Whether some density keeps fewer than all features."""
        densities = _values("density_grid", self.density_grid)
        return any(keep_count(density, n_features) < n_features for density in densities)

    def _checked_grid(self, n_features: int) -> Grid:
        a = _values("a_grid", self.a_grid) if self.quadrant != "identity" else (1.0,)
        k, densities = _values("k_grid", self.k_grid), _values("density_grid", self.density_grid)
        c = None
        if not (isinstance(self.c_grid, str) and self.c_grid == "auto"):
            c = _values("c_grid", self.c_grid)
        for value in k:
            for strength in c or (1.0,):
                checked_spec(value, strength, 1.0, self.fit_intercept, "auto")
        counts = [keep_count(density, n_features) for density in densities]
        return Grid(a, k, c, densities, counts)

    def _scattered(self, prepared: Prepared) -> Array:
        """Out-of-fold outputs of all samples; those of weight zero get the model's own."""
        outputs = np.full((prepared.X.shape[0], self._oof.shape[1]), np.nan)
        outputs[prepared.rows] = self._oof
        left_out = np.setdiff1d(np.arange(prepared.X.shape[0]), prepared.rows)
        if left_out.size:
            outputs[left_out] = self._linear(prepared.X[left_out])
        return outputs


def _values(name: str, grid: Any) -> tuple[Any, ...]:
    """The values of a grid, in the order given and once each."""
    if isinstance(grid, str) or not np.iterable(grid):
        hint = ' or "auto"' if name == "c_grid" else ""
        raise TypeError(f"{name}={grid!r} is not a grid: pass a list of values{hint}.")
    values = tuple(dict.fromkeys(v.item() if isinstance(v, np.generic) else v for v in grid))
    if not values:
        raise ValueError(f"{name} is empty: pass at least one value.")
    return values


def warn_at_edge(cells: list[Cell], chosen: Cell, automatic: bool) -> None:
    """Say which way to extend the grid of c when the chosen cell lies on its edge."""
    own: Callable[[Cell], float] = (lambda x: x.strength) if automatic else (lambda x: x.c)
    name = "the relative strength s" if automatic else "c"
    tried = sorted({own(x) for x in cells if (x.a, x.k) == (chosen.a, chosen.k)})
    if len(tried) < 2 or own(chosen) not in (tried[0], tried[-1]):
        return
    side, way = ("smallest", "smaller") if own(chosen) == tried[0] else ("largest", "larger")
    advice = (
        f"pass c_grid with {'larger' if way == 'smaller' else 'smaller'} values than {chosen.c:.2g}"
        if automatic
        else f"extend c_grid with {way} values"
    )
    warnings.warn(
        f"the chosen {name}={own(chosen):.2g} is the {side} that was tried: {advice}.",
        GridEdgeWarning,
        stacklevel=4,
    )
