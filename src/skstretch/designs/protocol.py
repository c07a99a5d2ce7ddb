"""What the solvers ask of data, however it is stored."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from skstretch.core.dual_gram import DualGram, Frame
from skstretch.core.features import Features
from skstretch.core.primal_gram import PrimalGram
from skstretch.core.types import Array, Index


class Design(Protocol):
    """Features P of shape (M, D), seen only through a handful of products.

    A design never sees the targets, and never writes into the data it refers to.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def offset(self) -> float:
        """What the features leave out of P: see `skstretch.core.features`."""
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

    def in_memory(self) -> Features | None:
        """All features at once, where they and a few copies fit the working memory."""
        ...
