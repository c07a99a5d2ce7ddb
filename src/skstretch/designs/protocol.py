"""What the solvers ask of data, and the part of the answer that no storage changes.

`Design` is the protocol. `QuadrantDesign` holds what all storages have in common, `LocalDesign`
what those share whose numbers can be read densely, some columns or rows at a time. `AbsentDesign`
stands for training data that are gone. Before all of them: what kind of data X is.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from skstretch.core.bridge_products import MinimiserProducts
from skstretch.core.features import Features, Offset, row_tiles
from skstretch.core.gram import DualGram, Frame, PrimalGram, cross_block, dual_grams, joined
from skstretch.core.primal import FreeBasis
from skstretch.core.quadrant import Quadrant, Strip
from skstretch.core.stretch import is_safe, strongest
from skstretch.core.types import Array, Index
from skstretch.designs.threads import (
    COPIES,
    blocks_of,
    copies_for,
    parallel_map,
    shares,
    threads_for_rows,
    working_bytes,
)
from skstretch.exceptions import RowsForgottenError


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, found out without importing Dask.

    What can hold Dask arrays but does not (xarray's arrays around numpy's) has no graph.
    """
    graph = getattr(X, "__dask_graph__", None)
    return graph is not None and graph() is not None


def is_source(X: Any) -> bool:
    """Whether X is a memory map, or an array that lives elsewhere and is read by slicing."""
    if isinstance(X, np.memmap):
        # a copy of a map is an ordinary array that has kept the name
        return getattr(X, "_mmap", None) is not None
    if isinstance(X, np.ndarray) or not hasattr(X, "__getitem__"):
        return False
    shape, dtype = getattr(X, "shape", None), getattr(X, "dtype", None)
    is_array = isinstance(shape, tuple) and isinstance(dtype, np.dtype)
    # scipy's matrices and Dask's arrays have homes of their own; pandas' columns are in memory
    return is_array and not (hasattr(X, "tocsc") or hasattr(X, "iloc") or is_dask(X))


def check_unmasked(values: Any, name: str = "X") -> None:
    """Refuse a masked array that hides values: what they are fitted as would be anyone's guess."""
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    count = int(np.ma.getmaskarray(values).sum())
    raise ValueError(
        f"{name} is a masked array that hides {count} of {values.size} values: fill them first, "
        f"for instance {name}.filled(np.nan) and then sklearn.impute.SimpleImputer, or "
        "dask.array.ma.filled for a Dask array."
    )


class Products(Protocol):
    """``(P - offset) alpha`` and ``Qc' V``, about the weighted means of Q."""

    def forward(self, alpha: Array) -> Array:
        """``(P - offset) alpha`` (M, t) for coefficients (D, t)."""
        ...

    def back(self, V: Array) -> Array:
        """``Qc' V`` (D, t) for V (M, t)."""
        ...

    def trace(self) -> float:
        """``sum_ij w_i Pc_ij Qc_ij``, Pc about its weighted means as well."""
        ...


@dataclass(frozen=True)
class StreamedProducts:
    """Features are made anew in every pass."""

    design: "Design"
    exponent: float
    weights: Array

    def forward(self, alpha: Array) -> Array:
        return self.design.dot(alpha)

    def back(self, V: Array) -> Array:
        frame, zero = Frame(self.exponent, np.zeros(0), None), np.zeros(V.shape[1])
        blocks = self.design.coefficients(frame, V, zero, self.weights)
        return np.vstack([alpha for _, alpha in blocks])

    def trace(self) -> float:
        share, found, p, q = self.weights / self.weights.sum(), 0.0, 0.0, 0.0
        for rows in self.design.row_slices():
            features = self.design.row_features(np.arange(rows.start, rows.stop))
            P, Q, w = features.excess(1.0), features.excess(self.exponent), share[rows]
            found += float(w @ np.einsum("ij,ij->i", P, Q))
            p, q = p + w @ P, q + w @ Q
        return float(self.weights.sum() * (found - np.vdot(p, q)))


class DesignDefaults(Protocol):
    """What a design answers whose columns are all penalised alike, and whose rows are at hand.

    `skstretch.designs.factored` has penalty factors; tall arrays of Dask are read in passes.
    """

    @property
    def free(self) -> Index:
        """The columns that are never penalised."""
        return np.zeros(0, dtype=np.intp)

    @property
    def U(self) -> Array | None:
        """These columns without their offset (M x q); None where there are no penalty factors."""
        return None

    @property
    def is_scaled(self) -> bool:
        """Whether a penalised column has another factor than one: its scale depends on k then."""
        return False

    @property
    def shares_passes(self) -> bool:
        """Whether one pass over the data serves several exponents, and takes time of its own."""
        return False

    def basis(self, weights: Array) -> FreeBasis | None:
        """An orthonormal basis of the columns that are never penalised, where there are some."""
        return None

    def log_factors(self, r: float) -> Array | None:
        """Logs of what ``lam`` is multiplied by for each column in the primal form."""
        return None

    def whole(self, r: float, alpha: Array, gamma: Array) -> Array:
        """Coefficients (D, t) from those of the columns of `at` and of U (q, t)."""
        return alpha

    def strongest(self, coef: Array, count: int) -> Index:
        """The `count` strongest columns, and beyond them those that are never penalised."""
        return strongest(coef, count)

    def check_held_out(self, weights: Array, held: Sequence[Index] | None) -> None:
        """Refuse folds (None: leave one out) without which never penalised columns are unknown."""
        return


class Design(DesignDefaults, Protocol):
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

    @property
    def n_penalised(self) -> int:
        """The columns among which a density selects: never penalised ones are always kept."""
        return self.shape[1] - self.free.size

    def take(self, columns: Index) -> "Design":
        """The same rows with some of the columns."""
        ...

    def at(self, r: float) -> "Design":
        """The penalised columns in the scale that their factors have at the exponent r."""
        return self

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
        """K for every exponent, in one pass over the data; the free intercept needs no borders."""
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

    def projections(self, grams: Sequence[PrimalGram], V: Sequence[Array]) -> list[Array]:
        """`project` of several exponents; data that has to be read is read once."""
        return [self.project(gram, v) for gram, v in zip(grams, V, strict=True)]

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

    def minimiser_products(self, once: bool = False) -> MinimiserProducts:
        """What the exact minimiser asks of ``Z = P - offset``, one pass over the data a step.

        Where little is needed for it, something is kept between the steps; not for a design that is
        passed over `once`.
        """
        ...

    def products(self, exponent: float, weights: Array) -> Products:
        """Products with P and ``Qc'`` for many passes, about the weighted means of Q.

        Where little is needed for it, something is kept between them.
        """
        return StreamedProducts(self, exponent, weights)

    def row_factor(self, root: Array) -> Array:
        """R with ``[u, diag(u) Z] = Q R``, Q orthonormal, for root weights u (M), in one pass.

        ``Z = P - offset``; meant for fewer features than samples.
        """
        ...

    def in_memory(self) -> Features | None:
        """All features at once, where they and a few copies fit the working memory."""
        ...

    def remembering(self, weights: Array, borders: bool, gram: DualGram | PrimalGram) -> "Design":
        """The design that need not sum this Gram matrix again until its fit is done."""
        return self

    def light(self, exponent: float | None = None) -> "Design":
        """The design of a finished fit: of the Gram matrices at hand only that of its exponent."""
        return self


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

    def find_columns(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram] | None:
        """`find` of the primal form."""
        if {*exponents} <= self.columns.keys() and np.array_equal(weights, self.weights):
            return [self.columns[r] for r in exponents]
        return None


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
        Gram matrices that an earlier pass has left.
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
        return None if is_safe(peaks, exponent) else peaks

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
        known = None
        if self.ready is not None:
            known = self.ready.find(exponents, weights, log_rows, borders)
        return self._sums(exponents, weights, log_rows, borders) if known is None else known

    @abstractmethod
    def _sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        """`gram`, summed over the data."""

    def column_grams(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        known = None if self.ready is None else self.ready.find_columns(exponents, weights)
        return self._column_sums(exponents, weights) if known is None else known

    @abstractmethod
    def _column_sums(self, exponents: Sequence[float], weights: Array) -> list[PrimalGram]:
        """`column_grams`, summed over the data."""

    def remembering(self, weights: Array, borders: bool, gram: DualGram | PrimalGram) -> Self:
        if self.ready is not None:
            return self
        if isinstance(gram, PrimalGram):
            ready = Ready(weights, borders, {}, {gram.r: gram}, lasting=False)
        elif gram.log_rows is None:
            ready = Ready(weights, borders, {gram.r: gram}, lasting=False)
        else:
            return self
        return replace(self, ready=ready)

    def light(self, exponent: float | None = None) -> Self:
        if self.ready is None:
            return self
        grams = {r: gram for r, gram in self.ready.grams.items() if r == exponent}
        return replace(self, ready=replace(self.ready, grams=grams) if self.ready.lasting else None)

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]:
        for columns, (alpha,) in self.several_coefficients([(frame, beta, total)], weights):
            yield columns, alpha

    def row_slices(self) -> Iterator[slice]:
        return blocks_of(*self.shape)

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

    def tiles(self) -> Iterator[tuple[slice, slice, Features]]:
        """Rows, columns and features of parts that cover the design, in the order it lies in."""
        if self.shape[0] > self.shape[1]:
            for rows, features in self.row_blocks():
                yield rows, slice(0, self.shape[1]), features
            return
        for columns, strip in self.column_strips():
            for rows in row_tiles(*strip.shape):
                yield rows, columns, strip.rows(rows)

    def weighted_sum(self, weights: Array) -> Array:
        out = np.zeros(self.shape[1])
        for rows, columns, features in self.tiles():
            out[columns] += weights[rows] @ features.excess(1.0)
        return out

    def _sums(
        self, exponents: Sequence[float], weights: Array, log_rows: Array | None, borders: bool
    ) -> list[DualGram]:
        """In one pass over dense strips; small systems share the columns among threads."""

        def part(columns: slice) -> list[DualGram]:
            strips = (strip for _, strip in self.column_strips(columns, copies))
            return dual_grams(strips, exponents, weights, log_rows, borders)

        n_rows, n_columns = self.shape
        with threads_for_rows(n_rows) as threads:
            copies = copies_for(1 + len(exponents), threads)
            parts = parallel_map(part, shares(n_columns, threads, n_rows * len(exponents)))
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
        return [None if is_safe(peaks, r) else r * peaks for r in exponents]

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


@dataclass(frozen=True)
class AbsentDesign(DesignDefaults):
    """Features of which only the shape is known, and perhaps the weighted means (D,).

    Every question for more is an error; `reason` says why they are not there, and the way out.
    """

    shape: tuple[int, int]
    offset: Offset
    reason: str
    unit: float = 0.0
    means: Array | None = None

    def take(self, columns: Index) -> "AbsentDesign":
        means = None if self.means is None else self.means[columns]
        return replace(self, shape=(self.shape[0], columns.size), means=means)

    def take_rows(self, rows: Index) -> "AbsentDesign":
        return replace(self, shape=(rows.size, self.shape[1]), means=None)

    def weighted_sum(self, weights: Array) -> Array:
        """The means, which are those by the weights of the fit, whatever `weights` are."""
        return np.asarray(self._refuse() if self.means is None else self.means)

    @property
    def n_penalised(self) -> int:
        return self.shape[1]

    def light(self, exponent: float | None = None) -> Self:
        return self

    def _refuse(self, *args: Any) -> NoReturn:
        raise RowsForgottenError(self.reason)

    dot = row_peaks = gram = coefficients = several_coefficients = _refuse
    column_grams = project = projections = stretched_gram = _refuse
    row_features = row_slices = cross = in_memory = row_factor = _refuse
    minimiser_products = products = at = remembering = _refuse
