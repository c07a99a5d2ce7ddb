"""Fetching files, with bounds on their size and time: pooch for addresses, OpenML's own reader."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from scipy import sparse

from skstretch._version import __version__
from skstretch.datasets.readers import Sample, as_labels, read_stored
from skstretch.datasets.registry import File
from skstretch.exceptions import ChecksumError
from skstretch.io.files import replacing

TIMEOUT = 30.0  # seconds without an answer
SLOWEST = 1 << 18  # bytes a second, on the whole, below which a download is given up
CHUNK = 1 << 16

# the largest set on OpenML has 35 million values
OPENML_SECONDS, OPENML_BYTES = 3600.0, 16 << 30


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
        No connection, no such file, the connection broke off, or what comes is too large or slow.
    ChecksumError
        What arrived is not the file that the registry describes.
    """
    pooch = _pooch()
    known = None if file.sha256 is None else f"sha256:{file.sha256}"

    def fetch(url: str, path: str, _: Any) -> None:
        fetch_bounded(url, path, file.largest)

    try:
        fetched = pooch.retrieve(
            file.url, known_hash=known, fname=file.name, path=folder, downloader=fetch
        )
    except ValueError as error:
        raise ChecksumError(
            f"{file.url} gave a file that was cut short or changed: {error}"
        ) from error
    return Path(fetched)


def fetch_bounded(url: str, path: str, largest: int) -> None:
    """Write what stands at `url` to `path`: at most `largest` bytes, no slower than `SLOWEST`."""
    seconds = TIMEOUT + largest / SLOWEST
    deadline, count = time.monotonic() + seconds, 0
    request = Request(url, headers={"User-Agent": f"skstretch/{__version__}"})
    with urlopen(request, timeout=TIMEOUT) as answer, open(path, "wb") as target:
        claimed = answer.headers.get("Content-Length")
        # read1 gives what is there: a server that sends byte after byte meets the deadline too
        while part := answer.read1(CHUNK):
            count += len(part)
            if count > largest:
                raise OSError(f"more than {largest:,} bytes came, which the set does not have.")
            if time.monotonic() > deadline:
                raise OSError(f"{count:,} bytes came in {seconds:.0f} seconds: too slow.")
            target.write(part)
    if claimed is not None and count < int(claimed):
        raise OSError(f"it was cut short: {count:,} of {claimed} bytes came.")


def download_openml(data_id: int, path: Path, *, dense: bool) -> Sample:
    """Fetch a two-class set from OpenML and keep it as one ``.npz`` file at `path`.

    OpenML may hold a dense set as sparse text and the reverse; `dense` says what is wanted.
    scikit-learn's reader has no bounds, so it runs in a process that can be stopped.
    """
    code = "from skstretch.datasets.download import keep_openml; import sys; "
    code += "keep_openml(int(sys.argv[1]), sys.argv[2], sys.argv[3] == 'dense')"
    words = (str(data_id), str(path), "dense" if dense else "sparse")
    run_bounded(code, words, OPENML_SECONDS, OPENML_BYTES)
    return read_stored(path)


def keep_openml(data_id: int, path: str, dense: bool) -> None:
    """What the process does: read the set, and store it."""
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
    store(Sample(X, as_labels(y)), Path(path))


LIMIT = """
import sys
try:
    import resource
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = int(sys.argv.pop())
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
except (ImportError, ValueError):  # no such limits on this system
    pass
"""


def run_bounded(code: str, words: tuple[str, ...], seconds: float, memory: int) -> None:
    """Run Python code in a process of its own; `OSError` where it fails or takes too much."""
    command = [sys.executable, "-c", LIMIT + code, *words, str(memory)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"it took more than {seconds:.0f} seconds.") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
        raise OSError(said[-1])


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
