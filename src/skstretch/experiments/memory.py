"""Whether the LASSO of a data set fits into the memory of this machine."""

from __future__ import annotations

import os

from skstretch.datasets import list_datasets

__all__ = ["lasso_bytes", "lasso_fits", "memory_bytes"]

# A half as float64: what is handed over, glmnet's own copy, and one to standardise.
COPIES = 3
UNKNOWN = 16 * 2**30


def lasso_bytes(dataset: str) -> int:
    """Bytes that glmnet takes for half of a data set, by its sizes in the registry.

    Sparse features stay sparse and count as nothing here.

    Examples
    --------
    >>> from skstretch.experiments.memory import lasso_bytes
    >>> round(lasso_bytes("gaze") / 1e9, 1), lasso_bytes("dexter")
    (28.2, 0)
    """
    row = next(row for row in list_datasets() if row["name"] == dataset)
    if "sparse" in row["kind"]:
        return 0
    return int(COPIES * 8 * row["samples"] // 2 * row["features"])


def memory_bytes() -> int:
    """The memory of this machine; 16 GB where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def lasso_fits(dataset: str) -> bool:
    """Whether LASSO can be run on the set here."""
    return lasso_bytes(dataset) <= memory_bytes()
