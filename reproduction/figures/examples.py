"""Fig. 1 to 6: measures, the transform, and the two synthetic examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reproduction.figures.canvas import (
    canvas,
    caption,
    legend_above,
    pick,
    title,
)
from skstretch import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def fig1(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig1, not yet written."""
    rows = pick(curves, "fig1")
    fig, (ax,) = canvas(size=(5.6, 4.0))
    for line, (name, part) in zip(style.LINES, rows.groupby("series", sort=False), strict=False):
        label = "|α|  (ε = 0)" if name == "eps=0" else f"ε = {str(name).removeprefix('eps=')}"
        ax.plot(part["x"], part["y"], color=line.color, linestyle=line.dash, label=label)
    ax.set_xlabel("coefficient α")
    ax.set_ylabel("f(α) = √(α² + ε)")
    ax.set_ylim(0, None)
    ax.legend(frameon=False, fontsize=style.SMALL, loc="lower left")
    caption(fig, "Smoothed absolute value: smooth at 0, and |α| in the limit ε → 0.")
    return fig


MEASURES = {
    "p-norm": "‖α‖ₚ, p",
    "k-measure": "k-measure, k",
    "k-measure to the k": "its k-th power, k",
}


def fig2(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig2, not yet written."""
    rows = pick(curves, "fig2")
    panels = dict(list(rows.groupby("panel", sort=False)))
    n_rows = -(-len(panels) // 3)
    fig, axes = canvas(n_rows, 3, size=(7.6, 2.6 * n_rows + 0.7))
    for ax, (panel, part) in zip(axes, panels.items(), strict=False):
        for line, (level, points) in zip(
            style.LINES, part.groupby("series", sort=False), strict=False
        ):
            ax.plot(
                points["x"], points["y"], color=line.color, linestyle=line.dash, label=str(level)
            )
        measure, k = str(panel).rsplit(", ", 1)
        title(ax, f"{MEASURES.get(measure, measure)} = {k}")
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


SHARE = 0.22  # of the axis that the highest density takes


def fig3(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig3, not yet written."""
    rows = pick(curves, "fig3")
    panels = list(rows.groupby("panel", sort=False))
    fig, axes = canvas(1, len(panels), size=(4.6 * len(panels), 4.4))
    linearity = []
    for ax, (panel, part) in zip(axes, panels, strict=True):
        of = {str(name): points for name, points in part.groupby("series")}
        _map_panel(ax, of)
        title(ax, f"Madelon, {panel}")
        if "linearity" in of:
            linearity.append(f"{of['linearity']['y'].iloc[0]:.3f}")
    axes[0].legend(frameon=False, fontsize=style.SMALL, loc="upper right")
    text = (
        "Line: the transform. Shaded: distributions before (below) and after (left), of the half "
        "that gave mean and scale and of the other half."
    )
    if linearity:
        text += f" Squared correlation of before and after: {', '.join(linearity)}."
    caption(fig, text)
    return fig


def _map_panel(ax: Axes, of: dict[str, pd.DataFrame]) -> None:
    line = of["map"]
    ax.plot(line["x"], line["y"], color="black", linewidth=1.6, label="exp(a z), a = −0.2")
    left, right = line["x"].min(), line["x"].max()
    low, high = line["y"].min(), line["y"].max()
    left -= SHARE * (right - left)
    low -= SHARE * (high - low)
    ax.set(xlim=(left, right), ylim=(low, high))
    looks: dict[str, dict[str, Any]] = {
        "training": {"color": style.BLUE, "alpha": 0.3, "linewidth": 0},
        "unseen": {"facecolor": "none", "edgecolor": style.VERMILION, "linewidth": 1.2},
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


# By kind of series, and whether it belongs to a noisy draw.
CURVE_LOOKS: dict[tuple[str, bool], dict[str, Any]] = {
    ("learned", True): {
        "label": "learned, noisy draws",
        "color": style.STEEL,
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
        "color": style.PALE,
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
        "color": style.VERMILION,
        "marker": "o",
        "linestyle": "",
        "markersize": 7,
        "fillstyle": "none",
        "markeredgewidth": 1.8,
        "zorder": 4,
    },
}


def fig4(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig4, not yet written."""
    rows = pick(curves, "fig4")
    panels = list(rows.groupby("panel", sort=False))
    fig, axes = canvas(1, len(panels), size=(4.4 * len(panels), 4.3))
    for ax, (panel, part) in zip(axes, panels, strict=True):
        _curve_panel(ax, part)
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


def _curve_panel(ax: Axes, part: pd.DataFrame) -> None:
    for name, points in part.groupby("series", sort=False):
        kind, _, draw = str(name).partition(", ")
        look = dict(CURVE_LOOKS[kind, bool(draw)])
        if draw not in ("", "draw 1"):
            look["label"] = None  # one entry in the legend for all draws
        ax.plot(points["x"], points["y"], **look)
    ax.set_xlabel("x")
    ax.set_ylabel("y")


FIT_LOOKS = {
    "linear": style.Line(style.GREY, "-"),
    "k=2": style.Line(style.BLUE, style.LONG),
    "k=1.1": style.Line(style.BLACK, "-"),
    "k=1.1, LU": style.Line(style.VERMILION, (0, (1, 1.2))),
}
FIT_NAMES = {"linear": "linear", "k=1.1, LU": "k=1.1, formula by LU"}


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
    for fit, look in FIT_LOOKS.items():
        if (line := of.get(f"boundary {fit}")) is None:
            continue
        errors = int(counts[f"errors {fit}"])
        label = f"{FIT_NAMES.get(fit, fit)}: {errors} error{'' if errors == 1 else 's'}"
        width = 1.2 if fit == "k=2" else 1.8
        ax.plot(line["x"], line["y"], color=look.color, ls=look.dash, lw=width, label=label)
    for sign, marker, fill in (("-1", "o", "white"), ("+1", "s", style.MARK)):
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
        look, largest = FIT_LOOKS[fit], points["y"].abs().max()
        strong, size = int(counts[f"strong {fit}"]), len(points)
        label = f"{fit}: {strong} of {size} reach 1 % of the largest, {largest:.3g}"
        few = "o" if size <= 30 else ""
        ax.plot(
            points["x"], points["y"] / largest, color=look.color, ls=look.dash, marker=few,
            ms=4.5, lw=1.6, label=label,
        )  # fmt: skip
    ax.axhline(0, color=style.GUIDE, lw=0.8, zorder=1)
    ax.set(xlabel="coefficients, sorted", ylabel="coefficient / largest size")
    title(ax, "Polynomial coefficients")
    ax.set_ylim(-1.08, 1.08)
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False)


def fig5(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig5, not yet written."""
    return boundary_figure(
        curves,
        "fig5",
        "20 points, 10 parameters, c = 1e100: more points than parameters. The points are ours, "
        "the paper prints none.",
    )


def fig6(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig6, not yet written."""
    rcond = curves[(curves["figure"] == "fig6") & (curves["series"] == "rcond k=1.1, LU")]["y"]
    text = (
        "20 points, 435 parameters, c = 1e100. In exact arithmetic every k passes through all "
        "points. The points are ours, the paper prints none."
    )
    if len(rcond):
        text += f" The formula by LU has a reciprocal condition number of {rcond.iloc[0]:.0e}."
    return boundary_figure(curves, "fig6", text)
