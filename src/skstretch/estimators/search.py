"""What the two search estimators share."""

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from skstretch.core.stretch import Intercept, keep_count, selects
from skstretch.core.types import Array, Index
from skstretch.designs import rows_in_memory
from skstretch.designs.blocks import calm_blas
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.inputs import (
    Prepared,
    Targets,
    View,
    declared_splitter,
    make_folds,
    prepare,
)
from skstretch.estimators.progress import (
    HAS_CALLBACKS,
    CallbackSupport,
    Progress,
    Reporter,
    told,
    with_callbacks,
)
from skstretch.estimators.state import whole_or_nothing
from skstretch.exceptions import GridEdgeWarning
from skstretch.search import (
    RULES,
    Cell,
    Folds,
    Grid,
    Outcome,
    Outcomes,
    Problem,
    Scored,
    Verdict,
    finished_model,
    judge,
    kept_outcomes,
    light_design,
    outcomes,
    results_table,
    scored,
    standard_error,
)
from skstretch.search.rule import (
    BalancedError,
    ForetoldClassifier,
    ForetoldRegressor,
    ScorerScore,
    Scoring,
    SquaredError,
    ZeroOne,
    compared,
    helpful_edge,
    scorer_named,
)
from skstretch.solve import checked_spec

# powers to try: of the closed forms, and of the exact minimiser at a = 0
K_GRID = (1.1, 1.25, 1.5, 1.75, 2.0)
LINEAR_K_GRID = (1.05, 1.1, 1.25, 1.5, 2.0)


def route(estimator: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Keywords for ``splitter.split``: by metadata routing where enabled, else groups alone."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
        return dict(routed.splitter.split)
    unknown = sorted(set(params) - {"groups"})
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword {unknown[0]!r}; groups is the only one.")
    return {name: value for name, value in params.items() if value is not None}


class StretchySearch(CallbackSupport, StretchyModel):
    """Base of the estimators that choose a, k, c and density by exact cross-validation."""

    a_grid: Any
    k_grid: Any
    c_grid: Any
    density_grid: Any
    quadrant: Any
    fit_intercept: Any
    rule: Any
    cv: Any
    scoring: Any
    n_jobs: Any
    verbose: Any
    # what every cell gave; None where that is too much to hold on to
    _outcomes: Outcomes | None

    def __getstate__(self) -> dict[str, Any]:
        # a search can be run again: what it found out about other cells stays out of pickles
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_outcomes"}

    def get_metadata_routing(self) -> MetadataRouter:
        """Declare the splitter, so that groups find their way through pipelines.

        Returns
        -------
        routing : MetadataRouter
            What `fit` passes on, and to whom.
        """
        mapping = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=declared_splitter(self.cv), method_mapping=mapping)
        )

    @with_callbacks
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Search, and fit what was found to all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data: an array, a frame, a sparse matrix, a memory map or a Dask array.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, or classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample; zero leaves it out.
        **params : dict
            ``groups``, array-like of shape (n_samples,), is handed to the splitter.

        Returns
        -------
        self : StretchyRegressorCV or StretchyClassifierCV
            Fitted.
        """
        X, targets = self._read(X, y, sample_weight)
        grid = self._checked_grid(X.shape[1])
        powers = [(a, grid.ks(a)) for a in grid.a]
        weights = targets.weights
        telling: AbstractContextManager[tuple[Any, Any]] = nullcontext((X, None))
        if self.verbose:
            n_transforms = sum(len(ks) for _, ks in powers)
            telling = told(self, X, weights, grid.densities, n_transforms, grid.n_cells)
        with telling as (X, _):
            split_params = route(self, sample_weight, params)
            prepared = prepare(self, X, weights, powers)
            rows, y = prepared.rows, targets.y
            kind = {
                "classifier": targets.classes is not None,
                "compressed": selects(grid.densities, X.shape[1]),
            }
            folds = make_folds(self.cv, X, y, rows, **kind, **split_params)
            given = sample_weight is not None
            scoring = scoring_of(self.scoring, targets, rows, folds, weighted=given)
            self._search(grid, prepared, targets, folds, scoring, split_params.get("groups"))
        return self

    def _search(
        self,
        grid: Grid,
        prepared: Prepared,
        targets: Targets,
        folds: Folds,
        scoring: Scoring,
        groups: Any,
    ) -> None:
        """Evaluate the grid, choose a cell, store its model."""
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} is not known: use one of {', '.join(RULES)}.")
        views = {a: prepared.at(a) for a in grid.a}
        if any(view.design.shape[1] == 0 for view in views.values()):
            raise ValueError("no column of X varies: there is nothing to choose between.")
        Y = targets.Y[prepared.rows]
        problem = Problem(Y, prepared.weights, prepared.intercept, folds)
        cells, results, scores = self._evaluate(grid, views, problem, scoring)
        seen = np.isin(np.arange(len(Y)), folds.tested)
        units = None if groups is None else np.asarray(groups)[prepared.rows][seen]
        paired = [by_sample(score, folds, seen) for score in scores]
        weights = targets.sample_weights[prepared.rows][seen]

        def choose() -> Verdict:
            return judge(cells, results, paired, weights, units, self.rule)

        verdict = choose()
        while inexact := to_refine(cells, results, scores, verdict):
            for i in inexact:
                results[i] = results[i].exactly()
                scores[i] = scored(scoring, results[i], Y[folds.tested])
                paired[i] = by_sample(scores[i], folds, seen)
            verdict = choose()
        chosen, outcome = cells[verdict.chosen], results[verdict.chosen]
        count, view = keep_count(chosen.density, prepared.X.shape[1]), views[chosen.a]
        unit = view.quadrant.unit
        spec = checked_spec(chosen.k, chosen.c, chosen.a == 0, self.fit_intercept, "auto", unit)
        model = finished_model(outcome, view.design, Y, prepared.weights, spec, count, self.n_jobs)
        table = results_table(cells, results, scores, verdict)
        table |= compared(paired, verdict.chosen, weights, units)
        n_columns = min(count, view.columns.size)
        free = float(prepared.intercept is Intercept.FREE)
        limits = free, float(min(len(Y), n_columns + free))
        way = helpful_edge(cells, results, table, verdict, limits)
        if way is not None:
            warn_at_edge(way, chosen.c, automatic=grid.c is None)
        self.a_, self.k_, self.c_, self.density_ = chosen.a, chosen.k, chosen.c, chosen.density
        self.cv_results_ = table
        self.best_index_, self.rule_loss_ = verdict.chosen, scoring.loss_name
        self.best_score_ = scores[verdict.chosen].score
        tested = targets.sample_weights[prepared.rows][folds.tested]
        self.best_score_se_ = standard_error(scores, paired[verdict.chosen], tested, weights, units)
        outputs = Y[folds.tested] - outcome.residuals
        decision = self._decide(outputs, targets, prepared.rows[folds.tested])
        self._store(prepared.state(view, model, targets.single, decision))
        held_out = self._of_all_samples(folds.mean(outputs, len(Y)), prepared)
        self.cv_predictions_ = self._state.flat(held_out)
        light = {a: replace(seen, design=light_design(seen.design)) for a, seen in views.items()}
        self._outcomes = kept_outcomes(cells, results, problem, light, groups is not None)

    def _evaluate(
        self, grid: Grid, views: dict[float, View], problem: Problem, scoring: Any
    ) -> tuple[list[Cell], list[Outcome], list[Scored]]:
        """Every cell with its outcome and score, with progress."""
        cells, results, scores = [], [], []
        progress = Progress(grid.n_cells, "cells", self.verbose)
        reporter = Reporter(self, grid.n_cells)
        true = problem.Y[problem.folds.tested]
        try:
            with calm_blas(min(min(view.design.shape) for view in views.values())):
                for cell, outcome in outcomes(grid, lambda a: views[a].design, problem):
                    cells.append(cell)
                    results.append(outcome)
                    scores.append(scored(scoring, outcome, true))
                    progress.step()
                    reporter.step()
        finally:
            progress.close()
        reporter.close()
        return cells, results, scores

    def _checked_grid(self, n_features: int) -> Grid:
        a = _values("a_grid", self.a_grid) if self.quadrant != "identity" else (1.0,)
        automatic = isinstance(self.k_grid, str) and self.k_grid == "auto"
        k = K_GRID if automatic else _values("k_grid", self.k_grid)
        densities = _values("density_grid", self.density_grid)
        c = None
        if not (isinstance(self.c_grid, str) and self.c_grid == "auto"):
            c = _values("c_grid", self.c_grid)
        for value in k:
            for strength in c or (1.0,):
                checked_spec(value, strength, False, self.fit_intercept, "auto")
        counts = [keep_count(density, n_features) for density in densities]
        linear = LINEAR_K_GRID if automatic else tuple(value for value in k if value <= 2)
        if 0 in a and not linear:
            raise ValueError(
                f"k_grid={self.k_grid!r} has no power for a=0, where the exact minimiser needs "
                "1 < k <= 2: add one, or leave 0 out of a_grid."
            )
        return Grid(a, k, c, densities, counts, linear_k=linear)

    def _of_all_samples(self, held_out: Array, prepared: Prepared) -> Array:
        """Out-of-fold outputs of all samples; those of weight zero get the model's own."""
        outputs = np.full((prepared.X.shape[0], held_out.shape[1]), np.nan)
        outputs[prepared.rows] = held_out
        left_out = np.setdiff1d(np.arange(prepared.X.shape[0]), prepared.rows)
        if left_out.size:
            outputs[left_out] = self._linear(rows_in_memory(prepared.X, left_out))
        return outputs


def to_refine(
    cells: list[Cell], results: list[Outcome], scores: list[Scored], verdict: Verdict
) -> list[int]:
    """Approximate cells of which an exact value will be told: the chosen one, the best of all, and
    the best of every family (a, k, density)."""
    best: dict[Any, int] = {}
    for i, cell in enumerate(cells):
        family = cell.a, cell.k, cell.density
        ahead = family not in best or scores[i].score > scores[best[family]].score
        if results[i].usable and np.isfinite(scores[i].score) and ahead:
            best[family] = i
    told = {verdict.chosen, verdict.best, *best.values()}
    return sorted(i for i in told if results[i].refine is not None)


def by_sample(score: Scored, folds: Folds, seen: Any) -> Scored:
    """Losses averaged over the folds of each sample that was tested."""
    losses = folds.mean(score.losses, seen.size)[seen]
    smooth = None if score.smooth is None else folds.mean(score.smooth, seen.size)[seen]
    return replace(score, losses=losses, smooth=smooth)


def _values(name: str, grid: Any) -> tuple[Any, ...]:
    """The values of a grid, in the order given and once each."""
    listed = None if isinstance(grid, str) or not np.iterable(grid) else list(grid)
    if listed is None or any(np.ndim(v) for v in listed):
        hint = ' or "auto"' if name in ("c_grid", "k_grid") else ""
        raise TypeError(f"{name}={grid!r} is not a grid: pass a list of values{hint}.")
    plain = [v.item() if isinstance(v, np.generic) else v for v in listed]
    # a density of 1 is one feature, 1.0 is all of them
    values = tuple({(v, name == "density_grid" and isinstance(v, int)): v for v in plain}.values())
    if not values:
        raise ValueError(f"{name} is empty: pass at least one value.")
    return values


def warn_at_edge(way: str, c: float, automatic: bool) -> None:
    """Say which way to extend the grid of c."""
    side = "largest" if way == "larger" else "smallest"
    advice = f"{'pass' if automatic else 'extend'} c_grid with {way} values"
    warnings.warn(
        f"the chosen c={c:.2g} is the {side} that was tried, and the loss still falls towards it "
        f"by more than its standard error: {advice}.",
        GridEdgeWarning,
        # the caller of `fit`, which scikit-learn's callbacks wrap
        stacklevel=6 if HAS_CALLBACKS else 5,
    )


def scoring_of(
    scoring: Any, targets: Targets, rows: Index, folds: Folds, *, weighted: bool
) -> Scoring:
    """The scorer that was asked for; else minus the squared or the balanced error.

    A scorer of the user's is told weights only where `fit` was (`weighted`).
    """
    tested = rows[folds.tested]
    Y, weights = targets.Y[tested], targets.sample_weights[tested]
    own: Scoring
    paired: Scoring
    foretold: Any
    if targets.codes is None:
        own = paired = SquaredError(Y, weights)
        foretold = ForetoldRegressor
    else:
        codes = targets.codes[tested]
        own = BalancedError(codes, targets.classes.size, Y, weights)
        paired = ZeroOne(codes, Y, weights)
        foretold = partial(ForetoldClassifier, classes=targets.classes)
    if scoring is None:
        return own
    scorer, name = scorer_named(scoring)
    given = weights if weighted else None
    return ScorerScore(scorer, foretold, targets.y[tested], given, paired, name)
