"""The ten data sets of the paper, and generated stand-ins for those that are hard to get.

See ``docs/datasets.md`` for where files are looked for and how to put them there by hand.
"""

from .challenge_loaders import (
    fetch_arcene,
    fetch_dexter,
    fetch_dorothea,
    fetch_gisette,
    fetch_madelon,
)
from .errors import ChecksumError, DatasetNotFoundError
from .listing import list_datasets
from .regression_loaders import (
    fetch_corn,
    fetch_diabetes,
    fetch_gaze,
    fetch_prostate,
    fetch_tfidf,
)
from .standins import make_gaze_standin, make_gisette_standin, make_tfidf_standin

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
