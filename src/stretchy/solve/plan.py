"""What a fit is going to do and cost, in one line, before it does it."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from stretchy.core.intercept import Intercept
from stretchy.designs.blocks import BLOCK_BYTES, BLOCK_LENGTH, copies_for, working_bytes
from stretchy.designs.storage import Storage
from stretchy.designs.threads import available_threads
from stretchy.solve.fit import choose_space, is_large
from stretchy.solve.memory import DIRECT_COPIES

# bytes a second that a disk gives without effort
READ_RATE = 5e8
# vectors that an iteration keeps, and walks over the data that it usually takes
KRYLOV_VECTORS, KRYLOV_WALKS = 500, 50


@dataclass(frozen=True)
class Size:
    """How much there is to do.

    Attributes
    ----------
    n_maps, n_transforms, n_cells : int
        Values of a, pairs of a and k, and cells of the grid.
    n_selections : int
        Cells with a density below one, times the targets.
    n_folds : int
        Folds that select on their own; 0 where none is left out.
    held_out : bool
        Whether out-of-fold predictions are asked for.
    """

    n_maps: int = 1
    n_transforms: int = 1
    n_cells: int = 1
    n_selections: int = 0
    n_folds: int = 0
    held_out: bool = False

    def walks(self, kind: str, wide: bool) -> int:
        """Walks over the data: exact without selections, about as many with them."""
        if kind != "read in blocks":
            first = 2 + self.n_maps
        elif wide:
            first = 2  # moments and all K, then coefficients
        else:
            # moments, all C of an a, the right-hand side of each, and held-out rows
            first = 1 + self.n_maps + self.n_transforms * (1 + self.held_out)
        each = 2 if not self.n_folds else 3 + 3 * self.n_folds if wide else 1 + 4 * self.n_folds
        return first + self.n_selections * each


@dataclass(frozen=True)
class Plan:
    """Space, solver, walks over the data, bytes, memory and time; the last two are estimates."""

    storage: Storage
    space: str
    solver: str
    n_transforms: int
    n_cells: int
    walks: int
    exact: bool = True

    @property
    def side(self) -> int:
        """The side of the square system."""
        return self.storage.shape[0] if self.space == "dual" else self.storage.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes read in all walks."""
        return self.walks * self.storage.nbytes

    @property
    def memory(self) -> int:
        """Bytes beside X: the square matrices, a block with its powers, and the coefficients."""
        n_rows, n_columns = self.storage.shape
        each = 8 * n_rows * max(BLOCK_LENGTH, BLOCK_BYTES // (8 * n_rows))
        copies = copies_for(1 + self.n_transforms, available_threads())
        block = min(copies * each, working_bytes())
        if self.solver == "Krylov":
            square = 8 * self.side * KRYLOV_VECTORS
        else:
            square = 8 * self.side**2 * (self.n_transforms + DIRECT_COPIES - 1)
        return square + block + 10 * 8 * n_columns

    @property
    def seconds(self) -> float:
        """Products at the measured rate of BLAS, plus reading."""
        if self.solver == "Krylov":
            products = float(self.walks) * self.storage.nbytes
        else:
            system = float(self.side) ** 3 * self.n_cells
            products = self.storage.products * (self.n_transforms + 0.2) + system
        reading = self.nbytes / READ_RATE if self.storage.kind == "read in blocks" else 0.0
        return products / product_rate() + reading

    def __str__(self) -> str:
        n_rows, n_columns = self.storage.shape
        cells = "1 cell" if self.n_cells == 1 else f"{self.n_cells:,} cells"
        walks = f"{'' if self.exact else 'about '}{self.walks:,} walks"
        return (
            f"{n_rows:,} x {n_columns:,} {self.storage.dtype}, {self.storage.kind}; "
            f"{self.space} form by {self.solver}, a {self.side:,} x {self.side:,} system, {cells}; "
            f"{walks} over the data, {_size(self.nbytes)}; about {_size(self.memory)} of memory "
            f"and {_duration(self.seconds)}"
        )


def make_plan(storage: Storage, intercept: Intercept, solver: str, size: Size) -> Plan:
    """The plan of a fit."""
    space = choose_space(*storage.shape, intercept)
    n_transforms, n_cells = size.n_transforms, size.n_cells
    walks = size.walks(storage.kind, space == "dual")
    if solver in ("dual", "primal"):
        space = solver  # type: ignore[assignment]
    if solver == "krylov" or (solver == "auto" and is_large(*storage.shape)):
        return Plan(storage, space, "Krylov", n_transforms, n_cells, KRYLOV_WALKS, False)
    name = "QR" if solver == "qr" else "LU"
    return Plan(storage, space, name, n_transforms, n_cells, walks, not size.n_selections)


@cache
def product_rate() -> float:
    """Multiplications a second of BLAS on this machine, from a product that takes milliseconds."""
    A = np.ones((512, 2048))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        A @ A[::-1].T
        times.append(time.perf_counter() - start)
    return A.shape[0] ** 2 * A.shape[1] / min(times)


def _size(nbytes: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if nbytes >= scale:
            return f"{nbytes / scale:.1f} {unit}"
    return f"{nbytes / 1e3:.0f} kB"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
