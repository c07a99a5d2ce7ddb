"""The figures, each drawn from the two tables of a run alone.

A figure is a function of results and curves that returns a matplotlib figure, not yet written.
What the tables do not hold is named in the caption; a figure with nothing to show is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.figures.canvas import save
from reproduction.figures.coefficients import fig7, fig8
from reproduction.figures.errors import fig9, fig10, fig11, projection
from reproduction.figures.examples import fig1, fig2, fig3, fig4, fig5, fig6
from reproduction.figures.ranks import fig12

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig1": fig1,
    "fig2": fig2,
    "fig3": fig3,
    "fig4": fig4,
    "fig5": fig5,
    "fig6": fig6,
    "fig7": fig7,
    "fig8": fig8,
    "fig9": fig9,
    "fig10": fig10,
    "fig11": fig11,
    "fig12": fig12,
    "projection": projection,
}


def draw(name: str, results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write one figure as ``<name>.png`` in `folder`, whole or not at all."""
    return save(FIGURES[name](results, curves), Path(folder) / f"{name}.png")


def draw_all(
    names: Iterable[str], results: pd.DataFrame, curves: pd.DataFrame, folder: Path
) -> tuple[dict[str, Path], dict[str, str]]:
    """Draw those of the named figures that the tables allow.

    Returns
    -------
    drawn : dict of str to Path
        The files by figure.
    missing : dict of str to str
        Why a figure could not be drawn.
    """
    drawn, missing = {}, {}
    for name in names:
        try:
            drawn[name] = draw(name, results, curves, folder)
        except ValueError as error:
            missing[name] = str(error)
    return drawn, missing
