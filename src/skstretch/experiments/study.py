"""The runs on real data: every cell of a unit fitted, timed and tested on the other half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from skstretch.experiments.cells import ORACLE, Cell, Unit
from skstretch.experiments.errors import ERRORS, Timed, timed
from skstretch.experiments.lasso import LinearPath, fit_lasso, search_lasso
from skstretch.experiments.maps import take_rows
from skstretch.experiments.metadata import code_version, versions
from skstretch.experiments.projection import fit_projection
from skstretch.experiments.sets import SETS, load_set
from skstretch.experiments.settings import Settings
from skstretch.experiments.stretchy_methods import fit_stretchy

__all__ = ["Halves", "halves", "run_unit", "warm_up"]

# Stretchy regression takes the sparse sets as they are; False hands it arrays.
SPARSE = True


class Halves(NamedTuple):
    """Training and test half of a data set."""

    X: Any
    y: NDArray[np.float64]
    X_test: Any
    y_test: NDArray[np.float64]


def halves(dataset: str, trial: int, fold: int, settings: Settings, *, sparse: bool) -> Halves:
    """One fold of one trial: seeded by the trial, stratified for classes."""
    X, y, _ = load_set(dataset, sparse)
    splitter = KFold if SETS[dataset].task == "regression" else StratifiedKFold
    folds = splitter(settings.folds, shuffle=True, random_state=settings.seed + trial)
    train, test = list(folds.split(np.zeros(len(y)), y))[fold]
    return Halves(take_rows(X, train), y[train], take_rows(X, test), y[test])


def run_unit(unit: Unit, settings: Settings) -> list[dict[str, Any]]:
    """Rows of all cells of the unit."""
    seed = settings.seed + unit.trial
    sparse = unit.family in ("LASSO", "LASSOCV") or SPARSE
    data = halves(unit.dataset, unit.trial, unit.fold, settings, sparse=sparse)
    entry = SETS[unit.dataset]
    common: dict[str, Any] = {
        "dataset": unit.dataset,
        "trial": unit.trial,
        "fold": unit.fold,
        "measure": entry.measure,
        "seed": seed,
        "versions": versions(),
        "commit": code_version(),
    }
    rows = []
    for cell, fit in MEASURED[unit.family](unit, data, settings):
        error = ERRORS[entry.measure](data.y_test, fit.value.predict(data.X_test))
        nonzero = int(np.count_nonzero(fit.value.coef))
        times = {"cpu": fit.cpu, "wall": fit.wall}
        rows.append({**common, **asdict(cell), "error": error, **times, "nonzero": nonzero})
    return rows


class Predictor(NamedTuple):
    """Coefficients, and outputs for new data."""

    coef: NDArray[Any]
    predict: Callable[[Any], NDArray[Any]]


Measured = Iterator[tuple[Cell, Timed]]


def _stretchy(unit: Unit, data: Halves, settings: Settings) -> Measured:
    options = {"a": settings.a, "quadrant": SETS[unit.dataset].quadrant}
    for cell in unit.cells:
        fit = timed(fit_stretchy, data.X, data.y, cell.k, cell.c, cell.density, **options)
        yield cell, fit._replace(value=Predictor(fit.value.coef_, fit.value.predict))


def _lasso(unit: Unit, data: Halves, settings: Settings) -> Measured:
    """Of a path the model of least training error; as oracle that of least test error."""
    paths: dict[tuple[str, float | None], Timed] = {}
    for cell in unit.cells:
        place = (cell.method, cell.mixing)
        if place not in paths:
            count = int(cell.method.removeprefix("LASSO"))
            paths[place] = timed(fit_lasso, data.X, data.y, cell.mixing, count)
        path: LinearPath = paths[place].value
        half = (data.X_test, data.y_test) if cell.piece == ORACLE else (data.X, data.y)
        best = int(np.argmin(path.errors(*half)))
        yield cell, paths[place]._replace(value=path.at(best))


def _searched(unit: Unit, data: Halves, settings: Settings) -> Measured:
    search = (settings.searched_counts, settings.search_folds, settings.seed + unit.trial)
    for cell in unit.cells:
        yield cell, timed(search_lasso, data.X, data.y, cell.mixing, *search)


def _projected(unit: Unit, data: Halves, settings: Settings) -> Measured:
    seed = settings.seed + 1000 * unit.trial + unit.fold
    count = settings.projected_features
    for cell in unit.cells:
        options = {"k": cell.k, "c": cell.c, "seed": seed}
        yield cell, timed(fit_projection, data.X, data.y, cell.size, count, **options)


MEASURED: dict[str, Callable[[Unit, Halves, Settings], Measured]] = {
    "SR": _stretchy,
    "LASSO": _lasso,
    "LASSOCV": _searched,
    "RPN": _projected,
}


def warm_up() -> None:
    """One small fit of each kind, so that first calls are in no measured time."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(1, 2, (20, 30)), np.tile([-1.0, 1.0], 10)
    fit_stretchy(X, y, 1.5, 1e2, 0.5, a=-0.2, quadrant="exp")
    fit_stretchy(X.T, np.tile(y, 2)[:30], 1.5, 1e2, 1.0, a=-0.2, quadrant="exp")
    try:
        fit_lasso(X, y, 0.5, 2)
    except ImportError:
        return
