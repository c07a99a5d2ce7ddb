"""Out-of-fold outputs of every cell, by one more search that only listens."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skstretch.core.density import keep_count
from skstretch.core.types import Array
from skstretch.estimators import StretchyClassifierCV, StretchyRegressorCV
from skstretch.estimators.splits import make_folds
from skstretch.exceptions import GridEdgeWarning, IllConditionedWarning
from skstretch.report.subject import Subject


@dataclass(frozen=True)
class Foretold:
    """Out-of-fold outputs (n, t) by row of ``cv_results_``; `why` says why there are no more."""

    outputs: dict[int, Array]
    why: str = ""


def chosen_outputs(subject: Subject) -> Array | None:
    """Out-of-fold outputs (n, t) of the model itself; of a plain estimator they need X and y."""
    if subject.searched:
        return np.asarray(subject.model.cv_predictions_, dtype=float).reshape(subject.shape[0], -1)
    if subject.X is None:
        return None
    with quiet():
        again = _one_cell(subject).fit(subject.X, subject.y)
    return np.asarray(again.cv_predictions_, dtype=float).reshape(subject.shape[0], -1)


def all_outputs(subject: Subject) -> Foretold:
    """Out-of-fold outputs of all usable cells, if X and y give what the model remembers.

    The search is run again with a scorer that keeps what it is shown. Where the outputs of the
    chosen cell are not those of the fit, something that is not at hand took part in it (sample
    weights, groups, a random splitter, other data), and no other cell can be shown.
    """
    model, n = subject.model, subject.shape[0]
    kept: list[Array] = []
    usable = np.flatnonzero(model.cv_results_["usable"])
    winner = int(np.searchsorted(usable, model.best_index_))

    def listen(foretold: Any, X: Any, y: Any) -> float:
        ask = foretold.decision_function if subject.classifies else foretold.predict
        kept.append(np.asarray(ask(X), dtype=float).reshape(len(X), -1))
        return float(len(kept) - 1 == winner)

    try:
        _search_again(model, subject, listen)
        folds = _folds(subject)
        outputs = [folds.mean(values, n) for values in kept]
    except (ValueError, TypeError) as error:
        return Foretold({}, f"the search could not be run again ({error})")
    if len(outputs) != usable.size or not _alike(outputs[winner], chosen_outputs(subject)):
        return Foretold(
            {},
            "the data that were passed do not give the out-of-fold predictions that the model "
            "holds: it was fitted with sample weights, groups, random folds, or on other data",
        )
    return Foretold(dict(zip(usable.tolist(), outputs, strict=True)))


def _search_again(model: Any, subject: Subject, scorer: Callable[..., float]) -> None:
    again = clone(model).set_params(scoring=scorer, rule="best", verbose=0)
    if subject.classifies:
        again.set_params(threshold="zero")
    with quiet():
        again.fit(subject.X, subject.y)


def _folds(subject: Subject) -> Any:
    n, D = subject.shape
    densities = subject.model.cv_results_["param_density"]
    compressed = any(keep_count(density, D) < D for density in densities)
    rows = np.arange(n)
    return make_folds(
        subject.model.cv,
        np.zeros((n, 1)),
        np.asarray(subject.y),
        rows,
        classifier=subject.classifies,
        compressed=compressed,
    )


def _one_cell(subject: Subject) -> Any:
    """The search estimator with the one cell of a plain estimator."""
    cls: Any = StretchyClassifierCV if subject.classifies else StretchyRegressorCV
    given, known = subject.model.get_params(), cls().get_params()
    grids = {f"{name}_grid": [value] for name, value in subject.cell.items()}
    return cls(**{name: value for name, value in given.items() if name in known}, **grids)


def _alike(first: Array, second: Array | None) -> bool:
    """Equal but for rounding; NaN in the same places."""
    if second is None or first.shape != second.shape:
        return False
    size = np.nanmax(np.abs(second), initial=0.0)
    return bool(np.allclose(first, second, rtol=0, atol=1e-5 * size, equal_nan=True))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that the fit itself has given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        warnings.simplefilter("ignore", IllConditionedWarning)
        yield
