"""Parquet and Feather files, through pyarrow: only the columns that are asked for."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from skstretch.cli.data.files import Kind, Unpacked
from skstretch.cli.data.table import Choice, Choose, Stray, Table
from skstretch.exceptions import DataError


def read_columnar(stream: io.BufferedReader, source: str, kind: Kind, choose: Choose) -> Table:
    """Read a file of typed columns.

    Their directory is at the end: standard input and packed files are first taken into memory.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            f"{kind} files need pyarrow: pip install 'skstretch[cli]', or convert the file to CSV."
        ) from None
    try:
        in_memory = source == "-" or isinstance(stream, Unpacked)
        file = pa.BufferReader(stream.read()) if in_memory else source
        names, n_rows, parts = _parquet(file) if kind is Kind.PARQUET else _feather(file)
        choice = choose(names, ())
        return _filled(names, n_rows, parts(_wanted(names, choice)), choice)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{source!r} is not a sound {kind} file: {error}") from None


def _parquet(source: Any) -> tuple[list[str], int, Any]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source)

    def parts(columns: list[str]) -> Iterator[Any]:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns=columns)

    return list(file.schema_arrow.names), file.metadata.num_rows, parts


def _feather(source: Any) -> tuple[list[str], int, Any]:
    from pyarrow import feather

    table = feather.read_table(source, memory_map=isinstance(source, str))
    return list(table.column_names), table.num_rows, lambda columns: iter([table.select(columns)])


def _wanted(names: list[str], choice: Choice) -> list[str]:
    return list(dict.fromkeys([*(names[i] for i in choice.features), *choice.aside.values()]))


def _filled(names: list[str], n_rows: int, parts: Iterator[Any], choice: Choice) -> Table:
    features = [names[i] for i in choice.features]
    table = Table(np.empty((n_rows, len(features))), features)
    aside: dict[str, list[Any]] = {role: [] for role in choice.aside}
    start = 0
    for part in parts:
        stop = start + part.num_rows
        for column, name in enumerate(features):
            values = part.column(name)
            numbers = _numbers(values)
            if numbers is None:
                numbers = np.full(part.num_rows, np.nan)
                _note_text(table, name, values)
            table.X[start:stop, column] = numbers
        for role, name in choice.aside.items():
            aside[role].append(_apart(part.column(name)))
        start = stop
    table.aside = {role: _joined(pieces) for role, pieces in aside.items()}
    return table


def _numbers(column: Any) -> Any:
    """The values as float64, nulls as NaN; None for a column that holds no numbers."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    numeric = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    if not any(is_kind(kind) for is_kind in numeric):
        return None
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    return column.cast(pa.float64(), safe=False).to_numpy()


def _note_text(table: Table, name: str, column: Any) -> None:
    known = column.drop_null()
    if len(known):
        stray = table.stray.setdefault(name, Stray(str(known[0].as_py()), None))
        stray.count += len(known)


def _apart(column: Any) -> Any:
    numbers = _numbers(column)
    if numbers is not None:
        return numbers
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _joined(pieces: list[Any]) -> Any:
    if all(isinstance(piece, np.ndarray) for piece in pieces):
        return np.concatenate(pieces) if pieces else np.empty(0)
    return [str(value) for piece in pieces for value in piece]
