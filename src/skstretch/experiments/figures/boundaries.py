"""What Fig. 5 and 6 share: decision boundaries on the left, sorted coefficients on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skstretch.experiments.figures.style import Line, canvas, caption, pick, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["boundary_figure"]

LOOKS = {
    "linear": Line("#7f7f7f", "-"),
    "k=2": Line("#0072b2", (0, (5, 2))),
    "k=1.1": Line("#000000", "-"),
    "k=1.1, LU": Line("#d55e00", (0, (1, 1.2))),
}
NAMES = {"linear": "linear", "k=1.1, LU": "k=1.1, formula by LU"}


def boundary_figure(curves: pd.DataFrame, name: str, text: str) -> Figure:
    """Boundaries with error counts in the legend, coefficients relative to the largest."""
    rows = pick(curves, name)
    fig, (left, right) = canvas(1, 2, size=(9.6, 4.9))
    panels = dict(list(rows.groupby("panel")))
    counts = panels["counts"].set_index("series")["y"]
    _points(left, panels["boundaries"], counts)
    _coefficients(right, panels["coefficients"], counts)
    caption(fig, text)
    return fig


def _points(ax: Axes, part: pd.DataFrame, counts: pd.Series) -> None:
    of = {str(series): points for series, points in part.groupby("series")}
    for fit, look in LOOKS.items():
        if (line := of.get(f"boundary {fit}")) is None:
            continue
        errors = int(counts[f"errors {fit}"])
        label = f"{NAMES.get(fit, fit)}: {errors} error{'' if errors == 1 else 's'}"
        width = 1.2 if fit == "k=2" else 1.8
        ax.plot(line["x"], line["y"], color=look.color, ls=look.dash, lw=width, label=label)
    for sign, marker, fill in (("-1", "o", "white"), ("+1", "s", "0.35")):
        points = of[f"class {sign}"]
        label = f"class {'−1' if sign == '-1' else sign}"
        ax.scatter(
            points["x"], points["y"], s=34, c=fill, marker=marker, edgecolors="black", zorder=4,
            label=label,
        )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="x₁", ylabel="x₂")
    title(ax, "Decision boundaries at zero")
    ax.set_aspect("equal")
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False)


def _coefficients(ax: Axes, part: pd.DataFrame, counts: pd.Series) -> None:
    for fit in ("k=1.1", "k=2"):
        points = part[part["series"] == fit]
        if points.empty:
            continue
        look, largest = LOOKS[fit], points["y"].abs().max()
        strong, size = int(counts[f"strong {fit}"]), len(points)
        label = f"{fit}: {strong} of {size} reach 1 % of the largest, {largest:.3g}"
        few = "o" if size <= 30 else ""
        ax.plot(
            points["x"], points["y"] / largest, color=look.color, ls=look.dash, marker=few,
            ms=4.5, lw=1.6, label=label,
        )  # fmt: skip
    ax.axhline(0, color="0.6", lw=0.8, zorder=1)
    ax.set(xlabel="coefficients, sorted", ylabel="coefficient / largest size")
    title(ax, "Polynomial coefficients")
    ax.set_ylim(-1.08, 1.08)
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False)
