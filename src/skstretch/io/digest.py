"""A digest of data: equal data have equal digests, whatever container they came in."""

import hashlib
from typing import Any

import numpy as np

BLOCK = 1 << 22  # entries that are hashed at a time


def data_digest(X: Any) -> Any:
    """A SHA-256 of shape and values of X by rows, to which more can be added.

    Sparse matrices are hashed by their entries that are not zero, and so have another digest than
    the same data stored dense.
    """
    digest = hashlib.sha256(str(tuple(X.shape)).encode())
    if hasattr(X, "tocsr"):
        _add_sparse(digest, X.tocsr(copy=True))
        return digest
    rows = max(1, BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], rows):
        add_numbers(digest, X[start : start + rows])
    return digest


def add_numbers(digest: Any, values: Any) -> None:
    """Add numbers to a digest, as float64 whatever type they have."""
    # + 0.0 makes one zero of two
    digest.update(np.ascontiguousarray(np.asarray(values, dtype="<f8") + 0.0).tobytes())


def _add_sparse(digest: Any, X: Any) -> None:
    X.sum_duplicates()
    X.eliminate_zeros()
    digest.update(b"sparse")
    for part in (X.indptr, X.indices):
        digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    add_numbers(digest, X.data)
