"""Loaders for the ten data sets of the paper, generated spectra, and the files of spectrometers.

See ``docs/datasets.md`` for where files are looked for and how to put them there by hand.
"""

from skstretch.datasets.instruments import read_spectra
from skstretch.datasets.loaders import (
    fetch_arcene,
    fetch_corn,
    fetch_dexter,
    fetch_diabetes,
    fetch_dorothea,
    fetch_gaze,
    fetch_gisette,
    fetch_madelon,
    fetch_prostate,
    fetch_tfidf,
    list_datasets,
    make_spectra,
)
from skstretch.exceptions import ChecksumError, DatasetNotFoundError

__all__ = [
    "ChecksumError",
    "DatasetNotFoundError",
    "fetch_arcene",
    "fetch_corn",
    "fetch_dexter",
    "fetch_diabetes",
    "fetch_dorothea",
    "fetch_gaze",
    "fetch_gisette",
    "fetch_madelon",
    "fetch_prostate",
    "fetch_tfidf",
    "list_datasets",
    "make_spectra",
    "read_spectra",
]
