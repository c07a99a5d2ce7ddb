"""From whatever X is to a design: the only place that asks what X is."""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

from skstretch.core.moments import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.blocks import working_bytes
from skstretch.designs.dask.array import DaskArray, cut
from skstretch.designs.dask.design import dask_design
from skstretch.designs.dask.survey import dask_moments, dask_survey
from skstretch.designs.dask.walk import gathered_rows
from skstretch.designs.local import (
    Transform,
    by_columns,
    local_design,
    local_moments,
    local_survey,
)
from skstretch.designs.protocol import Design, Ready
from skstretch.designs.source import Source, check_unmasked, is_dask, is_source


def tidy(X: Any, names: Any = None) -> Any:
    """X as the designs want it: read in blocks, or sparse by columns without duplicate entries."""
    if is_dask(X):
        return cut(X)
    if is_source(X):
        return X if isinstance(X, Source) else Source(X, names)
    return by_columns(X) if sparse.issparse(X) else X


def checked_weights(sample_weight: Any, X: Any) -> Array:
    """Weights as float64: one number per sample, not negative, not all zero."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    check_unmasked(sample_weight, "sample_weight")
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    weights: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has shape {weights.shape}; it must be 1D.")
    check_consistent_length(X, weights)
    if weights.min() < 0:
        raise ValueError(
            f"sample_weight has a negative entry ({weights.min():g}): weights count repetitions; "
            "use 0 to leave a sample out."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample: there is nothing to fit.")
    return weights


def measure(X: Any, weights: Array) -> Moments:
    """Weighted moments of every column of X."""
    if isinstance(X, DaskArray):
        return dask_moments(X, weights)
    return local_moments(X, weights)


def survey(
    X: Any, weights: Array, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """`measure`, and for every transform K of the exponents that are safe, in one walk.

    X is wide data that is read in blocks; rows of weight zero take no part.
    """
    if isinstance(X, DaskArray):
        return dask_survey(X, weights, transforms, borders)
    return local_survey(X, weights, transforms, borders)


def rows_in_memory(X: Any, rows: Index) -> Any:
    """Some rows of X, in any order."""
    return gathered_rows(X, rows) if isinstance(X, DaskArray) else X[rows]


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
    build = dask_design if isinstance(X, DaskArray) else local_design
    return build(X, quadrant, rows=rows, columns=columns, bounded=bounded, ready=ready)


@dataclass(frozen=True)
class Storage:
    """How X is stored, and what a walk over it costs: known without reading it.

    Attributes
    ----------
    kind : {"in memory", "sparse", "read in blocks", "... blocks of Dask"}
    shape : (int, int)
    dtype : str
    nbytes : int
        What one walk over the data reads.
    """

    kind: str
    shape: tuple[int, int]
    dtype: str
    nbytes: int


def storage_of(X: Any) -> Storage:
    """Describe validated X."""
    shape = int(X.shape[0]), int(X.shape[1])
    nbytes, kind = shape[0] * shape[1] * np.dtype(X.dtype).itemsize, "in memory"
    if sparse.issparse(X):
        nbytes, kind = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, "sparse"
    elif isinstance(X, DaskArray):
        kind = f"{len(X.blocks):,} blocks of Dask"
    elif is_source(X):
        kind = "read in blocks"
    return Storage(kind, shape, str(X.dtype), int(nbytes))


def steps_read_again(X: Any) -> bool:
    """Whether every step of an exact minimiser reads validated X again.

    So it is for column blocks of Dask, and where the z-scores take more than half the working
    memory for what is read in blocks and for sparse matrices of more rows than columns; not for
    plain arrays in memory, and for wide sparse matrices, whose products are cheap.
    """
    if isinstance(X, DaskArray) and X.is_wide:
        return True
    tall = sparse.issparse(X) and X.shape[0] > X.shape[1]
    walked = tall or isinstance(X, DaskArray) or is_source(X)
    return walked and 8 * X.shape[0] * X.shape[1] > working_bytes() // 2
