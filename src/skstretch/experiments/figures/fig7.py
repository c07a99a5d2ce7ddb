"""Fig. 7: sorted coefficients on the regression sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skstretch.experiments.figures.sorted_coefficients import coefficient_figure
from skstretch.experiments.figures.style import finish
from skstretch.experiments.figures.summary import REGRESSION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw", "figure"]


def figure(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The figure, not yet written."""
    text = (
        "SR without regularisation (c = 1e100): weights of the transformed features. LASSO: "
        "weights per standard deviation, at the penalty with the lowest error on the other half."
    )
    return coefficient_figure(curves, "fig7", REGRESSION, text)


def draw(results: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> Path:
    """Write ``fig7.png`` from `skstretch.experiments.coefficients.coefficient_curves`."""
    return finish(figure(results, curves), folder, "fig7")
