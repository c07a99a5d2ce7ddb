"""From the name of a file to its data: a table, or one value for each row."""

import io
from typing import Any, BinaryIO

import numpy as np

from skstretch.cli.data.columnar import read_columnar
from skstretch.cli.data.delimited import read_delimited
from skstretch.cli.data.files import Form, Kind, Watch, kind_of, opened
from skstretch.cli.data.matrices import dense, read_matrix, read_mtx, read_npz, read_svmlight
from skstretch.cli.data.table import Choose, Table
from skstretch.exceptions import DataError

NPY = b"\x93NUMPY"
WAY_OUT = "write the target as .npy, .mtx or text, one value a row"


def read_table(source: str, form: Form, choose: Choose, watch: Watch) -> Table:
    """Read a data file once.

    Parameters
    ----------
    source : str
        A path, or ``-`` for standard input.
    form : Form
    choose : callable
        Shown the names of the columns and of further vectors, says which to read.
    watch : callable
        Wraps the raw file of a given size, to show progress.
    """
    with opened(source, watch) as stream:
        kind = form.kind
        if kind is Kind.AUTO:
            kind = kind_of(source, stream.peek(1 << 14))
        if kind in (Kind.PARQUET, Kind.FEATHER):
            return read_columnar(stream, source, kind, choose)
        if kind is Kind.NPZ:
            return read_npz(stream, source, choose)
        if kind is Kind.MTX:
            return read_mtx(stream, source, choose)
        if kind is Kind.SVMLIGHT:
            return read_svmlight(stream, source, form, choose)
        return read_delimited(stream, source, form, choose)


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
