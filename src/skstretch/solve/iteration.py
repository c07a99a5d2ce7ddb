"""How the matrix-free solvers iterate: preconditioner, stopping, and what is said about it."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skstretch.core.krylov import Iterated, Product, Report, gmres
from skstretch.core.sketch import BLOCK, sketch
from skstretch.core.types import Array
from skstretch.designs.blocks import working_bytes
from skstretch.solve.spec import Spec

# the relative residual at which iteration stops
TOLERANCE = 1e-10
MAX_ITER = 1000
# directions of the randomised preconditioner at most
SKETCH_SIZE = 200
# steps of GMRES between restarts, as far as there is room for the bases
RESTART = 200
SHORTEST_CYCLE = 20
# solutions that are to be joined leave residuals that add up
JOINED_TOLERANCE = TOLERANCE / 10


def iterate(
    product: Product,
    rank: int,
    lam: float,
    B: Array,
    report: Report | None = None,
    goal: float = TOLERANCE,
) -> Iterated:
    """Solve ``(K + lam I) X = B`` for B (n, t), from products with K of at most this rank."""
    n, t = B.shape
    size, restart = _lengths(n, t, rank)
    norms = np.linalg.norm(B, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    rough = sketch(product, n, size, lam)
    found = gmres(
        lambda V: product(V) + lam * V,
        rough.solve,
        B / scale,
        np.full(t, goal),
        restart,
        MAX_ITER,
        report,
    )
    return Iterated(found.X * scale, found.R * scale, found.n_iter)


def _lengths(n: int, t: int, rank: int) -> tuple[int, int]:
    """Directions of the preconditioner and steps between restarts that there is room for."""
    room = working_bytes() // (8 * n)
    size = max(1, min(SKETCH_SIZE, room // 4, rank // 4))
    return size, max(SHORTEST_CYCLE, min(RESTART, room // t))


def first_directions(n: int, rank: int) -> int:
    """Directions of the preconditioner that are always tried."""
    return min(BLOCK, _lengths(n, 1, rank)[0])


def bytes_of_iteration(n: int, t: int) -> int:
    """The most that `iterate` holds for t systems of side n: two sketches, and the bases."""
    size, restart = _lengths(n, t, n)
    return 8 * n * (2 * size + t * (restart + 1))


def relative_residual(R: Array, B: Array) -> float:
    """The largest ``|R| / |B|`` by column; zero for a column without anything to fit."""
    left, whole = np.linalg.norm(R, axis=0), np.linalg.norm(B, axis=0)
    return float(np.max(left / np.where(whole > 0, whole, 1.0), initial=0.0))


def warn_unless_solved(residual: float, n_iter: int, spec: Spec) -> None:
    """Say so where iteration ended short of its tolerance."""
    if residual <= TOLERANCE:
        return
    warnings.warn(
        f'solver="krylov" at k={spec.k:g}, c={spec.c:g} ended after {n_iter} iterations with a '
        f"relative residual of {residual:.1e}, above {TOLERANCE:.0e}: the system is "
        "ill-conditioned. Use a smaller c, a larger k, or a direct solver "
        '("dual" for fewer samples than features, else "primal").',
        ConvergenceWarning,
        stacklevel=2,
    )


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
