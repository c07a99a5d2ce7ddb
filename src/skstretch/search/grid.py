"""The whole grid, cells in and outcomes out; and one cell of it, with its fitted model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import cast

import numpy as np

from skstretch.core.dual_gram import DualGram
from skstretch.core.krylov import Report
from skstretch.core.stretch import (
    LARGEST_LOG,
    LARGEST_PENALTY,
    Intercept,
    penalty,
    penalty_in_unit,
    stretch_exponent,
)
from skstretch.core.types import Array, Fit
from skstretch.designs import Design, check_held_out, n_choosable
from skstretch.designs.blocks import (
    SHARED_ROWS,
    SIDES_TOGETHER,
    calm_blas,
    in_turn,
    threads_for_cells,
    working_bytes,
)
from skstretch.designs.protocol import column_grams
from skstretch.search.cells import Cell, Folds, Outcome, Problem, failed, target_size
from skstretch.search.closed import dual_cells, primal_outcomes
from skstretch.search.compress import compressed_outcomes
from skstretch.search.minimisers import PATH_LENGTH, Selection, minimised_cells
from skstretch.solve.choose import (
    choose_space,
    crossfit_space,
    is_costly,
    is_matrix_free,
    loses_digits,
)
from skstretch.solve.direct import DualEnd, dual_fits, row_scales
from skstretch.solve.model import (
    FittedModel,
    Pass,
    Solution,
    exact_passes,
    exact_solutions,
    fit_model,
)
from skstretch.solve.penalty import STRENGTH, gram_scale, with_penalty
from skstretch.solve.spec import Spec

# relative strengths of the penalty, from interpolation to nearly the mean alone: one a decade up to
# 1e-8, then two
STRENGTHS = tuple(10.0 ** (e / 2) for e in (-24, -22, -20, -18, *range(-16, 5)))
# where every strength takes a factorisation: one a decade from 1e-8 on
FEWER_STRENGTHS = tuple(10.0**e for e in (-12, -10, *range(-8, 3)))

# the relative residual of an iterated fit whose outputs are only asked for a cut and a temperature
HELD_OUT_TOLERANCE = 1e-4

# relative strengths where every one takes fits without the matrix, one for each fold: smaller ones
# need more steps than a factorisation would take
WALKED_STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
# the relative residual of these fits, and what it leaves open of their outputs, with room to spare:
# a weak penalty passes more of it on
WALKED_TOLERANCE, WALKED_ERROR = 1e-6, 1e-4

# outcomes that may wait to be scored
MOST_AHEAD = 64

# below this 1 / (lam k) is no float64
TINY = 1e-306


@dataclass(frozen=True)
class Grid:
    """Values to try; `c` None stands for penalties tied to the data by `strengths`.

    `counts` gives for each density the number of features that it keeps, `linear_k` the powers
    at a = 0. Cells that are `walked` are closed forms of all features, fitted without the matrix.
    """

    a: Sequence[float]
    k: Sequence[float]
    c: Sequence[float] | None
    densities: Sequence[float]
    counts: Sequence[int]
    strengths: Sequence[float] = STRENGTHS
    linear_k: Sequence[float] = (2.0,)
    walked: bool = False

    def strengths_of(self, k: float) -> Sequence[float]:
        """The automatic strengths of a closed form: at k = 2 one eigendecomposition serves all."""
        fewer = self.strengths is STRENGTHS and k != 2
        return FEWER_STRENGTHS if fewer else self.strengths

    def ks(self, a: float) -> Sequence[float]:
        """The powers at one a: those of the linear limit are not above 2."""
        return self.linear_k if a == 0 else self.k

    def exact_ks(self, a: float) -> Sequence[float]:
        """Those without a closed form, whose cells are exact minimisers."""
        return [k for k in self.ks(a) if a == 0 and k < 2]

    def is_closed(self, n_features: int) -> bool:
        """Whether every cell is a closed form of all features."""
        exact = any(self.exact_ks(a) for a in self.a)
        return not exact and min(self.counts) >= n_features

    def without_matrix(self) -> "Grid":
        """The same cells, fitted without the matrix, with fewer automatic strengths."""
        return replace(
            self,
            densities=self.densities[:1],
            counts=self.counts[:1],
            strengths=WALKED_STRENGTHS,
            walked=True,
        )

    @property
    def n_cells(self) -> int:
        """The number of cells; automatic paths of exact minimisers may end before theirs."""
        return sum(self._n_at(a) for a in self.a) * len(self.densities)

    def __str__(self) -> str:
        """What is searched, for a person: powers at each a, and features that are kept."""
        said = "; ".join(f"a = {a:g}: {self._said_at(a)}" for a in self.a)
        shares = zip(self.counts, self.densities, strict=True)
        kept = " and ".join(f"{n:,}" for n, share in shares if share != 1)
        if not kept:
            return said
        whole = ", whole and" if 1 in self.densities else ","
        return f"{said}{whole} on the {kept} strongest features"

    def _said_at(self, a: float) -> str:
        exact = self.exact_ks(a)
        closed = [k for k in self.ks(a) if k not in exact]
        kinds = (("exact minimisers", exact), ("closed forms", closed))
        said = {kind: ", ".join(f"{k:g}" for k in ks) for kind, ks in kinds if ks}
        return " and ".join(f"{kind} of k = {ks}" for kind, ks in said.items())

    def _n_at(self, a: float) -> int:
        """The number of pairs of k and c at one a."""
        if self.c is not None:
            return len(self.ks(a)) * len(self.c)
        exact = self.exact_ks(a)
        closed = (len(self.strengths_of(k)) for k in self.ks(a) if k not in exact)
        return len(exact) * PATH_LENGTH + sum(closed)


def outcomes(
    grid: Grid, design_at: Callable[[float], Design], problem: Problem
) -> Iterator[tuple[Cell, Outcome]]:
    """Every cell of the grid with its outcome; one walk over the data for all k of an a."""
    for a in grid.a:
        design = design_at(a)
        check_held_out(design, problem.weights, problem.folds.held)
        yield from (_walked if grid.walked else _at)(grid, a, design, problem)


def _walked(
    grid: Grid, a: float, design: Design, problem: Problem
) -> Iterator[tuple[Cell, Outcome]]:
    """All cells of one a, each by one iterated fit for every fold: no K, and no inverse of it.

    Residuals are those of refits, to the tolerance of what only chooses and mixes; of samples that
    no fold tests there are none, and condition and freedom are not known.
    """
    Y, weights, folds = problem.Y, problem.weights, problem.folds
    for k in grid.ks(a):
        asked = Spec(k, 1.0, problem.intercept, "auto", design.unit, a == 0, automatic=True)
        _, known = with_penalty(design, weights, asked)
        middle = STRENGTH * known.c
        for c in [middle / s for s in grid.strengths] if grid.c is None else grid.c:
            spec = replace(known, c=c, tolerance=WALKED_TOLERANCE)
            outputs = _refitted(design, Y, weights, spec, design.shape[1], folds)
            residuals = Y[folds.tested] - outputs
            reason = "" if np.isfinite(residuals).all() else "predictions are not finite"
            facts = np.nan, np.nan, float(design.shape[1]), reason
            error = WALKED_ERROR * target_size(Y)
            cell = Cell(a, k, c, middle / c, grid.densities[0])
            yield cell, Outcome(residuals, *facts, error=error, loo="held out")


def _at(grid: Grid, a: float, design: Design, problem: Problem) -> Iterator[tuple[Cell, Outcome]]:
    """All cells of one a."""
    exact = grid.exact_ks(a)
    if exact:
        some = Selection(grid.densities, grid.counts)
        yield from minimised_cells(design, exact, grid.c, problem, some)
    ks = [k for k in grid.ks(a) if k not in exact]
    if not ks:
        return
    if crossfit_space(*design.shape, problem.intercept) == "dual":
        yield from _dual_rows(grid, a, ks, design, problem)
        return
    grams = column_grams(design, [stretch_exponent(k) for k in ks], problem.weights)
    rows = [
        _penalties(grid, k, gram_scale(gram, problem.weights), design.unit)
        for k, gram in zip(ks, grams, strict=True)
    ]
    asked = [(gram, _lams(penalties)) for gram, penalties in zip(grams, rows, strict=True)]
    found = primal_outcomes(design, asked, problem)
    for k, penalties in zip(ks, rows, strict=True):
        yield from _row(grid, (a, k), design, penalties, found, problem)


def _dual_rows(
    grid: Grid, a: float, ks: Sequence[float], design: Design, problem: Problem
) -> Iterator[tuple[Cell, Outcome]]:
    """All cells of closed forms at one a, from systems of samples that threads share."""
    rows, tasks = [], []
    early: list[Callable[[], object]] = []
    soon: list[Callable[[], object]] = []
    for k, gram in zip(ks, _dual_grams(design, ks, problem), strict=True):
        penalties = _penalties(grid, k, gram_scale(gram, problem.weights), design.unit)
        cells = dual_cells(design, gram, problem, _lams(penalties))
        rows.append((k, penalties))
        tasks += cells.tasks
        # the spectrum of k = 2, the last of them, takes longest
        early[:0] = cells.early
        soon[:0] = cells.soon
    together, ahead = max(1, SIDES_TOGETHER // design.shape[0]), _n_ahead(problem)
    with (
        threads_for_cells(design.shape[0]) as threads,
        closing(in_turn(tasks, threads, [*early, *soon], together, ahead)) as found,
    ):
        for k, penalties in rows:
            yield from _row(grid, (a, k), design, penalties, found, problem)


def _n_ahead(problem: Problem) -> int:
    """Outcomes that may wait to be scored: those of folds hold on to an inverse each."""
    if problem.folds.folds is not None:
        return 0
    each = 8 * problem.Y.size * (1 + problem.outer.size)
    return min(MOST_AHEAD, working_bytes() // (8 * each))


def _dual_grams(design: Design, ks: Sequence[float], problem: Problem) -> list[DualGram]:
    """K for every k, in one walk unless some powers need scaled rows."""
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
    grid: Grid,
    at: tuple[float, float],
    design: Design,
    penalties: Penalties,
    found: Iterator[Outcome],
    problem: Problem,
) -> Iterator[tuple[Cell, Outcome]]:
    """All c and densities of one (a, k); `found` are the outcomes, one for every lam."""
    for c, strength, lam in penalties:
        outcome = _out_of_range(design, problem) if lam is None else next(found)
        yield from _densities(grid, Cell(*at, c, strength, 1.0), design, outcome, problem)


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
        told = strength == 0 or TINY <= lam <= LARGEST_PENALTY
        if told and unit and 0.0 < c < np.inf:
            log_c = np.log(c) - (1.0 + r) * unit
            c, told = float(np.exp(np.clip(log_c, -700.0, 700.0))), abs(log_c) < LARGEST_LOG
        found.append((c, strength, lam if told else None))
    return found


def _densities(
    grid: Grid, cell: Cell, design: Design, outcome: Outcome, problem: Problem
) -> Iterator[tuple[Cell, Outcome]]:
    """One (a, k, c) at every density: the fewest features first, so that sums are reused."""
    D = n_choosable(design)
    order = sorted(range(len(grid.counts)), key=lambda i: grid.counts[i])
    small = [i for i in order if grid.counts[i] < D]
    if small and outcome.first_pass is not None and outcome.usable:
        spec = Spec(cell.k, cell.c, problem.intercept, "auto", design.unit)
        counts = [grid.counts[i] for i in small]
        second = compressed_outcomes(design, outcome.first_pass(), problem, spec, counts)
        for i, compressed in zip(small, second, strict=True):
            # a selection is no better than the first pass that it rests on
            rcond = min(outcome.rcond, compressed.rcond)
            error = max(outcome.error, compressed.error)
            known = replace(compressed, rcond=rcond, error=error)
            yield replace(cell, density=grid.densities[i]), known
    else:
        for i in small:
            density, reason = grid.densities[i], outcome.reason or "singular"
            yield replace(cell, density=density), _without_fit(outcome, reason)
    for i in order:
        if grid.counts[i] >= D:
            # the inverse behind the first pass is as large as K: let it go
            yield replace(cell, density=grid.densities[i]), replace(outcome, first_pass=None)


def _without_fit(outcome: Outcome, reason: str) -> Outcome:
    return replace(outcome, reason=reason, finish=None, first_pass=None)


def _out_of_range(design: Design, problem: Problem) -> Outcome:
    return failed(
        problem.folds.tested.size,
        problem.Y.shape[1],
        float(design.shape[1]),
        "the scale of the features leaves the range of float64: use other units",
    )


def finished_model(
    outcome: Outcome,
    design: Design,
    Y: Array,
    weights: Array,
    spec: Spec,
    count: int,
    n_jobs: int | None = None,
) -> FittedModel:
    """The model of one cell: from what the search knows, or fitted where that is not enough.

    Fitted again: a second pass over selected features, and cells in which LU loses digits that
    the accurate solution keeps.
    """
    D = design.shape[1]
    known = outcome.finish is not None and count >= n_choosable(design) and spec.solver == "auto"
    space = choose_space(*design.shape, spec.intercept)
    known &= space == crossfit_space(*design.shape, spec.intercept)
    if not known or outcome.finish is None or loses_digits(outcome.rcond):
        return fit_model(design, Y, weights, spec, count, n_jobs)
    solution = Solution(outcome.finish(), outcome.dof, space, space)
    whole = Pass(np.arange(Y.shape[1]), np.arange(D), design, solution)
    return FittedModel(design, Y, weights, spec, [whole])


def in_one_walk(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The same outcomes; the coefficients of those that share a design come from one walk, which
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
    """Fit one cell and predict every tested sample by the model that has not seen it.

    Exact, from one inverse. Without an inverse (Krylov; systems whose inverse would take longer
    than fits; exact minimisers that select features) the folds are fitted one by one, which is as
    exact; leaving out one sample at a time is too many fits, and the outputs are then NaN.
    """
    check_held_out(design, weights, folds.held)
    if design.shape[1] == 0:
        model = fit_model(design, Y, weights, spec, count, n_jobs)
        return Crossfitted(model, np.broadcast_to(model.level, Y.shape)[folds.tested])
    if spec.exact and count >= n_choosable(design):
        return _exactly(design, Y, weights, spec, folds)
    if spec.exact or is_matrix_free(design, spec) or is_costly(*design.shape):
        model = fit_model(design, Y, weights, spec, count, n_jobs, report)
        once = folds.folds is not None and len(folds.folds) == 1
        rough = replace(spec, tolerance=HELD_OUT_TOLERANCE) if once else spec
        return Crossfitted(model, _refitted(design, Y, weights, rough, count, folds))
    grid = Grid(a=(1.0,), k=(spec.k,), c=(spec.c,), densities=(1.0,), counts=(count,))
    problem = Problem(Y, weights, spec.intercept, folds)
    with calm_blas(min(design.shape)):
        [(_, outcome)] = outcomes(grid, lambda a: design, problem)
        model = finished_model(outcome, design, Y, weights, spec, count, n_jobs)
    return Crossfitted(model, Y[folds.tested] - outcome.residuals)


def _exactly(design: Design, Y: Array, weights: Array, spec: Spec, folds: Folds) -> Crossfitted:
    """The exact minimiser, and its folds solved from there."""
    found, solutions = exact_solutions(design, Y, weights, spec)
    with calm_blas(min(design.shape), SHARED_ROWS):
        outputs = Y[folds.tested] - found.out_of_fold(folds.folds)
    model = FittedModel(design, Y, weights, spec, exact_passes(design, solutions))
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
