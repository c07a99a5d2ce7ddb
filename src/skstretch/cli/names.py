"""Names of columns and files: the nearest one to a typo, and lists that fit in a message."""

import difflib
from collections.abc import Iterable, Sequence

SHOWN = 8
# comparing with very many names would take longer than reading the file
MANY = 20_000


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None; case and spaces count little."""
    listed = list(known)[:MANY]
    folded = {entry.casefold().strip(): entry for entry in reversed(listed)}
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=1, cutoff=0.7)
    return folded[found[0]] if found else None


def quoted(names: Sequence[str], shown: int = SHOWN) -> str:
    """Names in quotes, the first few of many."""
    text = ", ".join(repr(name) for name in names[:shown])
    rest = len(names) - shown
    return text if rest <= 0 else f"{text} and {rest:,} more"


def printable(name: str) -> str:
    """A name without characters that a terminal would act upon."""
    return name if name.isprintable() else repr(name)[1:-1]
