"""The ten data sets of the paper, and generated stand-ins for those that are hard to get.

See ``docs/datasets.md`` for where files are looked for and how to put them there by hand.
"""

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
)
from skstretch.datasets.standins import make_gaze_standin, make_gisette_standin, make_tfidf_standin
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
    "make_gaze_standin",
    "make_gisette_standin",
    "make_tfidf_standin",
]
