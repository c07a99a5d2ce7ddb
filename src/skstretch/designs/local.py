"""Data that this process can read: its design, its moments, and both in one pass.

A block of a Dask array is such data as well, in the task that works on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skstretch.core.features import Moments, side_by_side
from skstretch.core.gram import DualGram, joined
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import is_safe
from skstretch.core.types import Array, Index
from skstretch.designs.dense import DenseDesign, dense_moments
from skstretch.designs.protocol import LocalDesign, Ready
from skstretch.designs.source import Source
from skstretch.designs.sparse import SparseDesign, sparse_moments
from skstretch.designs.threads import blocks_of, copies_for, parallel_map, shares, threads_for_rows


def by_columns(X: Any) -> Any:
    """A sparse matrix by columns, without duplicate entries; X itself where it is one."""
    columns = X.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy() if columns is X else columns
        columns.sum_duplicates()
    return columns


def local_design(
    X: Any,
    quadrant: Quadrant,
    *,
    rows: Index | None = None,
    columns: Index | None = None,
    bounded: bool = False,
    ready: Ready | None = None,
) -> LocalDesign:
    """See `as_design`; X is an array, a sparse matrix or a Source."""
    if rows is not None and rows.size == X.shape[0]:
        rows = None
    design: LocalDesign
    if sparse.issparse(X):
        X = by_columns(X)
        design = SparseDesign(X if rows is None else X[rows].tocsc(), quadrant, bounded=bounded)
    else:
        design = DenseDesign(X, quadrant, rows=rows, bounded=bounded)
    if columns is not None and columns.size < X.shape[1]:
        design = design.narrowed(columns)
    return design if ready is None else replace(design, ready=ready)


def local_moments(X: Any, weights: Array) -> Moments:
    """Weighted moments of every column; rows of weight zero have no part in them."""
    if isinstance(X, Source):
        return dense_moments(X, weights)
    moments = sparse_moments if sparse.issparse(X) else dense_moments
    positive = np.flatnonzero(weights > 0)
    if positive.size < weights.size:
        return moments(X[positive], weights[positive])
    return moments(X, weights)


class Transform(Protocol):
    """A transform that follows from the moments of any slice of columns."""

    @property
    def exponents(self) -> Sequence[float]: ...

    def whole(self, moments: Moments, columns: slice) -> tuple[Quadrant, Index]:
        """The transform of these columns, and the places of those that take part."""
        ...


@dataclass(frozen=True, eq=False)
class Measured:
    """Consecutive columns: their moments, and of every transform K by exponent and the peaks."""

    moments: Moments
    grams: list[list[DualGram]]
    peaks: list[Array]

    def ready(self, weights: Array, borders: bool) -> list[Ready]:
        """For every transform K of the exponents that are safe."""
        pairs = zip(self.grams, self.peaks, strict=True)
        return [Ready(weights, borders, safe_grams(*pair)) for pair in pairs]


def measured(
    X: Any, columns: slice, weights: Array, transforms: Sequence[Transform], borders: bool
) -> Measured:
    """Measure all rows of some columns, then see them through every transform."""
    moments, rows = local_moments(X, weights), np.flatnonzero(weights > 0)
    grams, peaks = [], []
    for transform in transforms:
        quadrant, active = transform.whole(moments, columns)
        design = local_design(X, quadrant, rows=rows, columns=active)
        # what overflows is not safe, and is summed again with scaled rows
        with np.errstate(over="ignore", invalid="ignore"):
            grams.append(design.gram(transform.exponents, weights[rows], None, borders))
        peaks.append(_sizes(design))
    return Measured(moments, grams, peaks)


def _sizes(design: LocalDesign) -> Array:
    """Logs of the largest feature of every row; for exp the smallest of all must be safe too."""
    n_rows, n_columns = design.shape
    # no exponent is safe when it is infinite: there always are peaks
    peaks = design.row_peaks(np.inf) if n_columns else None
    if peaks is None:
        return np.full(n_rows, -np.inf)
    lowest = design.quadrant.lowest_log() if design.quadrant.kind == "exp" else np.inf
    return np.maximum(peaks, -lowest)


def joined_grams(parts: Sequence[list[DualGram]], overwrite: bool = False) -> list[DualGram]:
    """Gram matrices of consecutive blocks of features, exponent by exponent."""
    return [joined(grams, overwrite) for grams in zip(*parts, strict=True)]


def merged(parts: Sequence[Measured], overwrite: bool = False) -> Measured:
    """Consecutive columns together; Gram matrices of the first of them may be overwritten."""
    # what overflowed is not safe, and is summed again with scaled rows
    with np.errstate(over="ignore", invalid="ignore"):
        every = zip(*(part.grams for part in parts), strict=True)
        grams = [joined_grams(some, overwrite) for some in every]
    peaks = zip(*(part.peaks for part in parts), strict=True)
    moments = side_by_side([part.moments for part in parts])
    return Measured(moments, grams, [np.maximum.reduce(some) for some in peaks])


def local_moments_and_grams(
    source: Source, weights: Array, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """Moments of all columns and, for every transform, K of the exponents that are safe.

    A block of wide data holds all rows of its columns, so their moments are known as soon as it is
    read, and the Gram matrices of all transforms are summed while it is at hand.
    """
    used = np.flatnonzero(weights > 0)
    rows, weights = (None if used.size == weights.size else used), weights[used]

    def part(share: slice) -> Measured:
        found: list[Measured] = []
        for columns in blocks_of(source.shape[1], source.shape[0], share, copies):
            raw = source.read(rows, columns)
            found.append(measured(raw, columns, weights, transforms, borders))
            found = [merged(found, overwrite=True)]
        return found[0]

    with threads_for_rows(weights.size) as threads:
        copies = copies_for(sum(1 + len(one.exponents) for one in transforms), threads)
        parts = parallel_map(part, shares(source.shape[1], threads, weights.size))
    whole = merged(parts, overwrite=True)
    return whole.moments, whole.ready(weights, borders)


def safe_grams(grams: Sequence[DualGram], peaks: Array) -> dict[float, DualGram]:
    """Those whose features could be raised to their exponent as they are, by exponent."""
    if not np.isfinite(peaks).all():
        return {}
    return {gram.r: gram for gram in grams if is_safe(peaks, gram.r)}
