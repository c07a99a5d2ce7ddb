"""What X is and what a walk over it costs, without reading it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.designs.source import is_source
from skstretch.designs.sparse import EXP_COST, SPARSE_COST


@dataclass(frozen=True)
class Storage:
    """How X is stored.

    Attributes
    ----------
    kind : {"in memory", "sparse", "read in blocks"}
    shape : (int, int)
    dtype : str
    nbytes : int
        What one walk over the data reads.
    products : float
        Multiplications of BLAS that one K (all rows by all rows) is worth.
    """

    kind: str
    shape: tuple[int, int]
    dtype: str
    nbytes: int
    products: float


def storage_of(X: Any) -> Storage:
    """Describe validated X."""
    n_rows, n_columns = int(X.shape[0]), int(X.shape[1])
    side, other = min(n_rows, n_columns), max(n_rows, n_columns)
    dense = float(side) * other * (side + EXP_COST)
    nbytes, kind = n_rows * n_columns * np.dtype(X.dtype).itemsize, "in memory"
    if sparse.issparse(X):
        nbytes, kind = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, "sparse"
        counts = np.diff(X.indptr).astype(float)
        if n_rows <= n_columns:
            by_blas = float(n_rows) * (n_rows + EXP_COST)
            dense = float(np.minimum(SPARSE_COST * np.square(counts), by_blas).sum())
        else:
            dense = min(dense, SPARSE_COST * float(X.nnz) ** 2 / n_rows)
    elif is_source(X):
        kind = "read in blocks"
    return Storage(kind, (n_rows, n_columns), str(X.dtype), int(nbytes), dense)
