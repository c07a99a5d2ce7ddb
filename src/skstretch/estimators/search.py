"""What a search has seen, before anything is chosen from it.

What the two search estimators share.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
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
from skstretch.core.crossfit import effective_weights
from skstretch.core.features import side_by_side
from skstretch.core.losses import rates
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept, checked_number, keep_count, selects
from skstretch.core.types import Array, Index
from skstretch.designs import (
    Design,
    equal_rows,
    in_memory,
    rows_in_memory,
    storage_of,
)
from skstretch.designs.threads import SHARED_ROWS, single_blas_thread
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.influence import WithInfluence
from skstretch.estimators.inputs import (
    Prepared,
    Targets,
    check_among,
    check_count,
    check_number_of_folds,
    declared_splitter,
    group_codes,
    make_folds,
    prepare,
    seed_of,
    units_of,
    warn_of_targets,
)
from skstretch.estimators.losses import (
    SQUARED,
    asked_densities,
    entered_by_loss,
    is_auto,
    loss_grid,
    loss_plan,
    n_paths,
    scorings_of,
    strata_of,
    values_of,
)
from skstretch.estimators.mixture import Fitted, framed, mixed, weights_table
from skstretch.estimators.nested import nested_score
from skstretch.estimators.progress import (
    HAS_CALLBACKS,
    CallbackSupport,
    Progress,
    Reporter,
    following,
    verbose_counts,
    warn_at_edge,
    warn_of_hours,
    warn_of_storage,
    with_callbacks,
)
from skstretch.estimators.samples import notice
from skstretch.estimators.state import Decision, State, whole_or_nothing
from skstretch.search import (
    RULES,
    CandidateTable,
    Folds,
    Grid,
    Mix,
    Outcome,
    Outcomes,
    Problem,
    Verdict,
    View,
    evaluate_grid,
    finished_model,
    in_one_pass,
    kept_outcomes,
)
from skstretch.search.permutation import (
    PermutationTest,
    Tested,
    check_no_copies,
    permutation_test,
    random_orders,
    whole_features,
)
from skstretch.solve import checked_spec
from skstretch.solve.choose import (
    SEARCHES,
    STRENGTHS,
    Families,
    Plan,
    choose_families,
    comes_into_memory,
    is_costly,
    is_read,
)


@dataclass(frozen=True)
class SearchResult:
    """What a search has evaluated: the data, seen through every a, and the table of all
    candidates."""

    prepared: Prepared
    views: dict[float, View]
    targets: Targets
    table: CandidateTable

    @property
    def linear(self) -> Quadrant:
        """The transform to z-scores."""
        return (self.views[0.0] if 0.0 in self.views else self.prepared.at(0.0)).quadrant

    def states(
        self, estimator: Any, rows: Sequence[int], decision: Decision | None, progress: Progress
    ) -> Iterator[State]:
        """The fitted models of some candidates, in one pass over data that has to be read."""
        outcomes = in_one_pass([self.table.results[row] for row in rows])
        for row, outcome in zip(rows, outcomes, strict=True):
            yield self._state(estimator, row, outcome, decision)
            progress.step()

    def _state(
        self, estimator: Any, row: int, outcome: Outcome, decision: Decision | None
    ) -> State:
        candidate, problem = self.table.candidates[row], self.table.problem
        view = self.views[candidate.a]
        unit, linear = view.quadrant.unit, view.quadrant.kind == "linear"
        spec = checked_spec(candidate.k, candidate.c, linear, estimator.fit_intercept, "auto", unit)
        data = view.design, self.targets.Y[self.prepared.rows], problem.weights
        targets = np.arange(problem.n_targets)
        if candidate.target is not None:
            targets = np.array([candidate.target])
        model = finished_model(outcome, *data, spec, targets)
        return self.prepared.state(view, model, self.targets.single, decision)

    def outcomes(self) -> Outcomes | None:
        """What is kept of all candidates."""
        table = self.table
        light = {a: replace(seen, design=seen.design.light()) for a, seen in self.views.items()}
        data = light, table.units is not None, table.weights, self.prepared.X
        return kept_outcomes(table.candidates, table.results, table.problem, *data)


@dataclass(frozen=True)
class Joined(SearchResult):
    """Searches on consecutive blocks of columns as one search on all of them.

    A candidate of a block is one that keeps some of the columns.
    """

    parts: tuple[SearchResult, ...] = ()

    def first_row(self, number: int) -> int:
        """The row of the first candidate of a part."""
        return sum(len(part.table.candidates) for part in self.parts[:number])

    def _state(
        self, estimator: Any, row: int, outcome: Outcome, decision: Decision | None
    ) -> State:
        """The fitted model of one candidate, among all columns."""
        number = max(i for i in range(len(self.parts)) if self.first_row(i) <= row)
        part, view = self.parts[number], self.views[self.table.candidates[row].a]
        own = row - self.first_row(number)
        state = part._state(estimator, own, part.table.results[own], decision)
        start = sum(before.prepared.X.shape[1] for before in self.parts[:number])
        places = np.searchsorted(view.columns, start + state.columns)
        passes = [replace(p, columns=places[p.columns]) for p in state.model.passes]
        model = replace(state.model, design=view.design, passes=passes)
        return replace(state, model=model, quadrant=view.quadrant, columns=view.columns)

    def outcomes(self) -> None:
        """Nothing: candidates of different blocks have no design in common."""


def joined(parts: Sequence[SearchResult], names: Sequence[str], X: Any, b: Any) -> Joined:
    """The searches of blocks of X, named; `b` is that of all columns."""
    first, all_moments = parts[0], [part.prepared.moments for part in parts]
    factors = [part.prepared.factors for part in parts if part.prepared.factors is not None]
    given = np.concatenate(factors) if len(factors) == len(parts) else None
    moments = side_by_side(all_moments)
    prepared = replace(first.prepared, X=X, moments=moments, b=b, ready={}, factors=given)
    one = first.table
    table = replace(one, candidates=[], results=[], scores=[], alone=[])
    for part, name in zip(parts, names, strict=True):
        own = part.table
        if not np.array_equal(own.problem.folds.tested, one.problem.folds.tested):
            raise ValueError(
                "cv drew other folds for every recipe, and these can only be compared on the same: "
                "give it a random_state."
            )
        table.candidates += [replace(candidate, recipe=name) for candidate in own.candidates]
        table.results += own.results
        table.scores += own.scores
        table.alone += own.alone
    views = {a: prepared.at(a) for part in parts for a in part.views}
    return Joined(prepared, views, first.targets, table, parts=tuple(parts))


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

    n_features_to_select: Any
    combine: Any
    cv: Any
    scoring: Any
    nested_cv: Any
    n_jobs: Any
    verbose: Any
    random_state: Any
    a_grid: Any
    k_grid: Any
    c_grid: Any
    quadrant: Any
    fit_intercept: Any
    # what every candidate gave; None where that is too much to hold on to
    _outcomes: Outcomes | None

    def __getstate__(self) -> dict[str, Any]:
        # a search can be run again: what it found out about other candidates stays out of pickles
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_outcomes"}

    @property
    def weights_(self) -> Any:
        """The candidates of the model and their weights, the heaviest first."""
        check_is_fitted(self)
        return framed(self._members)

    @property
    def _members(self) -> dict[str, Any]:
        """The same as a dict of arrays, weights (F,), or (F, t) where targets differ."""
        state = self._state
        shares = {m.row: m.weight for m in getattr(state, "members", ())}
        return weights_table(
            self.cv_results_, shares or {self.best_index_: np.ones(state.n_targets)}
        )

    @property
    def _leader(self) -> dict[str, Any]:
        """a, k, c and density of the chosen candidate, or of the heaviest of an average."""
        names, row = ("a", "k", "c", "density"), self.best_index_
        return {name: self.cv_results_[f"param_{name}"][[row]].tolist()[0] for name in names}

    def get_metadata_routing(self) -> MetadataRouter:
        """Declare the splitter, so that groups find their way through pipelines.

        Returns
        -------
        routing : MetadataRouter
            What `fit` passes on, and to whom.
        """
        mapping = MethodMapping().add(caller="fit", callee="split")
        # scikit-learn before 1.9 copies the owner with all that it holds: a generator cannot be
        owner = copy(self)
        owner.cv = declared_splitter(self.cv)
        return (
            MetadataRouter(owner=owner)
            .add_self_request(owner)
            .add(splitter=owner.cv, method_mapping=mapping)
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
            Targets, or classes; of survival a structured array or frame of (event, time).
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample; zero leaves it out. Of rates it is
            the exposure. Else, but for Efron's ties, all weights times a constant change nothing
            but c: candidates are averaged, and errors computed, for the effective number of
            samples ``(sum w)^2 / sum w^2``, in which samples that are equal count as one.
        **params : dict
            ``groups``, array-like of shape (n_samples,), is handed to the splitter.

        Returns
        -------
        self : StretchyRegressorCV, StretchyClassifierCV or StretchySurvivalCV
            Fitted.
        """
        check_number_of_folds("nested_cv", self.nested_cv, X, params.get("groups"))
        with self._searching(X, y, sample_weight, params) as found:
            self._conclude(found)
        notice(self, grouped=params.get("groups") is not None)
        if self.nested_cv is not None:
            nested_score(self, X, y, self.nested_cv, sample_weight, params.get("groups")).store(
                self
            )
        return self

    @contextmanager
    def _searching(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> Iterator[SearchResult]:
        """All candidates of the grids, evaluated; what is fitted afterwards is calm and told of
        too."""
        X, targets = self._read(X, y, sample_weight)
        if self._loss != "cox":  # whose times may be equal
            warn_of_targets(targets, stacklevel=7 if HAS_CALLBACKS else 6)
        if params.get("groups") is not None:
            group_codes(params["groups"], X.shape[0])
        grids, families = self._checked_grids(X, targets)
        self.plan_ = self._made_plan(X, targets, grids, families)
        if self.plan_.into_memory:
            X = in_memory(X)
        # samples compare candidates, and their number must not depend on the unit of weights
        asked = targets.sample_weights
        counted = effective_weights(asked, equal_rows(X, targets.Y))
        targets = replace(targets, sample_weights=counted)
        squared = self._loss == SQUARED
        powers = [(a, grids[0].ks(a)) for a in grids[0].a]
        n_transforms, D = sum(len(ks) for _, ks in powers), X.shape[1]
        with (
            verbose_counts(self.verbose and squared),
            following(self.plan_, X, self.verbose, n_transforms) as X,
        ):
            split_params = route(self, sample_weight, params)
            closed = squared and not grids[0].iterated
            prepared = prepare(self, X, targets.weights, powers if closed else ())
            folds = self._folds(prepared, targets, grids, split_params)
            given = None if sample_weight is None else asked
            table = self._new_table(prepared, targets, folds[0], given, split_params.get("groups"))
            # candidates are made exact and fitted after the search, by systems of the same size
            with single_blas_thread(min(prepared.rows.size, D), SHARED_ROWS):
                views = {a: prepared.at(a) for a in grids[0].a}
                if any(view.design.shape[1] == 0 for view in views.values()):
                    raise ValueError("no column of X varies: there is nothing to choose between.")
                self._evaluate(grids, folds, views, prepared, targets, table)
                yield SearchResult(prepared, views, targets, table)

    def _folds(
        self, prepared: Prepared, targets: Targets, grids: Sequence[Grid], splits: dict[str, Any]
    ) -> list[Folds]:
        """Which samples are left out together, for each of the grids."""
        X, iterated, squared = prepared.X, grids[0].iterated, self._loss == SQUARED
        strata = strata_of(targets, self._loss)
        y, kind = targets.y if strata is None else strata, strata is not None
        make = partial(make_folds, self.cv, X, y, prepared.rows, classifier=kind, few=iterated)
        make = partial(make, seed=seed_of(self.random_state), **splits)
        several = iterated or not squared
        return [make(compressed=several or selects(g.densities, X.shape[1])) for g in grids]

    def _new_table(
        self,
        prepared: Prepared,
        targets: Targets,
        folds: Folds,
        given: Array | None,
        groups: Any,
    ) -> CandidateTable:
        """Where candidates will be compared; weights were `given` to `fit`, or not."""
        check_among("combine", self.combine, RULES)
        how: dict[str, Any] = {"loss": self._loss}
        how["calibration"] = getattr(self, "calibration", None)
        scorings = scorings_of(self.scoring, targets, prepared.rows, folds, given, **how)
        Y, weights = targets.Y[prepared.rows], targets.sample_weights[prepared.rows]
        unit = float(prepared.weights.sum() / weights.sum())
        squared, classes = self._loss == SQUARED, targets.classes is not None
        if not squared:
            # outputs are no predictions of Y: what is left of nothing are minus the outputs
            Y, classes = np.zeros_like(Y), True
            # what counts weigh is their exposure: in any unit of it their likelihood is the same
            unit = 1.0 if self._loss == "poisson" else unit
        shared = Y, prepared.weights, prepared.intercept, folds, classes
        problem = Problem(*shared, automatic=is_auto(self.c_grid), unit=unit)
        units = None if groups is None else np.asarray(groups)[prepared.rows]
        by_loss, asked = not squared and self.scoring is None, self.n_features_to_select is not None
        return CandidateTable(problem, *scorings, weights, units, by_loss, one_size=asked)

    def _conclude(self, found: SearchResult, mix: Mix | None = None) -> Mix:
        """Choose or mix candidates, unless the mixture is given, and store the model."""
        table, prepared = found.table, found.prepared
        # first the best candidates are made exact, then those of the model are fitted; of blocks
        # the meter tells what is read
        metered = is_read(self.plan_.storage) and not self.plan_.into_memory
        progress = Progress(1, "models", 0 if metered else self.verbose)
        if mix is not None or self.combine == "average":
            mix = table.mixed() if mix is None else mix
            verdict = table.heaviest(mix)
        else:
            verdict, mix = table.chosen(self.combine)
        progress.total += len(mix)
        progress.step()
        outputs = table.outputs(mix)
        self._tell(table, verdict, mix, outputs)
        decision = self._decide(outputs, found.targets, prepared.rows, table.problem.folds)
        states = found.states(self, list(mix), decision, progress)
        try:
            candidates = [
                Fitted(state, weight, row, table.candidates[row].density)
                for state, (row, weight) in zip(states, mix.items(), strict=True)
            ]
        finally:
            progress.close()
        held_out = table.problem.folds.mean(outputs, len(table.problem.Y))
        # leave one out has told what intervals need
        alone = table.problem.Y - held_out if table.problem.folds.folds is None else None
        state = candidates[0].state
        if len(candidates) > 1:
            state = mixed(candidates, found.linear, alone)
        folds, weights = table.problem.folds, state.model.weights
        state = replace(state, units=units_of(self.cv, folds, table.units, weights))
        self._store(self._completed(state, found.targets))
        told = self._state.flat(self._of_all_samples(held_out, prepared))
        self.cv_predictions_ = rates(told) if self._loss == "poisson" else told
        self._outcomes = found.outcomes() if self._loss == SQUARED else None
        units = None if table.units is None else np.unique(table.units, return_inverse=True)[1]
        self._sampling = table.weights, units
        return mix

    def _evaluate(
        self,
        grids: list[Grid],
        folds: Sequence[Folds],
        views: dict[float, View],
        prepared: Prepared,
        targets: Targets,
        table: CandidateTable,
    ) -> None:
        """Every candidate of the grids enters the table, with progress."""
        if self._loss == SQUARED:
            # columns that do not vary take no part, nor in what is few
            varying = max(view.design.shape[1] for view in views.values())
            few = [grid.of_few(varying) for grid in grids[1:]]
            grids = [grids[0], *(grid for grid in few if grid.counts)]
            steps = _entered(grids, folds, lambda a: (views.get(a) or prepared.at(a)).design, table)
            total, label = sum(grid.n_candidates for grid in grids), "candidates"
        else:
            grid, design = grids[0], views[0.0].design
            steps = entered_by_loss(self, grid, design, targets, prepared.rows, table)
            total, label = n_paths(grid, design), "paths"
        progress, reporter = Progress(total, label, self.verbose), Reporter(self, total)
        try:
            for _ in steps:
                progress.step()
                reporter.step()
        finally:
            progress.close()
        reporter.close()

    def _tell(self, table: CandidateTable, verdict: Verdict, mix: Mix, outputs: Array) -> None:
        """What was chosen or mixed and the table of all candidates, as attributes."""
        at = verdict.chosen
        chosen = table.candidates[at]
        if len(mix) == 1:
            self.a_, self.k_, self.c_, self.density_ = chosen.a, chosen.k, chosen.c, chosen.density
        score = table.scores[at] if len(mix) == 1 else table.scoring(outputs)
        paired = table.by_sample(score)
        self.cv_results_ = table.table(verdict, paired)
        shares = np.zeros(len(table.candidates))
        shares[list(mix)] = [weight.mean() for weight in mix.values()]
        self.cv_results_["weight"] = shares
        self.best_index_ = at
        self.best_score_, self.best_score_se_ = score.score, table.error(paired)
        n_columns = int(min(table.results[at].n_features, self.n_features_in_))
        # the candidates of a mixture make up for each other
        way = table.edge(verdict, self.cv_results_, n_columns) if len(mix) == 1 else None
        if way is not None:
            warn_at_edge(way, chosen.c, automatic=table.problem.automatic)

    def _checked_grids(self, X: Any, targets: Targets) -> tuple[list[Grid], Families]:
        """The grid, and beside it the selections of features that an average tries by itself.

        What is left to the search follows from the families that the plan allows. Closed forms
        that are asked for are iterated where their matrix costs too much.
        """
        if self._loss != SQUARED:
            return [loss_grid(self, X.shape[1])], SEARCHES[0]
        storage, n_used = storage_of(X), int(np.count_nonzero(targets.weights))
        n_targets = targets.Y.shape[1]
        families = choose_families(storage, n_used, n_targets)
        whole = choose_families(replace(storage, kind="in memory"), n_used, n_targets)
        if families != whole and is_auto(self.k_grid):
            warn_of_storage(storage, families.left_out)
        D, automatic = X.shape[1], self.n_features_to_select is None
        grid = self._checked_grid(D, asked_densities(self.n_features_to_select, D), families)
        if is_costly(n_used, D):
            if grid.is_closed(D):
                return [grid.without_matrix()], families
            warn_of_hours(grid.n_candidates, min(n_used, D))
        selections = self._selections(X, grid, families) if automatic else []
        return [grid, *selections], families

    def _selections(self, X: Any, grid: Grid, families: Families) -> list[Grid]:
        """Ridge on few features, which an average tries beside the grid."""
        averaged = self.combine == "average" and self.quadrant != "identity"
        if not averaged or 0 not in grid.a or 2.0 not in grid.linear_k:
            return []
        counts, strengths = families.counts, STRENGTHS[::2]
        few = Grid((0.0,), (2.0,), grid.c, counts, counts, strengths).of_few(X.shape[1])
        return [few] if few.counts else []

    def _checked_grid(
        self, n_features: int, densities: tuple[Any, ...], families: Families
    ) -> Grid:
        """The grid; what is not given follows the families."""
        if self.quadrant == "identity":
            a: tuple[Any, ...] = (1.0,)
        else:
            a = families.a if is_auto(self.a_grid) else values_of("a_grid", self.a_grid)
        for value in a:
            checked_number("a", value, "pass finite numbers, such as -0.2; 0 is the linear limit.")
        automatic_k = is_auto(self.k_grid)
        k = families.k if automatic_k else values_of("k_grid", self.k_grid)
        c = None if is_auto(self.c_grid) else values_of("c_grid", self.c_grid)
        for value in k:
            for strength in c or (1.0,):
                if checked_spec(value, strength, False, self.fit_intercept, "auto").automatic:
                    raise ValueError('c_grid lists "auto": pass numbers, or c_grid="auto".')
        counts = [keep_count(density, n_features) for density in densities]
        few = max(counts) < n_features
        linear = (2.0,) if few else families.linear_k
        linear = linear if automatic_k else tuple(value for value in k if value <= 2)
        if 0 in a and not linear:
            raise ValueError(
                f"k_grid={self.k_grid!r} has no power for a=0, where linear models need "
                "1 < k <= 2: add one, or leave 0 out of a_grid."
            )
        return Grid(a, k, c, densities, counts, linear_k=linear)

    def _made_plan(self, X: Any, targets: Targets, grids: Sequence[Grid], found: Families) -> Plan:
        """The plan of the search: what is tried, how, and what is left out."""
        if self._loss != SQUARED:
            return loss_plan(self, X, targets.weights, grids[0])
        automatic = isinstance(self.k_grid, str)
        shape = int(np.count_nonzero(targets.weights)), X.shape[1]
        grid, some = grids[0], selects(grids[-1].densities, X.shape[1])
        counts = tuple(grids[-1].counts) if some else ()
        asked = tuple(grid.a), tuple(grid.k), tuple(grid.linear_k)
        found = replace(found, a=asked[0], k=asked[1], linear_k=asked[2], counts=counts)
        return Plan(
            storage_of(X),
            shape[0],
            Intercept.of(self.fit_intercept),
            "krylov" if grid.iterated else None,
            selects=some,
            n_candidates=sum(each.n_candidates for each in grids),
            searched="; ".join(each.in_words(self.quadrant == "identity") for each in grids),
            left_out=(found.left_out,) if automatic and found.left_out else (),
            seconds=found.seconds(*shape, targets.Y.shape[1], len(grid.c or ()) or None),
            into_memory=comes_into_memory(
                storage_of(X), all(each.is_closed(X.shape[1]) for each in grids)
            ),
        )

    def permutation_test(
        self,
        n_permutations: int = 1000,
        *,
        groups: Any = None,
        within: bool = False,
        random_state: Any = 0,
    ) -> PermutationTest:
        """Whether the search could have found this by chance.

        The targets are put in random order and searched again. What is searched are the
        candidates whose left-out residuals are linear in y (ridge, and a different from 0),
        averaged as the model is, so that all orders share one inverse a candidate. Sparse linear
        models (a = 0, k < 2) and selected features take no part, nor do weights of classes. Beside
        the average goes the largest correlation of a single feature, and the p-value is that of
        the better of the two. The test has its level whatever it leaves
        out, if the samples are exchangeable: any order of the targets is as likely as another.

        Parameters
        ----------
        n_permutations : int, default=1000
            How many random orders are tried; the least p-value is one over one more than these.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples that belong together (replicates, subjects, batches): whole groups change
            places, with others of their size or, where targets do not vary within them, with all.
            Needed where samples are copies of each other or the search was fitted with groups.
        within : bool, default=False
            Targets change places within each group instead: for samples that are exchangeable in a
            batch, but not across batches.
        random_state : int, RandomState or None, default=0
            What the orders are drawn with.

        Returns
        -------
        result : PermutationTest
            ``pvalue``, the two statistics and their null distributions; kept as
            ``permutation_``.
        """
        check_is_fitted(self)
        self._check_squared("permutation_test", "nested_cv tells whether something was found")
        check_count("n_permutations", n_permutations, 1, "say 1000")
        known = getattr(self, "_outcomes", None)
        if known is None:
            raise ValueError(
                "permutation_test needs what the search kept, and a model that was loaded, pickled "
                "or searched on very large data has not kept it: fit it again."
            )
        if known.grouped and groups is None:
            raise ValueError(
                "samples in groups cannot be put in any order: pass the groups to permutation_test "
                "too."
            )
        if within and groups is None:
            raise ValueError("within=True needs groups, within which targets change places.")
        units = self._checked_groups(groups)
        whole = self._checked_grid(self.n_features_in_, (1.0,), SEARCHES[2])
        grid = replace(whole, a=tuple(known.views), linear_k=(2.0,))
        codes, classes = None, getattr(self, "classes_", None)
        if classes is not None:
            codes = decided(known.Y)
        n_classes = 0 if classes is None else classes.size
        tested = Tested(known.Y, known.sample_weights, known.intercept, codes, n_classes)
        if units is None:
            check_no_copies(whole_features(known.views[grid.a[0]].design))
        elif not within:
            tested = replace(tested, groups=units)
        rng = check_random_state(random_state)
        orders = random_orders(rng, n_permutations, known.Y, units, within=within)
        found = permutation_test(grid, lambda a: known.views[a].design, tested, orders)
        self.permutation_ = found
        return found

    def _checked_groups(self, groups: Any) -> Index | None:
        """Numbers of the groups of the samples of positive weight."""
        if groups is None:
            return None
        used = self._state.used
        return np.unique(group_codes(groups, used.size)[used], return_inverse=True)[1]

    def _of_all_samples(self, held_out: Array, prepared: Prepared) -> Array:
        """Out-of-fold outputs of all samples; those of weight zero get the model's own."""
        outputs = np.full((prepared.X.shape[0], held_out.shape[1]), np.nan)
        outputs[prepared.rows] = held_out
        left_out = np.setdiff1d(np.arange(prepared.X.shape[0]), prepared.rows)
        if left_out.size:
            outputs[left_out] = self._linear(rows_in_memory(prepared.X, left_out))
        return outputs


def _entered(
    grids: Sequence[Grid],
    folds: Sequence[Folds],
    design_at: Callable[[float], Design],
    table: CandidateTable,
) -> Iterator[None]:
    """Enter every candidate of the grids, each on its folds; of one sample each comes once."""
    order = folds[0].tested
    for grid, own in zip(grids, folds, strict=False):
        problem = replace(table.problem, folds=own)
        for candidate, outcome in evaluate_grid(grid, design_at, problem):
            same = np.array_equal(own.tested, order)
            table.enter(candidate, outcome if same else outcome.moved(own.tested, order))
            yield
