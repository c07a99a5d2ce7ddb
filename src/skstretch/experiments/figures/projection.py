"""Madelon through a random projection network: BER and CPU against its size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.style import LINES, canvas, caption, finish, legend_above
from skstretch.experiments.figures.summary import placed, spread, trial_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    import pandas as pd

    rows = results[results["method"] == "RPN"]
    if rows.empty:
        raise ValueError(
            'projection: the table of results has no row of method "RPN"; run the Madelon '
            "projection study first."
        )
    rows = rows.assign(
        **{name: pd.to_numeric(rows[name]) for name in ("size", "k", "error", "cpu")}
    )
    fig, (left, right) = canvas(1, 2, size=(9.6, 4.2))
    table = spread(rows, ["k", "size"], "error")
    _lines(left, table)
    _lines(right, spread(rows, ["k", "size"], "cpu"))
    left.set_ylabel("BER")
    right.set_ylabel("training CPU (s), log scale")
    right.set_yscale("log", nonpositive="clip")
    missing = _plain_levels(left, results)
    left.set_ylim(0, None)
    legend_above(fig, *left.get_legend_handles_labels(), n=4)
    caption(
        fig,
        "Eight Madelon features with the largest dot product with the target, through a random "
        f"projection network. {trial_words(table['trials'])}",
        missing,
    )
    return fig


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``projection.png`` from the table of results."""
    return finish(figure(results, curves), folder, "projection")


def _lines(ax: Axes, table: pd.DataFrame) -> None:
    for line, (k, part) in zip(LINES, table.groupby("k", dropna=False), strict=False):
        label = "projection" if k != k else f"projection, k = {k:g}"
        ax.errorbar(
            part["size"], part["mean"], part["std"].fillna(0.0), capsize=2, label=label,
            **line.kwargs,
        )  # fmt: skip
    sizes = sorted(set(table["size"]))
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    ax.minorticks_off()
    ax.set_xlabel("network size")


def _plain_levels(ax: Axes, results: pd.DataFrame) -> list[str]:
    """The best mean BER of SR and of LASSO on Madelon as it is; what is missing of them."""
    rows = placed(results)
    rows = rows[rows["dataset"].str.lower().str.startswith("madelon")]
    missing = []
    for family, dash in (("SR", (0, (5, 2))), ("LASSO", (0, (1, 1.3)))):
        part = rows[rows["method"].str.startswith(family)]
        if part.empty:
            missing.append(f"{family} on Madelon without projection")
            continue
        best = spread(part, ["name", "place"], "error")["mean"].min()
        label = f"best {family} without projection: {best:.3f}"
        ax.axhline(best, color="0.35", linestyle=dash, label=label)
    return missing
