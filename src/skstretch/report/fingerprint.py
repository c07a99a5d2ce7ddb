"""A short name for data: equal data have equal fingerprints, whatever container they came in."""

import hashlib
from typing import Any

import numpy as np

BLOCK = 1 << 22  # entries that are hashed at a time


def fingerprint(X: Any, y: Any) -> str:
    """The first 16 hex digits of a SHA-256 of shape, values of X by rows, and y.

    Sparse matrices are hashed by their entries that are not zero, and so have another fingerprint
    than the same data stored dense.
    """
    digest = hashlib.sha256(str(tuple(X.shape)).encode())
    if hasattr(X, "tocsr"):
        _add_sparse(digest, X.tocsr(copy=True))
    else:
        rows = max(1, BLOCK // max(1, X.shape[1]))
        for start in range(0, X.shape[0], rows):
            _add(digest, X[start : start + rows])
    labels = np.asarray(y)
    if labels.dtype.kind in "biuf":
        _add(digest, labels)
    else:
        digest.update("\x00".join(map(str, labels.tolist())).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _add(digest: Any, values: Any) -> None:
    # + 0.0 makes one zero of two
    digest.update(np.ascontiguousarray(np.asarray(values, dtype="<f8") + 0.0).tobytes())


def _add_sparse(digest: Any, X: Any) -> None:
    X.sum_duplicates()
    X.eliminate_zeros()
    digest.update(b"sparse")
    for part in (X.indptr, X.indices):
        digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    _add(digest, X.data)
