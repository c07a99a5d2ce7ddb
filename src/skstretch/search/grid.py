"""The whole grid, candidates in and outcomes out; and one candidate of it, with its fitted
model."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skstretch.core.gram import DualGram
from skstretch.core.krylov import Report
from skstretch.core.stretch import (
    LARGEST_LOG,
    LARGEST_PENALTY,
    Intercept,
    penalty,
    penalty_in_unit,
    stretch_exponent,
)
from skstretch.core.types import Array, Fit, Index
from skstretch.designs import Design
from skstretch.designs.threads import (
    SHARED_ROWS,
    ordered_map,
    single_blas_thread,
    threads_for_candidates,
)
from skstretch.exceptions import SingularSystemError
from skstretch.search.candidates import Candidate, Folds, Outcome, Problem, failed, target_size
from skstretch.search.closed import dual_tasks, of_targets, primal_outcomes
from skstretch.search.losses import LossEnd
from skstretch.search.minimisers import minimised_candidates
from skstretch.search.selection import lasso_supports, selected_candidates
from skstretch.solve.choose import (
    AUTOMATIC_STRENGTH,
    PATH,
    SCORING,
    SEARCHES,
    STRENGTHS,
    Spec,
    choose_space,
    crossfit_space,
    is_costly,
    is_matrix_free,
    loses_digits,
)
from skstretch.solve.direct import (
    DualEnd,
    dual_fits,
    gram_scale,
    row_scales,
    with_penalty,
)
from skstretch.solve.model import (
    FittedModel,
    exact_solutions,
    fit_columns,
    fit_model,
    of_columns,
)

OUT_OF_RANGE = "the scale of the features leaves the range of float64: use other units"
# below this 1 / (lam k) is no float64
TINY = 1e-306


@dataclass(frozen=True)
class Grid:
    """Values to try; `c` None stands for penalties tied to the data by `strengths`.

    `counts` gives for each density the number of features that it keeps, `linear_k` the powers at a
    = 0. Candidates that are `passed over` are closed forms of all features, fitted without the
    matrix.
    """

    a: Sequence[float]
    k: Sequence[float]
    c: Sequence[float] | None
    densities: Sequence[Any]
    counts: Sequence[int]
    strengths: Sequence[float] = STRENGTHS
    linear_k: Sequence[float] = (2.0,)
    iterated: bool = False

    def strengths_of(self, k: float) -> Sequence[float]:
        """The automatic strengths of a closed form: at k = 2 one eigendecomposition serves all."""
        fewer = self.strengths is STRENGTHS and k != 2
        return STRENGTHS[::2] if fewer else self.strengths

    def ks(self, a: float) -> Sequence[float]:
        """The powers at one a: those of the linear limit are not above 2."""
        return self.linear_k if a == 0 else self.k

    def exact_ks(self, a: float) -> Sequence[float]:
        """Those without a closed form, whose candidates are exact minimisers."""
        return [k for k in self.ks(a) if a == 0 and k < 2]

    def is_closed(self, n_features: int) -> bool:
        """Whether every candidate is a closed form of all features."""
        exact = any(self.exact_ks(a) for a in self.a)
        return not exact and min(self.counts) >= n_features

    def of_few(self, n_features: int) -> "Grid":
        """Without numbers of features that are more than a quarter of all."""
        counts = tuple(count for count in self.counts if 4 * count <= n_features)
        return replace(self, densities=counts, counts=counts)

    def without_matrix(self) -> "Grid":
        """The same candidates, fitted without the matrix, with fewer automatic strengths."""
        return replace(
            self,
            densities=self.densities[:1],
            counts=self.counts[:1],
            strengths=SEARCHES[-1].strengths,
            iterated=True,
        )

    @property
    def n_candidates(self) -> int:
        """The number of candidates; automatic paths of exact minimisers may end before theirs."""
        return sum(self._n_at(a) for a in self.a) * len(self.densities)

    def in_words(self, identity: bool = False) -> str:
        """What is searched: powers at each a, and features that are kept; `identity` where features
        are taken as they are."""
        said = ", ".join(self._said_at(a, identity) for a in self.a)
        # 1 is one feature, 1.0 is all of them
        alls = [isinstance(share, float) and share == 1.0 for share in self.densities]
        kept = ", ".join(f"{n:,}" for n, all_ in zip(self.counts, alls, strict=True) if not all_)
        if not kept:
            return said
        whole = " on all and" if any(alls) else ""
        return f"{said}{whole} on {kept} selected features"

    def _said_at(self, a: float, identity: bool) -> str:
        powers = ", ".join(f"{k:g}" for k in (self.exact_ks(a) if a == 0 else self.ks(a)))
        if identity:
            return f"linear models (k = {powers})"
        if a != 0:
            return f"curved models (a = {a:g}; k = {powers})"
        sparse = [f"sparse linear models (a = 0; k = {powers})"] if powers else []
        return ", ".join([*sparse, *(["ridge"] if 2 in self.linear_k else [])])

    def _n_at(self, a: float) -> int:
        """The number of pairs of k and c at one a."""
        if self.c is not None:
            return len(self.ks(a)) * len(self.c)
        exact = self.exact_ks(a)
        closed = (len(self.strengths_of(k)) for k in self.ks(a) if k not in exact)
        return len(exact) * PATH.n + sum(closed)


def evaluate_grid(
    grid: Grid, design_at: Callable[[float], Design], problem: Problem
) -> Iterator[tuple[Candidate, Outcome]]:
    """Every candidate of the grid with its outcome; one pass over the data for all k of an a.

    Features are selected on the z-scores (a = 0), whatever is fitted on them afterwards.
    """
    supports = None
    for a in grid.a:
        design = design_at(a)
        design.check_held_out(problem.weights, problem.folds.held)
        if grid.iterated:
            yield from _iterated(grid, a, design, problem)
            continue
        kept = [*zip(grid.densities, grid.counts, strict=True)]
        for density, count in kept:
            if count >= design.n_penalised:
                for candidate, outcome in _at(grid, a, design, problem):
                    yield replace(candidate, density=density), outcome
        few = [(density, count) for density, count in kept if count < design.n_penalised]
        if few and supports is None:
            counts = sorted({count for _, count in few})
            each_own = [own for _, own in problem.apart]
            supports = [lasso_supports(design_at(0.0), own, counts) for own in each_own]
        for k in grid.ks(a) if few else ():
            for each in few:
                assert supports is not None
                evaluate = partial(_of_power, grid, a, k)
                for (j, own), support in zip(problem.apart, supports, strict=True):
                    exact = k in grid.exact_ks(a)
                    found = selected_candidates(evaluate, design, own, support, each, exact)
                    for candidate, outcome in found:
                        if j is None:
                            yield candidate, outcome
                        else:
                            whole = outcome.among(j, problem.n_targets)
                            yield replace(candidate, target=j), whole


def _of_power(
    grid: Grid, a: float, k: float, design: Design, problem: Problem, cs: Sequence[float] | None
) -> Iterator[tuple[Candidate, Outcome]]:
    """The candidates of one power on selected columns."""
    own = replace(grid, k=(k,), linear_k=(k,), c=grid.c if cs is None else cs)
    return _at(own, a, design, problem)


def _iterated(
    grid: Grid, a: float, design: Design, problem: Problem
) -> Iterator[tuple[Candidate, Outcome]]:
    """All candidates of one a, each by one iterated fit for every fold: no K, and no inverse of it.

    Residuals are those of refits, to the tolerance of what only chooses and mixes; of samples that
    no fold tests there are none, and condition and freedom are not known.
    """
    Y, weights, folds = problem.Y, problem.weights, problem.folds
    for k in grid.ks(a):
        asked = Spec(k, 1.0, problem.intercept, "auto", design.unit, a == 0, automatic=True)
        _, known = with_penalty(design, Y, weights, asked)
        middle = AUTOMATIC_STRENGTH * known.c / problem.unit
        for c in [middle / s for s in grid.strengths] if grid.c is None else grid.c:
            spec = replace(known, c=c, tolerance=SCORING.gap)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", ConvergenceWarning)
                    outputs = _refitted(design, Y, weights, spec, design.shape[1], folds)
                reason = ""
            except (ConvergenceWarning, SingularSystemError, FloatingPointError) as why:
                outputs, reason = np.full((folds.tested.size, Y.shape[1]), np.nan), str(why)
            residuals = Y[folds.tested] - outputs
            facts = np.nan, np.nan, float(design.shape[1])
            error = SCORING.gap * target_size(Y)
            candidate = Candidate(a, k, c, middle / c, grid.densities[0])
            reasons = of_targets(reason, residuals)
            yield (
                candidate,
                Outcome(residuals, *facts, error=error, loo="held out", reasons=reasons),
            )


def _at(
    grid: Grid, a: float, design: Design, problem: Problem
) -> Iterator[tuple[Candidate, Outcome]]:
    """All candidates of one a."""
    exact = grid.exact_ks(a)
    if exact:
        yield from minimised_candidates(design, exact, grid.c, problem)
    ks = [k for k in grid.ks(a) if k not in exact]
    if not ks:
        return
    if crossfit_space(*design.shape, problem.intercept) == "dual":
        yield from _dual_rows(grid, a, ks, design, problem)
        return
    grams = design.column_grams([stretch_exponent(k) for k in ks], problem.weights)
    rows = [
        _penalties(grid, k, problem.unit * gram_scale(gram, problem.weights), design.unit)
        for k, gram in zip(ks, grams, strict=True)
    ]
    asked = [(gram, _lams(penalties)) for gram, penalties in zip(grams, rows, strict=True)]
    found = primal_outcomes(design, asked, problem)
    for k, penalties in zip(ks, rows, strict=True):
        yield from _row((a, k), design, penalties, found, problem)


def _dual_rows(
    grid: Grid, a: float, ks: Sequence[float], design: Design, problem: Problem
) -> Iterator[tuple[Candidate, Outcome]]:
    """All candidates of closed forms at one a, from systems of samples that threads share."""
    rows, tasks = [], list[Callable[[], Outcome]]()
    for k, gram in zip(ks, _dual_grams(design, ks, problem), strict=True):
        scale = problem.unit * gram_scale(gram, problem.weights)
        penalties = _penalties(grid, k, scale, design.unit)
        rows.append((k, penalties))
        tasks += dual_tasks(design, gram, problem, _lams(penalties))
    with (
        threads_for_candidates(design.shape[0]) as threads,
        closing(ordered_map(tasks, threads)) as found,
    ):
        for k, penalties in rows:
            yield from _row((a, k), design, penalties, found, problem)


def _dual_grams(design: Design, ks: Sequence[float], problem: Problem) -> list[DualGram]:
    """K for every k, in one pass unless some powers need scaled rows."""
    scales = {k: row_scales(design, stretch_exponent(k), problem.intercept) for k in ks}
    found: dict[float, DualGram] = {}
    plain = [k for k in ks if scales[k] is None]
    if plain:
        exponents = [stretch_exponent(k) for k in plain]
        borders = problem.intercept is not Intercept.FREE
        grams = design.gram(exponents, problem.weights, None, borders)
        found.update(zip(plain, grams, strict=True))
    for k in ks:
        if k not in found:
            found[k] = design.gram([stretch_exponent(k)], problem.weights, scales[k])[0]
    return [found[k] for k in ks]


Penalties = list[tuple[float, float, float | None]]


def _lams(penalties: Penalties) -> list[float]:
    """Those that are within the range of float64."""
    return [lam for _, _, lam in penalties if lam is not None]


def _row(
    at: tuple[float, float],
    design: Design,
    penalties: Penalties,
    found: Iterator[Outcome],
    problem: Problem,
) -> Iterator[tuple[Candidate, Outcome]]:
    """All c of one (a, k); `found` are the outcomes, one for every lam."""
    for c, strength, lam in penalties:
        outcome = failed(problem, design, OUT_OF_RANGE) if lam is None else next(found)
        yield Candidate(*at, c, strength, 1.0), outcome


def _penalties(grid: Grid, k: float, scale: float, unit: float) -> Penalties:
    """``(c, strength, lam)`` of every penalty; lam is None where c leaves the range of float64.

    A scale of float64's smallest or largest numbers comes from features in such units. lam is in
    the unit of the features, c in none.
    """
    r = stretch_exponent(k)
    if grid.c is not None:
        lams = [penalty_in_unit(penalty(c, k), r, unit) for c in grid.c]
        relative = [lam / scale if scale > 0 else np.nan for lam in lams]
        return list(zip(grid.c, relative, lams, strict=True))
    found: list[tuple[float, float, float | None]] = []
    for strength in grid.strengths_of(k):
        lam = strength * scale
        c = 1.0 / (lam * k) if TINY <= lam < np.inf else np.inf if lam < TINY else 0.0
        in_range = strength == 0 or TINY <= lam <= LARGEST_PENALTY
        if in_range and unit and 0.0 < c < np.inf:
            log_c = np.log(c) - (1.0 + r) * unit
            c, in_range = float(np.exp(np.clip(log_c, -700.0, 700.0))), abs(log_c) < LARGEST_LOG
        found.append((c, strength, lam if in_range else None))
    return found


def finished_model(
    outcome: Outcome,
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    targets: Index,
) -> FittedModel:
    """The model of one candidate: from what the search knows, or fitted where that is not enough.

    A candidate that belongs to some of the targets is fitted to them.

    Fitted again: on selected columns, and candidates in which LU loses digits that the accurate
    solution keeps.
    """
    columns = np.arange(design.shape[1]) if outcome.columns is None else outcome.columns
    if isinstance(outcome.finish, LossEnd):
        part = design if outcome.columns is None else design.take(columns)
        fit = of_columns(outcome.finish(), np.arange(Y.shape[1]), columns, part)
        return FittedModel(design, Y, weights, spec, [fit])
    space = choose_space(*design.shape, spec.intercept)
    known = outcome.finish is not None and spec.solver == "auto"
    known &= space == crossfit_space(*design.shape, spec.intercept)
    if outcome.finish is None or not known or loses_digits(outcome.rcond):
        return fit_columns(design, Y, weights, spec, columns, targets)
    fit = replace(outcome.finish(), dof=outcome.dof, space=space, solver=space)
    whole = of_columns(fit, np.arange(Y.shape[1]), columns, design)
    return FittedModel(design, Y, weights, spec, [whole])


def in_one_pass(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The same outcomes; the coefficients of those that share a design come from one pass, which
    is taken when the first of them is asked for."""

    def one(fits: Callable[[], list[Fit]], number: int) -> Fit:
        return fits()[number]

    found, sharing = list(outcomes), dict[int, list[int]]()
    for i, outcome in enumerate(outcomes):
        if isinstance(outcome.finish, DualEnd):
            sharing.setdefault(id(outcome.finish.design), []).append(i)
    for places in sharing.values():
        ends = [cast(DualEnd, outcomes[i].finish) for i in places]
        fits = cache(partial(dual_fits, ends))
        for number, i in enumerate(places):
            found[i] = replace(outcomes[i], finish=partial(one, fits, number))
    return found


@dataclass(frozen=True)
class Crossfitted:
    """A fitted model with its out-of-fold outputs, (n_tested, t)."""

    model: FittedModel
    outputs: Array


def crossfit(
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    count: int,
    folds: Folds,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> Crossfitted:
    """Fit one candidate and predict every tested sample by the model that has not seen it.

    Exact, from one inverse. Without an inverse (Krylov; systems whose inverse would take longer
    than fits) and where features are selected the folds are fitted one by one, which is as exact;
    leaving out one sample at a time is too many fits, and the outputs are then NaN.
    """
    design.check_held_out(weights, folds.held)
    if design.shape[1] == 0:
        model = fit_model(design, Y, weights, spec, count, n_jobs)
        return Crossfitted(model, np.broadcast_to(model.level, Y.shape)[folds.tested])
    whole = count >= design.n_penalised
    if spec.exact and whole:
        return _exactly(design, Y, weights, spec, folds)
    if not whole or is_matrix_free(design, spec) or is_costly(*design.shape):
        model = fit_model(design, Y, weights, spec, count, n_jobs, report)
        once = folds.folds is not None and len(folds.folds) == 1
        rough = replace(spec, tolerance=SCORING.gap) if once else spec
        return Crossfitted(model, _refitted(design, Y, weights, rough, count, folds))
    grid = Grid(a=(1.0,), k=(spec.k,), c=(spec.c,), densities=(1.0,), counts=(count,))
    problem = Problem(Y, weights, spec.intercept, folds)
    with single_blas_thread(min(design.shape)):
        [(_, outcome)] = evaluate_grid(grid, lambda a: design, problem)
        model = finished_model(outcome, design, Y, weights, spec, np.arange(Y.shape[1]))
    return Crossfitted(model, Y[folds.tested] - outcome.residuals)


def _exactly(design: Design, Y: Array, weights: Array, spec: Spec, folds: Folds) -> Crossfitted:
    """The exact minimiser, and its folds solved from there."""
    found, solutions = exact_solutions(design, Y, weights, spec)
    with single_blas_thread(min(design.shape), SHARED_ROWS):
        outputs = Y[folds.tested] - found.out_of_fold(folds.folds)
    columns = np.arange(design.shape[1])
    passes = [of_columns(one, np.array([i]), columns, design) for i, one in enumerate(solutions)]
    model = FittedModel(design, Y, weights, spec, passes)
    return Crossfitted(model, outputs)


def _refitted(
    design: Design, Y: Array, weights: Array, spec: Spec, count: int, folds: Folds
) -> Array:
    """Outputs of the tested samples by one fit for every fold; NaN for leave one out."""
    outputs = np.full((folds.tested.size, Y.shape[1]), np.nan)
    start = 0
    for fold in folds.folds or ():
        training = fold.weights(weights)
        trained = np.flatnonzero(training > 0)
        part = design.take_rows(trained)
        model = fit_model(part, Y[trained], training[trained], spec, count)
        stop = start + fold.tested.size
        outputs[start:stop] = design.take_rows(fold.tested).dot(model.coef.T) + model.level
        start = stop
    return outputs
