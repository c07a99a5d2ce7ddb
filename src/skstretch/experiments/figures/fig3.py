"""Fig. 3: Madelon's first two features before and after the first-quadrant transform."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skstretch.experiments.figures.style import canvas, caption, finish, pick, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]

BLUE, ORANGE = "#0072b2", "#d55e00"
SHARE = 0.22  # of the axis that the highest density takes


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    rows = pick(curves, "fig3")
    panels = list(rows.groupby("panel", sort=False))
    fig, axes = canvas(1, len(panels), size=(4.6 * len(panels), 4.4))
    linearity = []
    for ax, (panel, part) in zip(axes, panels, strict=True):
        of = {str(name): points for name, points in part.groupby("series")}
        _panel(ax, of)
        title(ax, f"Madelon, {panel}")
        if "linearity" in of:
            linearity.append(f"{of['linearity']['y'].iloc[0]:.3f}")
    axes[0].legend(frameon=False, fontsize=8.5, loc="upper right")
    text = (
        "Line: the transform. Shaded: distributions before (below) and after (left), of the half "
        "that gave mean and scale and of the other half."
    )
    if linearity:
        text += f" Squared correlation of before and after: {', '.join(linearity)}."
    caption(fig, text)
    return fig


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig3.png`` from `skstretch.experiments.madelon_features.feature_curves`."""
    return finish(figure(results, curves), folder, "fig3")


def _panel(ax: Axes, of: dict[str, pd.DataFrame]) -> None:
    line = of["map"]
    ax.plot(line["x"], line["y"], color="black", linewidth=1.6, label="exp(a z), a = −0.2")
    left, right = line["x"].min(), line["x"].max()
    low, high = line["y"].min(), line["y"].max()
    left -= SHARE * (right - left)
    low -= SHARE * (high - low)
    ax.set(xlim=(left, right), ylim=(low, high))
    looks: dict[str, dict[str, Any]] = {
        "training": {"color": BLUE, "alpha": 0.3, "linewidth": 0},
        "unseen": {"facecolor": "none", "edgecolor": ORANGE, "linewidth": 1.2},
    }
    for name, look in looks.items():
        before, after = of.get(f"before, {name}"), of.get(f"after, {name}")
        if before is not None:
            heights = low + SHARE * (high - low) * before["y"] / before["y"].max()
            label = f"distribution, {name} half"
            ax.fill_between(before["x"], low, heights, step="mid", label=label, **look)
        if after is not None:
            widths = left + SHARE * (right - left) * after["y"] / after["y"].max()
            ax.fill_betweenx(after["x"], left, widths, step="mid", **look)
    ax.set_xlabel("feature value before")
    ax.set_ylabel("feature value after, exp(a z)")
