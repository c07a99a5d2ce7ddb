"""What the two search estimators share."""

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
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
from skstretch.designs import rows_in_memory, steps_read_again
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
        grid = self._checked_grid(X.shape[1], exact=not steps_read_again(X))
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
        weights = targets.sample_weights[prepared.rows]
        units = None if groups is None else np.asarray(groups)[prepared.rows]
        contest = Contest(problem, scoring, weights, units)
        self._evaluate(grid, views, contest)
        verdict = contest.judged(self.rule)
        chosen, outcome = contest.cells[verdict.chosen], contest.results[verdict.chosen]
        count, view = keep_count(chosen.density, prepared.X.shape[1]), views[chosen.a]
        unit = view.quadrant.unit
        spec = checked_spec(chosen.k, chosen.c, chosen.a == 0, self.fit_intercept, "auto", unit)
        model = finished_model(outcome, view.design, Y, prepared.weights, spec, count, self.n_jobs)
        self._tell(contest, verdict)
        way = contest.edge(verdict, self.cv_results_, min(count, view.columns.size))
        if way is not None:
            warn_at_edge(way, chosen.c, automatic=grid.c is None)
        outputs = Y[folds.tested] - outcome.residuals
        decision = self._decide(outputs, targets, prepared.rows[folds.tested])
        self._store(prepared.state(view, model, targets.single, decision))
        held_out = self._of_all_samples(folds.mean(outputs, len(Y)), prepared)
        self.cv_predictions_ = self._state.flat(held_out)
        light = {a: replace(seen, design=light_design(seen.design)) for a, seen in views.items()}
        cells, results = contest.cells, contest.results
        self._outcomes = kept_outcomes(cells, results, problem, light, groups is not None)

    def _evaluate(self, grid: Grid, views: dict[float, View], contest: "Contest") -> None:
        """Every cell of the grid enters the contest, with progress."""
        progress = Progress(grid.n_cells, "cells", self.verbose)
        reporter = Reporter(self, grid.n_cells)
        try:
            with calm_blas(min(min(view.design.shape) for view in views.values())):
                for cell, outcome in outcomes(grid, lambda a: views[a].design, contest.problem):
                    contest.enter(cell, outcome)
                    progress.step()
                    reporter.step()
        finally:
            progress.close()
        reporter.close()

    def _tell(self, contest: "Contest", verdict: Verdict) -> None:
        """The chosen cell and the table of all, as attributes."""
        at = verdict.chosen
        chosen = contest.cells[at]
        self.a_, self.k_, self.c_, self.density_ = chosen.a, chosen.k, chosen.c, chosen.density
        self.cv_results_ = contest.table(verdict)
        self.best_index_, self.rule_loss_ = at, contest.scoring.loss_name
        self.best_score_, self.best_score_se_ = contest.scores[at].score, contest.error(at)

    def _checked_grid(self, n_features: int, exact: bool) -> Grid:
        """The grid; automatic powers have exact minimisers where that is affordable (`exact`)."""
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
        linear = tuple(value for value in k if value <= 2)
        if automatic:
            linear = LINEAR_K_GRID if exact else (2.0,)
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


@dataclass
class Contest:
    """The cells of a search with their outcomes and scores, and the samples that compare them.

    Attributes
    ----------
    weights, units : arrays of shape (M,)
        Of the samples of the problem; units that errors share, or None.
    scores, paired : list of Scored
        By test of a sample, and by sample that was tested.
    """

    problem: Problem
    scoring: Scoring
    weights: Array
    units: Any
    cells: list[Cell] = field(default_factory=list)
    results: list[Outcome] = field(default_factory=list)
    scores: list[Scored] = field(default_factory=list)
    paired: list[Scored] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = np.isin(np.arange(len(self.weights)), self.problem.folds.tested)

    def enter(self, cell: Cell, outcome: Outcome) -> None:
        """One more cell."""
        score = self._scored(outcome)
        self.cells.append(cell)
        self.results.append(outcome)
        self.scores.append(score)
        self.paired.append(self._by_sample(score))

    def judged(self, rule: str) -> Verdict:
        """The verdict of a rule, once every value that is told of it is exact."""
        verdict = self._judge(rule)
        while inexact := self._to_refine(verdict):
            for i in inexact:
                self.results[i] = self.results[i].exactly()
                self.scores[i] = self._scored(self.results[i])
                self.paired[i] = self._by_sample(self.scores[i])
            verdict = self._judge(rule)
        return verdict

    def table(self, verdict: Verdict) -> dict[str, Any]:
        """Everything about every cell."""
        table = results_table(self.cells, self.results, self.scores, verdict)
        return table | compared(self.paired, verdict.chosen, *self._units)

    def error(self, chosen: int) -> float:
        """The standard error of the score of a cell."""
        tested = self.weights[self.problem.folds.tested]
        return standard_error(self.scores, self.paired[chosen], tested, *self._units)

    def edge(self, verdict: Verdict, table: dict[str, Any], n_columns: int) -> str | None:
        """Which way the grid of c may end too early for the chosen model, of so many columns."""
        free = float(self.problem.intercept is Intercept.FREE)
        limits = free, float(min(len(self.weights), n_columns + free))
        return helpful_edge(self.cells, self.results, table, verdict, limits)

    @property
    def _units(self) -> tuple[Array, Any]:
        """Weights and units of the samples that were tested."""
        return self.weights[self.seen], None if self.units is None else self.units[self.seen]

    def _judge(self, rule: str) -> Verdict:
        return judge(self.cells, self.results, self.paired, *self._units, rule)

    def _scored(self, outcome: Outcome) -> Scored:
        return scored(self.scoring, outcome, self.problem.Y[self.problem.folds.tested])

    def _by_sample(self, score: Scored) -> Scored:
        """Losses averaged over the folds of each sample that was tested."""
        mean, n, seen = self.problem.folds.mean, self.seen.size, self.seen
        smooth = None if score.smooth is None else mean(score.smooth, n)[seen]
        return replace(score, losses=mean(score.losses, n)[seen], smooth=smooth)

    def _to_refine(self, verdict: Verdict) -> list[int]:
        """Approximate cells of which an exact value will be told: the chosen one, the best of all,
        and the best of every family (a, k, density)."""
        best: dict[Any, int] = {}
        scores = [score.score for score in self.scores]
        for i, cell in enumerate(self.cells):
            family = cell.a, cell.k, cell.density
            ahead = family not in best or scores[i] > scores[best[family]]
            if self.results[i].usable and np.isfinite(scores[i]) and ahead:
                best[family] = i
        told = {verdict.chosen, verdict.best, *best.values()}
        return sorted(i for i in told if self.results[i].refine is not None)


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
