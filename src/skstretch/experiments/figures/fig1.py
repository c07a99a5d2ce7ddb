"""Fig. 1: the smoothed absolute value at several eps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.style import LINES, canvas, caption, finish, pick

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    rows = pick(curves, "fig1")
    fig, (ax,) = canvas(size=(5.6, 4.0))
    for line, (name, part) in zip(LINES, rows.groupby("series", sort=False), strict=False):
        label = "|α|  (ε = 0)" if name == "eps=0" else f"ε = {str(name).removeprefix('eps=')}"
        ax.plot(part["x"], part["y"], color=line.color, linestyle=line.dash, label=label)
    ax.set_xlabel("coefficient α")
    ax.set_ylabel("f(α) = √(α² + ε)")
    ax.set_ylim(0, None)
    ax.legend(frameon=False, fontsize=8.5, loc="lower left")
    caption(fig, "Smoothed absolute value: smooth at 0, and |α| in the limit ε → 0.")
    return fig


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig1.png`` from the curves of `skstretch.experiments.measures.absolute_curves`."""
    return finish(figure(results, curves), folder, "fig1")
