"""Walks over dense blocks of features that every kind of storage shares."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from skstretch.core.centring import Strip
from skstretch.core.dual_sums import dual_grams
from skstretch.core.gram import DualGram, Frame, cross_block, joined
from skstretch.core.types import Array
from skstretch.designs.blocks import COPIES, copies_for, shares
from skstretch.designs.protocol import Design
from skstretch.designs.threads import in_threads, threads_for_rows


class Walkable(Protocol):
    """Features that can be read densely, some columns at a time."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def column_strips(
        self, within: slice | None = None, copies: int = COPIES
    ) -> Iterator[tuple[slice, Strip]]: ...


def threaded_grams(
    design: Walkable,
    exponents: Sequence[float],
    weights: Array,
    log_rows: Array | None,
    borders: bool,
) -> list[DualGram]:
    """K for every exponent, in one walk; small systems share the columns among threads."""

    def part(columns: slice) -> list[DualGram]:
        strips = (strip for _, strip in design.column_strips(columns, copies))
        return dual_grams(strips, exponents, weights, log_rows, borders)

    n_rows, n_columns = design.shape
    with threads_for_rows(n_rows) as threads:
        copies = copies_for(1 + len(exponents), threads)
        parts = in_threads(part, shares(n_columns, threads, n_rows))
    return [joined(grams) for grams in zip(*parts, strict=True)]


def crossed(design: Walkable, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
    """``((P_other - p) Qc', (P_other - p) q)`` by dense blocks of columns."""
    K, Pq = np.zeros((other.shape[0], design.shape[0])), np.zeros(other.shape[0])
    everything = np.arange(other.shape[0])
    for columns, strip in design.column_strips():
        new = other.take(np.arange(columns.start, columns.stop)).row_features(everything)
        cross_block(strip, new, frame, frame.centre[columns], weights, K, Pq)
    return K, Pq
