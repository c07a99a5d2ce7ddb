"""Linear systems seen only through products: preconditioned GMRES for several right-hand sides."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skstretch.core.arnoldi import Cycle
from skstretch.core.types import Array

Product = Callable[[Array], Array]
Report = Callable[[int, float], None]

# a cycle that leaves more than this share of the residual has met the limit of rounding
STALLED = 0.5


@dataclass(frozen=True)
class Iterated:
    """Solutions X (n, t) of ``A X = B``, the residual ``R = B - A X`` and the steps it took."""

    X: Array
    R: Array
    n_iter: int


def gmres(
    product: Product,
    precondition: Product,
    B: Array,
    goals: Array,
    restart: int,
    max_iter: int,
    report: Report | None = None,
) -> Iterated:
    """Solve ``A X = B`` for all columns of B (n, t), every product serving all columns.

    Right-preconditioned, so that the residual that falls is that of the system itself. A column
    is done when its residual is at most its entry of `goals` (t,); the method ends when all are,
    after `max_iter` steps, or when a cycle hardly helps any more. `report` is told the number of
    every step and the largest residual.
    """
    X, R = np.zeros_like(B), B
    residuals = np.linalg.norm(R, axis=0)
    n_iter, helps = 0, True
    while helps and n_iter < max_iter and (residuals > goals).any():
        rest = np.flatnonzero(residuals > goals)
        cycle = Cycle(R[:, rest], min(restart, max_iter - n_iter))
        while cycle.steps < cycle.length and (cycle.left > goals[rest]).any():
            cycle.extend(product(precondition(cycle.last)))
            n_iter += 1
            if report is not None:
                report(n_iter, float(cycle.left.max()))
        tried = X.copy()
        tried[:, rest] += precondition(cycle.combination())
        remaining = B - product(tried)
        norms = np.linalg.norm(remaining, axis=0)
        helps = bool((norms[rest] <= STALLED * residuals[rest]).any())
        better = norms < residuals  # rounding can make a step worse than none
        X, R = np.where(better, tried, X), np.where(better, remaining, R)
        residuals = np.where(better, norms, residuals)
    return Iterated(X, R, n_iter)
