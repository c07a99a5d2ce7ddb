"""The data sets of the study: what they are, how they are loaded, which error is taken."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skstretch import datasets
from skstretch.experiments.maps import scratch_folder

__all__ = ["DEFAULT", "SETS", "STANDINS", "Sample", "StudySet", "choose_sets", "load_set"]


class Sample(NamedTuple):
    """Features (dense, CSR or a memory map) and target of a data set.

    `split` is 0 for training and 1 for validation rows, None where the set has no such parts.
    """

    X: Any
    y: NDArray[np.float64]
    split: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class StudySet:
    """A data set of the study.

    Attributes
    ----------
    name, title : str
        How it is named on the command line and on the page.
    task : {"regression", "classification"}
    load : callable
        Returns a `Bunch` with `data` and `target`.
    measure : {"mse", "rmse", "ber"}
        The paper's error on it.
    quadrant : {"exp", "identity"}
        Whether SR transforms the features.
    large : bool
        Whether SR runs only the settings that the paper shows.
    standin : bool
        Whether it is generated in place of a set that is hard to get.
    """

    name: str
    title: str
    task: str
    load: Callable[[], Any]
    measure: str
    quadrant: str = "exp"
    large: bool = False
    standin: bool = False


def _gaze_standin() -> Any:
    """Of the full shape: a map of grey levels 0..255, 2.4 GB that are freed with it."""
    with scratch_folder() as folder:
        return datasets.make_gaze_standin(Path(folder) / "gaze.npy")


_ALL = (
    StudySet("prostate", "Prostate", "regression", datasets.fetch_prostate, "mse"),
    StudySet("diabetes", "Diabetes", "regression", datasets.fetch_diabetes, "mse"),
    StudySet("corn", "Corn", "regression", datasets.fetch_corn, "rmse"),
    StudySet("tfidf", "TFIDF", "regression", datasets.fetch_tfidf, "mse", large=True),
    StudySet("gaze", "Gaze", "regression", datasets.fetch_gaze, "mse", "identity", large=True),
    StudySet("arcene", "Arcene", "classification", datasets.fetch_arcene, "ber"),
    StudySet("dexter", "Dexter", "classification", datasets.fetch_dexter, "ber"),
    StudySet("dorothea", "Dorothea", "classification", datasets.fetch_dorothea, "ber"),
    StudySet("gisette", "Gisette", "classification", datasets.fetch_gisette, "ber", large=True),
    StudySet("madelon", "Madelon", "classification", datasets.fetch_madelon, "ber"),
    StudySet(
        "tfidf-standin", "TFIDF (stand-in)", "regression", datasets.make_tfidf_standin, "mse",
        large=True, standin=True,
    ),
    StudySet(
        "gaze-standin", "Gaze (stand-in)", "regression", _gaze_standin, "mse", "identity",
        large=True, standin=True,
    ),
    StudySet(
        "gisette-standin", "Gisette (stand-in)", "classification", datasets.make_gisette_standin,
        "ber", large=True, standin=True,
    ),
)  # fmt: skip
SETS = {entry.name: entry for entry in _ALL}
DEFAULT = ("prostate", "diabetes", "corn", "arcene", "dexter", "madelon", "dorothea")
STANDINS = tuple(name for name, entry in SETS.items() if entry.standin)


def choose_sets(names: Iterable[str]) -> list[StudySet]:
    """The sets of these names, each once; an unknown one is an error that says the nearest."""
    return [SETS[checked_name(name, SETS, "data set")] for name in dict.fromkeys(names)]


def checked_name(name: str, known: Iterable[str], noun: str) -> str:
    """The name, or an error with the nearest known one and the whole list."""
    known = list(known)
    if name in known:
        return name
    near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"unknown {noun} {name!r}.{hint} Choose from {', '.join(known)}.")


@lru_cache(maxsize=2)
def load_set(name: str, sparse: bool) -> Sample:
    """The last two sets are kept. Sparse features stay sparse or become an array; a map stays."""
    bunch = SETS[name].load()
    X, y = bunch.data, np.asarray(bunch.target, dtype=np.float64)
    if hasattr(X, "toarray"):
        X = X.astype(np.float64) if sparse else X.toarray().astype(np.float64)
    return Sample(X, y, bunch.get("split"))
