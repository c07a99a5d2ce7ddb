"""Checks of what a file says, whatever bytes it says it with."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .errors import ChecksumError
from .records import Dataset
from .sample import Sample


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
