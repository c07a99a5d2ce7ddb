"""Which loss a fit minimises, and what candidates of a search are judged by.

Squared error has its own, larger grids (`skstretch.estimators.search`); what is tried for counts,
classes by log loss and survival is below.
"""

import numbers
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skstretch.core.classes import decided, model_biases
from skstretch.core.loss_newton import CERTIFIED
from skstretch.core.losses import Cox, Logistic, Poisson, Softmax, rates
from skstretch.core.stretch import Intercept, keep_count
from skstretch.core.survival import event_and_time
from skstretch.core.types import Array, Index, Mask
from skstretch.designs import DaskArray, Design, in_memory, storage_of
from skstretch.designs.threads import SHARED_ROWS, single_blas_thread
from skstretch.estimators.inputs import (
    Targets,
    group_codes,
    make_folds,
    prepare,
)
from skstretch.estimators.progress import fit_plan
from skstretch.estimators.state import State
from skstretch.search import (
    Candidate,
    CandidateTable,
    Folds,
    Grid,
    Outcome,
    Problem,
    leave_one_out,
)
from skstretch.search.grid import crossfit, finished_model
from skstretch.search.losses import LossCandidate, LossEnd, MakeLoss, automatic_c, search_losses
from skstretch.search.scoring import (
    BalancedAccuracy,
    Concordance,
    LogLoss,
    PoissonDeviance,
    PrecomputedClassifier,
    PrecomputedProbabilities,
    PrecomputedRegressor,
    Scored,
    ScorerScore,
    Scoring,
    SquaredError,
    ZeroOne,
    scorer_named,
    unscored,
)
from skstretch.solve import FittedModel, Spec, checked_spec, fit_model, with_penalty
from skstretch.solve.choose import SEARCHES, Plan, comes_into_memory, holds_out, unusable
from skstretch.solve.losses import warn_unless_certified

SQUARED = "squared"
HOW = (
    "pass a structured array of (event, time), for example np.array([(True, 5.0), (False, 7.5)], "
    'dtype=[("event", bool), ("time", float)]), or a frame with these two columns; columns named '
    "entry and stratum may be added"
)


def checked_survival(y: Any) -> Any:
    """A structured array of event, time and, where y has them, entry and stratum (a code)."""
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None: {HOW}.")
    names = getattr(getattr(y, "dtype", None), "names", None)
    columns = [*names] if names else [*getattr(y, "columns", ())]
    two = [name for name in columns if name not in ("entry", "stratum")]
    if len(two) != 2:
        seen = f"{len(columns)} columns" if columns else f"type {type(y).__name__}"
        raise ValueError(f"y has {seen}, and survival needs an event and a time: {HOW}.")
    for name in columns:
        if np.ndim(y[name]) != 1:
            raise ValueError(f"the column {name!r} of y has shape {np.shape(y[name])}: {HOW}.")
    found = {"event": _checked_events(y, two[0]), "time": _checked_times(y, two[1])}
    if "entry" in columns:
        found["entry"] = _checked_times(y, "entry")
    if "stratum" in columns:
        what = "the column stratum of y"
        found["stratum"] = group_codes(y["stratum"], len(found["time"]), what)
    out = np.empty(len(found["time"]), dtype=[(name, x.dtype) for name, x in found.items()])
    for name, values in found.items():
        out[name] = values
    return out


def read_survival(y: Any) -> tuple[Mask, Array]:
    """Events and times (n) of the same."""
    found = checked_survival(y)
    return found["event"], found["time"]


def _checked_events(y: Any, name: Any) -> Mask:
    event = np.asarray(y[name])
    if event.dtype != bool:
        kinds = numbers.Real, np.bool_
        odd = [v for v in event.tolist() if not isinstance(v, kinds) or v not in (0, 1)]
        if odd:
            raise ValueError(
                f"the first column of y, {name!r}, holds {odd[0]!r}, and an event is True or "
                f"False (1 or 0): {HOW}."
            )
    return event.astype(bool)


def _checked_times(y: Any, name: Any) -> Array:
    try:
        given = np.asarray(y[name])
        if given.dtype.kind in "mMc":
            raise TypeError
        time = given.astype(np.float64)
    except (TypeError, ValueError):
        place = "column" if name == "entry" else "second column"
        raise ValueError(f"the {place} of y, {name!r}, holds what is no number: {HOW}.") from None
    wrong = ~(np.isfinite(time) & ((time >= 0.0) | (name == "entry")))
    if wrong.any():
        row = int(np.argmax(wrong))
        if name == "entry":
            raise ValueError(f"the entry of sample {row} is {time[row]:g}: it must be finite.")
        raise ValueError(
            f"the time of sample {row} is {time[row]:g}: times must be finite and not negative. "
            "Only their order counts for the risk; add a constant where they are negative."
        )
    return time


def check_counts(y: Array) -> None:
    """Refuse targets that are no counts or rates."""
    if (y < 0).any():
        row = int(np.argmax(y < 0))
        raise ValueError(
            f"y has {y[row]:g} (sample {row}), and counts are not negative: check y, or use "
            'loss="squared".'
        )


def loss_grid(estimator: Any, n_features: int) -> Grid:
    """What a search under another loss than squared error tries."""
    k_grid, c_grid = estimator.k_grid, estimator.c_grid
    ks: tuple[float, ...] = SEARCHES[0].loss_k
    cs = None
    if not is_auto(k_grid):
        ks = numbers_of("k_grid", k_grid, 1.0, 2.0, "powers above 1, up to 2")
    if not is_auto(c_grid):
        largest = float(np.finfo(float).max)
        cs = sorted(numbers_of("c_grid", c_grid, 0.0, largest, "positive numbers"))
    densities = asked_densities(estimator.n_features_to_select, n_features)
    counts = [keep_count(density, n_features) for density in densities]
    return Grid((0.0,), ks, cs, densities, counts, linear_k=ks)


def loss_plan(estimator: Any, X: Any, weights: Array, grid: Grid | None = None) -> Plan:
    """How a fit under another loss, or a search of a grid, will be computed."""
    searched = ""
    if grid is not None:
        cs = None if grid.c is None else ", ".join(f"{c:g}" for c in grid.c)
        along = "a path of c" if cs is None else f"c = {cs}"
        searched = f"a = 0, k = {', '.join(f'{k:g}' for k in grid.k)}, {along}"
    plan = Plan(
        storage_of(X),
        int(np.count_nonzero(weights)),
        Intercept.of(estimator.fit_intercept),
        exact=True,
        into_memory=comes_into_memory(storage_of(X), one_pass=False),
        searched=searched,
    )
    check_linear(estimator, X, plan)
    return plan


def n_paths(grid: Grid, design: Design) -> int:
    """Paths of c that a search under another loss follows."""
    few = sum(count < design.n_penalised for count in grid.counts)
    return few + len(grid.k) * (few < len(grid.counts))


def entered_by_loss(
    estimator: Any, grid: Grid, design: Design, targets: Targets, rows: Index, table: CandidateTable
) -> Iterator[None]:
    """Enter every candidate of a search under another loss than squared error, path by path."""
    make = loss_of(estimator._loss, targets, rows, getattr(estimator, "ties", ""))
    asked = [*zip(grid.densities, grid.counts, strict=True)]
    for path in search_losses(design, make, table.problem, grid.k, grid.c, asked):
        for one in path:
            enter(table, one)
        yield


def fit_single(estimator: Any, X: Any, targets: Targets) -> State:
    """A model at given k and c under its loss; classes are decided by folds."""
    squared = estimator._loss == SQUARED
    count = keep_count(estimator.density, X.shape[1]) if squared else X.shape[1]
    make_plan = fit_plan if squared else loss_plan
    estimator.plan_ = make_plan(estimator, X, targets.weights)
    if estimator.plan_.into_memory:
        X = in_memory(X)
    powers = [(estimator.a, [estimator.k])] if squared else ()
    prepared = prepare(estimator, X, targets.weights, powers)
    view, rows, weights = prepared.at(estimator.a), prepared.rows, prepared.weights
    linear, unit, Y = view.quadrant.kind == "linear", view.quadrant.unit, targets.Y[rows]
    own = linear, estimator.fit_intercept, estimator.solver, unit
    spec, design = checked_spec(estimator.k, estimator.c, *own), view.design
    if squared:
        design, spec = with_penalty(design, Y, weights, spec)
    folds, outputs = None, np.zeros(0)  # what is no class is decided by none
    if targets.codes is not None:
        few = squared and holds_out(estimator.solver, *design.shape)
        kind = {"compressed": not squared or count < view.columns.size, "few": few}
        folds = make_folds(estimator.cv, X, targets.y, rows, classifier=True, **kind)
    if not squared:
        problem = Problem(Y, weights, prepared.intercept, folds or leave_one_out(rows.size))
        make = loss_of(estimator._loss, targets, rows, "")
        model, outputs = _fitted_by_loss(design, make, problem, spec)
    elif folds is None:
        model = fit_model(design, Y, weights, spec, count, estimator.n_jobs)
    else:
        found = crossfit(design, Y, weights, spec, count, folds, estimator.n_jobs)
        model, outputs = found.model, found.outputs
    decision = None if folds is None else estimator._decide(outputs, targets, rows, folds)
    return replace(prepared.state(view, model, targets.single, decision), loss=estimator._loss)


def _fitted_by_loss(
    design: Design, make: MakeLoss, problem: Problem, spec: Spec
) -> tuple[FittedModel, Array]:
    """The model of a loss, and its out-of-fold outputs where there are folds."""
    if design.shape[1] == 0:
        raise ValueError("no column of X varies: there is nothing to fit.")
    if spec.c == np.inf:
        raise ValueError(
            "c=inf: with another loss than squared error models need a penalty, since without one "
            "classes that can be told apart have no best model. Use a finite c, say 1e6."
        )
    with single_blas_thread(min(design.shape), SHARED_ROWS):
        if spec.automatic:
            c = automatic_c(design, make(problem.weights), problem.intercept, spec.k)
            spec = replace(spec, c=c, automatic=False)
        [[one]] = search_losses(design, make, problem, [spec.k], [spec.c])
    warn_unless_certified(one.fit.minimum)
    outcome = Outcome(one.outputs, np.nan, one.dof, float(design.shape[1]), finish=LossEnd(one))
    data = problem.Y, problem.weights, spec, np.arange(problem.n_targets)
    return finished_model(outcome, design, *data), one.outputs


def enter(table: CandidateTable, one: LossCandidate) -> None:
    """One more candidate, chosen by its held-out loss."""
    reason = unusable(values=[one.outputs], gap=one.gap, promised_gap=CERTIFIED.gap)
    D, n = one.fit.coef.shape[0], float(table.weights[table.seen].sum()) * table.problem.unit
    facts, reasons = (np.nan, one.dof, float(D)), (reason,) * one.outputs.shape[1]
    outcome = Outcome(-one.outputs, *facts, reasons, LossEnd(one), columns=one.columns)
    score = unscored(len(one.outputs)) if reason else table.scoring(one.outputs)
    table.candidates.append(Candidate(0.0, one.k, one.c, np.nan, one.density))
    table.results.append(outcome)
    table.scores.append(score)
    table.alone.append([Scored(-one.held_out / n, score.losses, score.tie)])


def loss_of(name: str, targets: Targets, rows: Index, ties: str) -> MakeLoss:
    """The loss of some samples, for any weights."""
    Y = targets.Y[rows]
    if name == "poisson":
        return partial(Poisson, Y[:, 0])
    if name == "cox":
        own, (event, time) = targets.y[rows], event_and_time(Y[:, 0])
        given = {"entry": "entry", "strata": "stratum"}
        beside = {to: own[name] for to, name in given.items() if name in own.dtype.names}
        return partial(Cox, time, event, ties=ties, **beside)
    assert targets.codes is not None
    codes = targets.codes[rows]
    if targets.single:
        return partial(Logistic, codes.astype(float))
    return partial(Softmax, codes, n_classes=Y.shape[1])


def targets_of(state: State) -> Targets:
    """The targets of a fitted model: those of the samples of positive weight."""
    Y, weights = state.model.Y, state.model.weights
    codes = None if state.decision is None else decided(Y)
    y = Y if state.survival is None else state.survival
    return Targets(y, Y, weights, weights, state.single, codes=codes)


def strata_of(targets: Targets, name: str) -> Any:
    """What folds have alike: classes, or events; None for numbers."""
    if name == "cox":
        return event_and_time(targets.Y[:, 0])[0].astype(np.intp)
    return None if targets.codes is None else targets.y


def check_linear(estimator: Any, X: Any, plan: Plan) -> None:
    """Refuse what only squared error has."""
    what = f"loss={estimator._loss!r}" if hasattr(estimator, "loss") else type(estimator).__name__
    if getattr(estimator, "a", 0.0) != 0.0:
        raise ValueError(f"a={estimator.a!r}: with {what} models are linear; pass a=0.")
    for name, usual in (("density", 1.0), ("solver", "auto")):
        value = getattr(estimator, name, usual)
        if value != usual or isinstance(value, int):
            raise ValueError(
                f"{name}={value!r} is for squared error: with {what} leave it at {usual!r}."
            )
    a_grid = getattr(estimator, "a_grid", "auto")
    if not is_auto(a_grid) and any(a != 0 for a in a_grid):
        raise ValueError(
            f"a_grid={a_grid!r}: with {what} models are linear, a = 0; leave a_grid out."
        )
    if getattr(estimator, "quadrant", "exp") != "exp":
        raise ValueError(f'quadrant={estimator.quadrant!r}: with {what} use "exp", the default.')
    if Intercept.of(estimator.fit_intercept) is Intercept.COLUMN:
        raise ValueError(f'fit_intercept="column": with {what} use True or False.')
    if isinstance(X, DaskArray) and not plan.into_memory:
        raise TypeError(
            f"{what} is not searched on a Dask array beyond working_memory: write it to zarr and "
            "open that with the zarr package, or sklearn.set_config(working_memory=...)."
        )


def is_auto(grid: Any) -> bool:
    """Whether a grid is left to the search."""
    return isinstance(grid, str) and grid == "auto"


def numbers_of(name: str, grid: Any, above: float, most: float, what: str) -> tuple[float, ...]:
    """The values of a grid, once each."""
    found = values_of(name, grid)
    if not all(isinstance(v, int | float) and above < v <= most for v in found):
        raise ValueError(f"{name}={grid!r}: pass {what}.")
    return tuple(float(value) for value in found)


def scorings_of(
    scoring: Any,
    targets: Targets,
    rows: Index,
    folds: Folds,
    given: Array | None,
    *,
    loss: str = SQUARED,
    calibration: Any = None,
) -> tuple[Scoring, Scoring]:
    """What is told of candidates, and what the best of a family are chosen by.

    The scorer that was asked for, both; else minus the squared error or the deviance, the
    concordance, or for classes the balanced accuracy, and the log loss to choose by. A scorer of
    the user's is told the weights that `fit` was `given`, and under log loss the probabilities
    unless they will be fitted.
    """
    tested = rows[folds.tested]
    Y, weights = targets.Y[tested], targets.sample_weights[tested]
    own: Scoring
    by: Scoring
    paired: Scoring
    precomputed: Any = PrecomputedRegressor
    if loss == "cox":
        own = by = paired = Concordance(*event_and_time(Y[:, 0]), weights)
    elif loss == "poisson":
        own = by = paired = PoissonDeviance(Y[:, 0], weights)
        precomputed = _of_rates
    elif targets.codes is None:
        own = by = paired = SquaredError(Y, weights)
    else:
        codes, n_classes = targets.codes[tested], targets.classes.size
        own = BalancedAccuracy(codes, n_classes, Y, weights)
        by = LogLoss(codes, n_classes, Y, weights)
        paired = ZeroOne(codes, Y, weights)
        precomputed = partial(PrecomputedClassifier, classes=targets.classes)
        if loss == "log" and calibration != "sigmoid":
            both = targets.weights, targets.sample_weights
            biases = model_biases(np.zeros(Y.shape[1]), targets.codes, *both)
            precomputed = partial(PrecomputedProbabilities, classes=targets.classes, biases=biases)
    if scoring is None:
        return own, by if loss == SQUARED else own
    scorer, name = scorer_named(scoring)
    told = None if given is None else given[tested]
    own = ScorerScore(scorer, precomputed, targets.y[tested], told, paired, name)
    return own, own


def _of_rates(outputs: Array) -> PrecomputedRegressor:
    return PrecomputedRegressor(rates(outputs))


def asked_densities(asked: Any, n_features: int) -> tuple[Any, ...]:
    """Shares and numbers of features to choose from; all of them where nothing is asked."""
    if asked is None:
        return (1.0,)
    if isinstance(asked, str):
        raise TypeError(
            f"n_features_to_select={asked!r} is no number: pass a number of features, a share of "
            "them, a list of both to choose from, or None."
        )
    name = "n_features_to_select"
    densities = values_of(name, asked if np.iterable(asked) else [asked])
    for density in densities:
        try:
            keep_count(density, n_features)
        except ValueError as error:
            raise ValueError(str(error).replace("density", name, 1)) from None
    return densities


def values_of(name: str, grid: Any) -> tuple[Any, ...]:
    """The values of a grid, in the order given and once each."""
    listed = None if isinstance(grid, str) or not np.iterable(grid) else list(grid)
    if listed is None or any(np.ndim(v) for v in listed):
        raise TypeError(f'{name}={grid!r} is not a grid: pass a list of values or "auto".')
    plain = [v.item() if isinstance(v, np.generic) else v for v in listed]
    # 1 is one feature, 1.0 is all of them
    values = tuple(
        {(v, isinstance(v, int)) if "grid" not in name else v: v for v in plain}.values()
    )
    if not values:
        raise ValueError(f"{name} is empty: pass at least one value.")
    return values
