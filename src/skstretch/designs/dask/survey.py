"""One walk over a wide Dask array for everything that a search needs; the moments of a tall one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.dual_gram import DualGram
from skstretch.core.moments import (
    MergedMoments,
    Moments,
    column_moments,
    pooled_moments,
    resolution,
    side_by_side,
)
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import blocks_of
from skstretch.designs.dask.array import Block, DaskArray, gram_bytes
from skstretch.designs.dask.design import joined_grams, largest
from skstretch.designs.dask.walk import stacked, walked
from skstretch.designs.local import Transform, depth, local_design, local_moments, safe_grams
from skstretch.designs.protocol import LocalDesign, Ready
from skstretch.designs.source import Source


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
        moments = local_moments(X, self.weights)
        rows = np.flatnonzero(self.weights > 0)
        grams, peaks = [], []
        for transform in self.transforms:
            quadrant, active = transform.whole(moments, block.columns)
            design = local_design(X, quadrant, rows=rows, columns=active)
            # what overflows is not safe, and is summed again with scaled rows
            with np.errstate(over="ignore", invalid="ignore"):
                found = design.gram(transform.exponents, self.weights[rows], None, self.borders)
            grams.append(found)
            peaks.append(_peaks(design))
        return Found(moments, grams, peaks)


def _peaks(design: LocalDesign) -> Array:
    """How large the features of every row are, and for exp how small any of them is."""
    n_rows, n_columns = design.shape
    # no exponent is safe when it is infinite: there always are peaks
    peaks = design.row_peaks(np.inf) if n_columns else None
    return np.full(n_rows, -np.inf) if peaks is None else np.maximum(peaks, depth(design.quadrant))


def merged(parts: Sequence[Found]) -> Found:
    """Consecutive blocks together."""
    # what overflowed is not safe, and is summed again with scaled rows
    with np.errstate(over="ignore", invalid="ignore"):
        grams = [joined_grams(some) for some in zip(*(part.grams for part in parts), strict=True)]
    return Found(
        side_by_side([part.moments for part in parts]),
        grams,
        [largest(peaks) for peaks in zip(*(part.peaks for part in parts), strict=True)],
    )


def dask_survey(
    array: DaskArray, weights: Array, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """Moments of all columns, and for every transform K of what is safe."""
    work = Survey(transforms, weights, borders)
    need = gram_bytes(array, sum(len(transform.exponents) for transform in transforms))
    found: Found = walked(array, work, merge=merged, need=need)
    used = weights[weights > 0]
    pairs = zip(found.grams, found.peaks, strict=True)
    return found.moments, [Ready(used, borders, safe_grams(*pair)) for pair in pairs]


def dask_moments(array: DaskArray, weights: Array) -> Moments:
    """Moments of all columns, in one walk."""
    if array.is_wide:
        return dask_survey(array, weights, [], False)[0]
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
        moments.put(columns, column_moments(raw[used], weights[used], eps))
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
