"""The runs on real data: every cell of a unit fitted, timed and tested on the other half."""

from __future__ import annotations

import platform
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

import skstretch
from reproduction.descent import descend, fit_descent
from reproduction.lasso import LinearPath, fit_lasso, search_lasso
from reproduction.sets import SETS, load_set, take_rows
from reproduction.settings import ORACLE, Cell, Settings, Unit
from skstretch import RandomNetwork, StretchyRegressor


def balanced_error_rate(y: NDArray[Any], outputs: NDArray[Any]) -> float:
    """Mean of the error rates of the classes −1 and +1; an output above zero is class +1."""
    positive = outputs > 0
    return float((np.mean(~positive[y > 0]) + np.mean(positive[y < 0])) / 2)


def mean_squared_error(y: NDArray[Any], outputs: NDArray[Any]) -> float:
    """Mean of (y − output)²."""
    return float(np.mean((y - outputs) ** 2))


def root_mean_squared_error(y: NDArray[Any], outputs: NDArray[Any]) -> float:
    """Root of the mean of (y − output)²."""
    return float(np.sqrt(mean_squared_error(y, outputs)))


ERRORS: dict[str, Callable[[NDArray[Any], NDArray[Any]], float]] = {
    "mse": mean_squared_error,
    "rmse": root_mean_squared_error,
    "ber": balanced_error_rate,
}


class Timed(NamedTuple):
    """A result, and the seconds of processor and of clock that it took."""

    value: Any
    cpu: float
    wall: float


def timed(action: Callable[..., Any], *arguments: Any, **options: Any) -> Timed:
    """Call the action; the processor time is that of this process, all threads together."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = action(*arguments, **options)
    return Timed(value, time.process_time() - cpu, time.perf_counter() - wall)


def fit_stretchy(
    X: Any, y: NDArray[Any], k: float, c: float, density: float, *, a: float, quadrant: str
) -> StretchyRegressor:
    """SR as in the paper: a column of ones, z-scores mapped by exp(a z), two passes by density.

    Classes are regressed as ±1 and cut at zero. This is `StretchyClassifier` with
    ``threshold="zero"`` without its probabilities, which the paper's training time has not.
    """
    model = StretchyRegressor(
        k=k, c=c, a=a, quadrant=quadrant, density=density, fit_intercept="column"
    )
    with warnings.catch_warnings():
        # Loss of digits is part of what is measured: c = 1e100 leaves no regularisation.
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y)


def relevant_features(X: NDArray[Any], y: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The features with the largest |x_j'y|: the dot products of the columns with the target.

    The columns are centred, which changes nothing where both classes are equally frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.study import relevant_features
    >>> X = np.array([[5.0, 0.0, 1.0], [5.0, 3.0, 0.0]])
    >>> relevant_features(X, np.array([-1.0, 1.0]), 2).tolist()
    [1, 2]
    """
    products = np.abs((X - X.mean(axis=0)).T @ y)
    return np.argsort(-products, kind="stable")[:count]


@dataclass(frozen=True)
class ProjectionNetwork:
    """Chosen features, random units, and the stretchy regression on their outputs."""

    features: NDArray[np.intp]
    network: RandomNetwork
    model: StretchyRegressor

    @property
    def coef(self) -> NDArray[Any]:
        """Weights of the units."""
        return np.asarray(self.model.alpha_)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Outputs for new data; above zero is class +1."""
        return np.asarray(self.model.predict(self.network.transform(X[:, self.features])))


def fit_projection(
    X: NDArray[Any], y: NDArray[Any], size: int, count: int, *, k: float, c: float, seed: int
) -> ProjectionNetwork:
    """Choose `count` features on the training data, project them to `size` units, fit SR."""
    features = relevant_features(X, y, count)
    network = RandomNetwork(size, random_state=seed).fit(X[:, features])
    model = StretchyRegressor(k=k, c=c, quadrant="identity", fit_intercept="column")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(network.transform(X[:, features]), y)
    return ProjectionNetwork(features, network, model)


PACKAGES = ("numpy", "scipy", "scikit-learn", "python-glmnet")


@lru_cache(maxsize=1)
def versions() -> str:
    """Versions of Python and of the packages that compute, in one word each."""
    found = [f"skstretch={skstretch.__version__}", f"python={platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package}={version(package)}")
        except PackageNotFoundError:
            continue
    return " ".join(found)


@lru_cache(maxsize=1)
def code_version() -> str:
    """The commit that holds this package, with ``+`` where files differ; else its version."""
    source = Path(skstretch.__file__)
    try:
        _git(source.parent, "ls-files", "--error-unmatch", source.name)
        commit = _git(source.parent, "rev-parse", "--short=12", "HEAD")
        changed = _git(source.parent, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return f"v{skstretch.__version__}"
    return commit + ("+" if changed else "")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


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
        yield cell, fit._replace(value=Predictor(fit.value.alpha_, fit.value.predict))


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


def _descended(unit: Unit, data: Halves, settings: Settings) -> Measured:
    """As by glmnet: the model of least training error, or the one that a search finds."""
    search = (settings.searched_counts, settings.search_folds, settings.seed + unit.trial)
    for cell in unit.cells:
        if cell.method == "LASSOCV":
            yield cell, timed(search_lasso, data.X, data.y, cell.mixing, *search, solve=descend)
            continue
        count = int(cell.method.removeprefix("LASSO"))
        fit = timed(fit_descent, data.X, data.y, cell.mixing, count)
        best = int(np.argmin(fit.value.errors(data.X, data.y)))
        yield cell, fit._replace(value=fit.value.at(best))


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
    "DESCENT": _descended,
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
