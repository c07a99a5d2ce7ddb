"""From whatever X is to a design: the only place that asks what X is."""

import numpy as np
import numpy.typing as npt

from stretchy.core.quadrant import Moments, Quadrant
from stretchy.core.types import Array, Index
from stretchy.designs.dense import DenseDesign, dense_moments
from stretchy.designs.protocol import Design


def measure(X: npt.NDArray[np.generic], weights: Array) -> Moments:
    """Weighted moments of every column of X."""
    positive = np.flatnonzero(weights > 0)
    if positive.size < weights.size:
        return dense_moments(X[positive], weights[positive])
    return dense_moments(X, weights)


def as_design(
    X: npt.NDArray[np.generic],
    quadrant: Quadrant,
    *,
    rows: Index | None = None,
    columns: Index | None = None,
    bounded: bool = False,
) -> Design:
    """A design over some rows and columns of X.

    Parameters
    ----------
    X : array of shape (n, d)
    quadrant : Quadrant
        The transform of all d columns.
    rows, columns : increasing index arrays or None
        What to use of X; None for all.
    bounded : bool
        True for data not seen in training: z-scores are bounded to the training range widened by
        its width on either side.
    """
    if rows is not None and rows.size == X.shape[0]:
        rows = None
    design = DenseDesign(X, quadrant, rows=rows, bounded=bounded)
    if columns is None or columns.size == X.shape[1]:
        return design
    return design.take(columns)
