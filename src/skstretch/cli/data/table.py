"""What a reader returns, and how it is told which columns to read."""

import re
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


class Numbers(Sequence[str]):
    """Names of columns that have numbers alone: ``1``, ``2``, ... made when they are asked for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        numbers = range(1, self.size + 1)[place]
        return [str(number) for number in numbers] if isinstance(place, slice) else str(numbers)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._number(name) is not None

    def index(self, name: str, *bounds: int) -> int:
        """The place of a name, from 0."""
        number = self._number(name)
        if number is None:
            raise ValueError(f"{name!r} is not in 1..{self.size}")
        return number - 1

    def _number(self, name: str) -> int | None:
        plain = name.isascii() and name.isdecimal() and len(name) < 20 and name[0] != "0"
        return int(name) if plain and int(name) <= self.size else None


# Names of the columns, and of further vectors that a file holds beside them.
Choose = Callable[[Sequence[str], Sequence[str]], Choice]


DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")


@dataclass
class Stray:
    """Text where numbers are expected: in how many rows, the first place, and of what kind.

    `decimals`: all of it reads as numbers with a decimal comma; `thousands`: with commas between
    thousands; `pointed`: all of it has a point though the comma is the decimal mark.
    """

    value: str
    line: int | None
    count: int = 0
    decimals: bool = True
    thousands: bool = True
    pointed: bool = False

    def add(self, value: str) -> None:
        """Count one more."""
        self.count += 1
        self.decimals = self.decimals and DECIMAL_COMMA.fullmatch(value) is not None
        self.thousands = self.thousands and THOUSANDS.fullmatch(value) is not None

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
    notes : list of str
        What was found out about the file that users may want to know.
    """

    X: Any
    names: list[str] | None
    aside: dict[str, Any] = field(default_factory=dict)
    stray: dict[str, Stray] = field(default_factory=dict)
    complete: bool = True
    elastic: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.X, "tocsr")

    def name_of(self, column: int) -> str:
        """The name of a column, or its number from 1."""
        return str(column + 1) if self.names is None else self.names[column]
