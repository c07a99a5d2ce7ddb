"""Fig. 9: error and CPU of SR and LASSO on the regression sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.accuracy import accuracy_figure
from skstretch.experiments.figures.style import finish
from skstretch.experiments.figures.summary import REGRESSION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    return accuracy_figure(results, ("mse", "rmse"), REGRESSION, "fig9")


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig9.png`` from the table of results."""
    return finish(figure(results, curves), folder, "fig9")
