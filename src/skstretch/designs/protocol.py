"""What the solvers ask of data, and the part of the answer that no storage changes.

`Design` is the protocol. `QuadrantDesign` holds what all storages have in common, `LocalDesign`
what those share whose numbers can be read densely, some columns or rows at a time.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np

from skstretch.core.bridge_walks import Walks
from skstretch.core.dual_gram import DualGram, Frame, cross_block, dual_grams, joined
from skstretch.core.features import Features, Offset, row_tiles
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.quadrant import Quadrant, Strip
from skstretch.core.stretch import is_safe
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import (
    COPIES,
    blocks_of,
    copies_for,
    in_threads,
    shares,
    threads_for_rows,
    working_bytes,
)
from skstretch.designs.products import Products, WalkedProducts


class Design(Protocol):
    """Features P of shape (M, D), seen only through a handful of products.

    A design never sees the targets, and never writes into the data it refers to. A block of a
    design is a design: blocks on a cluster are asked for these products by name, so that parameters
    are called alike in every storage. Means (`frame`, `gram`) are those of any rows, not
    necessarily of the design's own.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def offset(self) -> Offset:
        """What the features leave out of P: see `skstretch.core.features`."""
        ...

    @property
    def unit(self) -> float:
        """The features are those of the user divided by ``exp(unit)``."""
        ...

    def take(self, columns: Index) -> "Design":
        """The same rows with some of the columns."""
        ...

    def take_rows(self, rows: Index) -> "Design":
        """The same columns of some of the rows."""
        ...

    def dot(self, coef: Array) -> Array:
        """``(P - offset) coef`` for coefficients (D, t)."""
        ...

    def weighted_sum(self, weights: Array) -> Array:
        """``w' (P - offset)`` of every column, (D,), for weights of shape (M,)."""
        ...

    def row_peaks(self, exponent: float) -> Array | None:
        """``log max |P|`` of each row; None where powers are safe without scaling by it."""
        ...

    def gram(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None,
        borders: bool = True,
    ) -> list[DualGram]:
        """K for every exponent, in one walk over the data; the free intercept needs no borders."""
        ...

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        """``alpha = Q' beta`` block by block, in the order of the columns."""
        ...

    def several_coefficients(
        self, systems: Sequence[tuple[Frame, Array, Array]], weights: Array
    ) -> Iterator[tuple[slice, list[Array]]]:
        """`coefficients` of several (frame, beta, total); data that has to be read is read once."""
        each = [np.vstack([A for _, A in self.coefficients(*one, weights)]) for one in systems]
        yield slice(0, self.shape[1]), each

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        """C for every exponent."""
        ...

    def project(self, gram: PrimalGram, V: Array) -> Array:
        """``Qc' V`` for V of shape (M, t)."""
        ...

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        """``Qc' W Qc``, for the analysis of variance."""
        ...

    def row_features(self, rows: Index) -> Features:
        """All features of some rows, in memory."""
        ...

    def row_slices(self) -> Iterator[slice]:
        """Slices of rows that fit in memory one at a time."""
        ...

    def cross(self, frame: Frame, weights: Array, other: "Design") -> tuple[Array, Array]:
        """``((P_other - p) Qc', (P_other - p) q)`` for the rows of another design.

        With row scales in the frame: ``(P_other Q', 0)``, Q scaled.
        """
        ...

    def walks(self, once: bool = False) -> Walks:
        """What the exact minimiser asks of ``Z = P - offset``, one walk over the data a step.

        Where little is needed for it, something is kept between the steps; not for a design that is
        walked `once`.
        """
        ...

    def products(self, exponent: float, weights: Array) -> Products:
        """Products with P and ``Qc'`` for many walks, about the weighted means of Q.

        Where little is needed for it, something is kept between them.
        """
        ...

    def row_factor(self, root: Array) -> Array:
        """R with ``[u, diag(u) Z] = Q R``, Q orthonormal, for root weights u (M), in one walk.

        ``Z = P - offset``; meant for fewer features than samples.
        """
        ...

    def in_memory(self) -> Features | None:
        """All features at once, where they and a few copies fit the working memory."""
        ...


@dataclass(frozen=True)
class Ready:
    """Gram matrices that are known before they are asked for, by exponent.

    Those of a design that is `lasting` stay with a fitted model, which then need not read its data
    again.
    """

    weights: Array
    borders: bool
    grams: dict[float, DualGram]
    columns: dict[float, PrimalGram] = field(default_factory=dict)
    lasting: bool = True

    def __getstate__(self) -> dict[str, object]:
        # sums can be made again: they stay out of pickles
        return vars(self) | {"grams": {}, "columns": {}}

    def find(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram] | None:
        """Those of all the exponents, or None where one has to be summed anew."""
        known = log_rows is None and (self.borders or not borders)
        if known and np.array_equal(weights, self.weights) and {*exponents} <= self.grams.keys():
            return [self.grams[r] for r in exponents]
        return None


def with_one_sum(design: Design, exponent: float) -> Design:
    """The design of a finished fit: of the Gram matrices at hand only that of its own exponent."""
    ready = vars(design).get("ready")
    if ready is None:
        return design
    grams = {r: gram for r, gram in ready.grams.items() if r == exponent}
    kept = replace(ready, grams=grams) if ready.lasting else None
    return replace(design, ready=kept)  # type: ignore[type-var]


def remembered(
    design: Design, weights: Array, borders: bool, gram: DualGram | PrimalGram
) -> Design:
    """The design that need not sum this Gram matrix again until its fit is done."""
    known = isinstance(design, QuadrantDesign) and design.ready is None
    if not known or (isinstance(gram, DualGram) and gram.log_rows is not None):
        return design
    dual, primal = ({gram.r: gram}, {}) if isinstance(gram, DualGram) else ({}, {gram.r: gram})
    ready = Ready(weights, borders, dual, primal, lasting=False)
    return replace(design, ready=ready)  # type: ignore[type-var]


def column_grams(design: Design, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
    """C for every exponent, summed unless it is known."""
    ready: Ready | None = vars(design).get("ready")
    known = ready is not None and {*exponents} <= ready.columns.keys()
    if ready is not None and known and np.array_equal(weights, ready.weights):
        return [ready.columns[r] for r in exponents]
    return design.column_grams(exponents, weights)


@dataclass(frozen=True, eq=False)
class QuadrantDesign(Design):
    """Rows and columns of X, seen through a quadrant transform.

    Attributes
    ----------
    X : data of shape (n, d)
        A reference, never a copy.
    quadrant : Quadrant
        The transform of the columns in use.
    columns, rows : index arrays or None
        What of X is in use; None for all.
    bounded : bool
        Whether z-scores are bounded, as they are for data not seen in training.
    ready : Ready or None
        Gram matrices that an earlier walk has left.
    """

    X: Any
    quadrant: Quadrant
    columns: Index | None = None
    rows: Index | None = None
    bounded: bool = False
    ready: Ready | None = None

    @property
    def shape(self) -> tuple[int, int]:
        n_rows = int(self.X.shape[0]) if self.rows is None else self.rows.size
        return n_rows, self.quadrant.b.size

    @property
    def offset(self) -> Offset:
        return self.quadrant.offset

    @property
    def unit(self) -> float:
        return self.quadrant.unit

    def take(self, columns: Index) -> Design:
        return self.narrowed(columns)

    def narrowed(self, columns: Index) -> Self:
        """Some of the columns, in the same storage."""
        kept = columns if self.columns is None else self.columns[columns]
        return replace(self, columns=kept, quadrant=self.quadrant.take(columns), ready=None)

    def take_rows(self, rows: Index) -> Design:
        return replace(self, rows=rows if self.rows is None else self.rows[rows], ready=None)

    def row_peaks(self, exponent: float) -> Array | None:
        if self.ready is not None and exponent in self.ready.grams:
            return None
        if self.quadrant.is_safe(exponent):
            return None
        peaks = self._peaks()
        return None if is_safe(float(peaks.min()), float(peaks.max()), exponent) else peaks

    @abstractmethod
    def _peaks(self) -> Array:
        """``log max |P|`` of each row."""

    def gram(
        self,
        exponents: Sequence[float],
        weights: Array,
        log_rows: Array | None,
        borders: bool = True,
    ) -> list[DualGram]:
        if self.ready is not None:
            known = self.ready.find(exponents, weights, log_rows, borders)
            if known is not None:
                return known
        return self._sums(exponents, weights, log_rows, borders)

    @abstractmethod
    def _sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        """`gram`, summed over the data."""

    def row_slices(self) -> Iterator[slice]:
        return blocks_of(*self.shape)

    def products(self, exponent: float, weights: Array) -> Products:
        return WalkedProducts(self, exponent, weights)

    def in_memory(self) -> Features | None:
        n_rows, n_columns = self.shape
        # P, Q, the sorted copy and the orthogonal factor
        if 4 * 8 * n_rows * n_columns > working_bytes():
            return None
        return self._everything()

    def _everything(self) -> Features:
        return self.row_features(np.arange(self.shape[0]))


# rows, in multiples of the columns, that are factored at a time
FACTOR_ROWS = 4


def stacked_factor(parts: Sequence[Array]) -> Array:
    """R of rows one below the other, or of their own factors."""
    return np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))


class LocalDesign(QuadrantDesign):
    """A design whose numbers can be read densely, some columns or some rows at a time."""

    @abstractmethod
    def column_strips(
        self, within: slice | None = None, copies: int = COPIES
    ) -> Iterator[tuple[slice, Strip]]:
        """Blocks of columns, transformed when their rows are asked for."""

    @abstractmethod
    def row_blocks(self) -> Iterator[tuple[slice, Features]]:
        """Features of blocks of rows."""

    def weighted_sum(self, weights: Array) -> Array:
        out = np.zeros(self.shape[1])
        if self.shape[0] > self.shape[1]:
            for rows, features in self.row_blocks():
                out += weights[rows] @ features.excess(1.0)
            return out
        for columns, strip in self.column_strips():
            for rows in row_tiles(*strip.shape):
                out[columns] += weights[rows] @ strip.rows(rows).excess(1.0)
        return out

    def dense_sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        """K for every exponent, in one walk; small systems share the columns among threads."""

        def part(columns: slice) -> list[DualGram]:
            strips = (strip for _, strip in self.column_strips(columns, copies))
            return dual_grams(strips, exponents, weights, log_rows, borders)

        n_rows, n_columns = self.shape
        with threads_for_rows(n_rows) as threads:
            copies = copies_for(1 + len(exponents), threads)
            parts = in_threads(part, shares(n_columns, threads, n_rows * len(exponents)))
        return [joined(grams, overwrite=True) for grams in zip(*parts, strict=True)]

    def cross(self, frame: Frame, weights: Array, other: Design) -> tuple[Array, Array]:
        K, Pq = np.zeros((other.shape[0], self.shape[0])), np.zeros(other.shape[0])
        everything = np.arange(other.shape[0])
        for columns, strip in self.column_strips():
            new = other.take(np.arange(columns.start, columns.stop)).row_features(everything)
            cross_block(strip, new, frame, frame.centre[columns], weights, K, Pq)
        return K, Pq

    def column_scales(self, exponents: Sequence[float]) -> list[Array | None]:
        """For every exponent the logs that columns of Q are divided by; None where all is safe."""
        peaks = self.quadrant.column_peaks()
        low, high = float(peaks.min()), float(peaks.max())
        return [None if is_safe(low, high, r) else r * peaks for r in exponents]

    def row_factor(self, root: Array) -> Array:
        parts: list[Array] = []
        for rows, features in self.row_blocks():
            Z, u = features.excess(1.0), root[rows, None]
            parts.append(np.hstack([u, u * Z]))
            # a factor of many rows at a time: each starts from a triangle of D + 1 rows
            if sum(map(len, parts)) >= FACTOR_ROWS * (self.shape[1] + 1):
                parts = [stacked_factor(parts)]
        return stacked_factor(parts)

    def stretched_gram(self, gram: PrimalGram, weights: Array) -> Array:
        out = np.zeros((self.shape[1], self.shape[1]))
        for rows, features in self.row_blocks():
            Q = gram.stretched(features)
            out += Q.T @ (weights[rows, None] * Q)
        return out
