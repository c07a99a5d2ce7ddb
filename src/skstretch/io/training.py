"""The training data of a model file: there on request, else only their size is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.features import ExpFeatures, Features, PlainFeatures
from skstretch.core.moments import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs import Design, as_design, factored
from skstretch.designs.absent import AbsentDesign
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Arrays, Rule
from skstretch.io.header import field

NOT_STORED = (
    "this needs the training features, and the model was loaded from a file that does not hold all "
    "of them. Save it with skstretch.save(model, path, intervals=True), which stores those of the "
    'kept columns; predict_interval(X, method="residual") works without; anything else needs a new '
    "fit."
)


@dataclass(frozen=True)
class Training:
    """Features, targets (M, t) and weights (M,); NaN and no features where they are not stored.

    `factors` are the penalty factors of all columns of X, None where all are alike.
    """

    features: Array | None
    Y: Array
    weights: Array
    factors: Array | None = None

    def factored(self, design: Design, columns: Index) -> Design:
        """The design of these columns of X with their penalty factors."""
        return factored(design, None if self.factors is None else self.factors[columns])


def read_training(
    header: dict[str, Any], arrays: Arrays, shape: tuple[int, ...], M: int, t: int
) -> Training:
    """The training data of a file, the features in this shape."""
    if not field(header, "intervals", bool):
        return Training(None, np.broadcast_to(np.nan, (M, t)), np.broadcast_to(np.nan, (M,)))
    features = arrays.take("features", Rule(shape, finite=True))
    Y = arrays.take("targets", Rule((M, t), finite=True))
    weights = arrays.take("weights", Rule((M,), finite=True))
    if not (weights > 0).all():
        raise ModelFileError("its weights are not positive.")
    return Training(features, Y, weights)


def write_features(design: Design, out: Array, columns: Index) -> None:
    """Put ``a z`` (or z, or x) of every sample into some columns of an array."""
    for rows in design.row_slices():
        index = np.arange(rows.start, rows.stop)
        out[np.ix_(index, columns)] = _values(design.row_features(index))


def _values(features: Features) -> Array:
    if isinstance(features, ExpFeatures):
        return features.L
    if isinstance(features, PlainFeatures):
        return features.P
    excess = features.excess(1.0)
    return np.log1p(excess / features.offset) if np.any(features.offset) else excess


def stored_design(
    features: Array, quadrant: Quadrant, *, rows_named: bool, columns_named: bool
) -> Design:
    """A design whose features are exactly those that were stored; `quadrant` is that of them.

    It names its columns and rows where the design of the fit did: the memory layout then is the
    same, and with it the rounding of every product.
    """
    ones, zeros = np.ones(features.shape[1]), np.zeros(features.shape[1])
    low, high = features.min(axis=0, initial=np.inf), features.max(axis=0, initial=-np.inf)
    moments = Moments(zeros, ones, low, low, high, low == high)
    design = as_design(features, Quadrant(quadrant.kind, moments, 1.0, quadrant.b))
    if rows_named:
        design = design.take_rows(np.arange(features.shape[0]))
    if columns_named:
        design = design.take(np.arange(features.shape[1]))
    return design


@dataclass(frozen=True, kw_only=True)
class PartialDesign(AbsentDesign):
    """Features of which some columns are there: `known` has those of the numbers `columns`."""

    known: Design
    columns: Index

    def take(self, columns: Index) -> Any:
        if not np.isin(columns, self.columns).all():
            return AbsentDesign((self.shape[0], columns.size), self.offset, self.reason)
        return self.known.take(np.searchsorted(self.columns, columns))
