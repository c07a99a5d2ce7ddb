"""Finding a set: SKSTRETCH_DATA, then the cache, then the network."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from skstretch.datasets import readers
from skstretch.datasets.download import download, download_openml
from skstretch.datasets.readers import Sample
from skstretch.datasets.registry import Dataset, File, Form
from skstretch.exceptions import ChecksumError, DatasetNotFoundError

VARIABLE = "SKSTRETCH_DATA"
OLD_VARIABLE = "STRETCHY_DATA"  # its name until version 0.1, still read

Folder = str | os.PathLike[str] | None

# What a reader raises on a damaged file, and what a download raises besides OSError.
DAMAGE = (ValueError, LookupError, EOFError, OSError, zipfile.BadZipFile, zlib.error)
FAILURE = (OSError, ValueError, ImportError, EOFError, HTTPException)


@dataclass(frozen=True)
class Place:
    """A folder that is searched; `path` is None where the environment names none."""

    label: str
    path: Path | None

    def has(self, file: File) -> bool:
        return self.path is not None and (self.path / file.name).exists()

    def holds(self, form: Form) -> bool:
        return all(self.has(file) for file in form.files)


def data_home(folder: Folder = None) -> Path:
    """The cache: `folder`, or ``~/skstretch_data``. It is not created.

    Where only ``~/stretchy_data`` is there, the cache of version 0.1, it goes on being used.
    """
    if folder is not None:
        return Path(folder).expanduser()
    new, old = Path.home() / "skstretch_data", Path.home() / "stretchy_data"
    return old if old.is_dir() and not new.exists() else new


def places(folder: Folder = None) -> tuple[Place, Place]:
    """The folder that ``SKSTRETCH_DATA`` names, then the cache."""
    named = os.environ.get(VARIABLE) or os.environ.get(OLD_VARIABLE, "")
    return Place(VARIABLE, Path(named) if named else None), Place("cache", data_home(folder))


def find_forms(dataset: Dataset, where: tuple[Place, ...]) -> Iterator[tuple[Place, Form]]:
    """Each form of the set whose files are all there, the first place first."""
    for place in where:
        for form in dataset.forms:
            if place.holds(form):
                yield place, form


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify(path: Path, file: File) -> Path:
    """The path, if its bytes are those that the registry describes.

    Raises
    ------
    ChecksumError
        The file is shorter or longer than expected, or its SHA-256 differs.
    """
    if file.sha256 is None:
        return path
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        kind = "truncated" if size < file.size else "too long"
        raise ChecksumError(
            f"{path} is {kind}: {size} bytes, expected {file.size}. Remove it and fetch or copy "
            "it again."
        )
    seen = file_digest(path)
    if seen != file.sha256:
        raise ChecksumError(
            f"{path} was changed: its sha256 is {seen}, expected {file.sha256}. Remove it and "
            "fetch or copy it again."
        )
    return path


def verified_paths(place: Place, form: Form) -> list[Path]:
    """Paths of a form's files in a place that holds them, each verified."""
    folder = place.path or Path()
    return [verify(folder / file.name, file) for file in form.files]


def content_digest(X: Any, y: Any) -> str:
    """SHA-256 of shape, values and target, the same for every file format and dtype.

    Dense values enter in row order as little-endian float64; a sparse X enters as the row
    pointers, sorted column indices and values of its CSR form.
    """
    digest = hashlib.sha256(repr(tuple(map(int, X.shape))).encode())
    if hasattr(X, "tocsr"):
        X = X.tocsr().copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        X.sort_indices()
        parts = [(X.indptr, "<i8"), (X.indices, "<i8"), (X.data, "<f8")]
    else:
        parts = [(X, "<f8")]
    for values, dtype in [*parts, (y, "<f8")]:
        digest.update(np.ascontiguousarray(values, dtype=dtype).tobytes())
    return digest.hexdigest()


def check_content(dataset: Dataset, sample: Sample, where: str) -> None:
    """Refuse a sample that is not the data set: by its shape, then by its values.

    Raises
    ------
    ChecksumError
    """
    rows, columns = sample.X.shape
    if (rows, columns, len(sample.y)) != (dataset.samples, dataset.features, dataset.samples):
        raise ChecksumError(
            f"{where} holds {rows} x {columns} values and {len(sample.y)} targets, but "
            f"{dataset.title} has {dataset.samples} x {dataset.features}: the files are cut "
            "short or of another set."
        )
    if dataset.content is not None:
        _check_digest(dataset.content, dataset, sample, where)
    if dataset.classes is not None:
        _check_classes(dataset.classes, dataset, sample, where)
    if dataset.levels is not None:
        _check_levels(dataset.levels, dataset, sample, where)


def _check_digest(expected: str, dataset: Dataset, sample: Sample, where: str) -> None:
    seen = content_digest(sample.X, sample.y)
    if seen != expected:
        raise ChecksumError(
            f"the values in {where} are not those of {dataset.title}: their digest is {seen}, "
            f"expected {expected}. Remove the files and fetch them again."
        )


def _check_classes(expected: tuple[int, int], dataset: Dataset, sample: Sample, where: str) -> None:
    seen = int(np.sum(sample.y < 0)), int(np.sum(sample.y > 0))
    if seen != expected:
        raise ChecksumError(
            f"the labels in {where} are {seen[0]} times -1 and {seen[1]} times +1, but "
            f"{dataset.title} has {expected[0]} and {expected[1]}."
        )


def _check_levels(expected: tuple[int, int], dataset: Dataset, sample: Sample, where: str) -> None:
    low, high = float(sample.X.min()), float(sample.X.max())
    whole = bool(np.all(np.mod(sample.X, 1) == 0))
    if low < expected[0] or high > expected[1] or not whole:
        raise ChecksumError(
            f"the values in {where} run from {low:g} to {high:g}, but {dataset.title} has whole "
            f"numbers from {expected[0]} to {expected[1]}."
        )


READERS: dict[str, Callable[[Dataset, Form, list[Path]], Sample]] = {
    "dense_npz": lambda _, __, paths: readers.read_dense_npz(*paths),
    "sparse_npz": lambda _, __, paths: readers.read_sparse_npz(*paths),
    "stored": lambda _, __, paths: readers.read_stored(*paths),
    "prostate_text": lambda _, __, paths: readers.read_prostate(*paths),
    "corn_npz": lambda _, __, paths: readers.read_corn_npz(*paths),
    "corn_mat": lambda _, form, paths: readers.read_corn_mat(paths[0], form.argument),
    "tfidf_text": lambda entry, _, paths: readers.read_tfidf(paths[0], entry.features),
    "dense_text": lambda _, __, paths: readers.read_dense_challenge(*paths),
    "sparse_text": lambda entry, _, paths: readers.read_sparse_challenge(
        *paths, n_features=entry.features
    ),
    "binary_text": lambda entry, _, paths: readers.read_binary_challenge(
        *paths, n_features=entry.features
    ),
}


def load(dataset: Dataset, folder: Folder = None, download_if_missing: bool = True) -> Sample:
    """The first form of the set that is found, verified.

    Raises
    ------
    ChecksumError
        A file is there, but it is not the right one.
    DatasetNotFoundError
        No file is there and none could be fetched.
    """
    where = places(folder)
    for place, form in find_forms(dataset, where):
        return read_form(dataset, form, verified_paths(place, form))
    failures: list[str] = []
    for form in dataset.forms if download_if_missing else ():
        if not is_remote(form):
            continue
        try:
            return _fetch(dataset, form, data_home(folder))
        except FAILURE as error:
            failures.append(f"{address(form)}: {error}")
    if not download_if_missing:
        failures.append("no download, because download_if_missing=False")
    raise not_found(dataset, where, failures)


def read_form(dataset: Dataset, form: Form, paths: list[Path]) -> Sample:
    """Read verified files and check what they say."""
    names = ", ".join(str(path) for path in paths)
    try:
        sample = READERS[form.reader](dataset, form, paths)
    except DAMAGE as error:
        raise ChecksumError(f"{names} cannot be read as {dataset.title}: {error}") from error
    check_content(dataset, sample, names)
    return _as_float(sample)


def _as_float(sample: Sample) -> Sample:
    X = sample.X.astype(np.float64, copy=False)
    return Sample(X, sample.y, sample.extras)


def is_remote(form: Form) -> bool:
    """Whether every file of the form has an address."""
    return form.openml is not None or all(file.url is not None for file in form.files)


def address(form: Form) -> str:
    """Where a remote form comes from, in words."""
    if form.openml is not None:
        return f"OpenML data set {form.openml}"
    return ", ".join(str(file.url) for file in form.files)


def _fetch(dataset: Dataset, form: Form, cache: Path) -> Sample:
    """Download a form into the cache; what turns out to be wrong is not kept."""
    if form.openml is not None:
        path = cache / form.files[0].name
        sample = download_openml(form.openml, path, dense=dataset.kind == "dense")
        try:
            check_content(dataset, sample, address(form))
        except ChecksumError:
            path.unlink()
            raise
        return _as_float(sample)
    paths, new = fetch_files(form, cache)
    try:
        return read_form(dataset, form, paths)
    except ChecksumError:
        for path in new:
            path.unlink()
        raise


def fetch_files(form: Form, cache: Path) -> tuple[list[Path], list[Path]]:
    """All files of a form, and those of them that were not in the cache before."""
    paths, new = [], []
    for file in form.files:
        if (cache / file.name).exists():
            paths.append(verify(cache / file.name, file))
        else:
            paths.append(download(file, cache))
            new.append(paths[-1])
    return paths, new


def not_found(
    dataset: Dataset, where: tuple[Place, ...], failures: list[str]
) -> DatasetNotFoundError:
    """The error that says what was tried and where to put the file by hand."""
    tried = [f"{place.label}: {_state(dataset, place)}" for place in where]
    tried += failures
    lines = [f"the data set {dataset.title} was not found. Tried:"]
    lines += [f"  - {line}" for line in tried]
    lines.append(by_hand(dataset, where[-1]))
    return DatasetNotFoundError("\n".join(lines))


def _state(dataset: Dataset, place: Place) -> str:
    if place.path is None:
        return "is not set"
    if not place.path.is_dir():
        return f"{place.path} is no folder"
    begun = [form for form in dataset.forms if any(map(place.has, form.files))]
    lacking = [file.name for form in begun for file in form.files if not place.has(file)]
    return f"{place.path} lacks {', '.join(lacking) if lacking else 'its files'}"


def by_hand(dataset: Dataset, cache: Place) -> str:
    """How to put the files in place without a download."""
    remote = [file for form in dataset.forms for file in form.files if file.url is not None]
    lines = ["By hand: fetch"] if remote else ["By hand: put"]
    lines += [f"  - {file.name} from {file.url}" for file in remote]
    ours = [file.name for file in dataset.forms[0].files if file.url is None]
    if not remote:
        lines += [f"  - {name}" for name in ours]
    lines.append(f"into {cache.path}, or into the folder that SKSTRETCH_DATA names.")
    return "\n".join(lines)
