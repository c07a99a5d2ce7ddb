"""Text files of columns (CSV and its kin), row by row into one array.

Row by row with Python's own parser of numbers: every float is read exactly, an odd field is known
by its line, and memory stays at that of the result. On wide files (60,000 columns) this is faster
than the readers of pandas, polars and pyarrow, and takes an eighth of their memory or less.
"""

import contextlib
import csv
import io
import itertools
import math
import re
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np

from skstretch.cli.data.files import (
    DECIMAL_COMMA,
    THOUSANDS,
    Budget,
    Choice,
    Choose,
    Form,
    Stray,
    Stream,
    Table,
    shown,
)
from skstretch.exceptions import DataError
from skstretch.style import count

SEPARATORS = (",", "\t", ";", "|")
SPACES = " "
QUOTED = re.compile(r'"[^"]*"')
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "NAN", "null", "NULL", "?"])
# a column that is text in all of so many rows will not turn into numbers
ENOUGH = 1000
# bytes of a string beside its characters
STRING = 64
TRUTHS = {"true": 1.0, "false": 0.0}
COMMENTS = ("#", "%", "//")


def encoding_of(head: bytes, asked: str | None) -> str:
    """The encoding that was asked for, or that the first bytes show; UTF-8 by default."""
    if asked is not None:
        try:
            "a".encode(asked).decode(asked)
        except (LookupError, ValueError):  # unknown, or no way to write text
            raise DataError(
                f"--encoding {asked!r} is not known; common ones are utf-8, latin-1, utf-16."
            ) from None
        return "utf-8-sig" if asked.lower().replace("_", "-") in ("utf-8", "utf8") else asked
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def separator_of(lines: Sequence[str]) -> str:
    """The separator that cuts the first lines into the most fields, equally many in each."""

    bare = [QUOTED.sub("", line) for line in lines]

    def merit(separator: str) -> tuple[bool, int]:
        widths = [line.count(separator) + 1 for line in bare]
        even = len(widths) < 2 or widths[1] - widths[0] in (0, 1)
        return even and widths[0] > 1, widths[0]

    best = max(SEPARATORS, key=merit)
    if merit(best)[1] > 1:
        return best
    return SPACES if len(lines[0].split()) > 1 else ","


def fields(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    return next(csv.reader([line], delimiter=separator), [])


def column_names(header: Sequence[str], width: int) -> list[str]:
    """Names of the columns; those without one are called by their number.

    A header with one field less than the rows is R's: its first column has no name.
    """
    names = ["", *header] if len(header) + 1 == width else header
    return [name.strip() or f"column {number}" for number, name in enumerate(names, 1)]


def comment_hint(names: Sequence[str]) -> str:
    """What to do where the first line seems to be a comment."""
    start = next((start for start in COMMENTS if names and names[0].startswith(start)), None)
    return "" if start is None else f" If the first lines are comments, pass --comment '{start}'."


def number_in(text: str) -> float | None:
    """The number that a stripped field holds: NaN where it is missing, None where it is text."""
    if text in MISSING:
        return math.nan
    try:
        # Python takes 1_000 for a number
        return float(text) if "_" not in text else None
    except ValueError:
        return None


class Lines:
    """Lines of a text without comments and skipped rows; remembers the last one and its number.

    `pending` counts the characters since a record was complete: quotes that are never closed, and
    lines without an end, stop at the limit.
    """

    def __init__(self, text: Iterator[str], form: Form, budget: Budget) -> None:
        self.kept, self.budget = self._kept(text, form), budget
        self.strip, self.last, self.number, self.pending = False, "", 0, 0
        self.taken, self.several = 0, False  # lines of the record, and whether the last had several

    def _kept(self, text: Iterator[str], form: Form) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(text, 1):
            self.number = number  # of lines that are left out too
            comment = form.comment is not None and line.lstrip().startswith(form.comment)
            if number > form.skip_rows and not comment:
                yield number, line

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        self.number, self.last = next(self.kept)
        self.pending += len(self.last)
        self.taken += 1
        if self.pending > self.budget.line:
            raise self.budget.exceeded(
                f"line {self.number} ends a record of more than {shown(self.budget.line)} (is a "
                "quote not closed?)"
            )
        return self.last.strip() if self.strip else self.last

    def first(self) -> list[str]:
        """The first lines, up to the second that is not blank; they stay to be read."""
        taken: list[tuple[int, str]] = []
        full = 0
        for line in self:
            full += bool(line.strip())
            if full:
                taken.append((self.number, line))
            else:
                self.pending = 0
            if full == 2:
                break
        self.kept, self.pending = itertools.chain(taken, self.kept), 0
        return [line for _, line in taken if line.strip()]


def bounded_lines(
    stream: Stream, encoding: str, budget: Budget, newline: str | None = None
) -> Generator[str, None, None]:
    """Lines of a stream of text; one that is too long is refused before all of it is read."""
    text = io.TextIOWrapper(stream, encoding=encoding, newline=newline)
    try:
        while line := text.readline(budget.line):
            budget.check_line(line)
            yield line
    finally:
        text.detach()


def read_delimited(
    stream: Stream, source: str, form: Form, choose: Choose, budget: Budget
) -> Table:
    """Read a stream of text with a separator between fields and a line for each row."""
    head = stream.peek(1 << 14)
    encoding = encoding_of(head, form.encoding)
    if b"\0" in head and encoding == "utf-8-sig":
        raise DataError(f"{source!r} is a binary file, not text with columns.")
    with contextlib.closing(bounded_lines(stream, encoding, budget, newline="")) as text:
        lines = Lines(text, form, budget)
        try:
            first = lines.first()
            if not first:
                raise DataError(f"{source!r} is empty.")
            separator = form.separator or separator_of(first)
            lines.strip = separator == SPACES
            decimal = form.decimal or decimal_of(head.decode(encoding, "ignore"), separator)
            table = _read_rows(lines, separator, replace(form, decimal=decimal), choose)
        except UnicodeDecodeError as error:
            line = lines.number + 1 + error.object[: error.start].count(b"\n")
            name = "UTF-8" if encoding == "utf-8-sig" else encoding
            raise DataError(
                f"line {line} of {source!r} is not {name} (byte 0x{error.object[error.start]:02x}):"
                " save the file as UTF-8, or name its encoding, for example --encoding latin-1."
            ) from None
        except UnicodeError as error:
            raise DataError(
                f"{source!r} cannot be read as {encoding}: {error}. Name its encoding, for example "
                "--encoding utf-16-le or --encoding latin-1."
            ) from None
    if decimal == "," and form.decimal is None:
        table.notes.append("commas are read as decimal marks; --decimal . says otherwise.")
    return table


def decimal_of(head: str, separator: str) -> str:
    """The decimal mark of the first lines: a comma where numbers have one, and none has a point.

    Where the comma may part thousands as well (``1,234``) nothing is found out.
    """
    if separator == ",":
        return "."
    lines = head.splitlines()
    words = [
        word.strip().strip('"')
        for line in lines[:-1] or lines
        for word in (line.split() if separator == SPACES else line.split(separator))
    ]
    commas = [word for word in words if DECIMAL_COMMA.fullmatch(word)]
    points = any(DECIMAL_COMMA.fullmatch(word.replace(".", ",")) for word in words if "." in word)
    sure = any(THOUSANDS.fullmatch(word) is None for word in commas)
    return "," if sure and not points else "."


def _read_rows(lines: Lines, separator: str, form: Form, choose: Choose) -> Table:
    source = lines.budget.source
    rows = _records(lines, separator)
    header = next(rows)
    first = header if form.no_header else next(rows, None)
    if first is None:
        raise DataError(f"{source!r} has a header and no rows.")
    names = column_names([""] * len(first) if form.no_header else header, len(first))
    gathered = Gathered(names, choose(names, ()), form.decimal == ",", lines.budget)
    odd = "_." if gathered.comma else "_"
    for fields in itertools.chain([first], rows):
        if len(fields) != len(names):
            if not "".join(fields).strip():
                continue
            raise DataError(
                f"line {lines.number} of {source!r} has {count(len(fields), 'field')}, and the "
                f"header has {len(names)}: mend the line, or name the separator with --sep."
                f"{comment_hint(names)}"
            )
        careful = lines.several or any(mark in lines.last for mark in odd)
        if not gathered.add(fields, lines.number, careful):
            break
    return gathered.table()


def _records(lines: Lines, separator: str) -> Iterator[list[str]]:
    """Fields of every row that is not blank."""
    try:
        for fields in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            lines.pending, lines.several, lines.taken = 0, lines.taken > 1, 0
            if fields:
                yield fields
    except csv.Error as error:
        raise DataError(f"line {lines.number} of {lines.budget.source!r}: {error}.") from None


class Gathered:
    """Rows gathered so far."""

    def __init__(
        self,
        names: Sequence[str],
        choice: Choice,
        comma: bool,
        budget: Budget,
        noun: str = "line",
    ) -> None:
        self.names = [names[column] for column in choice.features]
        self.take = _taker(choice.features)
        self.apart = {role: names.index(name) for role, name in choice.aside.items()}
        self.aside: dict[str, list[str]] = {role: [] for role in self.apart}
        self.comma, self.budget, self.size, self.noun = comma, budget, 0, noun
        self.numbers, self.n_rows = array("d"), 0
        self.stray: dict[int, Stray] = {}
        self.truths: dict[int, Stray] = {}

    def add(self, fields: Sequence[str], line: int, careful: bool) -> bool:
        """Take one row; False when more of them would not help."""
        values = self.take(fields)
        try:
            if careful:
                raise ValueError
            plain = [value.replace(",", ".") for value in values] if self.comma else values
            self.numbers.extend(map(float, plain))
        except ValueError:
            del self.numbers[self.n_rows * len(self.names) :]
            if not any(field.strip() for field in fields):  # spreadsheets leave such rows
                return True
            self.numbers.extend(self._number(column, v, line) for column, v in enumerate(values))
        for role, column in self.apart.items():
            word = fields[column].strip()
            self.aside[role].append(self._with_point(word, line) if self.comma else word)
            self.size += len(word) + STRING
        self.n_rows += 1
        self.size += 8 * len(values)
        self.budget.check(self.size, f"the first {self.n_rows:,} rows")
        return self.n_rows != ENOUGH or all(stray.count < ENOUGH for stray in self.stray.values())

    def _number(self, column: int, value: str, line: int) -> float:
        value = value.strip()
        pointed = self.comma and "." in value
        number = None if pointed else number_in(value.replace(",", ".") if self.comma else value)
        if number is None and (truth := TRUTHS.get(value.lower())) is not None:
            self.truths.setdefault(column, Stray(value, line, noun=self.noun)).count += 1
            return truth
        if number is None:
            stray = Stray(value, line, pointed=pointed, noun=self.noun)
            self.stray.setdefault(column, stray).count += 1
            return math.nan
        return number

    def _with_point(self, word: str, line: int) -> str:
        """A number with a decimal comma as one with a point; other words as they are."""
        if "." in word and number_in(word) is not None:
            raise DataError(
                f"{self.noun} {line} of {self.budget.source!r} has {word!r}, and the comma is the "
                f"decimal mark here: write {word.replace('.', '')} or {word.replace('.', ',')}, or "
                "pass --decimal ."
            )
        changed = word.replace(",", ".")
        return word if number_in(changed) is None else changed

    def table(self) -> Table:
        """All rows."""
        X = np.frombuffer(self.numbers, dtype=np.float64) if self.numbers else np.empty(0)
        X = X.reshape(self.n_rows, len(self.names))
        for column, truth in self.truths.items():
            # true and false beside numbers are no measurement
            if truth.count + np.isnan(X[:, column]).sum() < self.n_rows:
                self.stray.setdefault(column, truth)
        return Table(
            X,
            self.names,
            dict(self.aside),
            {self.names[column]: stray for column, stray in sorted(self.stray.items())},
        )


def _taker(columns: Sequence[int]) -> Callable[[Sequence[str]], Sequence[str]]:
    """Picks columns of a row, at the speed of C where there are two or more."""
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda fields: [fields[column] for column in columns]
