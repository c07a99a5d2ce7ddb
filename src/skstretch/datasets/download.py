"""Fetching files: pooch for addresses, scikit-learn for OpenML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from skstretch.datasets.readers import Sample, as_labels
from skstretch.datasets.registry import File
from skstretch.exceptions import ChecksumError
from skstretch.io.files import replacing

TIMEOUT = 30.0  # seconds without an answer


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "downloads need pooch, of the extra `data`: pip install 'skstretch[data]'"
        ) from error
    return pooch


def download(file: File, folder: Path) -> Path:
    """Fetch one file into `folder`, under its own name only once it is whole.

    Raises
    ------
    OSError
        No connection, no such file, or the connection broke off.
    ChecksumError
        What arrived is not the file that the registry describes.
    """
    pooch = _pooch()
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        fetched = pooch.retrieve(
            file.url,
            known_hash=known,
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
        )
    except ValueError as error:
        raise ChecksumError(
            f"{file.url} gave a file that was cut short or changed: {error}"
        ) from error
    return Path(fetched)


def download_openml(data_id: int, path: Path, *, dense: bool) -> Sample:
    """Fetch a two-class set from OpenML and keep it as one ``.npz`` file at `path`.

    OpenML may hold a dense set as sparse text and the reverse; `dense` says what is wanted.
    """
    from sklearn.datasets import fetch_openml

    # This parser needs no pandas and reads both dense and sparse ARFF.
    X, y = fetch_openml(
        data_id=data_id,
        as_frame=False,
        return_X_y=True,
        parser="liac-arff",
        cache=False,
        n_retries=1,
    )
    X = sparse.csr_array(X)
    if dense:
        X = X.toarray()
    sample = Sample(X, as_labels(y))
    store(sample, path)
    return sample


def store(sample: Sample, path: Path) -> None:
    """Write features and target into one ``.npz`` file, in place of an older one at once."""
    arrays: dict[str, Any] = {"y": sample.y}
    if hasattr(sample.X, "tocsr"):
        X = sample.X.tocsr()
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    else:
        arrays["X"] = sample.X
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)
