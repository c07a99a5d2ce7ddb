"""Rows of a memory map that is too large to be loaded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["scratch_folder", "take_rows"]


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for maps that are used under no name.

    A map outlives the name of its file, and its bytes are freed with it, even when the process is
    killed. Windows keeps the name of a mapped file; there the file stays in the temporary folder.
    """
    return tempfile.TemporaryDirectory(prefix="skstretch-", ignore_cleanup_errors=True)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """``X[rows]``; rows of a memory map go into a map of their own, one at a time."""
    if not isinstance(X, np.memmap):
        return X[rows]
    with scratch_folder() as folder:
        path = Path(folder) / "rows.npy"
        shape = (len(rows), *X.shape[1:])
        part = np.lib.format.open_memmap(path, mode="w+", dtype=X.dtype, shape=shape)
        for place, row in enumerate(rows):
            part[place] = X[row]
        part.flush()
        del part
        return np.load(path, mmap_mode="r")
