"""From whatever X is to a design: the only place that asks what X is."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.moments import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.dask.array import DaskArray, cut, is_dask
from skstretch.designs.dense import DenseDesign, dense_moments
from skstretch.designs.protocol import Design
from skstretch.designs.source import Source, is_source
from skstretch.designs.sparse import EXP_COST, SPARSE_COST, SparseDesign, sparse_moments
from skstretch.designs.survey import Ready


def tidy(X: Any, names: Any = None) -> Any:
    """X as the designs want it: read in blocks, or sparse by columns without duplicate entries."""
    if is_dask(X):
        return cut(X)
    if is_source(X):
        return X if isinstance(X, Source) else Source(X, names)
    if not sparse.issparse(X):
        return X
    columns = X.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy() if columns is X else columns
        columns.sum_duplicates()
    return columns


def measure(X: Any, weights: Array) -> Moments:
    """Weighted moments of every column of X."""
    if isinstance(X, DaskArray):
        from skstretch.designs.dask.survey import dask_moments

        return dask_moments(X, weights)
    if isinstance(X, Source):
        return dense_moments(X, weights)
    moments = sparse_moments if sparse.issparse(X) else dense_moments
    positive = np.flatnonzero(weights > 0)
    if positive.size < weights.size:
        return moments(X[positive], weights[positive])
    return moments(X, weights)


def as_design(
    X: Any,
    quadrant: Quadrant,
    *,
    rows: Index | None = None,
    columns: Index | None = None,
    bounded: bool = False,
    ready: Ready | None = None,
) -> Design:
    """A design over some rows and columns of X.

    Parameters
    ----------
    X : array, sparse matrix, Source or DaskArray of shape (n, d)
    quadrant : Quadrant
        The transform of all d columns.
    rows, columns : increasing index arrays or None
        What to use of X; None for all.
    bounded : bool
        True for data not seen in training: z-scores are bounded to the training range widened by
        its width on either side.
    ready : Ready or None
        Gram matrices of these rows and columns, where an earlier walk has left some.
    """
    if rows is not None and rows.size == X.shape[0]:
        rows = None
    if isinstance(X, DaskArray):
        from skstretch.designs.dask.design import dask_design

        return dask_design(X, quadrant, rows, columns, bounded, ready)
    design: SparseDesign | DenseDesign
    if sparse.issparse(X):
        X = tidy(X)
        design = SparseDesign(X if rows is None else X[rows].tocsc(), quadrant, bounded=bounded)
    else:
        design = DenseDesign(X, quadrant, rows=rows, bounded=bounded)
    if columns is not None and columns.size < X.shape[1]:
        design = design.take(columns)
    if ready is not None and isinstance(design, DenseDesign):
        design = replace(design, ready=ready)
    return design


# What X is and what a walk over it costs, without reading it.


@dataclass(frozen=True)
class Storage:
    """How X is stored.

    Attributes
    ----------
    kind : {"in memory", "sparse", "read in blocks"}
    shape : (int, int)
    dtype : str
    nbytes : int
        What one walk over the data reads.
    products : float
        Multiplications of BLAS that one K (all rows by all rows) is worth.
    """

    kind: str
    shape: tuple[int, int]
    dtype: str
    nbytes: int
    products: float


def storage_of(X: Any) -> Storage:
    """Describe validated X."""
    n_rows, n_columns = int(X.shape[0]), int(X.shape[1])
    side, other = min(n_rows, n_columns), max(n_rows, n_columns)
    dense = float(side) * other * (side + EXP_COST)
    nbytes, kind = n_rows * n_columns * np.dtype(X.dtype).itemsize, "in memory"
    if sparse.issparse(X):
        nbytes, kind = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, "sparse"
        counts = np.diff(X.indptr).astype(float)
        if n_rows <= n_columns:
            by_blas = float(n_rows) * (n_rows + EXP_COST)
            dense = float(np.minimum(SPARSE_COST * np.square(counts), by_blas).sum())
        else:
            dense = min(dense, SPARSE_COST * float(X.nnz) ** 2 / n_rows)
    elif is_source(X):
        kind = "read in blocks"
    return Storage(kind, (n_rows, n_columns), str(X.dtype), int(nbytes), dense)
