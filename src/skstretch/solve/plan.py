"""What a fit is going to do and cost, in one line, before it does it."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from skstretch.designs.blocks import BLOCK_BYTES, BLOCK_LENGTH, copies_for, working_bytes
from skstretch.designs.dask_plan import DaskPlan
from skstretch.designs.storage import Storage
from skstretch.designs.threads import available_threads
from skstretch.solve.iteration import bytes_of_iteration, first_directions
from skstretch.solve.memory import DIRECT_COPIES
from skstretch.solve.reading import Reading as Reading
from skstretch.solve.reading import Setting as Setting
from skstretch.solve.reading import Size as Size
from skstretch.solve.reading import direct_reading, krylov_reading
from skstretch.solve.walks import width_of_walks

# bytes a second that a disk gives without effort
READ_RATE = 5e8


@dataclass(frozen=True)
class Plan:
    """Space, solver, walks over the data, bytes, memory and time; the last two are estimates.

    Attributes
    ----------
    storage : Storage
    setting : Setting
    size : Size
    reading : Reading
    solver : {"LU", "QR", "Krylov"}
    cluster : DaskPlan or None
        What a walk costs where X is a Dask array.
    """

    storage: Storage
    setting: Setting
    size: Size
    reading: Reading
    solver: str
    cluster: DaskPlan | None = None

    @property
    def side(self) -> int:
        """The side of the square system."""
        n_samples, n_features = self.setting.shape
        return n_samples if self.setting.space == "dual" else n_features

    @property
    def nbytes(self) -> int:
        """Bytes read in all walks."""
        return self.reading.total * self.storage.nbytes

    @property
    def memory(self) -> int:
        """Bytes beside X: the square matrices, a block with its powers, and the coefficients."""
        n_rows, n_columns = self.storage.shape
        each = 8 * n_rows * max(BLOCK_LENGTH, BLOCK_BYTES // (8 * n_rows))
        copies = copies_for(1 + self.size.n_transforms, available_threads())
        block = 0 if self.cluster else min(copies * each, working_bytes())
        if self.solver == "Krylov":
            square = bytes_of_iteration(self.side, self.size.n_targets)
            square += min(16 * self.size.n_targets * sum(self.setting.shape), working_bytes() // 2)
        else:
            square = 8 * self.side**2 * (self.size.n_transforms + DIRECT_COPIES - 1)
        return square + block + 10 * 8 * n_columns

    @property
    def seconds(self) -> float:
        """Products at the measured rate of BLAS, plus reading, by all workers."""
        n_transforms, n_cells = self.size.n_transforms, self.size.n_cells
        workers = self.cluster.n_workers if self.cluster else 1
        system = 0.0
        if self.solver == "Krylov":
            products = float(self.reading.total) * self.storage.nbytes
        else:
            products = self.storage.products * (n_transforms + 0.2)
            system = float(self.side) ** 3 * n_cells
        stored = self.cluster is not None or self.setting.store == "blocks"
        reading = self.nbytes / READ_RATE if stored else 0.0
        return (products / workers + system) / product_rate() + reading / workers

    def __str__(self) -> str:
        n_rows, n_columns = self.storage.shape
        kind = f"{self.cluster.n_blocks:,} blocks of Dask" if self.cluster else self.storage.kind
        cells = "1 cell" if self.size.n_cells == 1 else f"{self.size.n_cells:,} cells"
        first = " in the first pass" if self.size.n_selections else ""
        used = self.setting.shape[0]
        weighed = "" if used == n_rows else f" ({used:,} of positive weight)"
        return (
            f"{n_rows:,} x {n_columns:,} {self.storage.dtype}{weighed}, {kind}; "
            f"{self.setting.space} form by {self.solver}{first}, "
            f"a {self.side:,} x {self.side:,} system{self._fallback}, {cells}; {self._walks}; "
            f"about {_size(self.memory)} of memory {'here ' if self.cluster else ''}and "
            f"{_duration(self.seconds)}"
        )

    @property
    def _fallback(self) -> str:
        # P, Q, the sorted copy and the orthogonal factor, as in `Design.in_memory`
        n_samples, n_features = self.setting.shape
        fits = 4 * 8 * n_samples * n_features <= working_bytes()
        can = self.solver == "LU" and self.setting.solver == "auto" and fits
        return " (QR if LU loses digits)" if can else ""

    @property
    def _walks(self) -> str:
        reading = self.reading
        if self.cluster is None:
            walks = f"{reading.word}{reading.total:,} walks over the data{reading.provisos}"
            return f"{walks}, {_size(self.nbytes)}"
        parts = [
            f"{'at most ' if name in reading.bounded else ''}{count:,} for {name}"
            for name, count in reading.walks.items()
        ]
        sure = "about " if reading.estimate else ""
        walks = f"walks over the blocks: {sure}{', '.join(parts)}{reading.provisos}"
        return f"{walks}, {_size(self.nbytes)}; {self.cluster}"


def make_plan(
    storage: Storage,
    setting: Setting,
    size: Size,
    cluster: DaskPlan | None = None,
    *,
    matrix_free: bool = False,
    refits: int = 0,
) -> Plan:
    """The plan of a fit, by Krylov where it is `matrix_free`; that fits `refits` folds as well."""
    if matrix_free:
        side = setting.shape[0] if setting.space == "dual" else setting.shape[1]
        directions = first_directions(side, min(setting.shape))
        reading = krylov_reading(size, width_of_walks(setting.shape), directions, refits)
        return Plan(storage, setting, size, reading, "Krylov", cluster)
    name = "QR" if setting.solver == "qr" else "LU"
    return Plan(storage, setting, size, direct_reading(setting, size), name, cluster)


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
