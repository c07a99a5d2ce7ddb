"""Training features: as they are stored for intervals, and as a shape alone."""

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from skstretch.core.features import ExpFeatures, Features, PlainFeatures
from skstretch.core.moments import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs import Design, as_design
from skstretch.estimators.state import Parts


def training_features(model: Any, parts: Parts) -> Array:
    """``a z + b`` (or z, or x) of every sample in the kept columns, shape (M, U)."""
    out = np.empty((model.weights.size, parts.kept.size))
    for number, p in enumerate(model.passes):
        positions = np.searchsorted(parts.kept, parts.own(number))
        for rows in p.design.row_slices():
            index = np.arange(rows.start, rows.stop)
            out[np.ix_(index, positions)] = _values(p.design.row_features(index))
    return out


def _values(features: Features) -> Array:
    if isinstance(features, ExpFeatures):
        return features.L
    if isinstance(features, PlainFeatures):
        return features.P
    excess = features.excess(1.0)
    return np.log1p(excess) if features.offset else excess


def stored_design(features: Array, parts: Parts) -> Design:
    """A design whose features are exactly those that were stored.

    It names its columns and rows where the design of the fit did: the memory layout then is the
    same, and with it the rounding of every product.
    """
    ones, zeros = np.ones(features.shape[1]), np.zeros(features.shape[1])
    low, high = features.min(axis=0, initial=np.inf), features.max(axis=0, initial=-np.inf)
    moments = Moments(zeros, ones, low, low, high, low == high)
    design = as_design(features, Quadrant(parts.quadrant.kind, moments, 1.0, zeros))
    if not parts.used.all():
        design = design.take_rows(np.arange(features.shape[0]))
    if features.shape[1] < parts.quadrant.b.size:
        design = design.take(np.arange(features.shape[1]))
    return design


@dataclass(frozen=True)
class AbsentDesign:
    """Features of which only the shape is known: every question for more is an error."""

    shape: tuple[int, int]
    offset: float

    def take(self, columns: Index) -> "AbsentDesign":
        return replace(self, shape=(self.shape[0], columns.size))

    def take_rows(self, rows: Index) -> "AbsentDesign":
        return replace(self, shape=(rows.size, self.shape[1]))

    def _refuse(self, *args: Any) -> NoReturn:
        raise ValueError(
            "this needs the training features, and the model was loaded from a file that does not "
            "hold all of them. Save it with skstretch.save(model, path, intervals=True), which "
            'stores those of the kept columns; predict_interval(X, method="residual") works '
            "without; anything else needs a new fit."
        )

    dot = row_peaks = gram = coefficients = column_grams = project = stretched_gram = _refuse
    row_features = row_slices = cross = in_memory = _refuse
