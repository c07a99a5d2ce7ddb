"""What a fit tells while it runs: its plan, bars and lines on stderr, and callbacks."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TextIO, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold

from skstretch.core.krylov import Report
from skstretch.core.stretch import Intercept, stretch_exponent
from skstretch.core.types import Array
from skstretch.designs import DaskArray, Meter, Source, dask_plan, storage_of
from skstretch.designs.dask.array import DaskPlan, fits_here, krylov_plan
from skstretch.designs.dask.run import worker_threads
from skstretch.estimators.inputs import N_FOLDS
from skstretch.solve.choose import may_be_matrix_free
from skstretch.solve.krylov import width_of_walks
from skstretch.solve.plan import Plan, Setting, Store, make_plan, powers_are_safe
from skstretch.solve.plan import Size as Size


@contextmanager
def planned(estimator: Any, X: Any, size: Size, weights: Array | None = None) -> Iterator[Any]:
    """With ``verbose``, print the plan of a fit; the X to use instead shows what is read."""
    if not getattr(estimator, "verbose", 0):
        yield X
        return
    weights = np.ones(X.shape[0]) if weights is None else weights
    plan = plan_of(estimator, X, size, weights[weights > 0])
    print("skstretch:", plan, file=sys.stderr, flush=True)
    if not isinstance(X, Source | DaskArray):
        yield X
        return
    meter = Meter(plan.nbytes)
    try:
        yield replace(X, meter=meter)
    finally:
        meter.close()


def plan_of(estimator: Any, X: Any, size: Size, used: Array) -> Plan:
    """The plan of a fit on samples of these positive weights."""
    search = not hasattr(estimator, "solver")
    solver = "auto" if search else estimator.solver
    shape = used.size, int(X.shape[1])
    matrix_free = may_be_matrix_free(None if search else solver, *shape)
    folds, in_turn = fold_walks(estimator, size)
    setting = Setting(
        store=_store(X),
        shape=shape,
        intercept=Intercept.of(estimator.fit_intercept),
        solver=solver,
        fold_walks=1 if in_turn and not isinstance(X, DaskArray) else max(1, folds),
        folds_told=folds_told(getattr(estimator, "cv", None)),
        resident=_store(X) == "tall Dask" and fits_here(X, shape[1]),
        left_out=search and used.size < X.shape[0],
        safe=_safe(estimator, used),
        looks=_looks(estimator, size),
    )
    cluster = None
    if isinstance(X, DaskArray):
        cluster = _cluster(X, size, matrix_free)
    return make_plan(storage_of(X), setting, size, cluster, matrix_free=matrix_free, refits=folds)


def _store(X: Any) -> Store:
    if isinstance(X, DaskArray):
        return "wide Dask" if X.is_wide else "tall Dask"
    return "blocks" if isinstance(X, Source) else "memory"


def _cluster(X: DaskArray, size: Size, matrix_free: bool) -> DaskPlan:
    workers = worker_threads(X)
    if matrix_free:
        return krylov_plan(X, min(size.n_targets, width_of_walks(X.shape)), workers)
    return dask_plan(X, size.n_transforms, workers)


def _safe(estimator: Any, used: Array) -> bool:
    """Whether no data could make the powers of this estimator need scaled rows."""
    if estimator.quadrant != "exp":
        return False
    search = hasattr(estimator, "a_grid")
    maps = [*estimator.a_grid] if search else [estimator.a]
    ks = [*estimator.k_grid] if search else [estimator.k]
    try:
        b, r = np.asarray(estimator.b, dtype=float), stretch_exponent(min(map(float, ks)))
        return all(powers_are_safe(float(a), b, r, used) for a in maps if a)
    except (TypeError, ValueError):
        return True  # the fit is about to say what is wrong with them


def _looks(estimator: Any, size: Size) -> int:
    """Transforms whose moments do not tell how large the features of a row are."""
    if estimator.quadrant != "exp":
        return size.n_transforms
    maps = getattr(estimator, "a_grid", None)
    return sum(a == 0 for a in ([estimator.a] if maps is None else maps))


def fold_walks(estimator: Any, size: Size) -> tuple[int, bool]:
    """Folds that are held out one after the other (0 for leave one out); whether rows are in turn.

    Rows in turn: every fold is a run of rows that no other fold shares.
    """
    cv = getattr(estimator, "cv", None)
    if not size.held_out or (cv is None and not size.n_folds):
        return 0, True
    if cv is None:
        return size.n_folds, False
    in_turn = isinstance(cv, KFold) and not cv.shuffle
    in_turn |= isinstance(cv, int) and not is_classifier(estimator)
    return fold_count(cv), in_turn


def fold_count(cv: Any) -> int:
    """Folds of a search that selects features; the default's where a splitter does not tell."""
    if isinstance(cv, int) or hasattr(cv, "__len__"):
        return cv if isinstance(cv, int) else len(cv)
    return int(cv.get_n_splits()) if cv is not None and folds_told(cv) else N_FOLDS


def folds_told(cv: Any) -> bool:
    """Whether ``cv`` tells its number of folds before it sees groups."""
    if cv is None or isinstance(cv, int) or hasattr(cv, "__len__"):
        return True
    try:
        cv.get_n_splits()
    except (AttributeError, TypeError, ValueError):
        return False
    return True


@contextmanager
def iteration_line(verbose: object) -> Iterator[Report | None]:
    """What to hand to a fit as its `report`: with `verbose`, a line on stderr."""
    if not verbose:
        yield None
        return
    line = IterationLine()
    try:
        yield line
    finally:
        line.close()


class IterationLine:
    """A line that follows the residual from step to step."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.last, self.text = -np.inf, ""

    def __call__(self, n_iter: int, residual: float) -> None:
        self.text = f"\rkrylov: iteration {n_iter}, relative residual {residual:.1e} "
        if time.monotonic() - self.last > 0.1:
            self._draw()

    def _draw(self) -> None:
        self.last = time.monotonic()
        self.stream.write(self.text)
        self.stream.flush()

    def close(self) -> None:
        """Show the last step and end the line."""
        if self.text:
            self._draw()
            self.stream.write("\n")
            self.stream.flush()


class Progress:
    """Counts steps; draws a bar when there is something to show and someone to see it."""

    def __init__(self, total: int, label: str, verbose: int, stream: TextIO | None = None) -> None:
        self.total, self.label, self.done = total, label, 0
        self.stream = sys.stderr if stream is None else stream
        self.shown = bool(verbose)
        self.start = self.last = time.monotonic()

    def step(self) -> None:
        """One more done."""
        self.done += 1
        now = time.monotonic()
        if self.shown and (now - self.last > 0.1 or self.done == self.total):
            self.last = now
            self._draw(now)

    def _draw(self, now: float) -> None:
        filled = 30 * self.done // max(1, self.total)
        bar = "█" * filled + "·" * (30 - filled)
        left = (now - self.start) / self.done * (self.total - self.done)
        self.stream.write(f"\r{self.label} {bar} {self.done}/{self.total}, {left:.0f} s left ")
        self.stream.flush()

    def close(self) -> None:
        """End the line."""
        if self.shown and self.done:
            self.stream.write("\n")
            self.stream.flush()


# Scikit-learn's callbacks where the installed version has them: the only place that asks.


try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False
    Method = TypeVar("Method", bound=Callable[..., Any])

    class CallbackSupport:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin before version 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Leave the method as it is."""
        return method


class Reporter:
    """Tells the callbacks of an estimator about every cell of a search."""

    def __init__(self, estimator: Any, n_cells: int) -> None:
        self.estimator, self.root = estimator, None
        if HAS_CALLBACKS and getattr(estimator, "_skl_callbacks", None):
            self.root = estimator._init_callback_context(
                task_name="search", max_subtasks=n_cells
            ).call_on_fit_task_begin(estimator=estimator)

    def step(self) -> None:
        """One more cell is done."""
        if self.root is not None:
            task = self.root.subcontext(task_name="cell")
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)

    def close(self) -> None:
        """The search is done."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.estimator)
