"""Readers of the formats that the sets are published in: paths in, `Sample` out."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

TFIDF_FEATURES = 150_360
CORN_PROPERTIES = ("moisture", "oil", "protein", "starch")


@dataclass(frozen=True)
class Sample:
    """Features, target and whatever else a file says about them.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    extras : dict
        Further entries of the `Bunch`: `feature_names`, `split`, ...
    """

    X: Any
    y: NDArray[Any]
    extras: dict[str, Any] = field(default_factory=dict)


def as_labels(y: Any) -> NDArray[np.int64]:
    """Labels as integers −1 and +1, the lesser of two values first."""
    values, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(values) != 2:
        shown = ", ".join(map(str, values[:5]))
        raise ValueError(f"the target has {len(values)} different values ({shown}); two expected.")
    return 2 * codes.reshape(-1).astype(np.int64) - 1


def read_dense_npz(path: Path) -> Sample:
    """``X``, ``y`` and whatever else an ``.npz`` file names; no pickles."""
    # numpy leaves a file that it opened itself open when it is no whole archive
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    X, y = held.pop("X").astype(np.float64), held.pop("y")
    return Sample(X, _as_target(y), held)


def read_sparse_npz(x_path: Path, y_path: Path, split_path: Path) -> Sample:
    """A CSR matrix, its target and its split (0 = training, 1 = validation), one file each."""
    X = sparse.csr_array(sparse.load_npz(x_path), dtype=np.float64)
    split = np.load(split_path, allow_pickle=False)
    return Sample(X, _as_target(np.load(y_path, allow_pickle=False)), {"split": split})


def read_stored(path: Path) -> Sample:
    """A sample as `download.store` wrote it."""
    # numpy leaves a file that it opened itself open when it is no whole archive
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        if "X" in file:
            X: Any = file["X"].astype(np.float64)
        else:
            parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
            X = sparse.csr_array(parts, shape=tuple(file["shape"]))
        return Sample(X, file["y"])


def read_prostate(path: Path) -> Sample:
    """Tab-separated text with a header: row number, eight features, ``lpsa``, ``train``."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    names = header.split()
    rows = [line.split() for line in lines if line.strip()]
    values = np.array([row[1:-1] for row in rows], dtype=np.float64)
    train = np.array([row[-1] in {"T", "TRUE"} for row in rows], dtype=np.uint8)
    extras = {"feature_names": np.array(names[:-2]), "train": train}
    return Sample(values[:, :-1], values[:, -1], extras)


def read_corn_npz(path: Path) -> Sample:
    """The prepared corn spectra; the target is moisture, all four are kept beside it."""
    sample = read_dense_npz(path)
    extras = dict(sample.extras)
    return _corn(sample.X, sample.y, extras.pop("wavelength_nm"))


def read_corn_mat(path: Path, instrument: str = "m5") -> Sample:
    """Eigenvector's ``corn.mat``, also inside its zip archive; one of three spectrometers."""
    from scipy.io import loadmat

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, archive.open("corn.mat") as stream:
            held = loadmat(stream)
    else:
        held = loadmat(path)
    X = np.array(held[f"{instrument}spec"]["data"][0, 0], dtype=np.float64)
    Y = np.array(held["propvals"]["data"][0, 0], dtype=np.float64)
    return _corn(X, Y, 1100 + 2 * np.arange(X.shape[1]))


def read_tfidf(path: Path, n_features: int = TFIDF_FEATURES) -> Sample:
    """LIBSVM text, plain or ``.bz2``; the test part lacks the last two columns of the set."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=n_features, zero_based=False)
    return Sample(sparse.csr_array(X), y)


def read_dense_challenge(*paths: Path) -> Sample:
    """Lines of space-separated integers; all lines have the same length."""
    return _both_parts(paths, lambda path: np.loadtxt(path, dtype=np.float64, ndmin=2), np.vstack)


def read_sparse_challenge(*paths: Path, n_features: int) -> Sample:
    """Lines of ``index:value``, the first index is 1."""

    def split(line: str) -> tuple[list[int], list[float]]:
        pairs = [entry.partition(":") for entry in line.split()]
        return [int(index) for index, _, _ in pairs], [float(value) for _, _, value in pairs]

    return _both_parts(paths, lambda path: _csr(path, split, n_features), _stack)


def read_binary_challenge(*paths: Path, n_features: int) -> Sample:
    """Lines of the indices of the features that are 1; the first index is 1."""

    def split(line: str) -> tuple[list[int], list[float]]:
        indices = [int(entry) for entry in line.split()]
        return indices, [1.0] * len(indices)

    return _both_parts(paths, lambda path: _csr(path, split, n_features), _stack)


def _both_parts(
    paths: tuple[Path, ...],
    read: Callable[[Path], Any],
    stack: Callable[[list[Any]], Any],
) -> Sample:
    """Training and validation parts, one below the other, as the paper uses them.

    `paths` are those of ``train.data``, ``train.labels``, ``valid.data``, ``valid.labels``.
    """
    parts = [read(path) for path in paths[::2]]
    labels = [np.loadtxt(path, dtype=np.int64, ndmin=1) for path in paths[1::2]]
    for path, part, label in zip(paths[::2], parts, labels, strict=True):
        if part.shape[0] != len(label):
            raise ValueError(
                f"{path.name} has {part.shape[0]} lines but its labels are {len(label)}: one of "
                "the two files is cut short."
            )
    split = np.repeat(np.arange(len(labels), dtype=np.uint8), [len(label) for label in labels])
    return Sample(stack(parts), as_labels(np.concatenate(labels)), {"split": split})


def _csr(
    path: Path, split: Callable[[str], tuple[list[int], list[float]]], n_features: int
) -> sparse.csr_array:
    indices: list[int] = []
    values: list[float] = []
    ends = [0]
    with path.open(encoding="ascii") as lines:
        for line in lines:
            found, held = split(line)
            indices += found
            values += held
            ends.append(len(indices))
    columns = np.array(indices, dtype=np.int64) - 1
    if columns.size and (columns.min() < 0 or columns.max() >= n_features):
        raise ValueError(
            f"{path.name} has feature indices {columns.min() + 1} to {columns.max() + 1}; they "
            f"must lie between 1 and {n_features}."
        )
    parts = (np.array(values), columns.astype(np.int32), np.array(ends, dtype=np.int32))
    X = sparse.csr_array(parts, shape=(len(ends) - 1, n_features))
    X.sort_indices()
    return X


def _stack(parts: Iterable[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack(list(parts), format="csr"))


def _as_target(y: NDArray[Any]) -> NDArray[Any]:
    return y.astype(np.int64 if y.dtype.kind == "i" else np.float64)


def _corn(X: NDArray[Any], Y: NDArray[Any], wavelength: NDArray[Any]) -> Sample:
    wavelength = wavelength.astype(np.int64)
    extras = {
        "feature_names": np.array([f"{value} nm" for value in wavelength]),
        "wavelength_nm": wavelength,
        "targets": Y,
        "target_names": np.array(CORN_PROPERTIES),
    }
    return Sample(X, Y[:, 0].copy(), extras)
