"""The data sets of the study: how they are loaded, which error is taken, how large they are."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.files import join, series
from reproduction.standins import make_gaze_standin, make_gisette_standin, make_tfidf_standin
from skstretch import datasets
from skstretch.datasets import list_datasets

if TYPE_CHECKING:
    import pandas as pd


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for maps that are used under no name.

    A map outlives the name of its file, and its bytes are freed with it, even when the process is
    killed. Windows keeps the name of a mapped file; there the file stays in the temporary folder.
    """
    return tempfile.TemporaryDirectory(prefix="skstretch-", ignore_cleanup_errors=True)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """``X[rows]``; rows of a memory map go into a map of their own, one at a time."""
    if not isinstance(X, np.memmap):
        return X[rows]
    with scratch_folder() as folder:
        path = Path(folder) / "rows.npy"
        shape = (len(rows), *X.shape[1:])
        part = np.lib.format.open_memmap(path, mode="w+", dtype=X.dtype, shape=shape)
        for place, row in enumerate(rows):
            part[place] = X[row]
        part.flush()
        del part
        return np.load(path, mmap_mode="r")


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
        return make_gaze_standin(Path(folder) / "gaze.npy")


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
        "tfidf-standin", "TFIDF (stand-in)", "regression", make_tfidf_standin, "mse",
        large=True, standin=True,
    ),
    StudySet(
        "gaze-standin", "Gaze (stand-in)", "regression", _gaze_standin, "mse", "identity",
        large=True, standin=True,
    ),
    StudySet(
        "gisette-standin", "Gisette (stand-in)", "classification", make_gisette_standin,
        "ber", large=True, standin=True,
    ),
)  # fmt: skip
SETS = {entry.name: entry for entry in _ALL}
UNITS = {"mse": "MSE", "rmse": "√MSE", "ber": "BER"}  # by measure
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


# A half as float64: what is handed over, glmnet's own copy, and one to standardise.
COPIES = 3
UNKNOWN = 16 * 2**30


def lasso_bytes(dataset: str) -> int:
    """Bytes that glmnet takes for half of a data set, by its sizes in the registry.

    Sparse features stay sparse and count as nothing here.

    Examples
    --------
    >>> from reproduction.sets import lasso_bytes
    >>> round(lasso_bytes("gaze") / 1e9, 1), lasso_bytes("dexter")
    (28.2, 0)
    """
    row = next(row for row in list_datasets() if row["name"] == dataset)
    if "sparse" in row["kind"]:
        return 0
    return int(COPIES * 8 * row["samples"] // 2 * row["features"])


def memory_bytes() -> int:
    """The memory of this machine; 16 GB where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def lasso_fits(dataset: str) -> bool:
    """Whether LASSO can be run on the set here."""
    return lasso_bytes(dataset) <= memory_bytes()


LOADED = "datasets"
ROWS = 50  # of a dense array that are counted at a time


def panel_of(dataset: str) -> str:
    """The panel of the file of curves that holds the sizes of a data set."""
    return f"{dataset}: loaded"


def loaded_sizes(dataset: str) -> pd.DataFrame:
    """Samples, features, share of non-zeros; for classes their sizes and those of the parts.

    Figure ``datasets``, panel ``<dataset>: loaded``, one series per number with x = 0.
    """
    X, y, split = load_set(dataset, True)
    sizes: dict[str, float] = {
        "samples": X.shape[0],
        "features": X.shape[1],
        "nonzero share": nonzero_share(X),
    }
    if SETS[dataset].task == "classification":
        sizes |= {f"class {value:+g}": int(np.sum(y == value)) for value in np.unique(y)}
    if split is not None:
        sizes |= {"train": int(np.sum(split == 0)), "valid": int(np.sum(split == 1))}
    panel = panel_of(dataset)
    return join([series(LOADED, panel, name, 0.0, size) for name, size in sizes.items()])


def nonzero_share(X: Any) -> float:
    """Share of the values that are not zero.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.sets import nonzero_share
    >>> nonzero_share(np.array([[0, 1], [2, 3]]))
    0.75
    """
    if hasattr(X, "count_nonzero"):
        count = X.count_nonzero()
    else:
        count = sum(
            np.count_nonzero(X[start : start + ROWS]) for start in range(0, X.shape[0], ROWS)
        )
    return float(count / (X.shape[0] * X.shape[1]))
