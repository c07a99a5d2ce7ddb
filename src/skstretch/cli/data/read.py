"""From the name of a file to its data: a table, or one value for each row."""

from typing import Any

from skstretch.cli.console import counted
from skstretch.cli.data.columnar import read_columnar
from skstretch.cli.data.delimited import bounded_lines, read_delimited
from skstretch.cli.data.files import Form, Kind, Stream, Watch, kind_of, opened
from skstretch.cli.data.matrices import (
    dense,
    read_array,
    read_matrix,
    read_mtx,
    read_npz,
    read_svmlight,
)
from skstretch.cli.data.memory import Budget
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
    budget = Budget.of(source, form.max_memory)
    with opened(source, watch, budget) as stream:
        kind = form.kind
        if kind is Kind.AUTO:
            kind = kind_of(source, stream.peek(1 << 14))
        if kind in (Kind.PARQUET, Kind.FEATHER):
            return read_columnar(stream, source, kind, choose, budget)
        if kind is Kind.NPZ:
            return read_npz(stream, source, choose, budget)
        if kind is Kind.MTX:
            return read_mtx(stream, source, choose, budget)
        if kind is Kind.SVMLIGHT:
            return read_svmlight(stream, source, form, choose, budget)
        return read_delimited(stream, source, form, choose, budget)


def read_vector(source: str, n_rows: int, max_memory: int | None = None) -> Any:
    """An array of numbers from NPY or Matrix Market, or a list of strings, one a line.

    A text with one line more than there are rows starts with a header.
    """
    budget = Budget.of(source, max_memory)
    with opened(source, lambda file, size: file, budget) as stream:
        head = stream.peek(1 << 14)
        kind = None if head.startswith(NPY) else kind_of(source, head)
        if kind is None:
            values = _flat(_npy(stream, source, budget), source)
        elif kind is Kind.MTX:
            values = _flat(dense(read_matrix(stream, source, budget)), source)
        elif kind is Kind.CSV and b"\0" not in head:
            values = _lines(stream, source, n_rows, budget)
        else:
            found = "binary" if kind is Kind.CSV else str(kind)
            raise DataError(f"--target {source!r} is a {found} file: {WAY_OUT}.")
    if len(values) != n_rows:
        raise DataError(_number_of_values(source, len(values), n_rows))
    return values


def _number_of_values(source: str, count: int, n_rows: int) -> str:
    found, wanted = counted(count, "value"), counted(n_rows, "row")
    return f"--target {source!r} has {found}, and the data have {wanted}."


def _npy(stream: Stream, source: str, budget: Budget) -> Any:
    file = stream.whole(budget)
    try:
        return read_array(file, len(file.getbuffer()), budget)
    except DataError:
        raise
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{source!r} is not a sound NPY file of numbers: {error}.") from None


def _flat(values: Any, source: str) -> Any:
    """An array with one axis longer than 1, as a vector."""
    if values.size != max(values.shape, default=0):
        raise DataError(f"--target {source!r} has shape {values.shape}: {WAY_OUT}.")
    return values.reshape(-1)


def _lines(stream: Stream, source: str, n_rows: int, budget: Budget) -> list[str]:
    values: list[str] = []
    count = 0
    try:
        for number, line in enumerate(bounded_lines(stream, "utf-8-sig", budget), 1):
            count = number if line.strip() else count  # blank lines at the end are none
            if number <= n_rows + 1:
                values.append(line.strip().strip('"'))
    except UnicodeDecodeError:
        raise DataError(f"{source!r} is not UTF-8 text.") from None
    if count > n_rows + 1:
        raise DataError(_number_of_values(source, count, n_rows))
    values = values[1:count] if count == n_rows + 1 else values[:count]
    several = next((value for value in values if len(value.split(",")) > 1), None)
    if several is not None:
        raise DataError(f"--target {source!r} has the line {several[:40]!r}: {WAY_OUT}.")
    return values
