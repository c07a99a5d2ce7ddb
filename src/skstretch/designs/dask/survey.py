"""One walk over a wide Dask array for everything that a search needs; the moments of a tall one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from skstretch.core.dual_gram import DualGram
from skstretch.core.moments import (
    MergedMoments,
    Moments,
    column_moments,
    pooled_moments,
    resolution,
)
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import is_safe
from skstretch.core.types import Array, Index
from skstretch.designs.as_design import as_design, measure
from skstretch.designs.blocks import blocks_of
from skstretch.designs.dask.array import Block, DaskArray, gram_bytes
from skstretch.designs.dask.walk import stacked, walked
from skstretch.designs.dask.work import joined_grams, largest, row_peaks
from skstretch.designs.source import Source
from skstretch.designs.survey import Ready


class Transform(Protocol):
    """A transform that follows from the moments of any slice of columns."""

    @property
    def exponents(self) -> Sequence[float]: ...

    def whole(self, moments: Moments, columns: slice) -> tuple[Quadrant, Index]:
        """The transform of these columns, and the places of those that take part."""
        ...


@dataclass(frozen=True, eq=False)
class Found:
    """What some consecutive blocks gave: moments, and of every transform K and the peaks."""

    moments: Moments
    grams: list[list[DualGram]]
    peaks: list[Array]


@dataclass(frozen=True, eq=False)
class Survey:
    """Measure a block of features, then see it through every transform while it is at hand."""

    transforms: Sequence[Transform]
    weights: Array
    borders: bool

    def __call__(self, X: Any, block: Block, own: None) -> Found:
        moments = measure(X, self.weights)
        rows = np.flatnonzero(self.weights > 0)
        grams, peaks = [], []
        for transform in self.transforms:
            quadrant, active = transform.whole(moments, block.columns)
            design = as_design(X, quadrant, rows=rows, columns=active)
            # what overflows is not safe, and is summed again with scaled rows
            with np.errstate(over="ignore", invalid="ignore"):
                found = design.gram(transform.exponents, self.weights[rows], None, self.borders)
            grams.append(found)
            peaks.append(_peaks(design, quadrant, active))
        return Found(moments, grams, peaks)


def _peaks(design: Any, quadrant: Quadrant, active: Index) -> Array:
    """How large the features of every row are, and for exp how small any of them is."""
    if not active.size:
        return np.full(design.shape[0], -np.inf)
    peaks = row_peaks(design)
    if quadrant.kind == "exp":
        # the smallest features must be safe too, not only the largest of each row
        peaks = np.maximum(peaks, -quadrant.take(active).lowest_log())
    return peaks


def merged(parts: Sequence[Found]) -> Found:
    """Consecutive blocks together."""
    # what overflowed is not safe, and is summed again with scaled rows
    with np.errstate(over="ignore", invalid="ignore"):
        grams = [joined_grams(some) for some in zip(*(part.grams for part in parts), strict=True)]
    return Found(
        concatenated([part.moments for part in parts]),
        grams,
        [largest(peaks) for peaks in zip(*(part.peaks for part in parts), strict=True)],
    )


def concatenated(parts: Sequence[Moments]) -> Moments:
    """Moments of consecutive columns."""
    names = Moments.__dataclass_fields__
    return Moments(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def dask_survey(
    array: DaskArray, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """Moments of all columns by the weights of a measured array, and K of what is safe."""
    weights = array.weights
    assert weights is not None
    work = Survey(transforms, weights, borders)
    need = gram_bytes(array, sum(len(transform.exponents) for transform in transforms))
    found: Found = walked(array, work, merge=merged, need=need)
    used = weights[weights > 0]
    ready = []
    for grams, peaks in zip(found.grams, found.peaks, strict=True):
        low, high = float(peaks.min()), float(peaks.max())
        finite = bool(np.isfinite([low, high]).all())
        safe = {gram.r: gram for gram in grams if finite and is_safe(low, high, gram.r)}
        ready.append(Ready(used, borders, safe))
    return found.moments, ready


def dask_moments(array: DaskArray, weights: Array) -> Moments:
    """Moments of all columns, in one walk."""
    if array.is_wide:
        return dask_survey(replace(array, weights=weights), [], False)[0]
    owns = [weights[block.rows] for block in array.blocks]
    numbers = [number for number, own in enumerate(owns) if own.any()]
    parts = [owns[number] for number in numbers]
    pooled: MergedMoments = walked(array, RowMoments(), parts, numbers, pooled_moments)
    eps = resolution(array.dtype)
    moments, extreme = pooled.moments(eps)
    columns = np.flatnonzero(extreme)
    if columns.size:
        raw = stacked(walked(array, ExtremeColumns(columns)), 0)
        used = np.flatnonzero(weights > 0)
        part = column_moments(raw[used], weights[used], eps)
        for name in Moments.__dataclass_fields__:
            getattr(moments, name)[columns] = getattr(part, name)
    return moments


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Moments of the rows of positive weight of a block of rows."""

    def __call__(self, X: Any, block: Block, own: Array) -> MergedMoments:
        found = MergedMoments(X.shape[1])
        used = np.flatnonzero(own > 0)
        for some in blocks_of(used.size, X.shape[1]):
            rows = used[some]
            found.add(_dense(X, rows), own[rows])
        return found


@dataclass(frozen=True, eq=False)
class ExtremeColumns:
    """Columns whose squares leave the range of float64: to be measured again, densely."""

    columns: Index

    def __call__(self, X: Any, block: Block, own: None) -> Array:
        return _dense(X, np.arange(X.shape[0]))[:, self.columns]


def _dense(X: Any, rows: Index) -> Array:
    if isinstance(X, Source):
        return np.asarray(X.read(rows, slice(0, X.shape[1])), dtype=np.float64)
    return np.asarray(X[rows].toarray(), dtype=np.float64)
