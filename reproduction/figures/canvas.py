"""Canvas, captions and files of all figures, without pyplot or changes to matplotlib's settings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduction.files import replacing
from skstretch import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def canvas(
    n_rows: int = 1, n_columns: int = 1, size: tuple[float, float] = (6.4, 4.0)
) -> tuple[Figure, list[Axes]]:
    """A figure of `size` inches with a grid of dressed axes, row by row."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install matplotlib.") from error
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())
    for ax in axes:
        dress(ax)
    return figure, axes


def dress(ax: Axes) -> None:
    """Light grid behind the data, no frame above and to the right, small tick labels."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=style.MESH, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", labelsize=style.SMALL)
    ax.xaxis.label.set_fontsize(style.NORMAL)
    ax.yaxis.label.set_fontsize(style.NORMAL)


def title(ax: Axes, text: str) -> None:
    """A title above the axes, of the size of the labels."""
    ax.set_title(text, fontsize=style.NORMAL)


def legend_above(figure: Figure, handles: Sequence[Any], labels: Sequence[str], n: int) -> None:
    """One legend for all panels, in `n` columns above them."""
    figure.legend(
        handles, labels, loc="outside upper center", ncols=n, frameon=False, fontsize=style.SMALL
    )


def caption(figure: Figure, text: str, missing: Sequence[str] = ()) -> None:
    """The caption below the figure, with what the tables do not hold named at its end."""
    if missing:
        text = f"{text} Not in the tables: {'; '.join(missing)}."
    width = int(figure.get_figwidth() * 15.3)
    figure.supxlabel("\n".join(textwrap.wrap(text, width)), fontsize=style.SMALL, x=0.01, ha="left")


def pick(curves: pd.DataFrame, figure: str) -> pd.DataFrame:
    """The rows of one figure; an error that says what to do where there are none."""
    rows = curves[curves["figure"] == figure]
    if rows.empty:
        there = sorted(set(curves["figure"])) or "none"
        raise ValueError(
            f"the table of curves has no rows of figure {figure!r} (it has: {there}); compute "
            "them first."
        )
    return rows


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        # No version of the drawing library in the file: the same table gives the same bytes.
        figure.savefig(file, format="png", dpi=style.DPI, metadata={"Software": None})
    return path
