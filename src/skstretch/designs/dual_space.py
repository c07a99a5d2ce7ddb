"""Where the dual of the exact minimiser lives, for a design of any storage.

With no fewer features than samples it lives on the samples, and Newton's method passes over the
design. With fewer it lives on the directions that the features reach,

    diag(u) (Z - 1 m') = Q R,    Q (M x T) orthonormal,  R (T x D),

u the root weights and m the weighted mean under a free intercept: R comes from one pass over the
rows, and nothing M x M is ever formed.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.linalg import solve_triangular

from skstretch.core.bridge import Point
from skstretch.core.bridge_path import Space, space, unit_directions
from skstretch.core.bridge_products import DenseProducts
from skstretch.core.gram import PrimalGram
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.factored import FactoredDesign
from skstretch.designs.minimiser_products import shared
from skstretch.designs.protocol import Design, stacked_factor
from skstretch.designs.sparse import SparseDesign
from skstretch.designs.threads import working_bytes


@dataclass(frozen=True, eq=False)
class Rows:
    """``diag(u) (Z G + 1 g')`` (M x T), made from the design whenever a product asks for it.

    It is multiplied, transposed and indexed by rows like an array. Without G it is ``diag(u) Z``.
    """

    design: Design
    u: Array
    G: Array | None
    g: Array

    # numpy leaves `array @ rows` to __rmatmul__
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.u.size, self.g.size

    @property
    def T(self) -> "Columns":
        return Columns(self)

    def __len__(self) -> int:
        return self.u.size

    def __matmul__(self, X: Array) -> Array:
        whole = X[:, None] if X.ndim == 1 else X
        inner = whole if self.G is None else self.G @ whole
        out = self.u[:, None] * (self.design.dot(inner) + self.g @ whole)
        return out[:, 0] if X.ndim == 1 else out

    def __rmatmul__(self, X: Array) -> Array:
        return (self.T @ X.T).T

    def __getitem__(self, rows: Index | Mask | slice) -> Array:
        index = np.arange(self.u.size)[rows]
        # z-scores of some rows at a time: a sparse design makes them from dense ones
        size = max(1, working_bytes() // (4 * 8 * max(1, self.design.shape[1])))
        parts = [self._some(index[at : at + size]) for at in range(0, index.size, size)]
        return np.vstack(parts) if parts else np.empty((0, self.g.size))

    def _some(self, index: Index) -> Array:
        Z = self.design.row_features(index).excess(1.0)
        return np.asarray(self.u[index, None] * ((Z if self.G is None else Z @ self.G) + self.g))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        M, T = self.shape
        need, limit = 8 * M * T, working_bytes()
        if need > limit:
            raise MemoryError(
                f"{M:,} samples and {T:,} directions as an array would take {need / 2**20:,.1f} "
                f"MiB, and the working memory is {limit / 2**20:,.1f} MiB: raise it with "
                "sklearn.set_config(working_memory=...)."
            )
        return np.vstack([self[rows] for rows in self.design.row_slices()]).astype(dtype or float)

    def back(self, X: Array) -> Array:
        """The transpose times X (M x n), in one pass."""
        weighted = self.u[:, None] * X
        n_columns = self.design.shape[1]
        bare = PrimalGram(
            1.0, np.zeros((0, 0)), np.zeros(n_columns), self.design.offset, np.zeros(n_columns),
            None, 1.0,
        )  # fmt: skip
        product = self.design.project(bare, weighted)
        inner = product if self.G is None else self.G.T @ product
        return np.asarray(inner + np.outer(self.g, weighted.sum(axis=0)))

    def forms(self, B: Array | None = None) -> Array:
        """The diagonal of ``Q B Q'`` (M), of ``Q Q'`` without B; some rows at a time."""
        out = np.empty(self.u.size)
        for rows in self.design.row_slices():
            part = self[rows]
            out[rows] = np.einsum("ij,ij->i", part, part if B is None else part @ B)
        return out


@dataclass(frozen=True, eq=False)
class Columns:
    """The transpose of `Rows`, as far as products need it."""

    rows: Rows

    __array_ufunc__ = None

    def __matmul__(self, X: Array) -> Array:
        return self.rows.back(X[:, None])[:, 0] if X.ndim == 1 else self.rows.back(X)

    def __rmatmul__(self, X: Array) -> Array:
        return (self.rows @ X.T).T


@dataclass(frozen=True)
class StreamedSpace(Space):
    """A tall space whose Q is not in memory: the diagonals come from a pass over the rows."""

    @cached_property
    def _lengths(self) -> Array:
        rows: Any = self.Q
        return np.asarray(rows.forms())

    def beside_root(self) -> Array:
        rows: Any = self.Q
        G = np.hstack([rows.G, np.zeros((len(rows.G), 1))])
        more = replace(rows, G=G, g=np.append(rows.g, 1.0 / np.linalg.norm(self.u)))
        return cast(Array, more)

    def outside(self) -> Array:
        free = self.u**2 / (self.u @ self.u) if self.intercept == "free" else 0.0
        return np.asarray(1.0 - free - self._lengths)

    def diagonal(self, point: Point) -> Array:
        rows: Any = self.Q
        return np.asarray(rows.forms(point.B) + self.outside())


def dual_space(
    design: Design, u: Array, intercept: Intercept = Intercept.FREE, k: float = 2.0
) -> Space:
    """The space of the dual problem of a design with root weights u (M).

    With penalty factors its columns are in the scale that belongs to the power k.

    Where Q fits the working memory it is orthonormal to rounding, and coefficients have the digits
    that a QR of Z in memory gives. Beyond that ``Q = diag(u) (Z - 1 m') V / s`` is applied through
    Z (singular values s): its products lose the digits of ``s_max / s_min``.
    """
    U, beside, order = None, design, np.arange(design.shape[1])
    if isinstance(design, FactoredDesign):
        r = 1.0 / (k - 1.0)
        order = np.concatenate([design.free, design.penalised])
        U, beside, design = design.U, design.beside_free(r), design.at(r)
        U = U if U.shape[1] else None
    n_rows, n_columns = design.shape
    if n_columns >= n_rows:
        return Space(design.minimiser_products(), u, intercept, U=U)
    features = None if isinstance(design, SparseDesign) else design.in_memory()
    if features is not None:
        found = space(features.excess(1.0), u, intercept, U)
        return replace(found, products=shared(cast(DenseProducts, found.products)))
    factor = beside.row_factor(u)
    if U is not None:
        factor = stacked_factor([factor[:, np.append(0, 1 + order)]])
    R, G, g = directions(factor, n_rows, intercept, 0 if U is None else U.shape[1])
    Q, Z = (
        Rows(beside, u, G[np.argsort(order)], g),
        Rows(design, np.ones(n_rows), None, np.zeros(n_columns)),
    )
    # Q, its factor and a copy
    if 3 * 8 * n_rows * max(1, g.size) > working_bytes():
        check_no_free(U, n_rows * max(1, g.size))
        products = shared(DenseProducts(R))
        return StreamedSpace(products, u, intercept, None, cast(Array, Q), cast(Array, Z))
    # what rounding has left of the angles goes into R
    left, right = np.linalg.qr(np.asarray(Q))
    return Space(shared(DenseProducts(right @ R)), u, intercept, None, left, cast(Array, Z), U)


def check_no_free(U: Array | None, size: int) -> None:
    """Refuse never penalised columns beside directions that do not fit in memory."""
    if U is not None:
        raise ValueError(
            f"a factor of 0 in penalty_factor needs the {size:,} numbers of the directions of X "
            "three times in memory: raise sklearn.set_config(working_memory=...), or use positive "
            "factors."
        )


def directions(
    factor: Array, n_rows: int, intercept: Intercept, n_free: int = 0
) -> tuple[Array, Array, Array]:
    """``(R, G, g)`` with ``Q R`` the design that the intercept asks for and ``Q = diag(u)
    (Z G + 1 g')``, from the triangular factor of ``[u, diag(u) Z]``.

    Without its first row and column the factor is that of the centred design, for its first column
    is u itself. Behind it may stand `n_free` columns U that are never penalised: then the design is
    without its part in [1, U], and G has rows for U before those for Z.
    """
    first, rest = factor[:, : 1 + n_free], factor[:, 1 + n_free :]
    R = {"free": rest[1 + n_free :], "none": rest, "column": np.hstack([rest, first])}[intercept]
    n_columns, (_, R, G) = rest.shape[1], unit_directions(R, n_rows)
    if intercept == "column":
        return R, G[:n_columns], G[n_columns]
    if n_free:
        part = solve_triangular(first[: 1 + n_free], rest[: 1 + n_free]) @ G
        return R, np.vstack([-part[1:], G]), -part[0]
    mean = rest[0] / first[0, 0] if intercept == "free" else np.zeros(n_columns)
    return R, G, -mean @ G
