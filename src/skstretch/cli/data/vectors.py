"""Files of one value for each row, for formats that hold a matrix alone."""

import io
from typing import Any, BinaryIO

import numpy as np

from skstretch.cli.data.errors import DataError
from skstretch.cli.data.form import Kind, kind_of
from skstretch.cli.data.matrices import dense, read_matrix
from skstretch.cli.data.streams import opened

NPY = b"\x93NUMPY"
WAY_OUT = "write the target as .npy, .mtx or text, one value a row"


def read_vector(source: str, n_rows: int) -> Any:
    """An array of numbers from NPY or Matrix Market, or a list of strings, one a line.

    A text with one line more than there are rows starts with a header.
    """
    with opened(source, lambda file, size: file) as stream:
        head = stream.peek(1 << 14)
        kind = None if head.startswith(NPY) else kind_of(source, head)
        if kind is None:
            values = _flat(_npy(stream, source), source)
        elif kind is Kind.MTX:
            values = _flat(dense(read_matrix(stream, source)), source)
        elif kind is Kind.CSV and b"\0" not in head:
            values = _lines(stream.read(), source, n_rows)
        else:
            found = "binary" if kind is Kind.CSV else str(kind)
            raise DataError(f"--target {source!r} is a {found} file: {WAY_OUT}.")
    if len(values) != n_rows:
        raise DataError(
            f"--target {source!r} has {len(values):,} values, and the data have {n_rows:,} rows."
        )
    return values


def _npy(stream: BinaryIO, source: str) -> Any:
    try:
        return np.lib.format.read_array(io.BytesIO(stream.read()), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{source!r} is not a sound NPY file of numbers: {error}.") from None


def _flat(values: Any, source: str) -> Any:
    """An array with one axis longer than 1, as a vector."""
    if values.size != max(values.shape, default=0):
        raise DataError(f"--target {source!r} has shape {values.shape}: {WAY_OUT}.")
    return values.reshape(-1)


def _lines(data: bytes, source: str, n_rows: int) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{source!r} is not UTF-8 text.") from None
    values = [line.strip().strip('"') for line in text.rstrip().split("\n")]
    values = values[1:] if len(values) == n_rows + 1 else values
    several = next((value for value in values if len(value.split(",")) > 1), None)
    if several is not None:
        raise DataError(f"--target {source!r} has the line {several[:40]!r}: {WAY_OUT}.")
    return values
