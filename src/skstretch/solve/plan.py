"""What a fit is going to do and cost, in one line, before it does it."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from skstretch.core.stretch import Intercept, is_safe
from skstretch.core.types import Array
from skstretch.designs.as_design import Storage
from skstretch.designs.blocks import (
    BLOCK_BYTES,
    BLOCK_LENGTH,
    available_threads,
    copies_for,
    working_bytes,
)
from skstretch.designs.dask.array import DaskPlan
from skstretch.solve.choose import DIRECT_COPIES, choose_space, crossfit_space
from skstretch.solve.krylov import bytes_of_iteration, first_directions, width_of_walks
from skstretch.solve.spec import Space

# How often a fit walks over its data, and what for.


# in memory (dense or sparse), read in blocks, a Dask array by feature blocks or by row blocks
Store = Literal["memory", "blocks", "wide Dask", "tall Dask"]


# iterations that are expected of Krylov
KRYLOV_STEPS = 20


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
    n_targets : int
    """

    n_maps: int = 1
    n_transforms: int = 1
    n_cells: int = 1
    n_selections: int = 0
    n_folds: int = 0
    held_out: bool = False
    n_targets: int = 1


@dataclass(frozen=True)
class Setting:
    """What is solved, and where the data is.

    Attributes
    ----------
    store : Store
    shape : (int, int)
        Samples of positive weight, and features.
    intercept : Intercept
    solver : str
        A direct one.
    fold_walks : int
        How often the data is read at most while all folds are held out once, each on its own.
    folds_told : bool
        Whether the number of folds is known.
    resident : bool
        Whether a tall Dask array is brought into memory by the first look at held-out rows.
    left_out : bool
        Whether a search predicts samples of weight zero at its end.
    safe : bool
        Whether all powers are known to be safe before anything is read.
    looks : int
        Pairs of a and k at which the moments do not tell whether powers are safe (the linear limit,
        the identity): the sizes of the rows are looked at.
    """

    store: Store
    shape: tuple[int, int]
    intercept: Intercept = Intercept.FREE
    solver: str = "auto"
    fold_walks: int = 1
    folds_told: bool = True
    resident: bool = False
    left_out: bool = False
    safe: bool = True
    looks: int = 0

    @property
    def space(self) -> Space:
        """The form of the fitted model."""
        return choose_space(*self.shape, self.intercept, self.solver)

    @property
    def held_out_space(self) -> Space:
        """The form in which samples are left out."""
        return crossfit_space(*self.shape, self.intercept)

    @property
    def surveyed(self) -> bool:
        """Whether the walk for the moments brings every K along."""
        return self.store in ("blocks", "wide Dask") and self.held_out_space == "dual"


@dataclass(frozen=True)
class Reading:
    """Walks over the data by what they are for.

    `bounded` names those that are upper bounds; `more` tells what may come on top, and when.
    An `estimate` is about right.
    """

    walks: Mapping[str, int]
    bounded: frozenset[str] = frozenset()
    more: Mapping[str, int] = field(default_factory=dict)
    estimate: bool = False

    @property
    def total(self) -> int:
        """All walks, without what may come on top."""
        return sum(self.walks.values())

    @property
    def word(self) -> str:
        """How sure the total is."""
        return "about " if self.estimate else "at most " if self.bounded else ""

    @property
    def provisos(self) -> str:
        """What may come on top, in brackets."""
        parts = [f"up to {count:,} more if {reason}" for reason, count in self.more.items()]
        return f" ({', '.join(parts)})" if parts else ""


def direct_reading(setting: Setting, size: Size) -> Reading:
    """The walks of a fit by LU or QR."""
    walks = Counter({"moments and K" if setting.surveyed else "moments": 1})
    bounded: set[str] = set()
    finished = False
    if size.held_out:
        walks.update(_out_of_fold(setting, size))
        if setting.held_out_space == "primal" and not setting.resident and setting.fold_walks > 1:
            bounded.add("held-out rows")
        same = setting.space == setting.held_out_space and setting.solver == "auto"
        finished = same and not size.n_selections
    if finished:
        walks["coefficients"] += setting.space == "dual"
    elif 0 < size.n_selections < size.n_cells * size.n_targets and setting.space == "primal":
        # fitted again only where a cell with a selection wins
        walks["selections"] += sum(_whole_fit(setting, size).values())
    else:
        walks.update(_whole_fit(setting, size))
    if size.n_selections:
        walks["selections"] += _selections(setting, size)
        bounded.add("selections")
    walks["samples of weight zero"] += setting.left_out
    named = {name: count for name, count in walks.items() if count}
    bounds = frozenset(bounded & named.keys())
    more = _provisos(setting, size, finished)
    return Reading(named, bounds, more, bool(bounds) and not setting.folds_told)


def _out_of_fold(setting: Setting, size: Size) -> dict[str, int]:
    """The cells of a grid, each with its held-out samples."""
    if setting.held_out_space == "dual":
        if setting.store == "tall Dask":
            return {"sizes of rows": setting.looks, "all rows, brought here": size.n_maps}
        return {} if setting.surveyed else {"K": size.n_maps}
    held = size.n_maps if setting.resident else size.n_transforms * setting.fold_walks
    products = _products(setting, size.n_maps)
    return {**products, "right-hand sides": size.n_transforms, "held-out rows": held}


def _whole_fit(setting: Setting, size: Size) -> dict[str, int]:
    """One fit on all columns. QR looks at the features in place of the last walk of LU."""
    if setting.solver == "qr":
        return {"features": 0 if _at_hand(setting, size) else 1}
    if setting.space == "dual":
        if setting.store == "tall Dask":
            known = size.held_out and setting.held_out_space == "dual"
            rows = {"sizes of rows": setting.looks, "all rows, brought here": 0 if known else 1}
            return {**rows, "coefficients": 1}
        return {"K": 0 if setting.surveyed else 1, "coefficients": 1}
    if setting.store == "wide Dask":
        return {"all columns, brought here": 1}
    return {**_products(setting, 1), "right-hand sides": 1}


def _at_hand(setting: Setting, size: Size) -> bool:
    """Whether held-out rows have brought a whole Dask array into memory."""
    return setting.resident and size.held_out and setting.held_out_space == "primal"


def _products(setting: Setting, count: int) -> dict[str, int]:
    """``Q'WP``: in memory the means come first, elsewhere blocks are pooled."""
    return {"C": count * (2 if setting.store == "memory" else 1)}


def _selections(setting: Setting, size: Size) -> int:
    """The most that selections can read: a second fit of each target, and what its folds keep."""
    at_hand = _at_hand(setting, size)
    second = 0 if at_hand else size.n_targets * (1 if setting.resident else 2)
    second += size.n_targets * (setting.space == "dual" and setting.looks > 0)
    folds = size.n_folds
    if not folds or at_hand:
        return second
    wide = setting.held_out_space == "dual"
    looks = 1 + folds if wide and setting.looks else 0
    if setting.store == "wide Dask":
        # coefficients of all folds; K of the selection, twice; columns that come and go in a fold
        each = 1 + 3 + 2 * folds
    elif setting.store == "tall Dask" and wide:
        # as above; what does not fit is brought here, multiplied and looked at in every fold
        each = 1 + 3 + 3 * folds
    else:
        # coefficients of all folds; the selection; products, targets and tested rows of a fold
        first = 1 if wide else setting.fold_walks
        each = first + 2 + 2 * folds + setting.fold_walks
    return second + size.n_selections * (each + looks)


def _provisos(setting: Setting, size: Size, finished: bool) -> dict[str, int]:
    more: dict[str, int] = {}
    dual = "dual" in (setting.space, setting.held_out_space if size.held_out else None)
    if dual and not setting.safe:
        # peaks of the rows, and K about them
        again = 1 if size.held_out else 0
        folds = size.n_selections * (2 + 4 * size.n_folds)
        more["powers need scaled rows"] = 2 * (size.n_transforms + again) + folds
    if finished and setting.solver == "auto":
        if setting.space == "primal":
            more["LU loses digits"] = 2
        elif setting.store == "tall Dask":
            more["LU loses digits"] = 1
    return more


def krylov_reading(size: Size, width: int, directions: int, refits: int) -> Reading:
    """About so many walks: `width` vectors pass through the data at a time, `refits` folds follow.

    A product takes a walk for Q' and one for P; the preconditioner takes two of its `directions`.
    """
    rounds = -(-size.n_targets // width)
    directions = 2 * -(-directions // width)
    one = 2 * (KRYLOV_STEPS * rounds + directions) + 2
    fits = 1 + refits + (1 + refits) * bool(size.n_selections)
    return Reading({"moments": 1, "products": fits * one}, estimate=True)


def powers_are_safe(a: float, b: Array, r: float, weights: Array) -> bool:
    """Whether ``exp(a z + b)`` can be raised to r whatever the data is.

    With variance one, ``|z_i| <= sqrt(sum(w) / w_i - 1)``.
    """
    furthest = float(np.sqrt(max(0.0, weights.sum() / weights.min() - 1.0)))
    size = abs(a) * furthest + float(np.abs(b).max())
    return is_safe(-size, size, r)


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
