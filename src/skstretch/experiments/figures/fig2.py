"""Fig. 2: contours of the p-norm, the k-measure and its k-th power."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.style import (
    LINES,
    canvas,
    caption,
    finish,
    legend_above,
    pick,
    title,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]

TITLES = {
    "p-norm": "‖α‖ₚ, p",
    "k-measure": "k-measure, k",
    "k-measure to the k": "its k-th power, k",
}


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    rows = pick(curves, "fig2")
    panels = dict(list(rows.groupby("panel", sort=False)))
    n_rows = -(-len(panels) // 3)
    fig, axes = canvas(n_rows, 3, size=(7.6, 2.6 * n_rows + 0.7))
    for ax, (panel, part) in zip(axes, panels.items(), strict=False):
        for line, (level, points) in zip(LINES, part.groupby("series", sort=False), strict=False):
            ax.plot(
                points["x"], points["y"], color=line.color, linestyle=line.dash, label=str(level)
            )
        measure, k = str(panel).rsplit(", ", 1)
        title(ax, f"{TITLES.get(measure, measure)} = {k}")
        ax.set_aspect("equal")
        ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    for ax in axes[::3]:
        ax.set_ylabel("α₂")
    for ax in axes[-3:]:
        ax.set_xlabel("α₁")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    legend_above(fig, *axes[0].get_legend_handles_labels(), n=4)
    caption(
        fig,
        "Contours over two coefficients; ε = 0.0001 in the k-measure. Towards p, k = 1 the corners "
        "move onto the axes, where one coefficient is zero.",
    )
    return fig


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig2.png`` from the curves of `skstretch.experiments.measures.contour_curves`."""
    return finish(figure(results, curves), folder, "fig2")
