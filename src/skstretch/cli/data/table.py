"""What a reader returns, and how it is told which columns to read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Choice:
    """Columns to read.

    Attributes
    ----------
    features : sequence of int
        Column numbers, in the order in which X shall have them.
    aside : mapping of str to str
        Role (target, weights, ...) to the name of the column that is kept apart.
    """

    features: Sequence[int]
    aside: Mapping[str, str] = field(default_factory=dict)


# Names of the columns, and of further vectors that a file holds beside them.
Choose = Callable[[Sequence[str], Sequence[str]], Choice]


@dataclass
class Stray:
    """Text where numbers are expected: in how many rows, and the first place."""

    value: str
    line: int | None
    count: int = 0

    @property
    def place(self) -> str:
        """The first value, and its line where the file has lines."""
        shown = self.value if len(self.value) <= 40 else self.value[:37] + "..."
        return repr(shown) + ("" if self.line is None else f" in line {self.line}")


@dataclass
class Table:
    """Data of a file.

    Attributes
    ----------
    X : array or CSR array of shape (n_rows, n_features), float64
    names : list of str or None
        None where columns have numbers alone.
    aside : dict
        Role to the values that were kept apart: an array of numbers, or a list of strings.
    stray : dict
        Name of a column to the text found in it; NaN stands in X there.
    complete : bool
        False where reading stopped early, because columns are text throughout.
    elastic : bool
        Whether columns beyond the last one stand for zeros, as in SVMlight files.
    """

    X: Any
    names: list[str] | None
    aside: dict[str, Any] = field(default_factory=dict)
    stray: dict[str, Stray] = field(default_factory=dict)
    complete: bool = True
    elastic: bool = False

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.X, "tocsr")

    def name_of(self, column: int) -> str:
        """The name of a column, or its number from 1."""
        return str(column + 1) if self.names is None else self.names[column]
