"""Fig. 6: 20 points and a 28th-order polynomial, under-determined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.boundaries import boundary_figure
from skstretch.experiments.figures.style import finish

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    rcond = curves[(curves["figure"] == "fig6") & (curves["series"] == "rcond k=1.1, LU")]["y"]
    text = (
        "20 points, 435 parameters, c = 1e100. In exact arithmetic every k passes through all "
        "points. The points are ours, the paper prints none."
    )
    if len(rcond):
        text += f" The formula by LU has a reciprocal condition number of {rcond.iloc[0]:.0e}."
    return boundary_figure(curves, "fig6", text)


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig6.png`` from `skstretch.experiments.synthetic_two.boundary_curves`."""
    return finish(figure(results, curves), folder, "fig6")
