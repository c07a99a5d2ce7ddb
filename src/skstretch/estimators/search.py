"""What the two search estimators share."""

import numbers
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from skstretch.core.classes import decided
from skstretch.core.stretch import keep_count, selects
from skstretch.core.types import Array, Index
from skstretch.designs import is_dask, is_source, rows_in_memory, steps_read_again
from skstretch.designs.blocks import SHARED_ROWS, calm_blas
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.explored import Explored
from skstretch.estimators.influence import WithInfluence
from skstretch.estimators.inputs import (
    Prepared,
    Targets,
    View,
    declared_splitter,
    held_out_name,
    make_folds,
    prepare,
)
from skstretch.estimators.mixture import Fitted, mixed, weights_table
from skstretch.estimators.outer import Again, inner_parts
from skstretch.estimators.progress import (
    CallbackSupport,
    Progress,
    Reporter,
    told,
    told_work,
    warn_at_edge,
    warn_of_hours,
    with_callbacks,
)
from skstretch.estimators.state import whole_or_nothing
from skstretch.search import (
    MANY_CLASSES,
    RULES,
    STRENGTHS,
    Contest,
    Folds,
    Grid,
    Mix,
    Outcomes,
    Problem,
    Verdict,
    outcomes,
)
from skstretch.search.nested import Nested, outer_samples
from skstretch.search.permutation import PermutationTest, Tested, permutation_test
from skstretch.search.scoring import (
    BalancedError,
    ForetoldClassifier,
    ForetoldRegressor,
    LogLoss,
    ScorerScore,
    Scoring,
    SquaredError,
    ZeroOne,
    scorer_named,
)
from skstretch.search.turns import selected_again
from skstretch.solve import checked_spec
from skstretch.solve.choose import is_costly

# powers to try: of the closed forms, and of the exact minimiser at a = 0
K_GRID = (1.25, 1.5, 2.0)
LINEAR_K_GRID = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0)
# numbers of features that a mixture also tries, where there are twice as many: selected by ridge,
# at every other strength
COUNTS = (30, 100)
SELECTION_STRENGTHS = STRENGTHS[::2]
# the same for many classes, each of which is minimised and selects on its own
FEWER_LINEAR_K = (1.05, 1.25, 1.5, 2.0)
FEWER_SELECTION_STRENGTHS = STRENGTHS[::4]
# powers of the closed forms where K is too costly, at a = 0 ridge alone
WALKED_K = (1.25, 2.0)


def route(estimator: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Keywords for ``splitter.split``: by metadata routing where enabled, else groups alone."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
        return dict(routed.splitter.split)
    unknown = sorted(set(params) - {"groups"})
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword {unknown[0]!r}; groups is the only one.")
    return {name: value for name, value in params.items() if value is not None}


class StretchySearch(CallbackSupport, WithInfluence, StretchyModel):
    """Base of the estimators that choose a, k, c and density by exact cross-validation."""

    a_grid: Any
    k_grid: Any
    c_grid: Any
    density_grid: Any
    quadrant: Any
    fit_intercept: Any
    rule: Any
    nested: Any
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
        with self._exploring(X, y, sample_weight, params) as found:
            mix = self._conclude(found)
            again = found.again() if found.again is not None else None
            if again is not None:
                score = found.contest.nested_score(found.contest.outputs(mix), again)
                self.nested_score_, self.nested_score_se_ = score
                self.nested_of_ = "parts"
        return self

    @contextmanager
    def _exploring(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> Iterator[Explored]:
        """All cells of the grids, evaluated; what is fitted afterwards is calm and told of too."""
        X, targets = self._read(X, y, sample_weight)
        grids = self._checked_grids(X, targets)
        walked = grids[0].walked
        powers = [(a, grids[0].ks(a)) for a in grids[0].a]
        weights = targets.weights
        telling: AbstractContextManager[tuple[Any, Any]] = nullcontext((X, None))
        if self.verbose:
            n_transforms = sum(len(ks) for _, ks in powers)
            n_cells = sum(grid.n_cells for grid in grids)
            by, densities = "auto" if walked else None, grids[-1].densities
            telling = told(self, X, weights, densities, n_transforms, n_cells, by)
        with told_work(self.verbose), telling as (X, _):
            if self.verbose:
                print("searches", "; ".join(map(str, grids)), file=sys.stderr, flush=True)
            split_params = route(self, sample_weight, params)
            prepared = prepare(self, X, weights, () if walked else powers)
            kind, D = targets.classes is not None, X.shape[1]
            make = partial(make_folds, self.cv, X, targets.y, prepared.rows, classifier=kind)
            make = partial(make, few=walked, **split_params)
            folds = [make(compressed=walked or selects(g.densities, D)) for g in grids]
            given = sample_weight is not None
            scorings = scorings_of(self.scoring, targets, prepared.rows, folds[0], weighted=given)
            groups = split_params.get("groups")
            automatic = grids[0].c is None
            contest = self._contest(prepared, targets, folds[0], scorings, groups, automatic)
            contest.leave_out(inner_parts(contest, grids, make))
            # cells are made exact and fitted after the search, by systems of the same size
            with calm_blas(min(prepared.rows.size, D), SHARED_ROWS):
                views = {a: prepared.at(a) for a in grids[0].a}
                if any(view.design.shape[1] == 0 for view in views.values()):
                    raise ValueError("no column of X varies: there is nothing to choose between.")
                self._evaluate(grids, folds, views, contest)
                again = None
                if self.nested:
                    own = Again(self, X, targets.y, prepared.rows, sample_weight, groups)
                    again = partial(own.search, contest, grids, make)
                yield Explored(prepared, views, targets, contest, automatic, again)

    def _contest(
        self,
        prepared: Prepared,
        targets: Targets,
        folds: Folds,
        scorings: tuple[Scoring, Scoring],
        groups: Any,
        automatic: bool,
    ) -> Contest:
        """Where cells will be compared; `automatic` where their penalties follow from the data."""
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} is not known: use one of {', '.join(RULES)}.")
        if isinstance(self.nested, str) and self.nested != "refit":
            raise ValueError(f'nested={self.nested!r} is not known: use True, False or "refit".')
        Y, classes = targets.Y[prepared.rows], targets.classes is not None
        shared = Y, prepared.weights, prepared.intercept, folds, classes
        problem = Problem(*shared, automatic=automatic)
        weights = targets.sample_weights[prepared.rows]
        units = None if groups is None else np.asarray(groups)[prepared.rows]
        X = prepared.X
        alone = folds.folds is None and len(Y) > 2 and not (is_source(X) or is_dask(X))
        if not (self.nested and self.rule == "mix" and self.scoring is None and alone):
            return Contest(problem, *scorings, weights, units)
        problem = replace(problem, outer=outer_samples(len(Y), Y.shape[1], classes))
        if not problem.outer.size:
            return Contest(problem, *scorings, weights, units)
        codes = None if targets.codes is None else targets.codes[prepared.rows]
        nested = Nested(problem, weights, codes)
        return Contest(problem, *scorings, weights, units, nested=nested)

    def _conclude(self, found: Explored, mix: Mix | None = None) -> Mix:
        """Choose or mix cells, unless the mixture is given, and store the model."""
        contest, prepared = found.contest, found.prepared
        if mix is not None or self.rule == "mix":
            mix = contest.mixed() if mix is None else mix
            verdict = contest.heaviest(mix)
        else:
            verdict, mix = contest.chosen(self.rule)
        outputs = contest.outputs(mix)
        self._tell(contest, verdict, mix, outputs, automatic=found.automatic)
        tested = prepared.rows[contest.problem.folds.tested]
        decision = self._decide(outputs, found.targets, tested)
        if decision is not None:
            decision = replace(decision, held_out=held_out_name(self.cv, contest.problem.folds))
        states = zip(found.states(self, list(mix), decision), mix.items(), strict=True)
        cells = [
            Fitted(state, weight, row, contest.cells[row].density)
            for state, (row, weight) in states
        ]
        held_out = contest.problem.folds.mean(outputs, len(contest.problem.Y))
        # leave one out has told what intervals need
        alone = contest.problem.Y - held_out if contest.problem.folds.folds is None else None
        self._store(cells[0].state if len(cells) == 1 else mixed(cells, found.linear, alone))
        self.cv_predictions_ = self._state.flat(self._of_all_samples(held_out, prepared))
        self._outcomes = found.outcomes()
        return mix

    def _evaluate(
        self,
        grids: Sequence[Grid],
        folds: Sequence[Folds],
        views: dict[float, View],
        contest: Contest,
    ) -> None:
        """Every cell of the grids enters the contest, with progress."""
        n_cells = sum(grid.n_cells for grid in grids)
        progress, reporter = Progress(n_cells, "cells", self.verbose), Reporter(self, n_cells)
        order = folds[0].tested
        try:
            for grid, own in zip(grids, folds, strict=True):
                problem = replace(contest.problem, folds=own)
                again = bool(problem.parts) and own.folds is not None
                found = selected_again if again else outcomes
                for cell, outcome in found(grid, lambda a: views[a].design, problem):
                    same = np.array_equal(own.tested, order)
                    contest.enter(cell, outcome if same else outcome.moved(own.tested, order))
                    progress.step()
                    reporter.step()
        finally:
            progress.close()
        reporter.close()

    def _tell(
        self, contest: Contest, verdict: Verdict, mix: Mix, outputs: Array, *, automatic: bool
    ) -> None:
        """What was chosen or mixed and the table of all cells, as attributes."""
        at = verdict.chosen
        chosen = contest.cells[at]
        self.a_, self.k_, self.c_, self.density_ = chosen.a, chosen.k, chosen.c, chosen.density
        score = contest.scores[at] if len(mix) == 1 else contest.scoring(outputs)
        paired = contest.by_sample(score)
        self.cv_results_ = contest.table(verdict, paired)
        shares = np.zeros(len(contest.cells))
        shares[list(mix)] = [weight.mean() for weight in mix.values()]
        self.cv_results_["weight"] = shares
        self.weights_ = weights_table(self.cv_results_, mix)
        self.best_index_ = at
        self.rule_loss_ = (contest.loss if self.rule == "mix" else contest.scoring).loss_name
        self.best_score_, self.best_score_se_ = score.score, contest.error(paired)
        if self.nested:
            self.nested_score_, self.nested_score_se_ = contest.nested_score(outputs)
            self.nested_of_ = "parts" if contest.problem.parts else "samples"
        n_columns = int(min(contest.results[at].n_features, self.n_features_in_))
        # the cells of a mixture make up for each other
        way = contest.edge(verdict, self.cv_results_, n_columns) if len(mix) == 1 else None
        if way is not None:
            warn_at_edge(way, chosen.c, automatic=automatic)

    def _checked_grids(self, X: Any, targets: Targets) -> list[Grid]:
        """The grid, and beside it the selections of features that a mixture tries by itself.

        Of many classes automatic grids are shorter, and where K is too costly they are a few closed
        forms that do without it; so do closed forms that are asked for.
        """
        D, automatic = X.shape[1], isinstance(self.density_grid, str)
        if automatic and self.density_grid != "auto":
            raise TypeError(
                f"density_grid={self.density_grid!r} is not a grid: pass a list of values or "
                '"auto".'
            )
        densities = (1.0,) if automatic else _values("density_grid", self.density_grid)
        grid = self._checked_grid(D, densities, exact=not steps_read_again(X))
        n_used = int(np.count_nonzero(targets.weights))
        few = replace(grid, k=WALKED_K, linear_k=(2.0,)) if self._automatic_k else grid
        if is_costly(n_used, D) and few.is_closed(D):
            return [few.without_matrix()]
        many = targets.classes is not None and len(targets.classes) >= MANY_CLASSES
        if many and self._automatic_k and len(grid.linear_k) > 1:
            grid = replace(grid, linear_k=FEWER_LINEAR_K)
        grids = [grid, *self._selections(X, grid, many)] if automatic else [grid]
        if is_costly(n_used, D):
            warn_of_hours(sum(one.n_cells for one in grids), min(n_used, D))
        return grids

    def _selections(self, X: Any, grid: Grid, many: bool) -> list[Grid]:
        """Ridge on the strongest features, which a mixture tries beside the grid."""
        counts = [count for count in COUNTS if 2 * count <= X.shape[1]]
        if not (counts and self.rule == "mix" and 0 in grid.a):
            return []
        if self.quadrant == "identity" or is_source(X) or is_dask(X) or 2.0 not in grid.linear_k:
            return []
        strengths = FEWER_SELECTION_STRENGTHS if many else SELECTION_STRENGTHS
        return [Grid((0.0,), (2.0,), grid.c, counts, counts, strengths)]

    @property
    def _automatic_k(self) -> bool:
        return isinstance(self.k_grid, str) and self.k_grid == "auto"

    def _checked_grid(self, n_features: int, densities: tuple[Any, ...], exact: bool) -> Grid:
        """The grid; automatic powers have exact minimisers where that is affordable (`exact`)."""
        a = _values("a_grid", self.a_grid) if self.quadrant != "identity" else (1.0,)
        k = K_GRID if self._automatic_k else _values("k_grid", self.k_grid)
        c = None
        if not (isinstance(self.c_grid, str) and self.c_grid == "auto"):
            c = _values("c_grid", self.c_grid)
        for value in k:
            for strength in c or (1.0,):
                if checked_spec(value, strength, False, self.fit_intercept, "auto").automatic:
                    raise ValueError('c_grid lists "auto": pass numbers, or c_grid="auto".')
        counts = [keep_count(density, n_features) for density in densities]
        linear = tuple(value for value in k if value <= 2)
        if self._automatic_k:
            linear = LINEAR_K_GRID if exact else (2.0,)
        if 0 in a and not linear:
            raise ValueError(
                f"k_grid={self.k_grid!r} has no power for a=0, where the exact minimiser needs "
                "1 < k <= 2: add one, or leave 0 out of a_grid."
            )
        return Grid(a, k, c, densities, counts, linear_k=linear)

    def permutation_test(
        self, n_permutations: int = 1000, *, random_state: Any = 0
    ) -> PermutationTest:
        """Whether the search could have found this by chance.

        The targets are put in random order and searched again. What is searched are the closed
        forms of the grid (ridge, and a different from 0), each family's best c mixed as the model
        is, with leave one out: their residuals are linear in y, so that all orders share one
        inverse a cell. Exact minimisers of k < 2 and selected features take no part, nor do
        weights of classes: the test has its level whatever it leaves out.

        Parameters
        ----------
        n_permutations : int, default=1000
            How many random orders are tried; the least p-value is one over one more than these.
        random_state : int, RandomState or None, default=0
            What the orders are drawn with.

        Returns
        -------
        result : PermutationTest
            ``pvalue``, ``statistic`` and ``null_distribution``; kept as ``permutation_``.
        """
        check_is_fitted(self)
        if not isinstance(n_permutations, numbers.Integral) or n_permutations < 1:
            raise ValueError(
                f"n_permutations={n_permutations!r} must be a whole number from 1 on, say 1000."
            )
        known = getattr(self, "_outcomes", None)
        if known is None:
            raise ValueError(
                "permutation_test needs what the search kept, and a model that was loaded, pickled "
                "or searched on very large data has not kept it: fit it again."
            )
        if known.grouped:
            raise ValueError("samples in groups cannot be put in any order: fit without groups.")
        whole = self._checked_grid(self.n_features_in_, (1.0,), exact=False)
        grid = replace(whole, a=tuple(known.views), linear_k=(2.0,))
        codes, classes = None, getattr(self, "classes_", None)
        if classes is not None:
            codes = decided(known.Y)
        n_classes = 0 if classes is None else classes.size
        tested = Tested(known.Y, known.sample_weights, known.intercept, codes, n_classes)
        rng = check_random_state(random_state)
        orders = np.array([rng.permutation(len(known.Y)) for _ in range(n_permutations)])
        found = permutation_test(grid, lambda a: known.views[a].design, tested, orders)
        self.permutation_ = found
        return found

    def _of_all_samples(self, held_out: Array, prepared: Prepared) -> Array:
        """Out-of-fold outputs of all samples; those of weight zero get the model's own."""
        outputs = np.full((prepared.X.shape[0], held_out.shape[1]), np.nan)
        outputs[prepared.rows] = held_out
        left_out = np.setdiff1d(np.arange(prepared.X.shape[0]), prepared.rows)
        if left_out.size:
            outputs[left_out] = self._linear(rows_in_memory(prepared.X, left_out))
        return outputs


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


def scorings_of(
    scoring: Any, targets: Targets, rows: Index, folds: Folds, *, weighted: bool
) -> tuple[Scoring, Scoring]:
    """What is told of cells, and what the best of a family are chosen by.

    The scorer that was asked for, both; else minus the squared error, or for classes minus the
    balanced error rate, and the log loss to choose by. A scorer of the user's is told weights only
    where `fit` was (`weighted`).
    """
    tested = rows[folds.tested]
    Y, weights = targets.Y[tested], targets.sample_weights[tested]
    own: Scoring
    by: Scoring
    paired: Scoring
    foretold: Any
    if targets.codes is None:
        own = by = paired = SquaredError(Y, weights)
        foretold = ForetoldRegressor
    else:
        codes, n_classes = targets.codes[tested], targets.classes.size
        own = BalancedError(codes, n_classes, Y, weights)
        by = LogLoss(codes, n_classes, Y, weights)
        paired = ZeroOne(codes, Y, weights)
        foretold = partial(ForetoldClassifier, classes=targets.classes)
    if scoring is None:
        return own, by
    scorer, name = scorer_named(scoring)
    given = weights if weighted else None
    own = ScorerScore(scorer, foretold, targets.y[tested], given, paired, name)
    return own, own
