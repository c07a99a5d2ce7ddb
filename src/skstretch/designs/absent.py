"""Training data that are gone: what a model knows of them without keeping any."""

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from skstretch.core.features import Offset
from skstretch.core.types import Array, Index
from skstretch.exceptions import RowsForgottenError


@dataclass(frozen=True)
class AbsentDesign:
    """Features of which only the shape is known, and perhaps the weighted means (D,).

    Every question for more is an error; `reason` says why they are not there, and the way out.
    """

    shape: tuple[int, int]
    offset: Offset
    reason: str
    unit: float = 0.0
    means: Array | None = None

    def take(self, columns: Index) -> "AbsentDesign":
        means = None if self.means is None else self.means[columns]
        return replace(self, shape=(self.shape[0], columns.size), means=means)

    def take_rows(self, rows: Index) -> "AbsentDesign":
        return replace(self, shape=(rows.size, self.shape[1]), means=None)

    def weighted_sum(self, weights: Array) -> Array:
        """The means, which are those by the weights of the fit, whatever `weights` are."""
        return np.asarray(self._refuse() if self.means is None else self.means)

    def _refuse(self, *args: Any) -> NoReturn:
        raise RowsForgottenError(self.reason)

    dot = row_peaks = gram = coefficients = several_coefficients = _refuse
    column_grams = project = stretched_gram = _refuse
    row_features = row_slices = cross = in_memory = walks = products = row_factor = _refuse
