"""A logarithmic axis of c that is broken before the value that stands for no regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skstretch.experiments.figures.summary import UNREGULARISED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["BrokenAxis"]

GAP = 1.8  # decades that the break takes


@dataclass(frozen=True)
class BrokenAxis:
    """Places of c: its decimal logarithm, and for c without regularisation one beyond a gap.

    Parameters
    ----------
    values : tuple of float
        All c that are drawn, rising.

    Examples
    --------
    >>> from skstretch.experiments.figures.broken_axis import BrokenAxis
    >>> axis = BrokenAxis((10.0, 1e8, 1e100))
    >>> [round(axis.place(c), 1) for c in axis.values]
    [1.0, 8.0, 9.8]
    """

    values: tuple[float, ...]

    @property
    def last(self) -> float:
        """The place of the largest c before the gap."""
        return max((np.log10(c) for c in self.values if c < UNREGULARISED), default=0.0)

    def place(self, c: float) -> float:
        """Where c stands."""
        return float(np.log10(c)) if c < UNREGULARISED else float(self.last + GAP)

    def parted(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows, sorted by c, with a column `place`, and an empty row where the axis breaks."""
        import pandas as pd

        table = table.assign(place=[self.place(c) for c in table["c"]])
        free = table["c"] >= UNREGULARISED
        if not free.any() or free.all():
            return table
        numbers = ["place", "mean", "std"]
        gap = table[free].head(1).assign(**dict.fromkeys(numbers, np.nan))
        return pd.concat([table[~free], gap, table[free]], ignore_index=True)

    def draw(self, ax: Axes) -> None:
        """Ticks at the values, and two strokes across the axis in the gap."""
        ax.set_xticks([self.place(c) for c in self.values], [_power(c) for c in self.values])
        places = [self.place(c) for c in self.values]
        ax.set_xlim(min(places) - 0.4, max(places) + 0.4)
        if not any(c >= UNREGULARISED for c in self.values) or len(self.values) < 2:
            return
        middle = self.last + GAP / 2
        frame = ax.get_xaxis_transform()
        ax.plot(
            [middle - 0.1, middle + 0.1], [0, 0], transform=frame, color="white", lw=4,
            clip_on=False, zorder=5,
        )  # fmt: skip
        ax.plot(
            [middle - 0.1, middle + 0.1], [0, 0], transform=frame, color="black", lw=0,
            marker=[(-0.5, -1), (0.5, 1)], markersize=11, clip_on=False, zorder=6,
        )  # fmt: skip


def _power(c: float) -> str:
    exponent = np.log10(c) if c < UNREGULARISED else 100.0
    return f"$10^{{{exponent:.0f}}}$" if np.isclose(exponent, round(exponent)) else f"{c:g}"
