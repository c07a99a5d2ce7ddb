"""Data that this process can read: its design, its moments, and both in one walk.

A block of a Dask array is such data as well, in the task that works on it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skstretch.core.dual_gram import DualGram, DualSums, joined
from skstretch.core.moments import Moments, column_moments, resolution, side_by_side
from skstretch.core.quadrant import Quadrant, Strip
from skstretch.core.stretch import is_safe
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import blocks_of, copies_for, in_threads, shares, threads_for_rows
from skstretch.designs.dense import DenseDesign, dense_moments
from skstretch.designs.protocol import LocalDesign, Ready
from skstretch.designs.source import Raw, Source
from skstretch.designs.sparse import SparseDesign, sparse_moments


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


def local_survey(
    source: Source, weights: Array, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """Moments of all columns and, for every transform, K of the exponents that are safe.

    A block of wide data holds all rows of its columns, so their moments are known as soon as it is
    read, and the Gram matrices of all transforms are summed while it is at hand.
    """
    eps = resolution(source.dtype)
    used = np.flatnonzero(weights > 0)
    rows, weights = (None if used.size == weights.size else used), weights[used]

    def part(share: slice) -> _Share:
        found = _Share(transforms, weights, borders)
        for columns in blocks_of(source.shape[1], source.shape[0], share, copies):
            raw = source.read(rows, columns)
            found.add(raw, columns, column_moments(raw, weights, eps))
        return found

    with threads_for_rows(weights.size) as threads:
        copies = copies_for(sum(1 + len(one.exponents) for one in transforms), threads)
        parts = in_threads(part, shares(source.shape[1], threads, weights.size))
    moments = side_by_side([moments for one in parts for moments in one.moments])
    ready = [
        Ready(weights, borders, _safe_grams([one.sums[i] for one in parts]))
        for i in range(len(transforms))
    ]
    return moments, ready


class _Share:
    """What one thread sums over its columns."""

    def __init__(self, transforms: Sequence[Transform], weights: Array, borders: bool) -> None:
        self.moments: list[Moments] = []
        self.transforms = transforms
        self.sums = [_Sums(one.exponents, weights, borders) for one in transforms]

    def add(self, raw: Raw, columns: slice, moments: Moments) -> None:
        self.moments.append(moments)
        for transform, sums in zip(self.transforms, self.sums, strict=True):
            quadrant, active = transform.whole(moments, columns)
            some = raw if active.size == raw.shape[1] else raw[:, active]
            sums.add(some, quadrant.take(active))


class _Sums:
    """Gram matrices of one transform, and how large its features are."""

    def __init__(self, exponents: Sequence[float], weights: Array, borders: bool) -> None:
        self.peaks = np.full(weights.size, -np.inf)
        self.grams = DualSums(exponents, weights, None, borders, self.peaks)

    def add(self, raw: Raw, quadrant: Quadrant) -> None:
        if not raw.shape[1]:
            return
        # what overflows is not safe, and is summed again with scaled rows
        with np.errstate(over="ignore", invalid="ignore"):
            self.grams.add(Strip(raw, quadrant, slice(None)))
        np.maximum(self.peaks, depth(quadrant), out=self.peaks)


def depth(quadrant: Quadrant) -> float:
    """How far below 1 the logs of features go: the smallest must be safe too, not only the largest
    of each row."""
    return -quadrant.lowest_log() if quadrant.kind == "exp" else -np.inf


def _safe_grams(sums: Sequence[_Sums]) -> dict[float, DualGram]:
    columns = zip(*(part.grams.grams() for part in sums), strict=True)
    peaks = np.max([part.peaks for part in sums], axis=0)
    return safe_grams([joined(parts) for parts in columns], peaks)


def safe_grams(grams: Sequence[DualGram], peaks: Array) -> dict[float, DualGram]:
    """Those whose features could be raised to their exponent as they are, by exponent."""
    low, high = float(peaks.min()), float(peaks.max())
    if not np.isfinite([low, high]).all():
        return {}
    return {gram.r: gram for gram in grams if is_safe(low, high, gram.r)}
