"""Products with P and Q' for solvers that walk over the data many times, without K."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skstretch.core.dual_gram import Frame
from skstretch.core.features import Features
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import available_threads, in_threads, shares
from skstretch.designs.sparse_walks import SparseColumns, backward

# bytes of a stored entry that is kept: its value in P and in Q
KEPT_ENTRY_BYTES = 16
# numbers of a product below which it takes less time than starting threads does
LEAST_SHARED = 1 << 18


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


class Walked(Protocol):
    """As much of a design as its products ask for."""

    def dot(self, coef: Array) -> Array: ...

    def coefficients(
        self, frame: Frame, beta: Array, total: Array, weights: Array
    ) -> Iterator[tuple[slice, Array]]: ...

    def row_features(self, rows: Index) -> Features: ...

    def row_slices(self) -> Iterator[slice]: ...


@dataclass(frozen=True)
class WalkedProducts:
    """Features are made anew in every walk."""

    design: Walked
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


@dataclass(frozen=True)
class Part:
    """Some columns: ``P - offset = S + 1 u'``, and ``Qc = T - 1 t'`` with the means t of T."""

    columns: slice
    S: Any
    u: Array
    T: Any
    t: Array

    def trace(self, share: Array) -> float:
        """``sum_ij w_i Pc_ij Qc_ij / sum(w)`` of these columns."""
        stored = float(share[self.S.indices] @ (self.S.data * self.T.data))
        return stored - float((self.S.T @ share) @ self.t)


@dataclass(frozen=True)
class SparseProducts:
    """S and T are made once, and threads share the columns."""

    n_columns: int
    weights: Array
    shares: list[list[Part]]

    def forward(self, alpha: Array) -> Array:
        def part(some: list[Part]) -> Any:
            return sum(p.S @ alpha[p.columns] + p.u @ alpha[p.columns] for p in some)

        found = self._by_share(part, alpha.shape[1])
        return np.asarray(sum(found[1:], start=found[0]))

    def back(self, V: Array) -> Array:
        out, V = np.empty((self.n_columns, V.shape[1])), np.ascontiguousarray(V)

        def part(some: list[Part]) -> None:
            for p in some:
                out[p.columns] = backward(p.T.T, -p.t, V)

        self._by_share(part, V.shape[1])
        return out

    def trace(self) -> float:
        total = float(self.weights.sum())
        share = self.weights / total
        return total * sum(part.trace(share) for some in self.shares for part in some)

    def _by_share(self, part: Any, n_vectors: int) -> list[Any]:
        stored = sum(p.S.nnz for some in self.shares for p in some)
        if len(self.shares) == 1 or n_vectors * stored < LEAST_SHARED:
            return [part(some) for some in self.shares]
        return in_threads(part, self.shares)


def sparse_products(design: SparseColumns, exponent: float, weights: Array) -> SparseProducts:
    """The products of a sparse design, its features made once."""
    share, (n_rows, n_columns) = weights / weights.sum(), design.shape

    def made(columns: slice) -> Iterator[Part]:
        for some, block in design.blocks(np.arange(columns.start, columns.stop)):
            S, u = block.excess(1.0)
            T = S if exponent == 1.0 else block.excess(exponent)[0]
            place = slice(columns.start + some.start, columns.start + some.stop)
            yield Part(place, S, u, T, T.T @ share)

    spans = shares(n_columns, available_threads(), n_rows)
    return SparseProducts(n_columns, weights, [list(made(columns)) for columns in spans])
