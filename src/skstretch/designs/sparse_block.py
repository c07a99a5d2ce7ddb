"""Some columns of a sparse matrix as features: a rank-one part plus a matrix of X's own pattern.

A zero of X maps to the same feature in all rows of a column, so ``P**r = 1 u' + S`` where ``u_j``
is the feature of a zero (the *blank*) and S is zero wherever X is. A column that is stored in full
has no zero; any blank will do, and that of its mean is of the size of its features, where that of a
zero may be far outside (a column of years) and bury them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.features import ExpFeatures, PlainFeatures
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.blocks import shares, working_bytes
from skstretch.designs.threads import available_threads, halt_point, in_threads

# bytes of a sparse product that are held at a time, as a share of the working memory
PRODUCT_SHARE = 8
# bytes of an entry of a sparse product: value and index, with room to grow
ENTRY_BYTES = 24


@dataclass(frozen=True)
class SparseBlock:
    """Columns `X` (CSC), their features at stored entries (nnz,) and at a zero (d,).

    In columns that are stored in `full`, `blank` holds the features at the mean.
    """

    X: Any
    stored: ExpFeatures | PlainFeatures
    blank: ExpFeatures | PlainFeatures

    @property
    def offset(self) -> float:
        return self.stored.offset

    @cached_property
    def counts(self) -> Index:
        """Stored entries of every column."""
        return np.asarray(np.diff(self.X.indptr), dtype=np.intp)

    @property
    def full(self) -> Mask:
        """Columns without a zero."""
        return np.asarray(self.counts == self.X.shape[0])

    def excess(self, r: float) -> tuple[Any, Array]:
        """``(S, u)`` with ``P**r - offset = 1 u' + S``."""
        u = self.blank.excess(r)
        values = self.stored.excess(r)
        values -= np.repeat(u, self.counts)
        return self._like(values), u

    def power(self, r: float, log_rows: Array, log_blank: float) -> tuple[Any, Array]:
        """``(S, u)`` with rows of ``P**r`` divided by ``exp(r log_rows)``: ``g**r u' + S``.

        ``g = exp(log_blank - log_rows)``, and u is divided by ``exp(r log_blank)``; minus infinity
        where every blank is zero. Full columns have no part in g: their u is zero.
        """
        shifts = log_rows[self.X.indices]
        values = self.stored.power(r, r * shifts)
        if np.isneginf(log_blank):
            return self._like(values), np.zeros(self.counts.size)
        with np.errstate(over="ignore"):
            u = np.where(self.full, 0.0, self.blank.power(r, np.full(1, r * log_blank)))
        values -= np.repeat(u, self.counts) * np.exp(r * (log_blank - shifts))
        return self._like(values), u

    def column_scaled(self, r: float, log_columns: Array | None) -> tuple[Any, Array]:
        """``(S, u)`` of ``P**r`` with column j divided by ``exp(log_columns_j)``."""
        if log_columns is None:
            return self.excess(r)
        u = self.blank.power(r, log_columns)
        values = self.stored.power(r, np.repeat(log_columns, self.counts))
        values -= np.repeat(u, self.counts)
        return self._like(values), u

    def _like(self, values: Array) -> Any:
        """A matrix of the pattern of X; the pattern itself is shared."""
        return sparse.csc_array((values, self.X.indices, self.X.indptr), shape=self.X.shape)


def sparse_block(X: Any, quadrant: Quadrant, columns: Index, bounded: bool) -> SparseBlock:
    """Features of columns X (CSC) whose places in the quadrant are `columns`."""
    counts = np.diff(X.indptr)
    stored = quadrant.features(X.data, np.repeat(columns, counts), bounded)
    blank = quadrant.features(blank_values(X.shape[0], counts, quadrant, columns), columns, bounded)
    return SparseBlock(X, stored, blank)


def blank_values(n_rows: int, counts: Index, quadrant: Quadrant, columns: Index) -> Array:
    """What stands for an entry that is not stored: zero, or the mean where all are."""
    return np.where(counts == n_rows, quadrant.moments.mean[columns], 0.0)


def log_sizes(features: ExpFeatures | PlainFeatures) -> Array:
    """``log |P|`` of every entry, minus infinity for a zero."""
    with np.errstate(divide="ignore"):
        return features.L if isinstance(features, ExpFeatures) else np.log(np.abs(features.P))


def add_product(out: Array, left: Any, right: Any) -> None:
    """``out += left @ right`` for a CSR left and a sparse right."""

    def add(rows: slice) -> None:
        out[rows] += (left[rows] @ right).toarray()

    _by_rows(add, *out.shape)


def add_two_products(out: Array, other: Array, left: Any, right: Any, second: Any) -> None:
    """Two products with the same left side at little more than the cost of one.

    Both right sides have one pattern: they travel as the real and imaginary part of one matrix.
    """
    both = right.data + 1j * second.data
    joint = type(right)((both, right.indices, right.indptr), shape=right.shape)

    def add(rows: slice) -> None:
        product = (left[rows] @ joint).toarray()
        out[rows] += product.real
        other[rows] += product.imag

    _by_rows(add, out.shape[0], 2 * out.shape[1])


def _by_rows(add: Callable[[slice], None], n_rows: int, n_columns: int) -> None:
    """Add the rows of a product, shared among threads: scipy's products run side by side.

    No more rows at a time than the budget allows, and never the whole product as a sparse matrix.
    """
    threads = available_threads()
    budget = working_bytes() // (PRODUCT_SHARE * threads)
    size = max(1, budget // (ENTRY_BYTES * max(1, n_columns)))

    def part(share: slice) -> None:
        for start in range(share.start, share.stop, size):
            halt_point()
            add(slice(start, min(share.stop, start + size)))

    in_threads(part, shares(n_rows, threads, n_columns))
