"""Excel workbooks (.xlsx), through openpyxl: one sheet, row by row, with the checks of a CSV.

A workbook is a zip archive of XML. Its parts are looked at before openpyxl sees them: how large
they claim to be, and that none declares entities. Rows are then read one at a time, and what their
fields hold is handed on as the text that a CSV would have.
"""

import contextlib
import itertools
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from xml.parsers import expat

from skstretch.cli.console import nearest, quoted
from skstretch.cli.data.delimited import Gathered, column_names
from skstretch.cli.data.files import (
    FIELDS,
    HEAD,
    Budget,
    Choice,
    Choose,
    Form,
    Stream,
    Table,
    check_packed,
    sound,
)
from skstretch.exceptions import DataError

# the last row that a sheet of Excel has
LAST_ROW = 1 << 20
SHEETS = "xl/worksheets/"
# rows are in `sheetData`, and that is in `worksheet`
ROW_DEPTH = 2
# bytes that an element of XML takes in Python, as openpyxl reads it
ELEMENT = 320


def read_workbook(stream: Stream, source: str, form: Form, choose: Choose, budget: Budget) -> Table:
    """Read the first visible sheet of a workbook, or the one that was asked for."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise DataError(
            "Excel workbooks need openpyxl: pip install 'skstretch[excel]', or save the sheet as "
            "CSV."
        ) from None
    file = stream.seekable_in(budget)
    hint = " If it is text, pass --format csv."
    # what is not sound ends in openpyxl in errors of any kind
    with sound(source, "Excel workbook", Exception, hint=hint):
        with zipfile.ZipFile(file) as archive:
            _check_parts(archive, budget)
        with budget.enforced(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles, validations and charts that are left out
            return _read(file, form, choose, budget)


def _check_parts(archive: zipfile.ZipFile, budget: Budget) -> None:
    """Refuse parts that claim too much, and XML with entities, before any of it is unpacked.

    Sheets are read row by row; other parts become Python's objects as a whole.
    """
    check_packed(archive)
    total = 0
    for info in archive.infolist():
        xml = info.filename.endswith((".xml", ".rels"))
        whole = xml and not info.filename.startswith(SHEETS)
        total += info.file_size * (FIELDS if whole else 1)
    budget.check(total, "its parts")
    for info in archive.infolist():
        if info.filename.endswith((".xml", ".rels")):
            with archive.open(info) as part:
                Glance(info.filename, budget).over(part)


class Glance:
    """A first look at a part of XML: it declares nothing; its rows are in order and not too long.

    What is declared stands before the first element; of parts that are no sheets no more is seen.
    Rows and fields that are out of order openpyxl would leave out without a word.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        self.name, self.budget, self.sheet = name, budget, name.startswith(SHEETS)
        self.depth, self.rows, self.elements, self.seen = 0, 0, 0, False
        self.in_data, self.row, self.column = False, 0, (0, "")
        self.most = budget.limit // ELEMENT

    def over(self, part: Any) -> None:
        """Look at all of a part, in pieces."""
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self.declared
        parser.StartElementHandler, parser.EndElementHandler = self.begun, self.ended
        while (piece := part.read(HEAD)) and not self.seen:
            parser.Parse(piece)
        if not self.seen:
            parser.Parse(b"", True)

    def declared(self, *about: Any) -> None:
        raise ValueError(f"{self.name!r} declares a document type, which no workbook needs")

    def begun(self, name: str, attributes: dict[str, str]) -> None:
        self.seen = self.seen or not self.sheet
        self.depth += 1
        self.elements += 1
        if self.depth == ROW_DEPTH:
            self.in_data = name.endswith("sheetData")
        elif self.in_data and self.depth == ROW_DEPTH + 1:
            self._check_order(attributes.get("r", str(self.row + 1)))
        elif self.in_data and self.depth == ROW_DEPTH + 2 and "r" in attributes:
            self._check_order(attributes["r"])
        if self.elements > self.most:
            self.budget.check(ELEMENT * self.elements, f"a row of {self.name!r}")

    def _check_order(self, place: str) -> None:
        """A row such as 12, or a field such as AB12 of it, comes behind those before it."""
        letters = place.rstrip("0123456789")
        column, row = (len(letters), letters), int(place[len(letters) :])
        first = self.depth == ROW_DEPTH + 1
        if row <= self.row if first else (row != self.row or column <= self.column):
            raise ValueError(f"{place[:40]!r} of {self.name!r} is out of order")
        self.row, self.column = row, column

    def ended(self, *about: Any) -> None:
        self.depth -= 1
        if self.depth == ROW_DEPTH:
            self.rows += 1
            self.elements = self.rows  # of a row that was read an empty element is left


@contextlib.contextmanager
def _opened(file: Any, *, values: bool) -> Iterator[Any]:
    """The workbook, with the values that its formulas had, or with the formulas."""
    from openpyxl import load_workbook

    file.seek(0)
    book = load_workbook(file, read_only=True, data_only=values, keep_links=False)
    try:
        yield book
    finally:
        book.close()


def _read(file: Any, form: Form, choose: Choose, budget: Budget) -> Table:
    with _opened(file, values=True) as book:
        sheet = _sheet(book, form.sheet, budget.source)
        title, shown = sheet.title, [one.title for one in _visible(book)]
        rows = _rows(sheet, form, budget)
        header = next(rows, None)
        if header is None:
            raise DataError(f"the sheet {title!r} of {budget.source!r} is empty.")
        first = header if form.no_header else next(rows, None)
        if first is None:
            raise DataError(f"the sheet {title!r} of {budget.source!r} has a header and no rows.")
        span = Span.of(header, first)
        names = span.names(None if form.no_header else header)
        choice = choose(names, ())
        gathered = Gathered(names, choice, form.decimal == ",", budget, "row")
        gaps = False
        for row in itertools.chain([first], rows):
            fields = span.fields(row, budget.source)
            gaps = gaps or "" in fields
            if not gathered.add(fields, row.number, row.has_text):
                break
    if gaps:
        _check_formulas(file, title, span, choice, names, form)
    table = gathered.table()
    if form.sheet is None and len(shown) > 1:
        table.notes.append(
            f"the sheet {title!r} is read, the first of {len(shown)}; --sheet takes another."
        )
    return table


def _visible(book: Any) -> list[Any]:
    return [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]


def _sheet(book: Any, asked: str | None, source: str) -> Any:
    """The sheet of a name, hidden or not, or of a number among the visible ones, from 1."""
    named, visible = {sheet.title: sheet for sheet in book.worksheets}, _visible(book)
    if not named:
        raise DataError(
            f"{source!r} has no sheet that can be read: save it as an ordinary workbook, .xlsx and "
            "not Strict Open XML."
        )
    if not visible:
        raise DataError(f"{source!r} has no sheet that is shown: name a hidden one with --sheet.")
    if asked is None:
        return visible[0]
    if asked in named:
        return named[asked]
    if asked.isascii() and asked.isdecimal() and 1 <= int(asked[:9]) <= len(visible):
        return visible[int(asked[:9]) - 1]
    near = nearest(asked, list(named))
    hint = f"; did you mean {near!r}?" if near else f"; its sheets are {quoted(list(named))}."
    raise DataError(f"--sheet: {source!r} has no sheet {asked!r}{hint}")


@dataclass(frozen=True)
class Row:
    """What a row of a sheet holds, as text; `has_text` where some of it is no number."""

    number: int
    fields: list[str]
    has_text: bool


def _rows(sheet: Any, form: Form, budget: Budget) -> Iterator[Row]:
    """The rows that are not blank, without their empty ends."""
    sheet.reset_dimensions()  # a claim of the file, to which all rows would be filled up
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > LAST_ROW:
            raise DataError(f"{budget.source!r} has rows beyond {LAST_ROW:,}, the last of Excel.")
        fields = [_text(value, form.decimal == ",") for value in values]
        while fields and not fields[-1].strip():
            fields.pop()
        start = next((field for field in fields if field.strip()), "").lstrip()
        comment = form.comment is not None and start.startswith(form.comment)
        if fields and number > form.skip_rows and not comment:
            yield Row(number, fields, any(isinstance(value, str) for value in values))


def _text(value: Any, comma: bool = False) -> str:
    """A value as a CSV has it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return repr(value).replace(".", ",") if comma else repr(value)
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(" ")
    return value.isoformat() if isinstance(value, date | time) else str(value)


@dataclass(frozen=True)
class Span:
    """The columns of a sheet that its table has: it need not start in the first one."""

    start: int
    stop: int

    @classmethod
    def of(cls, header: Row, first: Row) -> "Span":
        """The columns that the header or the first row fills."""
        start = min(
            next(i for i, field in enumerate(row.fields) if field.strip())
            for row in (header, first)
        )
        return cls(start, max(len(header.fields), len(first.fields)))

    def names(self, header: Row | None) -> list[str]:
        """Names of the columns; those without one are called by their number."""
        width = self.stop - self.start
        fields = [] if header is None else header.fields[self.start :]
        return column_names([*fields, *[""] * (width - len(fields))], width)

    def fields(self, row: Row, source: str) -> list[str]:
        """The fields of a row, in the columns of the table."""
        beside = [*range(self.start), *range(self.stop, len(row.fields))]
        odd = next((i for i in beside if i < len(row.fields) and row.fields[i].strip()), None)
        if odd is not None:
            raise DataError(
                f"{_address(row.number, odd)} of {source!r} holds {row.fields[odd][:40]!r}, beside "
                "the columns of the table: remove it, or give that column a name."
            )
        fields = row.fields[self.start : self.stop]
        return fields + [""] * (self.stop - self.start - len(fields))


def _address(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column + 1)}{row}"


def _check_formulas(
    file: Any, title: str, span: Span, choice: Choice, names: Sequence[str], form: Form
) -> None:
    """Refuse formulas that were never computed: they have no value, and are no gap."""
    used = {*choice.features, *(names.index(name) for name in choice.aside.values())}
    columns = sorted(column + span.start for column in used)
    with _opened(file, values=True) as book, _opened(file, values=False) as other:
        found, asked = book[title], other[title]
        found.reset_dimensions()
        asked.reset_dimensions()
        pairs = zip(found.iter_rows(values_only=True), asked.iter_rows(), strict=False)
        for number, (values, fields) in enumerate(pairs, 1):
            if number <= form.skip_rows or None not in values:
                continue
            for i in columns:
                if i < len(values) and values[i] is None and fields[i].data_type == "f":
                    raise DataError(
                        f"{_address(number, i)} of the sheet {title!r} has a formula without a "
                        "value: open the workbook in a spreadsheet program, save it there, and "
                        "read it again."
                    )
