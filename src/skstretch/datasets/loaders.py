"""Loaders of the five challenge sets: training and validation samples, in this order."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skstretch.datasets.find import (
    FAILURE,
    Folder,
    address,
    check_content,
    fetch_files,
    find_forms,
    is_remote,
    load,
    not_found,
    places,
    verified_paths,
)
from skstretch.datasets.find import data_home as cache_folder
from skstretch.datasets.gaze import HEIGHT, WIDTH, angles_path, write_gaze_map
from skstretch.datasets.readers import Sample
from skstretch.datasets.registry import (
    ARCENE,
    CORN,
    CORN_MP5,
    CORN_MP6,
    DATASETS,
    DEXTER,
    DIABETES,
    DOROTHEA,
    GAZE,
    GISETTE,
    MADELON,
    PROSTATE,
    TFIDF,
    TFIDF_TRAIN,
    Dataset,
)  # fmt: skip
from skstretch.exceptions import DatasetNotFoundError

# The text and the `Bunch` that a loader returns.


def describe(dataset: Dataset) -> str:
    """The set in words: what it is, where it comes from, on what terms."""
    lines = [
        f"{dataset.title}: {dataset.domain}, {dataset.task}, {dataset.kind}.",
        f"{dataset.samples} samples, {dataset.features} features.",
        f"Source: {dataset.source}",
        f"Terms: {dataset.terms}",
    ]
    if dataset.parts is not None:
        train, valid, _ = dataset.parts
        lines.insert(2, f"The {train} training and {valid} validation samples, in this order.")
    if dataset.note:
        lines.append(f"Note: {dataset.note}")
    return "\n".join(lines)


def as_bunch(dataset: Dataset, sample: Sample, return_X_y: bool) -> Any:
    """``(X, y)`` or a `Bunch` with everything."""
    if return_X_y:
        return sample.X, sample.y
    return Bunch(
        data=sample.X,
        target=sample.y,
        DESCR=describe(dataset),
        standin=False,
        **sample.extras,
    )


def fetch_arcene(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Arcene: cancer or not from mass spectra, 200 x 10,000, dense.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data` (float64), `target` (−1 or +1),
        `split` (0 = training, 1 = validation; absent from OpenML's copy), `DESCR`, `standin`.
    """
    sample = load(ARCENE, data_home, download_if_missing)
    return as_bunch(ARCENE, sample, return_X_y)


def fetch_dexter(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Dexter: texts on corporate acquisitions or not, 600 x 20,000, sparse.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data` (CSR), `target` (−1 or +1),
        `split` (0 = training, 1 = validation; absent from OpenML's copy), `DESCR`, `standin`.
    """
    sample = load(DEXTER, data_home, download_if_missing)
    return as_bunch(DEXTER, sample, return_X_y)


def fetch_dorothea(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Dorothea: compounds that bind to thrombin, 1,150 x 100,000, sparse and binary.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data` (CSR), `target` (−1 or +1),
        `split` (0 = training, 1 = validation; absent from OpenML's copy), `DESCR`, `standin`.
    """
    sample = load(DOROTHEA, data_home, download_if_missing)
    return as_bunch(DOROTHEA, sample, return_X_y)


def fetch_gisette(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Gisette: handwritten 4 or 9, 7,000 x 5,000, dense integers 0..999.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data` (float64), `target` (−1 or +1),
        `split` (0 = training, 1 = validation; absent from OpenML's copy), `DESCR`, `standin`.
    """
    sample = load(GISETTE, data_home, download_if_missing)
    return as_bunch(GISETTE, sample, return_X_y)


def fetch_madelon(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Madelon: an artificial problem, 2,600 x 500, dense.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data` (float64), `target` (−1 or +1),
        `split` (0 = training, 1 = validation; absent from OpenML's copy), `DESCR`, `standin`.
    """
    sample = load(MADELON, data_home, download_if_missing)
    return as_bunch(MADELON, sample, return_X_y)


# Loaders of the five regression sets.


INSTRUMENTS = {"m5": CORN, "mp5": CORN_MP5, "mp6": CORN_MP6}


SUBSETS = {"test": TFIDF, "train": TFIDF_TRAIN}


def fetch_prostate(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Prostate: log antigen level from eight clinical measures, 97 x 8.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data`, `target`, `feature_names`, `train` (1 = training row of The Elements of
        Statistical Learning), `DESCR`, `standin`.
    """
    sample = load(PROSTATE, data_home, download_if_missing)
    return as_bunch(PROSTATE, sample, return_X_y)


def fetch_diabetes(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Diabetes: disease progression from ten raw measures, 442 x 10.

    Where no file is found it comes from scikit-learn itself, without network.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data`, `target`, `feature_names`, `DESCR`, `standin`.

    Examples
    --------
    >>> from skstretch.datasets import fetch_diabetes
    >>> X, y = fetch_diabetes(return_X_y=True)
    >>> X.shape, float(y.max())
    ((442, 10), 346.0)
    """
    try:
        sample = load(DIABETES, data_home, download_if_missing=False)
    except DatasetNotFoundError:
        sample = _sklearn_diabetes()
    return as_bunch(DIABETES, sample, return_X_y)


def _sklearn_diabetes() -> Sample:
    from sklearn.datasets import load_diabetes

    held = load_diabetes(scaled=False)
    sample = Sample(held.data, held.target, {"feature_names": np.array(held.feature_names)})
    check_content(DIABETES, sample, "scikit-learn's load_diabetes(scaled=False)")
    return sample


def fetch_corn(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    instrument: str = "m5",
) -> Any:
    """Corn: moisture from near-infrared spectra, 80 x 700.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.
    instrument : {"m5", "mp5", "mp6"}, default="m5"
        The spectrometer; the paper uses m5.

    Returns
    -------
    Bunch or (X, y)
        `data`, `target` (moisture), `targets` (80 x 4) with `target_names`, `feature_names`,
        `wavelength_nm`, `DESCR`, `standin`.
    """
    dataset = _choose(INSTRUMENTS, "instrument", instrument)
    return as_bunch(dataset, load(dataset, data_home, download_if_missing), return_X_y)


def fetch_tfidf(
    *,
    data_home: Folder = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    subset: str = "test",
) -> Any:
    """E2006-TFIDF: log volatility of a share from the words of a report, 3,308 x 150,360, sparse.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.
    subset : {"test", "train"}, default="test"
        The paper uses the test part; the training part has 16,087 samples.

    Returns
    -------
    Bunch or (X, y)
        `data` (CSR), `target`, `DESCR`, `standin`.
    """
    dataset = _choose(SUBSETS, "subset", subset)
    return as_bunch(dataset, load(dataset, data_home, download_if_missing), return_X_y)


def fetch_gaze(
    *, data_home: Folder = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Columbia Gaze: horizontal angle of gaze from photographs, 1,960 x 1,200,000.

    The photographs are read once, with Pillow, and written to the cache as a memory map of
    float32 (9.4 GB). Later calls open that map.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache; None means ``~/skstretch_data``.
    download_if_missing : bool, default=True
        False raises `DatasetNotFoundError` instead of asking the network.
    return_X_y : bool, default=False
        True returns ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or (X, y)
        `data` (read-only memory map, grey levels in [0, 1]), `target` (radians), `image_shape`,
        `scale` (1.0), `DESCR`, `standin`.
    """
    path = cache_folder(data_home) / f"gaze_{WIDTH}x{HEIGHT}.npy"
    if path.exists():
        X, y = np.load(path, mmap_mode="r"), np.load(angles_path(path))
    else:
        photographs = _photographs(data_home, download_if_missing)
        X, y = write_gaze_map(photographs, path, n_images=GAZE.samples)
    sample = Sample(X, y, {"image_shape": (HEIGHT, WIDTH), "scale": 1.0})
    check_content(GAZE, sample, str(path))
    return as_bunch(GAZE, sample, return_X_y)


def _photographs(data_home: Folder, download_if_missing: bool) -> Any:
    """The folder or archive of the photographs."""
    where = places(data_home)
    for place, form in find_forms(GAZE, where):
        return verified_paths(place, form)[0]
    remote = next(form for form in GAZE.forms if is_remote(form))
    failure = "no download, because download_if_missing=False"
    if download_if_missing:
        try:
            return fetch_files(remote, cache_folder(data_home))[0][0]
        except FAILURE as error:
            failure = f"{address(remote)}: {error}"
    raise not_found(GAZE, where, [failure])


def _choose(choices: dict[str, Any], name: str, value: str) -> Any:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; choose from {', '.join(choices)}.")
    return choices[value]


# Tables 2 and 3 of the paper, printed from the registry.


def list_datasets(*, data_home: Folder = None) -> list[dict[str, Any]]:
    """The rows of the paper's Tables 2 and 3, and where each set would come from now.

    Parameters
    ----------
    data_home : path or None, default=None
        The cache, ``~/skstretch_data`` by default.

    Returns
    -------
    list of dict
        ``name, table, domain, task, kind, features, samples, train, valid, test, where``; the
        sizes of the parts are None for the sets of Table 2. Nothing is read or fetched.

    Examples
    --------
    >>> from skstretch.datasets import list_datasets
    >>> row = list_datasets()[0]
    >>> row["name"], row["features"], row["samples"]
    ('prostate', 8, 97)
    """
    return [_row(dataset, data_home) for dataset in DATASETS.values()]


def _row(dataset: Dataset, data_home: Folder) -> dict[str, Any]:
    train, valid, test = dataset.parts or (None, None, None)
    return {
        "name": dataset.name,
        "table": dataset.table,
        "domain": dataset.domain,
        "task": dataset.task,
        "kind": dataset.kind,
        "features": dataset.features,
        "samples": dataset.samples,
        "train": train,
        "valid": valid,
        "test": test,
        "where": where(dataset, data_home),
    }


def where(dataset: Dataset, data_home: Folder = None) -> str:
    """A file that is there, or the first address that would be asked."""
    for place, form in find_forms(dataset, places(data_home)):
        if place.path is not None:
            return str(place.path / form.files[0].name)
    if dataset.name == "diabetes":
        return "scikit-learn"
    remote = next(form for form in dataset.forms if is_remote(form))
    return f"download: {address(remote).partition(', ')[0]}"
