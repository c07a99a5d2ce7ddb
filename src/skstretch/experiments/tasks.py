"""One task of the plan, computed: what a worker process runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skstretch.experiments import study
from skstretch.experiments.cells import Unit
from skstretch.experiments.coefficients import coefficient_curves
from skstretch.experiments.compression import compression_curves
from skstretch.experiments.loaded import FIGURE as LOADED
from skstretch.experiments.loaded import loaded_sizes
from skstretch.experiments.madelon_features import feature_curves
from skstretch.experiments.measures import absolute_curves, contour_curves
from skstretch.experiments.memory import lasso_fits
from skstretch.experiments.plan import CurveTask
from skstretch.experiments.series import join
from skstretch.experiments.sets import load_set
from skstretch.experiments.settings import Settings
from skstretch.experiments.synthetic_one import output_curves, table_curves
from skstretch.experiments.synthetic_two import boundary_curves, repeated_counts

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
