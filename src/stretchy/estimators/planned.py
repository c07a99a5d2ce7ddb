"""The plan on stderr, and the meter of what is read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from stretchy.core.intercept import Intercept
from stretchy.designs import DaskArray, Meter, Source, dask_plan, storage_of
from stretchy.solve.plan import make_plan


@contextmanager
def planned(
    estimator: Any,
    X: Any,
    *,
    n_maps: int = 1,
    n_transforms: int = 1,
    n_cells: int = 1,
    n_selections: int = 0,
) -> Iterator[Any]:
    """With ``verbose``, print the plan of a fit; the X to use instead shows what is read.

    `n_maps` counts the a, `n_transforms` the pairs of a and k, `n_selections` the cells with a
    density below one.
    """
    if not getattr(estimator, "verbose", 0):
        yield X
        return
    if isinstance(X, DaskArray):
        print(
            f"stretchy: {dask_plan(X, n_maps, n_transforms, n_cells, n_selections)}",
            file=sys.stderr,
            flush=True,
        )
        yield X
        return
    storage, intercept = storage_of(X), Intercept.of(estimator.fit_intercept)
    wide = storage.shape[0] <= storage.shape[1]
    in_blocks = isinstance(X, Source)
    # moments and K, then coefficients; tall: moments, products, projection; a second pass again
    walks = (2 if wide else 3) if in_blocks else 2 + n_maps
    walks *= 2 if n_selections else 1
    # a search needs K, however large
    solver = getattr(estimator, "solver", "dual or primal")
    plan = make_plan(storage, intercept, solver, n_transforms, n_cells, walks)
    print(f"stretchy: {plan}", file=sys.stderr, flush=True)
    if not isinstance(X, Source):
        yield X
        return
    meter = Meter(plan.nbytes)
    try:
        yield replace(X, meter=meter)
    finally:
        meter.close()
