"""Tables 2 and 3 of the paper, printed from the registry."""

from __future__ import annotations

from typing import Any

from .cache import find_forms, places
from .records import Dataset
from .registry import DATASETS
from .search import Folder, address, is_remote


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
