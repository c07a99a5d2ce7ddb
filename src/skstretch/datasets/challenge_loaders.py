"""Loaders of the five challenge sets: training and validation samples, in this order."""

from __future__ import annotations

from typing import Any

from .challenge_sets import ARCENE, DEXTER, DOROTHEA, GISETTE, MADELON
from .describe import as_bunch
from .search import Folder, load


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
