"""From whatever X is to a design: the only place that asks what X is.

Additive shares of all features in predictions of new data, in any storage.
"""

import numbers
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

from skstretch.core.features import Moments
from skstretch.core.quadrant import Quadrant, feature_shares
from skstretch.core.types import Array, Index
from skstretch.designs.dask.array import Block, DaskArray, check_known, cut, opened
from skstretch.designs.dask.design import dask_design, dask_moments, dask_moments_and_grams
from skstretch.designs.dask.passes import Check, gathered_rows, spans
from skstretch.designs.local import (
    Transform,
    by_columns,
    local_design,
    local_moments,
    local_moments_and_grams,
)
from skstretch.designs.protocol import Design, Ready, check_unmasked, is_dask, is_source
from skstretch.designs.source import Source
from skstretch.designs.threads import lone_thread, working_bytes


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


def moments_and_grams(
    X: Any, weights: Array, transforms: Sequence[Transform], borders: bool
) -> tuple[Moments, list[Ready]]:
    """`measure`, and for every transform K of the exponents that are safe, in one pass.

    X is wide data that is read in blocks; rows of weight zero take no part.
    """
    if isinstance(X, DaskArray):
        return dask_moments_and_grams(X, weights, transforms, borders)
    return local_moments_and_grams(X, weights, transforms, borders)


def rows_in_memory(X: Any, rows: Index) -> Any:
    """Some rows of X, in any order."""
    return gathered_rows(X, rows) if isinstance(X, DaskArray) else X[rows]


def equal_rows(X: Any, Y: Array) -> Index | None:
    """For every sample the number of the first one with the same features and targets; None for
    data that is read in blocks."""
    if isinstance(X, DaskArray) or is_source(X):
        return None
    known: dict[tuple[bytes, ...], int] = {}
    keys: list[tuple[bytes, ...]]
    if sparse.issparse(X):
        rows = X.tocsr()
        rows.sort_indices()
        spans = pairwise(rows.indptr)
        keys = [(rows.indices[i:j].tobytes(), rows.data[i:j].tobytes()) for i, j in spans]
    else:
        keys = [(row.tobytes(),) for row in np.ascontiguousarray(X)]
    both = enumerate(zip(keys, Y, strict=True))
    return np.array([known.setdefault((*key, y.tobytes()), i) for i, (key, y) in both], np.intp)


def in_memory(X: Any) -> Any:
    """All of validated X that is read in blocks, read once and checked."""
    found = rows_in_memory(X, np.arange(X.shape[0]))
    return by_columns(found) if sparse.issparse(found) else np.asarray(found, dtype=X.dtype)


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
        Gram matrices of these rows and columns, where an earlier pass has left some.
    """
    build = dask_design if isinstance(X, DaskArray) else local_design
    return build(X, quadrant, rows=rows, columns=columns, bounded=bounded, ready=ready)


@dataclass(frozen=True)
class Storage:
    """How X is stored, and what a pass over it costs: known without reading it.

    Attributes
    ----------
    kind : {"in memory", "sparse", "read in blocks", "... blocks of Dask"}
    shape : (int, int)
    dtype : str
    nbytes : int
        What one pass over the data reads.
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


@dataclass(frozen=True, eq=False)
class Curves:
    """One curve a feature: a transform of D columns, means (D,) and coefficients (t, D).

    Means and coefficients are those of the features in their unit, means less the offset.
    """

    quadrant: Quadrant
    means: Array
    coef: Array

    def take(self, columns: slice) -> "Curves":
        """The curves of consecutive columns."""
        places = np.arange(columns.start, columns.stop)
        return Curves(self.quadrant.take(places), self.means[columns], self.coef[:, columns])

    def add_to(self, out: Array, X: Any) -> None:
        """Add the shares of validated rows X to an array (n, D, t), some rows at a time."""
        used = np.flatnonzero(self.coef.any(axis=0))
        if not used.size:
            return
        design = local_design(X, self.quadrant, columns=used, bounded=True)
        means, coef = self.means[used], self.coef[:, used]
        for rows in design.row_slices():
            features = design.row_features(np.arange(rows.start, rows.stop))
            out[rows, used] += feature_shares(features, means, coef)


def contributions(X: Any, curves: Sequence[Curves]) -> Array:
    """Shares (n, D, t) of every feature in every prediction, of validated X that is not Dask's."""
    n, (t, D) = X.shape[0], curves[0].coef.shape
    check_room(n, D, t)
    out = np.zeros((n, D, t))
    # whoever asked checks that all of it is finite
    with np.errstate(over="ignore", invalid="ignore"):
        for one in curves:
            one.add_to(out, X)
    return out


def check_room(n_rows: int, n_columns: int, n_targets: int) -> None:
    """Refuse shares that would not fit the working memory: they are dense, whatever X is."""
    need, limit = 8 * n_rows * n_columns * n_targets, working_bytes()
    if need > limit:
        rows = max(1, limit // (8 * n_columns * n_targets))
        outputs = "" if n_targets == 1 else f" and {n_targets:,} outputs"
        raise MemoryError(
            f"the contributions of {n_columns:,} features to {n_rows:,} samples{outputs} would "
            f"take {need / 2**20:,.0f} MiB, and working_memory is {limit / 2**20:,.0f} MiB. Pass "
            f"fewer rows at a time ({rows:,} fit), a Dask array, or use "
            "sklearn.set_config(working_memory=...) if the memory is there."
        )


@dataclass(frozen=True, eq=False)
class BlockShares:
    """The shares of one block of a Dask array; `curves` holds those of every column chunk.

    `check` refuses what is not finite; it is told the first row.
    """

    curves: Sequence[Sequence[Curves]]
    rows: Sequence[slice]
    columns: Sequence[slice]
    flat: bool
    check: Check

    def __call__(self, chunk: Any, block_id: tuple[int, ...] = ()) -> Array:
        i, j = block_id[:2]
        block = Block(i, len(self.rows), self.rows[i], self.columns[j], "row")
        X, own = opened(chunk, block), self.curves[j]
        out = np.zeros((*block.shape, own[0].coef.shape[0]))
        with lone_thread(), np.errstate(over="ignore", invalid="ignore"):
            for one in own:
                one.add_to(out, X)
        self.check(out.reshape(len(out), -1), block.rows.start)
        return out[:, :, 0] if self.flat else out


def lazy_contributions(X: Any, curves: Sequence[Curves], check: Check, *, flat: bool) -> Any:
    """`contributions` of a Dask array, in its chunks; `flat` drops the axis of the one target."""
    import dask.array

    da: Any = dask.array
    check_known(X)
    rows, columns = (spans(sizes) for sizes in X.chunks)
    own = [[one.take(span) for one in curves] for span in columns]
    shares = BlockShares(own, rows, columns, flat, check)
    chunks: tuple[Any, ...] = X.chunks
    more: dict[str, Any] = {}
    if not flat:
        chunks, more = (*chunks, (curves[0].coef.shape[0],)), {"new_axis": 2}
    name = f"skstretch-contributions-{uuid.uuid4().hex}"
    meta = np.empty((0,) * len(chunks))
    return da.map_blocks(shares, X, chunks=chunks, dtype=np.float64, meta=meta, name=name, **more)
