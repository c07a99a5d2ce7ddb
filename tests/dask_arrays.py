"""Dask arrays whose chunks are made when they are asked for, never stored in the graph."""

from typing import Any

import dask.array as da
import numpy as np
from scipy import sparse


class Maker:
    """Makes any chunk of a matrix that lives here, dense or sparse."""

    def __init__(self, X: Any) -> None:
        self.X = X

    def __call__(self, chunk: Any, block_info: Any = None) -> Any:
        rows, columns = (slice(*span) for span in block_info[0]["array-location"])
        return self.X[rows, columns]


def as_dask(X: Any, chunks: Any) -> Any:
    """X in chunks, of its own kind."""
    empty = da.empty(X.shape, dtype=X.dtype, chunks=chunks)
    if sparse.issparse(X):
        return empty.map_blocks(Maker(X.tocsr()), dtype=X.dtype, meta=sparse.csr_array((0, 0)))
    return empty.map_blocks(Maker(X), dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def wide(kind: str = "dense", shape: tuple[int, int] = (30, 200), seed: int = 0) -> Any:
    """More columns than rows, one of them constant."""
    return _matrix(kind, shape, seed)


def tall(kind: str = "dense", shape: tuple[int, int] = (120, 9), seed: int = 0) -> Any:
    """More rows than columns, one of them constant."""
    return _matrix(kind, shape, seed)


def _matrix(kind: str, shape: tuple[int, int], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if kind == "sparse":
        X = sparse.random_array(shape, density=0.15, random_state=rng, format="csr")
        assert X.nnz < 0.2 * X.shape[0] * X.shape[1]
        return X
    X = rng.standard_normal(shape)
    X[:, 3] = 2.5
    return X
