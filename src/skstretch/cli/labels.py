"""What kind of target it is: numbers to predict, or classes to tell apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.cli.data.delimited import MISSING
from skstretch.cli.data.errors import DataError
from skstretch.cli.options import TaskName

# whole numbers with so few different values may be classes
FEW = 10


@dataclass(frozen=True)
class Values:
    """Values of one column.

    Attributes
    ----------
    numbers : float array, or None
        None where some value is text.
    words : list of str
        As written; empty where missing.
    odd : str
        The first value that is no number.
    """

    numbers: Any
    words: list[str]
    odd: str = ""

    @property
    def missing(self) -> Any:
        """Which values are missing."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.array([word == "" for word in self.words])


def read_values(column: Any) -> Values:
    """Numbers where all values are, else words; column is an array or a list of strings."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        numbers = column.astype(np.float64)
        return Values(numbers, [_word(value) for value in column.tolist()])
    words = ["" if (word := str(value).strip()) in MISSING else word for value in column]
    numbers, odd = np.full(len(words), np.nan), ""
    for row, word in enumerate(words):
        try:
            if word and "_" in word:
                raise ValueError
            numbers[row] = float(word) if word else np.nan
        except ValueError:
            odd = odd or word
    return Values(None if odd else numbers, words, odd)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.0f}" if value.is_integer() else repr(value)
    return str(value)


@dataclass(frozen=True)
class Labels:
    """A target ready to be learned: floats, or classes; and why it is which."""

    y: Any
    task: TaskName
    reason: str


def read_labels(values: Values, asked: TaskName, name: str) -> Labels:
    """Decide the task: text or exactly two different values are classes, else numbers.

    `values` has no missing ones.
    """
    different = len(set(values.words if values.numbers is None else values.numbers.tolist()))
    task, reason = asked, "as asked"
    if different == 1:
        raise DataError(
            f"the target {name!r} is {values.words[0]} in all {len(values.words):,} rows: there is "
            "nothing to predict."
        )
    if asked is TaskName.AUTO:
        task, reason = _rule(values, different)
    if task is TaskName.REGRESSION:
        if values.numbers is None:
            raise DataError(
                f"the target {name!r} holds text ({values.odd!r}), which regression cannot "
                "predict: use --task classification, or encode it as numbers."
            )
        return Labels(values.numbers, task, reason)
    if different > max(FEW, len(values.words) // 2):
        raise DataError(
            f"the target {name!r} has {different:,} different values in {len(values.words):,} "
            "rows, too many for classes"
            + (": use --task regression." if values.numbers is not None else ".")
        )
    return Labels(_classes(values), task, reason)


def _rule(values: Values, different: int) -> tuple[TaskName, str]:
    if values.numbers is None:
        return TaskName.CLASSIFICATION, "the target holds text"
    if different == 2:
        return TaskName.CLASSIFICATION, "the target has two different values"
    reason = f"the target has {different:,} different numbers"
    if different <= FEW and (values.numbers == np.round(values.numbers)).all():
        reason += "; if they are classes, pass --task classification"
    return TaskName.REGRESSION, reason


def _classes(values: Values) -> Any:
    """Whole numbers as such, anything else as written."""
    numbers = values.numbers
    if numbers is not None and (numbers == np.round(numbers)).all() and abs(numbers).max() < 2**53:
        return numbers.astype(np.int64)
    return np.array(values.words)
