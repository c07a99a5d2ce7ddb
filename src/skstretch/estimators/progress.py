"""What a fit tells while it runs: its plan, bars and lines on stderr, and callbacks."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, TextIO, TypeVar

import numpy as np

from skstretch.core.factors import counting
from skstretch.core.stretch import Intercept, selects
from skstretch.core.types import Array
from skstretch.designs import DaskArray, Meter, Source, dask_plan, storage_of
from skstretch.designs.as_design import Storage
from skstretch.exceptions import GridEdgeWarning, LongSearchWarning, SmallerSearchWarning
from skstretch.solve.choose import RATE, Plan


def fit_plan(estimator: Any, X: Any, weights: Array) -> Plan:
    """The plan of a single model."""
    exact = estimator.quadrant != "identity" and estimator.a == 0 and estimator.k != 2
    return Plan(
        storage_of(X),
        int(np.count_nonzero(weights)),
        Intercept.of(estimator.fit_intercept),
        estimator.solver,
        exact,
        selects([estimator.density], X.shape[1]),
    )


@contextmanager
def following(plan: Plan, X: Any, verbose: Any, n_transforms: int = 1) -> Iterator[Any]:
    """Print a plan where `verbose` asks for it; hands out the X to use, which shows what is read.

    `n_transforms` is the number of pairs of a and k.
    """
    if not verbose:
        yield X
        return
    if isinstance(X, DaskArray) and not plan.matrix_free:
        plan = replace(plan, traffic=f", {dask_plan(X, n_transforms)}")
    print("skstretch:", plan, file=sys.stderr, flush=True)
    with closing(Meter(plan.storage.nbytes)) as meter:
        yield replace(X, meter=meter) if isinstance(X, Source | DaskArray) else X


@contextmanager
def verbose_counts(verbose: Any) -> Iterator[None]:
    """Print at the end how often systems were factorised, and the steps along paths."""
    if not verbose:
        yield
        return
    with counting() as tally:
        yield
    said = [f"{n:,} {what}{'s' * (n != 1)}" for what, n in sorted(tally.counts.items()) if n]
    print("skstretch:", ", ".join(said) or "no factorisation", file=sys.stderr, flush=True)


def warn_of_hours(n_candidates: int, side: int) -> None:
    """Say what a search of candidates that need an inverse takes, before it begins."""
    hours = n_candidates * 2.0 * side**3 / RATE / 3600.0
    warnings.warn(
        f"this search has {n_candidates} candidates, and sparse models (a=0, k<2) or selected "
        f"features (n_features_to_select) among them need systems of {side:,} rows: about "
        f"{hours:.2g} hours, or more. Other models of all features do without: leave k_grid on "
        '"auto" and n_features_to_select on None, or pass a k_grid without 0 in a_grid.',
        LongSearchWarning,
        # the caller of `fit`, which scikit-learn's callbacks wrap
        stacklevel=8 if HAS_CALLBACKS else 7,
    )


def warn_of_storage(storage: Storage, left_out: str) -> None:
    """Say what a search leaves out because its data do not fit the working memory."""
    need = 2 * 8 * storage.shape[0] * storage.shape[1] / 2**20
    warnings.warn(
        f"X ({storage.kind}) does not fit the working memory, so the search leaves out: {left_out}."
        f" If the memory is there, use sklearn.set_config(working_memory={int(need) + 1}), which "
        "counts in MiB, or pass X as an array.",
        SmallerSearchWarning,
        # the caller of `fit`, which scikit-learn's callbacks wrap
        stacklevel=8 if HAS_CALLBACKS else 7,
    )


def warn_at_edge(way: str, c: float, automatic: bool) -> None:
    """Say which way to extend the grid of c."""
    side = "largest" if way == "larger" else "smallest"
    advice = f"{'pass' if automatic else 'extend'} c_grid with {way} values"
    warnings.warn(
        f"the chosen c={c:.2g} is the {side} that was tried, and the loss still falls towards it "
        f"by more than its standard error: {advice}.",
        GridEdgeWarning,
        # the caller of `fit`, which scikit-learn's callbacks wrap
        stacklevel=7 if HAS_CALLBACKS else 6,
    )


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


def show_left_out(model: Any) -> None:
    """Make the leave-one-out models of an average with a bar, where `verbose` asks for one; they
    are kept, so that later calls wait for nothing."""
    state = model._state
    members, verbose = getattr(state, "members", ()), getattr(model, "verbose", 0)
    if not (verbose and members) or "jackknives" in vars(state):
        return
    total = sum(len(member.kept) for member in members)
    progress = Progress(total, "models without each sample", verbose)
    try:
        vars(state)["jackknives"] = state.make_jackknives(progress.step)
    finally:
        progress.close()


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
    """Tells the callbacks of an estimator about every candidate of a search."""

    def __init__(self, estimator: Any, n_candidates: int) -> None:
        self.estimator, self.root = estimator, None
        if HAS_CALLBACKS and getattr(estimator, "_skl_callbacks", None):
            self.root = estimator._init_callback_context(
                task_name="search", max_subtasks=n_candidates
            ).call_on_fit_task_begin(estimator=estimator)

    def step(self) -> None:
        """One more candidate is done."""
        if self.root is not None:
            task = self.root.subcontext(task_name="candidate")
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)

    def close(self) -> None:
        """The search is done."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.estimator)
