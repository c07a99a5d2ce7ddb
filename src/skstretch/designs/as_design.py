"""From whatever X is to a design: the only place that asks what X is."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.core.quadrant import Moments, Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.dask_array import DaskArray, cut, is_dask
from skstretch.designs.dense import DenseDesign, dense_moments
from skstretch.designs.protocol import Design
from skstretch.designs.source import Source, is_source
from skstretch.designs.sparse import SparseDesign
from skstretch.designs.sparse_moments import sparse_moments
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
        from skstretch.designs.dask_survey import dask_moments

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
        from skstretch.designs.dask_design import dask_design

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
