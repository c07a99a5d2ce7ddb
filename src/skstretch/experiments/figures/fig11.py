"""Fig. 11: the effect of c at k = 1.25."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.accuracy import UNITS
from skstretch.experiments.figures.broken_axis import BrokenAxis
from skstretch.experiments.figures.style import LINES, canvas, caption, finish, title
from skstretch.experiments.figures.summary import (
    CLASSIFICATION,
    REGRESSION,
    dataset_title,
    datasets_in,
    errors_against_c,
    trial_words,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    table = errors_against_c(results)
    if table.empty:
        raise ValueError(
            "fig11: the table of results has no SR row at k = 1.25 with density 1; run the "
            "real-data study for at least one data set first."
        )
    axis = BrokenAxis(tuple(sorted(set(table["c"]))))
    fig, axes = canvas(1, 2, size=(9.6, 4.4))
    is_class = table["measure"] == "ber"
    _panel(axes[0], table[~is_class], REGRESSION, axis)
    _panel(axes[1], table[is_class], CLASSIFICATION, axis)
    title(axes[0], "Regression")
    title(axes[1], "Classification")
    axes[0].set_ylabel("error, log scale (MSE; √MSE where marked)")
    axes[1].set_ylabel("BER")
    there = datasets_in(table, REGRESSION + CLASSIFICATION)
    absent = [
        dataset_title(word)
        for word in REGRESSION + CLASSIFICATION
        if not any(name.lower().startswith(word) for name in there)
    ]
    caption(
        fig,
        f"SR1.0 at k = 1.25. {trial_words(table['trials'])} The axis of c is broken before 1e100, "
        "which leaves no regularisation.",
        ["all of " + ", ".join(absent)] if absent else (),
    )
    return fig


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig11.png`` from the table of results."""
    return finish(figure(results, curves), folder, "fig11")


def _panel(ax: Axes, table: pd.DataFrame, known: tuple[str, ...], axis: BrokenAxis) -> None:
    for line, dataset in zip(LINES, datasets_in(table, known), strict=False):
        part = axis.parted(table[table["dataset"] == dataset].sort_values("c"))
        unit = str(part["measure"].iloc[0])
        label = dataset_title(dataset) + (f" ({UNITS[unit]})" if unit == "rmse" else "")
        ax.errorbar(
            part["place"], part["mean"], part["std"].fillna(0.0), capsize=2, label=label,
            **line.kwargs,
        )  # fmt: skip
    if table.empty:
        ax.text(0.5, 0.5, "no rows", transform=ax.transAxes, ha="center", color="0.4")
    elif (table["measure"] != "ber").any():
        ax.set_yscale("log", nonpositive="clip")
    axis.draw(ax)
    ax.set_xlabel("c, log scale")
    if not table.empty:
        ax.legend(
            fontsize=8.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4
        )
