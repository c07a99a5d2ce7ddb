"""The data sets of the arena as named tasks.

The folder is named by the environment variable ``SKSTRETCH_DATA``. Fixed rules, so that a
task is the same in every run:

- of a set with several targets the first three are used;
- rows whose target is NaN are left out, for that target only;
- a set of more than 2,000 rows is cut to a seeded sample of 2,000, stratified for classes;
- columns of a sparse set that are zero in all its rows are dropped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

MAX_ROWS = 2_000
MAX_TARGETS = 3
MAX_DENSE_BYTES = 1e9
SEED = 0

# Cheapest first, so that an interrupted run leaves the most complete sets.
REGRESSION = (
    *("prostate", "pyrim", "nutrimouse", "diabetes", "triazines", "eyedata", "fermentation"),
    *("wheat_kernels", "pac", "cookie", "corn_m5", "corn_mp5", "corn_mp6", "riboflavin"),
    "nirsoil",
)
CLASSIFICATION = (
    *("lymphoma", "colon", "allaml", "arcene", "dexter"),
    *("basehock", "madelon", "dorothea", "news20"),
)
SPARSE = frozenset({"dexter", "dorothea", "basehock", "news20"})
# Raw intensities over four decades: their logarithm is the usual scale.
LOGARITHMIC = frozenset({"colon"})
KINDS = dict.fromkeys(REGRESSION, "regression") | dict.fromkeys(CLASSIFICATION, "classification")

Matrix = NDArray[np.float64] | sparse.csr_array


@dataclass(frozen=True)
class Task:
    """One data set: features, and one or more targets that share them.

    Attributes
    ----------
    name : str
    kind : {"regression", "classification"}
    X : ndarray or csr_array of shape (n_samples, n_features)
    targets : dict of str to ndarray of shape (n_samples,)
        Regression targets may have NaN.
    """

    name: str
    kind: str
    X: Matrix
    targets: dict[str, NDArray]

    @property
    def is_sparse(self) -> bool:
        """Whether X is stored as CSR."""
        return sparse.issparse(self.X)

    def rows(self, target: str) -> tuple[Matrix, NDArray]:
        """X and y of the rows whose target is known."""
        y = self.targets[target]
        known = ~np.isnan(y) if y.dtype.kind == "f" else np.ones(len(y), dtype=bool)
        return (self.X, y) if known.all() else (self.X[known], y[known])

    def densified(self) -> Task | None:
        """The task with a dense X, or None where that would take 1 GB or more."""
        if not self.is_sparse:
            return self
        if 8 * self.X.shape[0] * self.X.shape[1] >= MAX_DENSE_BYTES:
            return None
        return Task(self.name, self.kind, self.X.toarray(), self.targets)


def data_folder() -> Path:
    """The folder that ``SKSTRETCH_DATA`` names."""
    folder = Path(os.environ.get("SKSTRETCH_DATA", ""))
    if "SKSTRETCH_DATA" not in os.environ or not folder.is_dir():
        raise FileNotFoundError(
            f"SKSTRETCH_DATA is {os.environ.get('SKSTRETCH_DATA')!r}, which is no folder; set it "
            "to the folder that holds the data files (prostate.npz and so on)."
        )
    return folder


def available_tasks() -> list[str]:
    """Names of the tasks whose files are in the data folder, cheapest first."""
    folder = data_folder()
    return [name for name in KINDS if (folder / _file_name(name)).exists()]


def load_task(name: str) -> Task:
    """Read one task by name."""
    if name not in KINDS:
        raise ValueError(f"unknown task {name!r}; choose from {', '.join(KINDS)}.")
    read = _read_sparse if name in SPARSE else _read_dense
    X, y, target_names = read(name)
    kind = KINDS[name]
    X, y = _sample(X, y, stratify=kind == "classification")
    if name in LOGARITHMIC:
        X = np.log(X)
    if name in SPARSE:
        X = X[:, np.unique(X.indices)]
    if kind == "classification":
        return Task(name, kind, X, {"class": y.astype(np.int64)})
    columns = y.reshape(len(y), -1).T[:MAX_TARGETS].astype(np.float64)
    labels = [str(label) for label in target_names] or ["y"]
    return Task(name, kind, X, dict(zip(labels[: len(columns)], columns, strict=True)))


def _file_name(name: str) -> str:
    return f"{name}_X.npz" if name in SPARSE else f"{name}.npz"


def _read_dense(name: str) -> tuple[NDArray[np.float64], NDArray, NDArray]:
    with np.load(data_folder() / _file_name(name)) as file:
        labels = file["target_names"] if "target_names" in file else np.array([])
        return file["X"].astype(np.float64), file["y"], labels


def _read_sparse(name: str) -> tuple[sparse.csr_array, NDArray, NDArray]:
    folder = data_folder()
    X = sparse.csr_array(sparse.load_npz(folder / _file_name(name)), dtype=np.float64)
    X.eliminate_zeros()
    return X, np.load(folder / f"{name}_y.npy"), np.array([])


def _sample(X: Matrix, y: NDArray, *, stratify: bool) -> tuple[Matrix, NDArray]:
    if len(y) <= MAX_ROWS:
        return X, y
    kept, _ = train_test_split(
        np.arange(len(y)),
        train_size=MAX_ROWS,
        random_state=SEED,
        stratify=y if stratify else None,
    )
    kept = np.sort(kept)
    return X[kept], y[kept]
