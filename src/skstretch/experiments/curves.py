"""The file of curves: what is drawn and is no error or time, as ``figure, panel, series, x, y``.

The file is small and is written whole, under a temporary name, each time a part is finished.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.packed import there_or_packed
from skstretch.experiments.series import COLUMNS
from skstretch.io import files as atomic

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CurveBook", "read_curves"]

TEXT = ("figure", "panel", "series")


class CurveBook:
    """The curves of one output folder.

    Parameters
    ----------
    path : Path
        The file; it need not be there.
    """

    def __init__(self, path: Path):
        self.path = path
        self._table = read_curves(path)

    def has(self, figure: str, prefix: str) -> bool:
        """Whether the figure has a panel that starts with `prefix`."""
        return bool(self._rows(figure, prefix).any())

    def put(self, figure: str, prefix: str, table: pd.DataFrame) -> None:
        """Put the table in the place of the panels of `figure` that start with `prefix`."""
        import pandas as pd

        kept = self._table[~self._rows(figure, prefix)]
        self._table = pd.concat([kept, table[list(COLUMNS)]], ignore_index=True)
        with atomic.replacing(self.path) as file:
            file.write(self._table.to_csv(index=False, lineterminator="\n").encode())

    def _rows(self, figure: str, prefix: str) -> pd.Series:
        table = self._table
        return (table["figure"] == figure) & table["panel"].str.startswith(prefix)


def read_curves(path: Path) -> pd.DataFrame:
    """The curves of a file, empty where there is none."""
    import pandas as pd

    path = there_or_packed(path)
    if not path.exists():
        empty: dict[str, pd.Series] = {
            name: pd.Series(dtype=str if name in TEXT else float) for name in COLUMNS
        }
        return pd.DataFrame(empty)
    # An empty panel name is a name; an empty number breaks a line.
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != list(COLUMNS):
        raise ValueError(
            f"{path} has the columns {list(table.columns)}, not {list(COLUMNS)}: move the file "
            "away, or name another output folder."
        )
    for name in ("x", "y"):
        table[name] = pd.to_numeric(table[name], errors="coerce")
    return table
