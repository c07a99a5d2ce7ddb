"""Parquet and Feather files, through pyarrow: only the columns that are asked for.

Columns are taken by their number and with as little work for each as pyarrow allows: files of
100,000 columns are common here.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.cli.data.delimited import STRING
from skstretch.cli.data.files import Budget, Choice, Choose, Kind, Stray, Stream, Table, sound
from skstretch.exceptions import DataError

# of long columns so many bytes are read at once
PIECE = 1 << 28


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
    faults = (pa.ArrowException, OSError, struct.error, UnicodeDecodeError)
    with sound(source, f"{kind} file", *faults), budget.enforced():
        on_disk = stream.size is not None
        file = source if on_disk else pa.py_buffer(stream.whole(budget).getbuffer())
        names, n_rows, parts = _parquet(file) if kind is Kind.PARQUET else _feather(file, budget)
        choice = choose(names, ())
        budget.check(8 * n_rows * max(1, len(choice.features)), f"{n_rows:,} rows")
        return _filled(names, n_rows, parts(_wanted(names, choice)), choice, budget)


def _parquet(source: Any) -> tuple[list[str], int, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source if isinstance(source, str) else pa.BufferReader(source))
    schema = file.schema_arrow
    names, texts = list(schema.names), (pa.lib.Type_STRING, pa.lib.Type_BINARY)
    words = [name for name, kind in zip(names, schema.types, strict=True) if kind.id in texts]
    if words:
        # a text that is repeated in all rows is kept once
        file = pq.ParquetFile(
            source if isinstance(source, str) else pa.BufferReader(source), read_dictionary=words
        )

    def parts(columns: list[str]) -> Iterator[Any]:
        size = max(1, PIECE // (8 * len(columns)))
        for batch in file.iter_batches(size, columns=columns, use_threads=True):
            yield pa.Table.from_batches([batch])

    return names, file.metadata.num_rows, parts


def _feather(source: Any, budget: Budget) -> tuple[list[str], int, Any]:
    import pyarrow as pa
    from pyarrow import feather

    on_disk = isinstance(source, str)
    file = pa.memory_map(source) if on_disk else pa.BufferReader(source)
    budget.check(sum(_unpacked_sizes(file)), "its columns")
    file.seek(0)
    table = feather.read_table(file)
    table.validate()
    return list(table.column_names), table.num_rows, lambda columns: iter([table.select(columns)])


def _unpacked_sizes(file: Any) -> Iterator[int]:
    """Bytes that the compressed buffers of a Feather file claim to hold, of one batch at a time.

    Each such buffer starts with its unpacked size; the message before it says where it lies. A
    file without compression takes no memory: it is mapped.
    """
    import pyarrow as pa

    if file.read(6) != b"ARROW1":  # the first version of Feather, which has no compression
        return
    file.seek(8)
    for message in pa.ipc.MessageReader.open_stream(file):
        if message.type == "record batch":
            batch = _Record.of(message.metadata.to_pybytes()).table(2)
            if batch.place(3) is not None:
                body = message.body
                yield sum(
                    max(
                        0,
                        int.from_bytes(body[start : start + 8].to_pybytes(), "little", signed=True),
                    )
                    for start, length in batch.pairs(2)
                    if length >= 8
                )


@dataclass(frozen=True)
class _Record:
    """A table of a flatbuffer: its fields by number (Arrow's Message.fbs names them)."""

    data: bytes
    at: int

    @classmethod
    def of(cls, data: bytes) -> "_Record":
        return cls(data, struct.unpack_from("<I", data)[0])

    def place(self, field: int) -> int | None:
        """Where a field lies; None where it is left out."""
        fields = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        size = struct.unpack_from("<H", self.data, fields)[0]
        if 4 + 2 * field >= size:
            return None
        offset = struct.unpack_from("<H", self.data, fields + 4 + 2 * field)[0]
        return self.at + offset if offset else None

    def table(self, field: int) -> "_Record":
        """A field that is a table itself."""
        return _Record(self.data, self._target(field))

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """A field that is a vector of two int64 each."""
        start = self._target(field)
        count = struct.unpack_from("<I", self.data, start)[0]
        return struct.iter_unpack("<qq", self.data[start + 4 : start + 4 + 16 * count])

    def _target(self, field: int) -> int:
        place = self.place(field)
        if place is None:
            raise OSError("a message lacks a field")
        return place + int(struct.unpack_from("<I", self.data, place)[0])


def _wanted(names: list[str], choice: Choice) -> list[str]:
    return list(dict.fromkeys([*(names[i] for i in choice.features), *choice.aside.values()]))


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
    table.aside = {role: _joined(pieces) for role, pieces in aside.items()}
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
        stray = table.stray.setdefault(name, Stray(first, None))
        stray.add(first)
        stray.count += known - 1


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


def _joined(pieces: list[Any]) -> Any:
    if all(isinstance(piece, np.ndarray) for piece in pieces):
        return np.concatenate(pieces) if pieces else np.empty(0)
    return [str(value) for piece in pieces for value in piece]
