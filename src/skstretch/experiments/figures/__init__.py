"""One module per figure; each draws from the two tables alone.

Every module has ``figure(results, curves)``, which returns the matplotlib figure, and
``draw(results, curves, folder)``, which writes it as a PNG and returns the path. What the tables
do not hold is named in the caption; a figure with nothing to show is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures import (
    fig1,
    fig2,
    fig3,
    fig4,
    fig5,
    fig6,
    fig7,
    fig8,
    fig9,
    fig10,
    fig11,
    fig12,
    projection,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIGURES", "draw_all"]

Draw = Callable[["pd.DataFrame", "pd.DataFrame", Path], Path]
FIGURES: dict[str, Draw] = {
    "fig1": fig1.draw,
    "fig2": fig2.draw,
    "fig3": fig3.draw,
    "fig4": fig4.draw,
    "fig5": fig5.draw,
    "fig6": fig6.draw,
    "fig7": fig7.draw,
    "fig8": fig8.draw,
    "fig9": fig9.draw,
    "fig10": fig10.draw,
    "fig11": fig11.draw,
    "fig12": fig12.draw,
    "projection": projection.draw,
}


def draw_all(
    results: pd.DataFrame, curves: pd.DataFrame, folder: Path
) -> tuple[dict[str, Path], dict[str, str]]:
    """Draw every figure that the tables allow.

    Returns
    -------
    drawn : dict of str to Path
        The files by figure.
    missing : dict of str to str
        Why a figure could not be drawn.
    """
    drawn, missing = {}, {}
    for name, draw in FIGURES.items():
        try:
            drawn[name] = draw(results, curves, folder)
        except ValueError as error:
            missing[name] = str(error)
    return drawn, missing
