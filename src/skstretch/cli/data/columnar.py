"""Parquet and Feather files, through pyarrow: only the columns that are asked for.

Columns are taken by their number and with as little work for each as pyarrow allows: files of
100,000 columns are common here.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from skstretch.cli.data.delimited import STRING
from skstretch.cli.data.files import Budget, Choice, Choose, Kind, Stray, Stream, Table, sound
from skstretch.exceptions import DataError

# of long columns so many bytes are read at once
PIECE = 1 << 28
# how the first version of Feather begins, which has no compression
FIRST = b"FEA1"


def read_columnar(stream: Stream, source: str, kind: Kind, choose: Choose, budget: Budget) -> Table:
    """Read a file of typed columns.

    Their directory is at the end: standard input and packed files are first taken into memory.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            f"{kind} files need pyarrow: pip install 'skstretch[cli]', or convert the file to CSV."
        ) from None
    faults = (pa.ArrowException, OSError, UnicodeDecodeError)
    with sound(source, f"{kind} file", *faults), budget.enforced():
        on_disk = stream.size is not None
        file = source if on_disk else pa.py_buffer(stream.whole(budget).getbuffer())
        names, counted = (_parquet if kind is Kind.PARQUET else _feather)(file)
        choice = choose(names, ())
        n_rows, parts = counted()
        wanted = [*dict.fromkeys([*(names[i] for i in choice.features), *choice.aside.values()])]
        budget.check(8 * n_rows * max(1, len(choice.features)), f"{n_rows:,} rows")
        return _filled(names, n_rows, parts(wanted), choice, budget)


def _parquet(source: Any) -> tuple[list[str], Any]:
    """Names, and what gives the number of rows and a function that reads columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    readable = source if isinstance(source, str) else pa.BufferReader(source)
    seen = pq.ParquetFile(readable)
    schema, texts = seen.schema_arrow, (pa.lib.Type_STRING, pa.lib.Type_BINARY)
    words = [n for n, kind in zip(schema.names, schema.types, strict=True) if kind.id in texts]
    # a text that is repeated in all rows is kept once
    file = pq.ParquetFile(readable, metadata=seen.metadata, read_dictionary=words)

    def parts(columns: list[str]) -> Iterator[Any]:
        size = max(1, PIECE // (8 * len(columns)))
        for batch in file.iter_batches(size, columns=columns, use_threads=True):
            yield pa.Table.from_batches([batch])

    return list(schema.names), lambda: (file.metadata.num_rows, parts)


def _feather(source: Any) -> tuple[list[str], Any]:
    """As `_parquet`; rows are counted without unpacking any of them."""
    import pyarrow as pa
    from pyarrow import dataset, feather

    data = pa.memory_map(source).read_buffer() if isinstance(source, str) else source
    if pa.BufferReader(data).read(len(FIRST)) == FIRST:
        table = feather.read_table(pa.BufferReader(data))
        table.validate()
        return table.column_names, lambda: (table.num_rows, lambda columns: [table.select(columns)])

    def parts(columns: list[str]) -> Iterator[Any]:
        table = feather.read_table(pa.BufferReader(data), columns)
        table.validate()
        yield table

    fragment = dataset.IpcFileFormat().make_fragment(data)
    return pa.ipc.open_file(data).schema.names, lambda: (fragment.count_rows(), parts)


def _filled(
    names: list[str], n_rows: int, parts: Iterator[Any], choice: Choice, budget: Budget
) -> Table:
    features = [names[i] for i in choice.features]
    table = Table(np.empty((n_rows, len(features))), features)
    aside: dict[str, list[Any]] = {role: [] for role in choice.aside}
    stop = 0
    for part in parts:
        places = {name: number for number, name in enumerate(part.column_names)}
        start, stop = stop, stop + part.num_rows
        if stop > n_rows:
            break
        for column, name in enumerate(features):
            values = part.column(places[name])
            numbers = _numbers(values)
            if numbers is None:
                _note_text(table, name, values)
            table.X[start:stop, column] = np.nan if numbers is None else numbers
        for role, name in choice.aside.items():
            aside[role].append(_apart(part.column(places[name]), budget))
    if stop != n_rows:
        raise DataError(f"{budget.source!r} does not have the {n_rows:,} rows that it claims.")
    for role, pieces in aside.items():
        if pieces and all(isinstance(piece, np.ndarray) for piece in pieces):
            table.aside[role] = np.concatenate(pieces)
        else:
            table.aside[role] = [str(value) for piece in pieces for value in piece]
    return table


def _numbers(column: Any) -> Any:
    """The values as float64, nulls as NaN; None for a column that holds no numbers."""
    import pyarrow as pa

    kind = column.type
    packed = pa.types.is_dictionary(kind)
    kind = kind.value_type if packed else kind
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    numeric = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    if not any(is_kind(kind) for is_kind in numeric):
        return None
    column = column.cast(kind) if packed else column
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    return column.cast(pa.float64(), safe=False).to_numpy()


def _note_text(table: Table, name: str, column: Any) -> None:
    known = len(column) - column.null_count
    if known:
        first = next(str(value.as_py()) for value in column if value.is_valid)
        table.stray.setdefault(name, Stray(first, None)).count += known


def _apart(column: Any, budget: Budget) -> Any:
    """Numbers, or words; true and false are words, as in a CSV."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numbers = None if pa.types.is_boolean(kind) else _numbers(column)
    if numbers is not None:
        return numbers
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        budget.check(_length(column) + STRING * len(column), f"{len(column):,} words")
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _length(column: Any) -> int:
    """Characters of a column of text, counted before any of them is copied."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
        else:
            lengths = pc.binary_length(chunk)
        total += pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
    return total
