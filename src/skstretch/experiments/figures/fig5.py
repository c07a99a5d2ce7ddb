"""Fig. 5: 20 points and a 3rd-order polynomial, over-determined."""

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
    return boundary_figure(
        curves,
        "fig5",
        "20 points, 10 parameters, c = 1e100: more points than parameters. The points are ours, "
        "the paper prints none.",
    )


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig5.png`` from `skstretch.experiments.synthetic_two.boundary_curves`."""
    return finish(figure(results, curves), folder, "fig5")
