"""The plan on stderr, and the meter of what is read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from stretchy.core.intercept import Intercept
from stretchy.designs import DaskArray, Meter, Source, dask_plan, storage_of
from stretchy.estimators.splits import N_FOLDS
from stretchy.solve.plan import Size as Size
from stretchy.solve.plan import make_plan


@contextmanager
def planned(estimator: Any, X: Any, size: Size) -> Iterator[Any]:
    """With ``verbose``, print the plan of a fit; the X to use instead shows what is read."""
    if not getattr(estimator, "verbose", 0):
        yield X
        return
    # a search needs K, however large
    solver = getattr(estimator, "solver", "dual or primal")
    if isinstance(X, DaskArray) and solver != "krylov":
        folds = max(1, size.n_folds)
        print(
            "stretchy:",
            dask_plan(X, size.n_maps, size.n_transforms, size.n_cells, size.n_selections, folds),
            file=sys.stderr,
            flush=True,
        )
        yield X
        return
    intercept = Intercept.of(estimator.fit_intercept)
    plan = make_plan(storage_of(X), intercept, solver, size)
    print("stretchy:", plan, file=sys.stderr, flush=True)
    if not isinstance(X, Source):
        yield X
        return
    meter = Meter(plan.nbytes)
    try:
        yield replace(X, meter=meter)
    finally:
        meter.close()


def fold_count(cv: Any) -> int:
    """Folds of a search that selects features; the default's where a splitter does not tell."""
    if isinstance(cv, int):
        return cv
    return int(getattr(cv, "n_splits", N_FOLDS))
