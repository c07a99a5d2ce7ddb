"""Fig. 7 and 8: sorted coefficients, SR on the left and LASSO on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.evidence import (
    CLASSIFICATION,
    REGRESSION,
    dataset_title,
    datasets_in,
    without_standins,
)
from reproduction.figures.canvas import canvas, caption, pick, title
from skstretch import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 30  # features: each is drawn as a marker


def coefficient_figure(
    curves: pd.DataFrame, name: str, known: tuple[str, ...], text: str
) -> Figure:
    """One row of panels per data set."""
    rows = pick(curves, name)
    rows = rows.assign(
        dataset=rows["panel"].str.rsplit(": ", n=1).str[0],
        method=rows["panel"].str.rsplit(": ", n=1).str[1],
    )
    rows = without_standins(rows)
    sets = datasets_in(rows, known)
    fig, axes = canvas(len(sets), 2, size=(9.6, 2.5 * len(sets) + 0.7))
    missing = []
    absent = [w for w in known if not any(s.lower().startswith(w) for s in sets)]
    if absent:
        missing.append("all of " + ", ".join(map(dataset_title, absent)))
    for i, dataset in enumerate(sets):
        for ax, method in zip(axes[2 * i : 2 * i + 2], ("SR", "LASSO"), strict=True):
            part = rows[(rows["dataset"] == dataset) & (rows["method"] == method)]
            if part.empty:
                missing.append(f"{method} on {dataset_title(dataset)}")
            _panel(ax, part)
            title(ax, f"{dataset_title(dataset)}: {method}")
    for ax in axes[-2:]:
        ax.set_xlabel("coefficients, sorted")
    caption(fig, text, missing)
    return fig


def _panel(ax: Axes, part: pd.DataFrame) -> None:
    from matplotlib.ticker import StrMethodFormatter

    ax.set_ylabel("coefficient")
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if part.empty:
        ax.text(0.5, 0.5, "no rows", transform=ax.transAxes, ha="center", color=style.HINT)
        return
    few = part["x"].max() <= FEW
    if not few:
        ax.locator_params(axis="x", nbins=6)
    for line, (series, points) in zip(
        style.LINES, part.groupby("series", sort=False), strict=False
    ):
        label = f"{str(series).replace('=', ' = ')}{_how_sparse(points['y'])}"
        ax.plot(
            points["x"], points["y"], color=line.color, ls=line.dash, lw=1.4, label=label,
            marker=line.marker if few else "", ms=4,
        )  # fmt: skip
    ax.axhline(0, color=style.GUIDE, lw=0.8, zorder=1)
    ax.legend(fontsize=7.5, frameon=False, loc="upper left")


def _how_sparse(values: pd.Series) -> str:
    """How many coefficients carry the weight, in words; of a handful only those that are zero."""
    size, nonzero = len(values), int((values != 0).sum())
    if size <= FEW:
        return "" if nonzero == size else f": {nonzero} of {size} not zero"
    strong = int((values.abs() >= 0.1 * values.abs().max()).sum())
    return f"\n{nonzero:,} of {size:,} not zero\n{strong:,} reach 10 % of the largest"


def fig7(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig7, not yet written."""
    text = (
        "SR without regularisation (c = 1e100): weights of the transformed features. LASSO: "
        "weights per standard deviation, at the penalty with the lowest error on the other half."
    )
    return coefficient_figure(curves, "fig7", REGRESSION, text)


def fig8(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The fig8, not yet written."""
    text = (
        "SR at k = 1.1 without regularisation (c = 1e100): weights of the transformed features. "
        "LASSO: weights per standard deviation, at the penalty with the lowest error on the other "
        "half."
    )
    return coefficient_figure(curves, "fig8", CLASSIFICATION, text)
