"""Additive shares of all features in predictions of new data, in any storage."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skstretch.core.contributions import feature_shares
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array
from skstretch.designs.blocks import lone_thread, working_bytes
from skstretch.designs.dask.array import Block, check_known, opened
from skstretch.designs.dask.lazy import Check, spans
from skstretch.designs.local import local_design
from skstretch.designs.source import Source


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


def dense_values(X: Any) -> Array:
    """The numbers of validated X that is not Dask's, in one array of float64."""
    if isinstance(X, Source):
        X = X.read(None, slice(0, X.shape[1]))
    raw = cast(Any, X)
    return np.asarray(raw.toarray() if hasattr(raw, "toarray") else raw, dtype=np.float64)
