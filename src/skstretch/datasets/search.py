"""Finding a set: SKSTRETCH_DATA, then the cache, then the network."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

import numpy as np

from . import readers
from .cache import Place, data_home, find_forms, places, verified_paths, verify
from .content import check_content
from .download import download, download_openml
from .errors import ChecksumError, DatasetNotFoundError
from .records import Dataset, Form
from .sample import Sample

# What a reader raises on a damaged file, and what a download raises besides OSError.
DAMAGE = (ValueError, LookupError, EOFError, OSError, zipfile.BadZipFile, zlib.error)
FAILURE = (OSError, ValueError, ImportError, EOFError, HTTPException)

Folder = str | os.PathLike[str] | None

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
