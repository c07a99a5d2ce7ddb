"""The box of numbers at the foot of a report."""

import platform
import re
from importlib import metadata
from typing import Any

import numpy as np

from skstretch.core.density import keep_count
from skstretch.report.fingerprint import fingerprint
from skstretch.report.measure import best_error
from skstretch.report.subject import Subject
from skstretch.report.words import count, number, plain, short

# what scikit-learn's splitters call themselves
SPLITTERS = {
    r"KFold\(n_splits=(\d+)": "exact {} folds",
    r"StratifiedKFold\(n_splits=(\d+)": "exact {} folds, by class",
    r"GroupKFold\(n_splits=(\d+)": "exact {} folds of whole groups",
    r"LeaveOneOut\(": "exact leave-one-out",
    r"LeaveOneGroupOut\(": "exact leave-one-group-out",
}
PACKAGES = ("skstretch", "numpy", "scipy", "scikit-learn", "altair", "vl-convert-python")


def numbers_of(subject: Subject) -> list[tuple[str, str]]:
    """Names and values, all as text."""
    model, (n, D) = subject.model, subject.shape
    cell = subject.cell
    rows = [
        ("model", type(model).__name__),
        ("data", f"{count(n, 'sample')} × {count(D, 'feature')}"),
        ("fingerprint of the data", _fingerprint(subject)),
        *_transform(model, cell),
        ("c", number(cell["c"], 4)),
        ("density", _density(cell["density"])),
        ("degrees of freedom", _joined(model.dof_)),
        ("space", str(model.space_)),
        ("solver", ", ".join(dict.fromkeys(map(str, np.atleast_1d(model.solver_))))),
        ("condition number", _joined(1.0 / np.maximum(np.atleast_1d(model.rcond_), 1e-300))),
        *_search_rows(subject),
    ]
    if subject.seconds is not None:
        rows.append(("time of the fit", f"{number(subject.seconds)} s"))
    return [*rows, ("versions", _versions())]


def _transform(model: Any, cell: dict[str, Any]) -> list[tuple[str, str]]:
    if model.quadrant == "identity":
        return [("a", "not used: features as they are"), ("k", plain(cell["k"]))]
    if cell["a"] == 0:
        return [("a", "0, the linear limit"), ("k", "not used at a = 0")]
    return [("a", plain(cell["a"])), ("k", plain(cell["k"]))]


def _search_rows(subject: Subject) -> list[tuple[str, str]]:
    model = subject.model
    if not subject.searched:
        return [("search", "none: the parameters were given")]
    usable = int(model.cv_results_["usable"].sum())
    total = len(model.cv_results_["usable"])
    return [
        ("search", f"{count(total, 'cell')}, {usable} of them usable"),
        ("cross-validated", best_error(subject)),
        ("rule", str(model.rule)),
        ("cross-validation", _cv(model, subject.shape[1])),
        ("scoring", _scoring(model)),
    ]


def _scoring(model: Any) -> str:
    absent = getattr(model, "not_stored_", {}).get("scoring", "default")
    return short(absent if model.scoring is None else model.scoring)


def _cv(model: Any, n_features: int) -> str:
    """The folds in words; of a loaded model those of its fit, which a file holds as text."""
    if model.cv is None and "cv" not in getattr(model, "not_stored_", {}):
        densities = model.cv_results_["param_density"]
        selects = any(keep_count(density, n_features) < n_features for density in densities)
        return "exact ten folds" if selects else "exact leave-one-out"
    if isinstance(model.cv, int):
        return f"exact {model.cv} folds"
    text = repr(model.cv) if model.cv is not None else model.not_stored_["cv"]
    for pattern, words in SPLITTERS.items():
        if found := re.match(pattern, text):
            return words.format(*found.groups())
    return short(text)


def _density(density: Any) -> str:
    if isinstance(density, int | np.integer):
        return f"{count(int(density), 'feature')} kept"
    return "1 (all features)" if density == 1 else f"{plain(density)} of the features kept"


def _joined(values: Any) -> str:
    return ", ".join(number(v) for v in np.atleast_1d(values)[:5])


def _fingerprint(subject: Subject) -> str:
    if subject.X is None:
        return "not taken: the data were not at hand"
    if hasattr(subject.X, "dask"):
        return "not taken: the data are not in memory"
    return fingerprint(subject.X, subject.y)


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
