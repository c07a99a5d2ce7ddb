"""The text and the `Bunch` that a loader returns."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Bunch

from .records import Dataset
from .sample import Sample


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
