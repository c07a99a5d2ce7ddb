"""How one block of features is seen by its task: through which transform, which part of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.quadrant import Kind, Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs.as_design import as_design, measure
from skstretch.designs.dask_array import DaskArray
from skstretch.designs.protocol import Design


@dataclass(frozen=True, eq=False)
class Place:
    """The columns in use of one block.

    `use` are their places among all columns in use, `own` their places in the block (None for
    all). Either their `quadrant` is told, or the block measures itself and only `b` is, if not 0.
    """

    number: int
    use: slice
    own: Index | None
    quadrant: Quadrant | None
    b: Array | None


@dataclass(frozen=True, eq=False)
class Lens:
    """What all blocks are told; `weights` are those that a block measures its columns by."""

    kind: Kind
    a: float
    weights: Array | None
    rows: Index | None
    bounded: bool

    def design(self, X: Any, place: Place) -> Design:
        """The block as a design of its own."""
        n_columns = X.shape[1]
        own = np.arange(n_columns) if place.own is None else place.own
        quadrant = place.quadrant
        if quadrant is None:
            assert self.weights is not None
            moments = measure(X, self.weights).take(own)
            b = np.zeros(own.size) if place.b is None else place.b
            quadrant = Quadrant(self.kind, moments, self.a, b)
        return as_design(
            X, spread(quadrant, own, n_columns), rows=self.rows, columns=own, bounded=self.bounded
        )


def spread(quadrant: Quadrant, own: Index, n_columns: int) -> Quadrant:
    """The transform of some columns as one of all: the others are never looked at."""
    if own.size == n_columns:
        return quadrant
    place = np.zeros(n_columns, dtype=np.intp)
    place[own] = np.arange(own.size)
    return quadrant.take(place)


def lens_for(array: DaskArray, quadrant: Quadrant, rows: Index | None, bounded: bool) -> Lens:
    """The lens through which all blocks of an array are seen."""
    return Lens(quadrant.kind, quadrant.a, array.weights, rows, bounded)
