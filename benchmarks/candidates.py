"""``make candidates``: what the candidates of closed forms cost, and what fewer or rougher ones
would save.

Writes three parts of docs/performance.md, in processor seconds of one core.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from benchmarks.arena.data import load_task
from benchmarks.page import write_part
from benchmarks.performance import problem
from benchmarks.search import C_GRID, K_GRID
from benchmarks.sparse_search import LOADERS
from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.core.dual import DualSystem, EighInverse, Inverse
from skstretch.core.factors import _equilibrate, factorise
from skstretch.search import closed, grid

PAGE = "docs/performance.md"
SETS = ("riboflavin", "colon", "arcene")
# features of the rows about both forms, and samples as multiples of them
SIDE, RATIOS = 400, (0.5, 0.8, 0.95, 1.05, 1.25, 1.5, 2.0)
SYSTEMS = (200, 600, 1_150)
REPEATS = 5


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set of the arena; classes are taken as numbers."""
    task = load_task(name)
    y = np.asarray(next(iter(task.targets.values())))
    X = task.X.toarray() if hasattr(task.X, "toarray") else task.X
    codes = y if y.dtype.kind in "fi" else np.unique(y, return_inverse=True)[1]
    return np.asarray(X, dtype=float), codes.astype(float)


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Of one core, the least of a few."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


@dataclass(frozen=True)
class Watched:
    """One candidate of a dual closed form: its inverse, and the seconds it took beside K."""

    inverse: Inverse
    seconds: float

    @property
    def is_own(self) -> bool:
        """Whether it has an LU of its own, and is not one of several that share one."""
        return isinstance(self.inverse, DualSystem)

    @property
    def is_rough(self) -> bool:
        """Whether single precision would leave four digits of it."""
        return self.is_own and self.inverse.rcond > np.finfo(np.float32).eps / 1e-4


@contextmanager
def watched() -> Iterator[list[Watched]]:
    """Every candidate of a dual closed form, in their order."""
    found: list[Watched] = []
    outcome_of = closed.dual_outcome

    def timed(design: Any, problem: Any, make: Callable[[], Inverse]) -> Any:
        kept: list[Inverse] = []

        def keep() -> Inverse:
            kept.append(make())
            return kept[0]

        start = time.process_time()
        outcome = outcome_of(design, problem, keep)
        found.append(Watched(kept[0], time.process_time() - start))
        return outcome

    closed.dual_outcome = timed
    try:
        yield found
    finally:
        closed.dual_outcome = outcome_of


def off_the_best(table: dict[str, Any], family: np.ndarray) -> float:
    """The weight of candidates that are not the best of their a, k and density, nor beside it."""
    total = 0.0
    keys = np.array([f"{p['a']} {p['k']} {p['density']}" for p in table["params"]])
    for key in np.unique(keys[family]):
        own = np.flatnonzero(keys == key)
        best = int(np.argmax(np.where(table["usable"], table["mean_test_score"], -np.inf)[own]))
        far = np.abs(np.arange(own.size) - best) > 1
        total += float(table["weight"][own][far].sum())
    return total


def candidate_row(name: str, model: StretchyRegressorCV, X: Any, y: np.ndarray) -> str:
    """Time, short list and weights of the closed forms of one search."""
    model.fit(X[:50, :200], y[:50])
    with watched() as found:
        whole = seconds(lambda: model.fit(X, y), 1)
    table = model.cv_results_
    all_features = np.array([p["density"] == 1 for p in table["params"]])
    family = ((table["param_a"] != 0) | (table["param_k"] == 2)) & all_features
    short = family & (table["within_1se"] | (table["weight"] > 0))
    # candidates that are no eigendecomposition stand in the order of the table; at k = 2 all are or
    # none
    candidates = [
        candidate for candidate in found if not isinstance(candidate.inverse, EighInverse)
    ]
    listed = short[family if len(candidates) == family.sum() else family & (table["param_k"] != 2)]
    rough = [c for c, on in zip(candidates, listed, strict=True) if c.is_rough and not on]
    spent, saved = (
        sum(candidate.seconds for candidate in found),
        sum(candidate.seconds for candidate in rough) / 2,
    )
    n_own = len({id(candidate.inverse) for candidate in candidates if candidate.is_own})
    return (
        f"| {name}, {X.shape[0]:,} x {X.shape[1]:,} | {whole:.2f} | {100 * spent / whole:.0f} % | "
        f"{family.sum()} | {short.sum()} | {off_the_best(table, family):.2f} | {n_own} | "
        f"{len(rough)} | **{100 * saved / whole:.1f} %** |"
    )


def candidate_rows() -> list[str]:
    """Default searches, and those of explicit grids."""
    rows = [
        "| search | s | share of closed forms | their candidates | within one standard error, or "
        "in the mixture | weight away from the best c | LU factorisations | of these in single "
        "precision | which would save at most |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        rows.append(candidate_row(name, StretchyRegressorCV(), *data(name)))
    rows.append(candidate_row("generated", StretchyRegressorCV(), *problem(1_000, 1_000)))
    grids = {"a_grid": (-0.2,), "k_grid": K_GRID, "c_grid": C_GRID, "combine": "best"}
    explicit = StretchyRegressorCV(**grids)
    rows.append(candidate_row("arcene, 5 k x 6 c", explicit, *data("arcene")))
    for name, load in LOADERS.items():
        X, y = load(return_X_y=True)
        rows.append(candidate_row(f"{name}, 5 k x 6 c", explicit, X, np.where(y > 0, 1.0, -1.0)))
    return rows


def system_rows() -> list[str]:
    """What scaling and judging a system take of its factorisation and diagonal."""
    rows = [
        "| samples | LU and diagonal, ms | scaling | condition |",
        "|---|---|---|---|",
    ]
    for M in SYSTEMS:
        Q = np.random.default_rng(0).standard_normal((M, 2 * M))
        K = np.asfortranarray(Q @ Q.T / M + np.eye(M))
        lu, _, _ = lapack.dgetrf(K)
        rooms = iter([K.copy(order="F") for _ in range(2 * REPEATS)])
        whole = seconds(lambda: factorise(next(rooms)).inverse.diagonal())  # noqa: B023
        scaling = seconds(lambda: lapack.dlange("1", equilibrated(next(rooms))))  # noqa: B023
        condition = seconds(lambda: lapack.dgecon(lu, 3.0))  # noqa: B023
        shares = (f"{100 * part / whole:.0f} %" for part in (scaling, condition))
        rows.append(f"| {M:,} | {1e3 * whole:.1f} | {' | '.join(shares)} |")
    return rows


def equilibrated(A: np.ndarray) -> np.ndarray:
    """A, in place."""
    _equilibrate(A)
    return A


@contextmanager
def only(space: str) -> Iterator[None]:
    """Searches in one form, whatever the shape."""
    chosen = grid.crossfit_space
    grid.crossfit_space = lambda *_: space  # type: ignore[assignment,return-value]
    try:
        yield
    finally:
        grid.crossfit_space = chosen


def side_rows() -> list[str]:
    """Primal over dual seconds, of one fit and of a search of closed forms."""
    rows = [
        "| samples / features | one fit, primal / dual | search, primal / dual "
        "| usable candidates, dual | usable candidates, primal |",
        "|---|---|---|---|---|",
    ]
    for ratio in RATIOS:
        X, y = problem(round(ratio * SIDE), SIDE)
        fits, searches, usable = [], [], []
        for space in ("dual", "primal"):
            model = StretchyRegressor(k=1.25, solver=space)
            fits.append(seconds(lambda: model.fit(X, y)))  # noqa: B023
            search = StretchyRegressorCV(a_grid=(-0.2,))
            with only(space):
                searches.append(seconds(lambda: search.fit(X, y)))  # noqa: B023
            usable.append(int(search.cv_results_["usable"].sum()))
        rows.append(
            f"| {ratio:g} | {fits[1] / fits[0]:.2f} | {searches[1] / searches[0]:.2f} | "
            f"{usable[0]} | {usable[1]} |"
        )
    return rows


def main() -> None:
    """Measure and write all parts."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        write_part(PAGE, "systems", system_rows())
        write_part(PAGE, "sides", side_rows())
        write_part(PAGE, "candidates", candidate_rows())


if __name__ == "__main__":
    main()
