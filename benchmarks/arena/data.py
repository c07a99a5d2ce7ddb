"""The data sets of the arena as named tasks.

The folder is named by the environment variable ``SKSTRETCH_DATA``; a set is looked for there and in
its folder ``more``. Fixed rules, so that a task is the same in every run:

- of a set with several targets the first three are used, of one with more than 400 rows the first;
- rows whose target is NaN are left out, for that target only;
- at most 2,000 rows are used, and at most 600 of a set with more than 600 features, to bound the
  cost of a fit: a seeded sample, stratified for classes;
- columns of a sparse set that are zero in all its rows are dropped;
- rows that belong together (replicates, subjects) have the same group.

Sets that share rows or targets are one family, and a family counts once in ranks and means.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

MAX_ROWS = 2_000
MAX_ROWS_WIDE = 600
WIDE = 600
MAX_TARGETS = 3
ROWS_FOR_ONE_TARGET = 400
MAX_DENSE_BYTES = 1e9
SEED = 0

# Cheapest first, so that an interrupted run leaves the most complete sets.
REGRESSION = (
    *("prostate", "pyrim", "nutrimouse", "peach_brix", "beer_extract", "eyedata", "diabetes"),
    *("triazines", "emulsions_nir", "pea_ki_yield", "aemet_logprec", "blood_brain", "pac"),
    *("emulsions_raman", "riboflavin", "liver_toxicity", "soil_som_ohpl", "fermentation"),
    *("fuel_heat", "cookie", "corn_m5", "corn_mp5", "corn_mp6", "aquatictox_moefp"),
    *("aquatictox_dragon", "aquatictox_ppfp", "wheat_kernels", "cassava_tbc"),
    *("forages2_dm_ndf", "wheat_cimmyt_dart", "central_park_soil_ph", "nirsoil"),
)
CLASSIFICATION = (
    *("breast_tumors", "vac18", "koren_16s", "lung_small", "spikepos", "colon", "lymphoma"),
    *("coffee_origin_atr", "glioma", "allaml", "shipp", "borovecki", "subramanian", "gravier"),
    *("brca_tcga_subtype", "su", "chowdary", "dhfr", "warpar10p", "mayonnaise", "arcene"),
    *("pld_pipelinepilot", "dexter", "pld_dragon", "phenyl_ms", "pcmac", "basehock"),
    *("forages2_type", "madelon", "dorothea", "news20"),
)
FAMILIES = {
    # three spectrometers, the same 80 samples and targets
    "corn": ("corn_m5", "corn_mp5", "corn_mp6"),
    # three sets of descriptors, one list of molecules
    "aquatictox": ("aquatictox_moefp", "aquatictox_dragon", "aquatictox_ppfp"),
    "emulsions": ("emulsions_nir", "emulsions_raman"),
    "pld": ("pld_pipelinepilot", "pld_dragon"),
    # news20 holds the documents of the other two
    "newsgroups": ("basehock", "pcmac", "news20"),
}
SPARSE = frozenset({"dexter", "dorothea", "basehock", "pcmac", "news20"})
# Raw intensities over four decades: their logarithm is the usual scale.
LOGARITHMIC = frozenset({"colon"})
# Samples are named by patient and by before or after treatment; the patient is the group.
PAIRED = frozenset({"breast_tumors"})
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
    groups : ndarray of shape (n_samples,) or None
        Rows with the same value belong together.
    """

    name: str
    kind: str
    X: Matrix
    targets: dict[str, NDArray]
    groups: NDArray | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether X is stored as CSR."""
        return sparse.issparse(self.X)

    def rows(self, target: str) -> tuple[Matrix, NDArray]:
        """X and y of the rows whose target is known."""
        known = self._known(target)
        y = self.targets[target]
        return (self.X, y) if known.all() else (self.X[known], y[known])

    def groups_of(self, target: str) -> NDArray | None:
        """The groups of the rows whose target is known."""
        return None if self.groups is None else self.groups[self._known(target)]

    def densified(self) -> Task | None:
        """The task with a dense X, or None where that would take 1 GB or more."""
        if not self.is_sparse:
            return self
        if 8 * self.X.shape[0] * self.X.shape[1] >= MAX_DENSE_BYTES:
            return None
        return replace(self, X=self.X.toarray())

    def _known(self, target: str) -> NDArray[np.bool_]:
        y = self.targets[target]
        return ~np.isnan(y) if y.dtype.kind == "f" else np.ones(len(y), dtype=bool)


def family_of(name: str) -> str:
    """The family that a set belongs to; most sets are their own."""
    return next((family for family, sets in FAMILIES.items() if name in sets), name)


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
    return [name for name in KINDS if _path(name).exists()]


def load_task(name: str) -> Task:
    """Read one task by name."""
    if name not in KINDS:
        raise ValueError(f"unknown task {name!r}; choose from {', '.join(KINDS)}.")
    kind = KINDS[name]
    X, y, target_names, groups = _read_sparse(name) if name in SPARSE else _read_dense(name)
    kept = _sample(X.shape, y, stratify=kind == "classification")
    X, y, groups = X[kept], y[kept], None if groups is None else groups[kept]
    if name in LOGARITHMIC:
        X = np.log(X)
    if name in SPARSE:
        X = X[:, np.unique(X.indices)]
    if kind == "classification":
        return Task(name, kind, X, {"class": y.astype(np.int64)}, groups)
    most = MAX_TARGETS if len(y) <= ROWS_FOR_ONE_TARGET else 1
    columns = y.reshape(len(y), -1).T[:most].astype(np.float64)
    labels = [str(label) for label in target_names] or ["y"]
    targets = dict(zip(labels[: len(columns)], columns, strict=True))
    return Task(name, kind, X, targets, groups)


def _path(name: str) -> Path:
    file = f"{name}_X.npz" if name in SPARSE else f"{name}.npz"
    path = data_folder() / file
    return path if path.exists() else data_folder() / "more" / file


def _read_dense(name: str) -> tuple[NDArray[np.float64], NDArray, NDArray, NDArray | None]:
    with np.load(_path(name)) as file:
        labels = file["target_names"] if "target_names" in file else np.array([])
        groups = file.get("groups")
        if name in PAIRED and groups is not None:
            groups = np.array([str(sample).rpartition(".")[0] for sample in groups])
        return file["X"].astype(np.float64), file["y"], labels, groups


def _read_sparse(name: str) -> tuple[sparse.csr_array, NDArray, NDArray, None]:
    path = _path(name)
    X = sparse.csr_array(sparse.load_npz(path), dtype=np.float64)
    X.eliminate_zeros()
    return X, np.load(path.with_name(f"{name}_y.npy")), np.array([]), None


def _sample(shape: tuple[int, int], y: NDArray, *, stratify: bool) -> NDArray[np.intp]:
    """Rows that are kept, in their order."""
    n_rows, n_features = shape
    most = MAX_ROWS_WIDE if n_features > WIDE else MAX_ROWS
    if n_rows <= most:
        return np.arange(n_rows)
    kept, _ = train_test_split(
        np.arange(n_rows), train_size=most, random_state=SEED, stratify=y if stratify else None
    )
    return np.sort(kept)
