"""Everything drawn that is not an error or a time, as one long table.

A row is a point of a named series in a panel of a figure: ``figure, panel, series, x, y``. A row
with an empty x or y breaks a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "join", "series"]

COLUMNS = ("figure", "panel", "series", "x", "y")


def series(figure: str, panel: str, name: str, x: ArrayLike, y: ArrayLike) -> pd.DataFrame:
    """One named series; x and y are numbers or sequences of the same length.

    Examples
    --------
    >>> from skstretch.experiments.series import series
    >>> series("fig1", "", "line", [0.0, 1.0], [2.0, 3.0])["y"].tolist()
    [2.0, 3.0]
    """
    import pandas as pd

    x, y = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"series {name!r}: x has shape {x.shape} and y {y.shape}; one y per x.")
    labels = {"figure": figure, "panel": panel, "series": name}
    return pd.DataFrame({**labels, "x": x, "y": y}, index=range(x.size))


def join(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables one below the other, with a fresh index and exactly the five columns."""
    import pandas as pd

    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]
