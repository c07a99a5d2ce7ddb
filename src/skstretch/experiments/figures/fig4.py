"""Fig. 4: what is learned from five points, with and without noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skstretch.experiments.figures.style import canvas, caption, finish, legend_above, pick, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]

# By kind of series, and whether it belongs to a noisy draw.
LOOKS: dict[tuple[str, bool], dict[str, Any]] = {
    ("learned", True): {
        "label": "learned, noisy draws",
        "color": "#8a8a8a",
        "linestyle": (0, (4, 2)),
        "linewidth": 0.8,
    },
    ("points", True): {
        "label": "noisy points",
        "color": "black",
        "marker": "x",
        "linestyle": "",
        "markersize": 3.5,
    },
    ("truth", False): {
        "label": "the quartic itself",
        "color": "#9ecae1",
        "linewidth": 6,
    },
    ("learned", False): {
        "label": "learned, no noise",
        "color": "black",
        "linewidth": 1.8,
        "zorder": 3,
    },
    ("points", False): {
        "label": "the five points",
        "color": "#d55e00",
        "marker": "o",
        "linestyle": "",
        "markersize": 7,
        "fillstyle": "none",
        "markeredgewidth": 1.8,
        "zorder": 4,
    },
}


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    rows = pick(curves, "fig4")
    panels = list(rows.groupby("panel", sort=False))
    fig, axes = canvas(1, len(panels), size=(4.4 * len(panels), 4.3))
    for ax, (panel, part) in zip(axes, panels, strict=True):
        _panel(ax, part)
        title(ax, str(panel))
        ax.set_ylim(rows["y"].min() - 0.01, rows["y"].max() + 0.01)
    legend_above(fig, *axes[0].get_legend_handles_labels(), n=5)
    sigma = curves[(curves["figure"] == "table1") & (curves["series"] == "implied sigma")]["y"]
    noise = f" of deviation {sigma.iloc[0]:.4f}" if len(sigma) else ""
    caption(
        fig,
        f"A 10th-order polynomial learned from five points, and from ten draws with noise{noise}, "
        "the level that the paper's standard deviations imply.",
    )
    return fig


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig4.png`` from `skstretch.experiments.synthetic_one.output_curves`."""
    return finish(figure(results, curves), folder, "fig4")


def _panel(ax: Axes, part: pd.DataFrame) -> None:
    for name, points in part.groupby("series", sort=False):
        kind, _, draw = str(name).partition(", ")
        look = dict(LOOKS[kind, bool(draw)])
        if draw not in ("", "draw 1"):
            look["label"] = None  # one entry in the legend for all draws
        ax.plot(points["x"], points["y"], **look)
    ax.set_xlabel("x")
    ax.set_ylabel("y")
