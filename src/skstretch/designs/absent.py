"""Training data that are gone: what a model knows of them without keeping any."""

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from skstretch.core.features import Offset
from skstretch.core.types import Index
from skstretch.exceptions import RowsForgottenError


@dataclass(frozen=True)
class AbsentDesign:
    """Features of which only the shape is known: every question for more is an error.

    `reason` says why they are not there, and the way out.
    """

    shape: tuple[int, int]
    offset: Offset
    reason: str
    unit: float = 0.0

    def take(self, columns: Index) -> "AbsentDesign":
        return replace(self, shape=(self.shape[0], columns.size))

    def take_rows(self, rows: Index) -> "AbsentDesign":
        return replace(self, shape=(rows.size, self.shape[1]))

    def _refuse(self, *args: Any) -> NoReturn:
        raise RowsForgottenError(self.reason)

    dot = row_peaks = gram = coefficients = column_grams = project = stretched_gram = _refuse
    row_features = row_slices = cross = in_memory = walks = row_factor = _refuse
