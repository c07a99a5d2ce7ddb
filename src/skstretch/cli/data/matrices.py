"""Files of one matrix: NPZ, Matrix Market and SVMlight. A sparse one stays sparse."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from skstretch.cli.data.files import Form, Unpacked
from skstretch.cli.data.table import Choose, Table
from skstretch.exceptions import DataError

SPARSE_PARTS = ("data", "indices", "indptr", "shape")


def read_npz(stream: io.BufferedReader, source: str, choose: Choose) -> Table:
    """A dense ``X`` (or the one two-dimensional array), or SciPy's sparse parts; vectors beside."""
    try:
        with np.load(_seekable(stream), allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError) as error:
        hint = " Arrays of Python objects are never loaded." if "pickle" in str(error) else ""
        raise DataError(f"{source!r} is not a sound NPZ file of numbers: {error}.{hint}") from None
    if "indptr" in held:
        X = _compressed(held, source)
    else:
        X = held.pop(_matrix_name(held, source))
        if X.dtype.kind not in "biuf":
            raise DataError(f"the matrix in {source!r} holds {X.dtype}, not numbers.")
        X = X.astype(np.float64)
    names = held.pop("feature_names", None)
    if names is not None and names.shape != (X.shape[1],):
        names = None
    vectors = _vectors(held, X.shape[0])
    return chosen(X, None if names is None else [str(name) for name in names], vectors, choose)


def _vectors(held: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Arrays with a value for each row; columns of a matrix by ``target_names``, or y1, y2, ..."""
    found = {}
    for name, array in held.items():
        if array.shape == (n_rows,):
            found[name] = array
        elif array.ndim == 2 and array.shape[0] == n_rows:
            names = held.get("target_names", ())
            if len(names) != array.shape[1]:
                names = [f"{name}{number}" for number in range(1, array.shape[1] + 1)]
            found |= {str(label): array[:, j] for j, label in enumerate(names)}
    return found


def _seekable(stream: io.BufferedReader) -> BinaryIO:
    plain = stream.seekable() and not isinstance(stream, Unpacked)
    return stream if plain else io.BytesIO(stream.read())


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


def _compressed(held: dict[str, Any], source: str) -> Any:
    """A CSR array from the parts that `scipy.sparse.save_npz` writes."""
    form = held.pop("format", np.array(b"csr")).item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    held.pop("_is_array", None)
    missing = [part for part in SPARSE_PARTS if part not in held]
    kinds = {"csr": sparse.csr_array, "csc": sparse.csc_array}
    if missing or form not in kinds:
        raise DataError(f"{source!r} is no sparse matrix in CSR or CSC form that can be read.")
    data, indices, indptr, shape = (held.pop(part) for part in SPARSE_PARTS)
    try:
        X = kinds[form]((data.astype(np.float64), indices, indptr), shape=tuple(shape.tolist()))
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise DataError(f"the sparse matrix in {source!r} is damaged: {error}.") from None
    return _tidy(X)


def read_matrix(stream: io.BufferedReader, source: str) -> Any:
    """The matrix of a Matrix Market file: an array, or sparse where it has coordinates."""
    from scipy.io import mmread

    try:
        X = mmread(stream)
    except (ValueError, OverflowError, StopIteration) as error:
        raise DataError(f"{source!r} is not a sound Matrix Market file: {error}.") from None
    if np.iscomplexobj(X):
        raise DataError(f"{source!r} holds complex numbers.")
    return X.astype(np.float64)


def read_mtx(stream: io.BufferedReader, source: str, choose: Choose) -> Table:
    """A Matrix Market file; coordinates stay sparse."""
    X = read_matrix(stream, source)
    return chosen(X if isinstance(X, np.ndarray) else _tidy(X), None, {}, choose)


def read_svmlight(stream: io.BufferedReader, source: str, form: Form, choose: Choose) -> Table:
    """Lines of ``label index:value ...``; the first index is 1, or 0 where the user says so."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(stream, dtype=np.float64, zero_based=form.zero_based)
    except (ValueError, OverflowError) as error:
        if "Invalid index 0" in str(error):
            raise DataError(
                f"{source!r} has a feature number 0, and numbers start at 1: pass --zero-based, "
                "in predict too."
            ) from None
        raise DataError(f"{source!r} is not a sound SVMlight file: {error}.") from None
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
    listed = names or [str(number) for number in range(1, X.shape[1] + 1)]
    choice = choose(listed, list(vectors))
    features = list(choice.features)
    aside = {
        role: vectors[name] if name in vectors else _column(X, listed.index(name))
        for role, name in choice.aside.items()
    }
    if features != list(range(X.shape[1])):
        X = X[:, features]
        names = None if names is None else [names[column] for column in features]
    return Table(X, names, aside)


def _column(X: Any, number: int) -> Any:
    return dense(X[:, [number]])[:, 0]


def dense(X: Any) -> Any:
    """An array, whatever X is."""
    return X if isinstance(X, np.ndarray) else X.toarray()
