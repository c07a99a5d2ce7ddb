"""Data sets as lines of CSV or SVMlight."""

from collections.abc import Iterator
from typing import Any


def as_csv(bunch: Any) -> Iterator[bytes]:
    """A header, then a line for each row; the target is the last column."""
    names = getattr(bunch, "feature_names", None)
    if names is None:
        names = [f"x{number}" for number in range(1, bunch.data.shape[1] + 1)]
    yield (",".join([*map(str, names), "target"]) + "\n").encode()
    for row, target in zip(bunch.data, bunch.target.tolist(), strict=True):
        yield (",".join(map(repr, [*row.tolist(), target])) + "\n").encode()


def as_svmlight(bunch: Any) -> Iterator[bytes]:
    """A line ``label index:value ...`` for each row, the first index is 1."""
    X = bunch.data.tocsr()
    for row, target in enumerate(bunch.target.tolist()):
        part = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
        yield (" ".join([f"{target:g}", *(f"{i + 1}:{v!r}" for i, v in pairs)]) + "\n").encode()
