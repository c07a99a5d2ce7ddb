"""Messages of the library, which speak of Python, in the words of the command line."""

import re
from collections.abc import Sequence

OPTIONS: tuple[tuple[str, str], ...] = (
    (r"\b([kac])_grid\b", r"--\1"),
    (r"\bdensity_grid\b", "--density"),
    (r"\b(smaller|larger) (values of )?([kc])\b", r"\1 \2--\3"),
    (r"\ba smaller \|a\|", "an --a nearer to 0"),
    (r"\bA finite c\b", "A finite --c"),
    (r"\banother cv, or fit in place of partial_fit\b", "or another --cv in skstretch fit"),
    (r"\banother cv\b", "another --cv"),
    (r"\bnp\.inf\b", "inf"),
    (r"\bsample_weight\b", "--weights"),
    (r"\bno column of X varies\b", "every feature has one value in all rows"),
)


def in_options(message: str, names: Sequence[str] | None = None) -> str:
    """A message that names options as users type them, columns by name and rows from 1."""
    for pattern, words in OPTIONS:
        message = re.sub(pattern, words, message)
    if names is not None:
        message = re.sub(r"\bcolumn (\d+)\b", lambda found: _named(found, names), message)
    return re.sub(r"\brow (\d+)\b", lambda found: f"row {int(found[1]) + 1}", message)


def _named(found: re.Match[str], names: Sequence[str]) -> str:
    column = int(found[1])
    return f"column {names[column]!r}" if column < len(names) else found[0]
