"""Weighted moments of the columns of a sparse matrix, zeros counted but never stored."""

from typing import Any

import numpy as np

from skstretch.core.quadrant import SMALLEST_SCALE, Moments, column_moments, resolution
from skstretch.core.types import Array
from skstretch.designs.blocks import blocks_of


def sparse_moments(X: Any, weights: Array) -> Moments:
    """Moments of all columns of X (CSC, no duplicate entries)."""
    eps = resolution(X.dtype)
    total, counts = weights.sum(), np.diff(X.indptr)
    share = weights[X.indices] / total
    values = X.data.astype(np.float64, copy=False)
    gaps = counts < X.shape[0]
    smallest = _extreme(np.minimum, values, X.indptr, gaps)
    largest = _extreme(np.maximum, values, X.indptr, gaps)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _sums(share * values, X.indptr)
        deviations = values - np.repeat(mean, counts)
        # the share of the zeros, exactly none where there are none
        rest = np.where(gaps, np.maximum(1.0 - _sums(share, X.indptr), 0.0), 0.0)
        scale = np.sqrt(_sums(share * np.square(deviations), X.indptr) + rest * np.square(mean))
    half_range = largest / 2 - smallest / 2
    constant = half_range <= 4.0 * eps * np.maximum(np.abs(largest), np.abs(smallest))
    extreme = ~constant & ~(np.isfinite(scale) & (scale >= SMALLEST_SCALE))
    mean, scale = np.where(constant, smallest, mean), np.where(constant, 1.0, scale)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        low, high = (smallest - mean) / scale, np.where(constant, 0.0, (largest - mean) / scale)
    moments = Moments(mean, scale, smallest, low, high, constant)
    _mend(moments, np.flatnonzero(extreme), X, weights, eps)
    return moments


def _mend(moments: Moments, columns: Any, X: Any, weights: Array, eps: float) -> None:
    """Measure again, densely, the few columns whose squares leave the range of float64."""
    for block in blocks_of(columns.size, X.shape[0]):
        some = columns[block]
        part = column_moments(X[:, some].toarray().astype(np.float64), weights, eps)
        for name in Moments.__dataclass_fields__:
            getattr(moments, name)[some] = getattr(part, name)


def _sums(values: Array, indptr: Any) -> Array:
    """Sums of the entries of every column."""
    # differences of one running sum would lose digits: reduceat adds column by column
    return _reduced(np.add, values, indptr, 0.0)


def _extreme(best: np.ufunc, values: Array, indptr: Any, gaps: Any) -> Array:
    found = _reduced(best, values, indptr, 0.0)
    return np.where(gaps, best(found, 0.0), found)


def _reduced(ufunc: np.ufunc, values: Array, indptr: Any, empty: float) -> Array:
    """``ufunc.reduceat`` over columns, with a value for columns without entries."""
    out = np.full(indptr.size - 1, empty)
    filled = np.flatnonzero(np.diff(indptr))
    if filled.size:
        out[filled] = ufunc.reduceat(values, indptr[filled])
    return out
