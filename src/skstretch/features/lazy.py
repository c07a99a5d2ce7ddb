"""What the transformers take, and Dask arrays in them: outputs are lazy, and a fit computes no more
than it needs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from skstretch.core.moments import Moments, column_moments, resolution
from skstretch.core.types import Array
from skstretch.designs import check_finite, check_unmasked, is_dask


def checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X of float64, or of float32 where it is that, with the columns that are expected.

    Numbers of a Dask array that are not finite are found when they are computed.
    """
    check_unmasked(X)
    if not is_dask(X):
        return validate_data(estimator, X, reset=reset, dtype=(np.float64, np.float32))
    if not isinstance(getattr(X, "chunks", None), tuple) or len(X.shape) != 2:
        raise TypeError(
            f"X is a Dask {type(X).__name__} of shape {getattr(X, 'shape', None)}: pass a Dask "
            "array with rows and columns; of a data frame it is X.to_dask_array(lengths=True)."
        )
    if np.isnan(X.shape[1]) or (reset and np.isnan(X.shape[0])):
        raise ValueError(
            f"X has chunks of unknown size (its shape is {X.shape}): call X.compute_chunk_sizes() "
            "first."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return by_blocks(_finite, X if X.dtype == np.float32 else X.astype(np.float64))


def _finite(chunk: Any, rows: slice, columns: slice) -> Any:
    check_unmasked(chunk)
    check_finite(chunk, rows, columns)
    return chunk


def computed(*arrays: Any) -> tuple[Any, ...]:
    """Dask arrays in memory, from one walk; others as they are."""
    if not any(is_dask(array) for array in arrays):
        return arrays
    import dask

    return tuple(dask.compute(*arrays))


def by_rows(work: Callable[[Any], Array], X: Any, n_columns: int) -> Any:
    """``work`` on every row chunk, lazily; columns in several chunks are put together first."""
    X = X.rechunk({1: -1})
    chunks = (X.chunks[0], (n_columns,))
    return X.map_blocks(work, chunks=chunks, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def by_blocks(work: Callable[[Any, slice, slice], Array], X: Any) -> Any:
    """``work(chunk, rows, columns)`` on every chunk, lazily, for outputs in the shape of X."""

    def placed(chunk: Any, block_info: Any = None) -> Array:
        rows, columns = (slice(*span) for span in block_info[0]["array-location"])
        return work(chunk, rows, columns)

    return X.map_blocks(placed, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def moments_of(X: Any, weights: Array) -> Moments:
    """Moments of every column over the rows of positive weight; see `_lazy_moments` for Dask."""
    if is_dask(X):
        return _lazy_moments(X, weights)
    used = weights > 0
    return column_moments(X[used].astype(np.float64), weights[used], resolution(X.dtype))


def _lazy_moments(X: Any, weights: Array) -> Moments:
    """In one walk; rows in several chunks are put together first."""
    used, eps = np.flatnonzero(weights > 0), resolution(X.dtype)
    names = list(Moments.__dataclass_fields__)

    def block(chunk: Any) -> Array:
        raw = np.asarray(chunk, dtype=np.float64)[used]
        found = column_moments(raw, weights[used], eps)
        return np.stack([np.asarray(getattr(found, name), dtype=np.float64) for name in names])

    X = X if X.numblocks[0] == 1 else X.rechunk({0: -1, 1: "auto"})
    chunks, meta = ((len(names),), X.chunks[1]), np.empty((0, 0))
    rows = X.map_blocks(block, chunks=chunks, dtype=np.float64, meta=meta).compute()
    found = dict(zip(names, rows, strict=True))
    return Moments(**{**found, "constant": found["constant"].astype(bool)})
