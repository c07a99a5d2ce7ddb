"""The plan on stderr, and the meter of what is read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from stretchy.core.intercept import Intercept
from stretchy.designs import Meter, Source, storage_of
from stretchy.solve.plan import make_plan


@contextmanager
def planned(
    estimator: Any,
    X: Any,
    *,
    n_maps: int = 1,
    n_transforms: int = 1,
    n_cells: int = 1,
    compressed: bool = False,
) -> Iterator[Any]:
    """With ``verbose``, print the plan of a fit; the X to use instead shows what is read.

    `n_maps` counts the a, `n_transforms` the pairs of a and k.
    """
    if not getattr(estimator, "verbose", 0):
        yield X
        return
    storage, intercept = storage_of(X), Intercept.of(estimator.fit_intercept)
    wide = storage.shape[0] <= storage.shape[1]
    in_blocks = isinstance(X, Source)
    # moments and K, then coefficients; tall: moments, products, projection; a second pass again
    walks = (2 if wide else 3) if in_blocks else 2 + n_maps
    walks *= 2 if compressed else 1
    solver = getattr(estimator, "solver", "auto")
    plan = make_plan(storage, intercept, solver, n_transforms, n_cells, walks)
    print(plan, file=sys.stderr, flush=True)
    if not isinstance(X, Source):
        yield X
        return
    meter = Meter(plan.nbytes)
    try:
        yield replace(X, meter=meter)
    finally:
        meter.close()
