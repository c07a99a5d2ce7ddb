"""Columns of a Dask array that were selected before: neighbouring selections share most of them."""

import threading
from typing import Any

import numpy as np

from skstretch.core.types import Index
from skstretch.designs.blocks import working_bytes
from skstretch.designs.dask_array import DaskArray
from skstretch.designs.dask_gather import gathered_columns, stacked


class SelectedColumns:
    """Columns in memory; only those that were never asked for are read.

    At most a quarter of the working memory is kept between selections. Pickles are empty.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: Index = np.zeros(0, dtype=np.intp)
        self._raw: Any = None

    def __reduce__(self) -> tuple[type["SelectedColumns"], tuple[()]]:
        return SelectedColumns, ()

    def of(self, array: DaskArray, columns: Index) -> Any:
        """Increasing columns of the array, as an array of their own."""
        with self._lock:
            missing = np.setdiff1d(columns, self._index, assume_unique=True)
            if self._raw is None or self._is_full(array, missing.size):
                self._index, self._raw = columns, gathered_columns(array, columns)
            elif missing.size:
                together = stacked([self._raw, gathered_columns(array, missing)], 1)
                index = np.concatenate([self._index, missing])
                order = np.argsort(index)
                self._index, self._raw = index[order], together[:, order]
            return self._raw[:, np.searchsorted(self._index, columns)]

    def _is_full(self, array: DaskArray, more: int) -> bool:
        size = (self._index.size + more) * array.shape[0] * array.dtype.itemsize
        return more > 0 and size > working_bytes() // 4
