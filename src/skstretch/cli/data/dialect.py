"""How a text file of columns is written: encoding, separator, header."""

import csv
import re
from collections.abc import Sequence

from skstretch.cli.data.errors import DataError

SEPARATORS = (",", "\t", ";", "|")
SPACES = " "
QUOTED = re.compile(r'"[^"]*"')
WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


def separator_named(word: str | None) -> str | None:
    """A separator from what users type."""
    return None if word is None else WORDS.get(word, word)


def encoding_of(head: bytes, asked: str | None) -> str:
    """The encoding that was asked for, or that the first bytes show; UTF-8 by default."""
    if asked is not None:
        try:
            "".encode(asked)
        except LookupError:
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
    names = ["", *header] if len(header) + 1 == width else list(header)
    return [name.strip() or f"column {number}" for number, name in enumerate(names, 1)]
