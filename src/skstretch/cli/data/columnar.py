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
from skstretch.cli.data.files import Budget, Choice, Choose, Kind, Stray, Stream, Table
from skstretch.exceptions import DataError

# of long columns so many bytes are read at once
PIECE = 1 << 28
# threads gain nothing where a column of a group has fewer bytes
WORTH_A_THREAD = 1 << 20
# so many short columns are read at a time: what pyarrow holds of them stays in the cache
SHORT = 256


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
    try:
        with budget.enforced():
            on_disk = stream.size is not None
            file = source if on_disk else pa.py_buffer(stream.whole(budget).getbuffer())
            opened = _parquet(file) if kind is Kind.PARQUET else _feather(file, budget)
            names, n_rows, parts = opened
            choice = choose(names, ())
            budget.check(8 * n_rows * max(1, len(choice.features)), f"{n_rows:,} rows")
            return _filled(names, n_rows, parts(_wanted(names, choice)), choice, budget)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, struct.error, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{source!r} is not a sound {kind} file: {error}") from None


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
        for number in range(file.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            if 8 * rows < WORTH_A_THREAD:
                for at in range(0, len(columns), SHORT):
                    some = columns[at : at + SHORT]
                    yield file.read_row_group(number, columns=some, use_threads=False)
                continue
            size = max(1, PIECE // (8 * len(columns)))
            for batch in file.iter_batches(size, [number], columns, use_threads=True):
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
    column_of = {name: column for column, name in enumerate(features)}
    aside: dict[str, list[Any]] = {role: [] for role in choice.aside}
    # a part has some of the rows of some of the columns, of these always the same together
    done = dict.fromkeys([*features, *choice.aside.values()], 0)
    for part in parts:
        places = {name: number for number, name in enumerate(part.column_names)}
        start = done[part.column_names[0]]
        if start + part.num_rows > n_rows:
            raise DataError(f"{budget.source!r} has more rows than the {n_rows:,} that it claims.")
        done.update(dict.fromkeys(places, start + part.num_rows))
        columns = [(column_of[name], i) for name, i in places.items() if name in column_of]
        _fill(table, start, part, columns)
        for role, name in choice.aside.items():
            if name in places:
                aside[role].append(_apart(part.column(places[name]), budget))
    least = min(done.values(), default=n_rows)
    if least < n_rows:
        raise DataError(f"{budget.source!r} has {least:,} rows and claims {n_rows:,}.")
    table.aside = {role: _joined(pieces) for role, pieces in aside.items()}
    return table


def _fill(table: Table, start: int, part: Any, columns: list[tuple[int, int]]) -> None:
    """Put columns of a part, by number, into those of X; short ones side by side."""
    stop = start + part.num_rows
    together = SHORT if 8 * part.num_rows < WORTH_A_THREAD else 1
    for at in range(0, len(columns), together):
        into, numbers = (list(x) for x in zip(*columns[at : at + together], strict=True))
        some = part.select(numbers)
        beside = into == list(range(into[0], into[0] + len(into)))
        table.X[start:stop, slice(into[0], into[-1] + 1) if beside else into] = (
            _all_float(some) if _is_float(some) else _one_by_one(table, into, some)
        )


def _is_float(part: Any) -> bool:
    """Whether all columns are float64 in one piece (pyarrow before 16 takes them one by one)."""
    import pyarrow as pa

    kinds = {kind.id for kind in part.schema.types}
    whole = part.column(0).num_chunks == 1 and hasattr(pa.RecordBatch, "to_tensor")
    return bool(whole and kinds == {pa.lib.Type_DOUBLE} and len(part.to_batches()) == 1)


def _all_float(part: Any) -> Any:
    return part.to_batches()[0].to_tensor(null_to_nan=True).to_numpy()


def _one_by_one(table: Table, into: list[int], part: Any) -> Any:
    """Columns of any kind (rows x columns); NaN for one of words, of which the table takes note."""
    found = []
    for column, values in zip(into, part.itercolumns(), strict=True):
        numbers = _numbers(values)
        if numbers is None:
            numbers = np.full(len(values), np.nan)
            _note_text(table, table.name_of(column), values)
        found.append(numbers)
    return np.array(found).T


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_binary(kind)


def _numbers(column: Any) -> Any:
    """The values as float64, nulls as NaN; None for a column that holds no numbers."""
    import pyarrow as pa

    kind, alone = column.type, pa.table([column], [""])
    if _is_float(alone):
        # `to_numpy` of a column would wait for pandas
        return _all_float(alone)[:, 0]
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
    if _is_text(kind):
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
