"""The ten data sets of the paper: sizes, files, checksums, addresses and terms.

A set comes in one or more forms. The prepared form is what this project's own tests read; its
checksums are exact. An original form is what the source publishes; where no published checksum
could be compared, `File.sha256` is None and the note of the set says so. What the files say is
then checked by shape and, where the set is known, by `Dataset.content`.
"""

from __future__ import annotations

from .challenge_sets import ARCENE, DEXTER, DOROTHEA, GISETTE, MADELON
from .records import Dataset
from .regression_sets import (
    CORN,
    CORN_MP5,
    CORN_MP6,
    DIABETES,
    GAZE,
    PROSTATE,
    TFIDF,
    TFIDF_TRAIN,
)  # fmt: skip

# In the order of the paper's tables.
DATASETS: dict[str, Dataset] = {
    entry.name: entry
    for entry in (
        PROSTATE, DIABETES, CORN, TFIDF, GAZE, ARCENE, DEXTER, DOROTHEA, GISETTE, MADELON
    )
}  # fmt: skip

# Further parts of these sets, which the paper does not list on their own.
PARTS: dict[str, Dataset] = {entry.name: entry for entry in (CORN_MP5, CORN_MP6, TFIDF_TRAIN)}
