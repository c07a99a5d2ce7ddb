"""What the loaders gave: sizes counted in the arrays, as Tables 2 and 3 print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skstretch.experiments.series import join, series
from skstretch.experiments.sets import SETS, load_set

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIGURE", "loaded_sizes", "nonzero_share", "panel_of"]

FIGURE = "datasets"
ROWS = 50  # of a dense array that are counted at a time


def panel_of(dataset: str) -> str:
    """The panel of the file of curves that holds the sizes of a data set."""
    return f"{dataset}: loaded"


def loaded_sizes(dataset: str) -> pd.DataFrame:
    """Samples, features, share of non-zeros; for classes their sizes and those of the parts.

    Figure ``datasets``, panel ``<dataset>: loaded``, one series per number with x = 0.
    """
    X, y, split = load_set(dataset, True)
    sizes: dict[str, float] = {
        "samples": X.shape[0],
        "features": X.shape[1],
        "nonzero share": nonzero_share(X),
    }
    if SETS[dataset].task == "classification":
        sizes |= {f"class {value:+g}": int(np.sum(y == value)) for value in np.unique(y)}
    if split is not None:
        sizes |= {"train": int(np.sum(split == 0)), "valid": int(np.sum(split == 1))}
    panel = panel_of(dataset)
    return join([series(FIGURE, panel, name, 0.0, size) for name, size in sizes.items()])


def nonzero_share(X: Any) -> float:
    """Share of the values that are not zero.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch.experiments.loaded import nonzero_share
    >>> nonzero_share(np.array([[0, 1], [2, 3]]))
    0.75
    """
    if hasattr(X, "count_nonzero"):
        count = X.count_nonzero()
    else:
        count = sum(
            np.count_nonzero(X[start : start + ROWS]) for start in range(0, X.shape[0], ROWS)
        )
    return float(count / (X.shape[0] * X.shape[1]))
