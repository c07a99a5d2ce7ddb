"""Checks of features before they reach a model."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skstretch.cli.data.errors import DataError
from skstretch.cli.data.table import Table

# how unnamed columns of row numbers are called by us, pandas and pyarrow
NUMBERINGS = ("column 1", "Unnamed: 0", "__index_level_0__")
IDENTIFIERS = ("id", "index", "key", "row", "no", "nr", "uuid", "sample", "sample_id")
SHOWN = 4


def check_features(table: Table) -> None:
    """Refuse columns that hold text."""
    if not table.stray:
        return
    rows = table.X.shape[0]
    found, commas = [], True
    for name, stray in table.stray.items():
        share = "" if stray.count == rows else f" in {stray.count:,} of {rows:,} rows"
        found.append(f"column {name!r} holds text{share} ({stray.place})")
        commas &= stray.value.count(",") == 1 and stray.value.replace(",", "").strip("-").isdigit()
    listed = "; ".join(found[:SHOWN])
    listed += f"; and {len(found) - SHOWN:,} more columns" if len(found) > SHOWN else ""
    if commas:
        raise DataError(f"{listed}. If the comma is a decimal mark, pass --decimal ,")
    raise DataError(f"{listed}. {_way_out(table, rows)}")


def _way_out(table: Table, rows: int) -> str:
    """What to do about columns of text: correct a few cells, drop or encode whole columns."""
    names = list(table.stray)
    whole = any(stray.count == rows for stray in table.stray.values())
    it = "it" if len(names) == 1 else "them"
    drop = " ".join(f"--drop {_shell(name)}" for name in names) if len(names) <= SHOWN else ""
    drop = drop or "--drop COL"
    if whole:
        return f"Leave {it} out with {drop}, or encode {it} as numbers."
    return f"Correct these cells, or leave {it} out with {drop}."


def _shell(name: str) -> str:
    import shlex

    return shlex.quote(name)


def missing_counts(table: Table) -> tuple[dict[str, int], Any]:
    """Missing values by column, and which rows have one."""
    X = table.X
    rows = np.zeros(X.shape[0], dtype=bool)
    if table.is_sparse:
        bad = np.isnan(X.data)
        rows[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad]] = True
        columns, counts = np.unique(X.indices[bad], return_counts=True)
        return {table.name_of(c): int(n) for c, n in zip(columns, counts, strict=True)}, rows
    suspects = np.flatnonzero(np.isnan(_sums(X)))
    found = {}
    for column in suspects.tolist():
        missing = np.isnan(X[:, column])
        if missing.any():
            found[table.name_of(column)] = int(missing.sum())
            rows |= missing
    return found, rows


def _sums(X: Any) -> Any:
    """Column sums: NaN where a column has a NaN, or infinities of both signs."""
    with np.errstate(over="ignore", invalid="ignore"):
        return X.sum(axis=0)


def check_infinite(table: Table) -> None:
    """Refuse infinite values."""
    X = table.X
    if table.is_sparse:
        columns = np.unique(X.indices[~np.isfinite(X.data)]).tolist()
    else:
        suspects = np.flatnonzero(~np.isfinite(_sums(X)))
        columns = [j for j in suspects.tolist() if not np.isfinite(X[:, j]).all()]
    if columns:
        name = table.name_of(columns[0])
        raise DataError(
            f"column {name!r} has infinite values: correct them, or leave it out with "
            f"--drop {_shell(name)}."
        )


def leave_out_numbering(table: Table, note: Callable[[str], None]) -> None:
    """Leave out an unnamed column that counts the rows."""
    for name in NUMBERINGS:
        if table.names is None or name not in table.names or len(table.names) < 2:
            continue
        column = table.names.index(name)
        if _counts_rows(table.X[:, column]):
            note(f"left out the unnamed column {column + 1}, which counts the rows.")
            table.X = np.delete(table.X, column, axis=1)
            table.names = [other for other in table.names if other != name]


def _counts_rows(values: Any) -> bool:
    return bool(values.size and values[0] in (0, 1) and (np.diff(values) == 1).all())


def note_identifiers(table: Table, note: Callable[[str], None]) -> None:
    """Point out columns that look like identifiers: they carry no meaning, but can be fitted."""
    if table.names is None or table.is_sparse or table.X.shape[0] < 3:
        return
    for column, name in enumerate(table.names):
        first = table.X[:3, column]
        if (first != np.round(first)).any():
            continue
        word = name.strip().lower()
        named = word in IDENTIFIERS or word.endswith(("_id", " id"))
        values = table.X[:, column]
        huge = abs(first).min() > 2**53
        if not (named or huge or _counts_rows(values)):
            continue
        if np.unique(values).size == values.size or huge:
            note(
                f"column {name!r} looks like an identifier and is used as a feature: --drop "
                f"{_shell(name)} leaves it out."
            )
