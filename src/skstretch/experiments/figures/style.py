"""One look for all figures, without pyplot and without touching matplotlib's settings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skstretch.io import files as atomic

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "LINES",
    "Line",
    "canvas",
    "caption",
    "finish",
    "legend_above",
    "pick",
    "save",
    "title",
]

SMALL, NORMAL = 8.5, 10.0
DPI = 160


@dataclass(frozen=True)
class Line:
    """How a series looks: told apart by dashes and marker even where the colour is lost."""

    color: str
    dash: Any = "-"
    marker: str = ""

    @property
    def kwargs(self) -> dict[str, Any]:
        """For `Axes.plot` and `Axes.errorbar`."""
        return {
            "color": self.color,
            "linestyle": self.dash,
            "marker": self.marker,
            "markersize": 4.5,
            "linewidth": 1.4,
            "markeredgecolor": self.color,
        }


# Colours after Okabe and Ito, ordered so that their greys differ as well.
LINES = (
    Line("#000000", "-", "o"),
    Line("#0072b2", "-", "s"),
    Line("#d55e00", (0, (5, 2)), "^"),
    Line("#009e73", "-.", "D"),
    Line("#cc79a7", (0, (1, 1.3)), "v"),
    Line("#e69f00", (0, (3, 1, 1, 1, 1, 1)), "P"),
    Line("#56b4e9", (0, (7, 1.5)), "X"),
)


def canvas(
    n_rows: int = 1, n_columns: int = 1, size: tuple[float, float] = (6.4, 4.0)
) -> tuple[Figure, list[Axes]]:
    """A figure of `size` inches with a grid of dressed axes, row by row."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib: pip install 'skstretch[experiments]'."
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())
    for ax in axes:
        dress(ax)
    return figure, axes


def dress(ax: Axes) -> None:
    """Light grid behind the data, no frame above and to the right, small tick labels."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", labelsize=SMALL)
    ax.xaxis.label.set_fontsize(NORMAL)
    ax.yaxis.label.set_fontsize(NORMAL)


def title(ax: Axes, text: str) -> None:
    """A title above the axes, of the size of the labels."""
    ax.set_title(text, fontsize=NORMAL)


def legend_above(figure: Figure, handles: Sequence[Any], labels: Sequence[str], n: int) -> None:
    """One legend for all panels, in `n` columns above them."""
    figure.legend(
        handles, labels, loc="outside upper center", ncols=n, frameon=False, fontsize=SMALL
    )


def caption(figure: Figure, text: str, missing: Sequence[str] = ()) -> None:
    """The caption below the figure, with what the tables do not hold named at its end."""
    if missing:
        text = f"{text} Not in the tables: {'; '.join(missing)}."
    width = int(figure.get_figwidth() * 15.3)
    figure.supxlabel("\n".join(textwrap.wrap(text, width)), fontsize=SMALL, x=0.01, ha="left")


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


def finish(figure: Figure, folder: Path, name: str) -> Path:
    """Write the figure as ``<name>.png`` in `folder`, whole or not at all."""
    return save(figure, Path(folder) / f"{name}.png")


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(path) as file:
        # No version of the drawing library in the file: the same table gives the same bytes.
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    return path
