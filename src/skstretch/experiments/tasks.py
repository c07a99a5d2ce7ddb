"""One task of the plan, computed: what a worker process runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import study
from .cells import Unit
from .coefficients import coefficient_curves
from .compression import compression_curves
from .loaded import FIGURE as LOADED
from .loaded import loaded_sizes
from .madelon_features import feature_curves
from .measures import absolute_curves, contour_curves
from .memory import lasso_fits
from .plan import CurveTask
from .series import join
from .sets import load_set
from .settings import Settings
from .synthetic_one import output_curves, table_curves
from .synthetic_two import boundary_curves, repeated_counts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compute"]


def compute(task: Unit | CurveTask, settings: Settings) -> Any:
    """Rows of a unit, or the table of a curve task."""
    if isinstance(task, Unit):
        return study.run_unit(task, settings)
    return _curves(task, settings)


def _curves(task: CurveTask, settings: Settings) -> pd.DataFrame:
    if task.dataset:
        return _of_dataset(task, settings)
    seed = settings.seed
    tables = {
        "table1": lambda: table_curves(seed),
        "fig1": absolute_curves,
        "fig2": contour_curves,
        "fig3": lambda: feature_curves(load_set("madelon", False).X, a=settings.a, seed=seed),
        "fig4": lambda: output_curves(seed),
        "fig5": lambda: _boundaries("fig5", settings),
        "fig6": lambda: _boundaries("fig6", settings),
    }
    return tables[task.figure]()


def _boundaries(figure: str, settings: Settings) -> pd.DataFrame:
    others = repeated_counts(settings.other_draws)
    return join([boundary_curves(figure, settings.seed), others[others["figure"] == figure]])


def _of_dataset(task: CurveTask, settings: Settings) -> pd.DataFrame:
    if task.figure == LOADED:
        return loaded_sizes(task.dataset)
    if task.figure == "compression":
        half = study.halves(task.dataset, 0, 0, settings, sparse=study.SPARSE)
        return compression_curves(task.dataset, half.X, half.y, settings)
    X, y, _ = load_set(task.dataset, True)
    methods = ("SR", "LASSO") if lasso_fits(task.dataset) else ("SR",)
    return coefficient_curves(task.dataset, X, y, seed=settings.seed, methods=methods)
