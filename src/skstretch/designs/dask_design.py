"""The design of a Dask array: by blocks of features or of rows."""

from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Index
from skstretch.designs.dask_array import DaskArray
from skstretch.designs.dask_tall import TallDesign
from skstretch.designs.dask_wide import WideDesign
from skstretch.designs.survey import Ready


def dask_design(
    X: DaskArray,
    quadrant: Quadrant,
    rows: Index | None,
    columns: Index | None,
    bounded: bool,
    ready: Ready | None,
) -> WideDesign | TallDesign:
    """See `as_design`; nothing is read yet."""
    if columns is not None and columns.size < X.shape[1]:
        quadrant = quadrant.take(columns)
    else:
        columns = None
    if X.is_wide:
        return WideDesign(X, quadrant, columns, rows, bounded, ready)
    return TallDesign(X, quadrant, columns, rows, bounded)
