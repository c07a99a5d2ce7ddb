"""Files of one matrix: NPZ, Matrix Market and SVMlight. A sparse one stays sparse.

A target without a place in the matrix comes from a file of its own, with one value for each row.
"""

import io
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from skstretch.cli.data.delimited import bounded_lines
from skstretch.cli.data.files import (
    HEAD,
    Budget,
    Choose,
    Form,
    Kind,
    Numbers,
    Stream,
    Table,
    check_packed,
    kind_of,
    opened,
    shown,
    sound,
)
from skstretch.exceptions import DataError
from skstretch.io.archive import read_npy_header
from skstretch.style import count

SPARSE_PARTS = ("data", "indices", "indptr", "shape")
# the shortest entry of a Matrix Market file: a digit and the end of its line; in symmetric files,
# which are written by halves, it stands for two
LEAST_ENTRY = 2
# the line with the shape of a Matrix Market file has three numbers
LONGEST_CLAIM = 200
# and no line of it is as long as this
LONGEST_LINE = 1 << 20
# bytes that one value of a sparse matrix takes while it is read: number, row and column, twice
COORDINATE = 48


def read_npz(stream: Stream, source: str, choose: Choose, budget: Budget) -> Table:
    """A dense ``X`` (or the one two-dimensional array), or SciPy's sparse parts; vectors beside."""
    faults = (ValueError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
    with sound(source, "NPZ file of numbers", *faults):
        held = _arrays(stream.seekable_in(budget), budget)
    if "indptr" in held:
        X = _compressed(held, source, budget)
    else:
        X = _float_matrix(held.pop(_matrix_name(held, source)), source)
    names = held.pop("feature_names", None)
    if names is not None and names.shape != (X.shape[1],):
        names = None
    vectors = _vectors(held, X.shape[0])
    return chosen(X, None if names is None else [str(name) for name in names], vectors, choose)


def _float_matrix(values: Any, source: str) -> Any:
    if values.dtype.kind not in "biuf":
        raise DataError(f"the matrix in {source!r} holds {values.dtype}, not numbers.")
    return values.astype(np.float64, copy=False)


def _arrays(file: Any, budget: Budget) -> dict[str, Any]:
    """All arrays of an NPZ file, each no larger than what its packed bytes can hold."""
    held: dict[str, Any] = {}
    with zipfile.ZipFile(file) as archive:
        check_packed(archive)
        budget.check(sum(info.file_size for info in archive.infolist()), "its arrays")
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name in held:
                raise ValueError(f"it has two arrays {name!r}")
            with archive.open(info) as member:
                held[name] = read_array(member, info.file_size, budget)
    return held


def read_array(file: Any, size: int, budget: Budget) -> Any:
    """An array in NPY form; its header may claim no more than the `size` bytes that are there."""
    shape, _, dtype = read_npy_header(file)
    n_values = math.prod(shape)
    if dtype.hasobject:
        raise ValueError("arrays of Python objects are never loaded")
    if n_values * dtype.itemsize > size:
        raise ValueError(f"it claims an array of shape {shape} in {shown(size)}")
    budget.check(8 * n_values, f"an array of shape {shape}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _vectors(held: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Arrays with a value for each row; columns of a matrix by ``target_names``, or y1, y2, ..."""
    found = []
    for name, array in held.items():
        if array.shape == (n_rows,):
            found.append((name, array))
        elif array.ndim == 2 and array.shape[0] == n_rows:
            names = held.get("target_names", np.empty(0))
            if names.shape != (array.shape[1],):
                names = [f"{name}{number}" for number in range(1, array.shape[1] + 1)]
            found += [(str(label), array[:, j]) for j, label in enumerate(names)]
    labels = [label for label, _ in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise DataError(f"the name {twice!r} occurs twice among the vectors: rename one.")
    return dict(found)


def _matrix_name(held: Mapping[str, Any], source: str) -> str:
    matrices = [name for name, array in held.items() if array.ndim == 2]
    if "X" in matrices:
        return "X"
    if len(matrices) == 1:
        return matrices[0]
    found = ", ".join(f"{name} {array.shape}" for name, array in held.items())
    raise DataError(
        f"{source!r} has no matrix X of shape (rows, features); it has: {found or 'nothing'}."
    )


def _compressed(held: dict[str, Any], source: str, budget: Budget) -> Any:
    """A CSR array from the parts that `scipy.sparse.save_npz` writes."""
    form = held.pop("format", np.array(b"csr")).tolist()
    form = form.decode("latin-1") if isinstance(form, bytes) else str(form)
    held.pop("_is_array", None)
    missing = [part for part in SPARSE_PARTS if part not in held]
    kinds = {"csr": sparse.csr_array, "csc": sparse.csc_array}
    if missing or form not in kinds:
        raise DataError(f"{source!r} is no sparse matrix in CSR or CSC form that can be read.")
    data, indices, indptr, shape = (held.pop(part) for part in SPARSE_PARTS)
    data = _float_matrix(data, source)
    with sound(source, "sparse matrix", ValueError, TypeError):
        for length, noun in zip(shape.tolist(), ("row", "column"), strict=True):
            budget.check_spread(int(length), noun, indices.nbytes + indptr.nbytes)
        X = kinds[form]((data, indices, indptr), shape=tuple(shape.tolist()))
        X.check_format(full_check=True)
    return _tidy(X)


def read_matrix(stream: Stream, source: str, budget: Budget) -> Any:
    """The matrix of a Matrix Market file: an array, or sparse where it has coordinates."""
    from scipy.io import mmread

    # from 1.18 on scipy warns where nobody says which kind is wanted; 1.12 cannot be told
    names = signature(mmread).parameters
    options: dict[str, Any] = {"spmatrix": False} if "spmatrix" in names else {}
    file = stream.seekable_in(budget)
    head, size = file.read(HEAD), file.seek(0, os.SEEK_END)
    file.seek(0)
    with sound(source, "Matrix Market file", ValueError, OverflowError, StopIteration):
        _check_market(head, size, budget)
        X = mmread(Watched(file), **options)
    if np.iscomplexobj(X):
        raise DataError(f"{source!r} holds complex numbers.")
    return X.astype(np.float64, copy=False)


class Watched:
    """A file for a parser in C++: read-only, and at its end where a line is too long to be true.

    The parser cannot pass errors of `read` on, and without `seek` it does not move in a file that
    was closed after an error, which would abort the process.
    """

    def __init__(self, file: Any) -> None:
        self.file, self.unended, self.ended = file, 0, False

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        part: bytes = b"" if self.ended else self.file.read(min(size, HEAD) if size > 0 else HEAD)
        newline = part.rfind(b"\n")
        self.unended = self.unended + len(part) if newline < 0 else len(part) - newline
        self.ended = self.unended > LONGEST_LINE
        return b"" if self.ended else part


def _check_market(head: bytes, size: int, budget: Budget) -> None:
    """Refuse a Matrix Market file whose first lines claim more than its bytes can hold."""
    lines = [line for line in head.splitlines() if line.strip()]
    claims = next((line for line in lines if not line.startswith(b"%")), None)
    if claims is None:
        raise ValueError("the line with its shape is missing")
    if len(claims) > LONGEST_CLAIM:
        raise ValueError("the line with its shape is too long")
    numbers = [int(word) for word in claims.split()]
    rows, columns = numbers[:2]
    entries = numbers[2] if len(numbers) > 2 else rows * columns
    if min(rows, columns, entries) < 0 or LEAST_ENTRY * entries > 2 * size:
        raise ValueError(f"it claims {entries:,} values in {shown(size)}")
    if len(numbers) > 2:
        budget.check_spread(rows, "row", size)
        budget.check_spread(columns, "column", size)
    budget.check(COORDINATE * entries, f"{entries:,} values")


def read_mtx(stream: Stream, source: str, choose: Choose, budget: Budget) -> Table:
    """A Matrix Market file; coordinates stay sparse."""
    X = read_matrix(stream, source, budget)
    return chosen(X if isinstance(X, np.ndarray) else _tidy(X), None, {}, choose)


class Entries:
    """Lines of an SVMlight file, counted on their way to the parser."""

    def __init__(self, stream: Stream, budget: Budget) -> None:
        self.stream, self.budget, self.size = stream, budget, 0

    def read(self) -> NoReturn:
        raise io.UnsupportedOperation("it is read line by line")

    def __iter__(self) -> Iterator[bytes]:
        entries = rows = 0
        while line := self.stream.readline(self.budget.line):
            self.budget.check_line(line)
            self.size += len(line)
            entries, rows = entries + line.count(b":"), rows + 1
            self.budget.check(COORDINATE * (entries + rows), f"{entries:,} values")
            yield line


def read_svmlight(stream: Stream, source: str, form: Form, choose: Choose, budget: Budget) -> Table:
    """Lines of ``label index:value ...``; the first index is 1, or 0 where the user says so."""
    from sklearn.datasets import load_svmlight_file

    lines = Entries(stream, budget)
    with sound(source, "SVMlight file", ValueError, OverflowError):
        try:
            X, y = load_svmlight_file(lines, dtype=np.float64, zero_based=form.zero_based)
        except ValueError as error:
            if "Invalid index 0" not in str(error):
                raise
            raise DataError(
                f"{source!r} has a feature number 0, and numbers start at 1: pass --zero-based, "
                "in predict too."
            ) from None
    budget.check_spread(X.shape[1], "column", lines.size)
    table = chosen(_tidy(sparse.csr_array(X)), None, {"label": y}, choose)
    table.elastic = True
    return table


def _tidy(X: Any) -> Any:
    X = sparse.csr_array(X)
    X.sum_duplicates()
    return X


def chosen(X: Any, names: list[str] | None, vectors: Mapping[str, Any], choose: Choose) -> Table:
    """The chosen columns of a matrix, and what is kept apart from vectors or columns."""
    if X.shape[0] == 0:
        raise DataError("the matrix has no rows.")
    listed = names or Numbers(X.shape[1])
    choice = choose(listed, list(vectors))
    features = choice.features
    aside = {
        role: vectors[name] if name in vectors else dense(X[:, [listed.index(name)]])[:, 0]
        for role, name in choice.aside.items()
    }
    if list(features) != list(range(X.shape[1])):
        X = X[:, list(features)]
        names = None if names is None else [names[column] for column in features]
    return Table(X, names, aside)


def dense(X: Any) -> Any:
    """An array, whatever X is."""
    return X if isinstance(X, np.ndarray) else X.toarray()


# One value for each row, in a file of its own.

NPY = b"\x93NUMPY"
WAY_OUT = "write the target as .npy, .mtx or text, one value a row"


def read_vector(source: str, n_rows: int, form: Form) -> Any:
    """An array of numbers from NPY or Matrix Market, or a list of strings, one a line.

    A text with one line more than there are rows starts with a header.
    """
    budget = form.budget(source)
    with opened(source, lambda file, size: file, budget) as stream:
        head = stream.peek(1 << 14)
        kind = None if head.startswith(NPY) else kind_of(source, head)
        if kind is None:
            file = stream.whole(budget)
            with sound(source, "NPY file of numbers", ValueError, OSError, EOFError):
                values = read_array(file, len(file.getbuffer()), budget)
            values = _flat(values, source)
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


def _number_of_values(source: str, n_values: int, n_rows: int) -> str:
    found, wanted = count(n_values, "value"), count(n_rows, "row")
    return f"--target {source!r} has {found}, and the data have {wanted}."


def _flat(values: Any, source: str) -> Any:
    """An array with one axis longer than 1, as a vector."""
    if values.size != max(values.shape, default=0):
        raise DataError(f"--target {source!r} has shape {values.shape}: {WAY_OUT}.")
    return values.reshape(-1)


def _lines(stream: Stream, source: str, n_rows: int, budget: Budget) -> list[str]:
    values: list[str] = []
    last = 0
    try:
        for number, line in enumerate(bounded_lines(stream, "utf-8-sig", budget), 1):
            last = number if line.strip() else last  # blank lines at the end are none
            if number <= n_rows + 1:
                values.append(line.strip().strip('"'))
    except UnicodeDecodeError:
        raise DataError(f"{source!r} is not UTF-8 text.") from None
    if last > n_rows + 1:
        raise DataError(_number_of_values(source, last, n_rows))
    values = values[1:last] if last == n_rows + 1 else values[:last]
    several = next((value for value in values if len(value.split(",")) > 1), None)
    if several is not None:
        raise DataError(f"--target {source!r} has the line {several[:40]!r}: {WAY_OUT}.")
    return values
