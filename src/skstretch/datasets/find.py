"""Finding a data set: SKSTRETCH_DATA, then the cache, then the network; read and verified.

Readers of the formats that the sets are published in take paths and give a `Sample`. Downloads have
bounds on size and time; OpenML's own reader runs in a process that can be stopped.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skstretch._version import __version__
from skstretch.datasets.registry import Dataset, File, Form
from skstretch.exceptions import ChecksumError, DatasetNotFoundError
from skstretch.io.archive import add_numbers, data_digest, replacing

CORN_PROPERTIES = ("moisture", "oil", "protein", "starch")


@dataclass(frozen=True)
class Sample:
    """Features, target and whatever else a file says about them.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    extras : dict
        Further entries of the `Bunch`: `feature_names`, `split`, ...
    """

    X: Any
    y: NDArray[Any]
    extras: dict[str, Any] = field(default_factory=dict)


def as_labels(y: Any) -> NDArray[np.int64]:
    """Labels as integers −1 and +1, the lesser of two values first."""
    values, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(values) != 2:
        shown = ", ".join(map(str, values[:5]))
        raise ValueError(f"the target has {len(values)} different values ({shown}); two expected.")
    return 2 * codes.reshape(-1).astype(np.int64) - 1


def read_npz(path: Path) -> Sample:
    """``X`` (or the parts of a CSR matrix), ``y`` and whatever else a file names; no pickles."""
    # numpy leaves a file that it opened itself open when it is no whole archive
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    if "X" in held:
        X = held.pop("X").astype(np.float64)
    else:
        data, *places = (held.pop(name) for name in ("data", "indices", "indptr"))
        X = sparse.csr_array((data.astype(np.float64), *places), shape=tuple(held.pop("shape")))
    return Sample(X, _as_target(held.pop("y")), held)


def read_sparse_npz(x_path: Path, y_path: Path, split_path: Path) -> Sample:
    """A CSR matrix, its target and its split (0 = training, 1 = validation), one file each."""
    X = sparse.csr_array(sparse.load_npz(x_path), dtype=np.float64)
    split = np.load(split_path, allow_pickle=False)
    return Sample(X, _as_target(np.load(y_path, allow_pickle=False)), {"split": split})


def read_prostate(path: Path) -> Sample:
    """Tab-separated text with a header: row number, eight features, ``lpsa``, ``train``."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    names = header.split()
    rows = [line.split() for line in lines if line.strip()]
    values = np.array([row[1:-1] for row in rows], dtype=np.float64)
    train = np.array([row[-1] in {"T", "TRUE"} for row in rows], dtype=np.uint8)
    extras = {"feature_names": np.array(names[:-2]), "train": train}
    return Sample(values[:, :-1], values[:, -1], extras)


def read_corn_npz(path: Path) -> Sample:
    """The prepared corn spectra; the target is moisture, all four are kept beside it."""
    sample = read_npz(path)
    extras = dict(sample.extras)
    return _corn(sample.X, sample.y, extras.pop("wavelength_nm"))


def read_corn_mat(path: Path, instrument: str = "m5") -> Sample:
    """Eigenvector's ``corn.mat``, also inside its zip archive; one of three spectrometers."""
    from scipy.io import loadmat

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, archive.open("corn.mat") as stream:
            held = loadmat(stream)
    else:
        held = loadmat(path)
    X = np.array(held[f"{instrument}spec"]["data"][0, 0], dtype=np.float64)
    Y = np.array(held["propvals"]["data"][0, 0], dtype=np.float64)
    return _corn(X, Y, 1100 + 2 * np.arange(X.shape[1]))


def read_tfidf(path: Path, n_features: int) -> Sample:
    """LIBSVM text, plain or ``.bz2``; the test part lacks the last two columns of the set."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=n_features, zero_based=False)
    return Sample(sparse.csr_array(X), y)


def read_dense_challenge(*paths: Path) -> Sample:
    """Lines of space-separated integers; all lines have the same length."""
    return _both_parts(paths, lambda path: np.loadtxt(path, dtype=np.float64, ndmin=2), np.vstack)


def read_sparse_challenge(*paths: Path, n_features: int) -> Sample:
    """Lines of ``index:value``, or of the indices of what is 1; the first index is 1."""

    def stack(parts: list[sparse.csr_array]) -> sparse.csr_array:
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    return _both_parts(paths, lambda path: _csr(path, n_features), stack)


def _both_parts(
    paths: tuple[Path, ...],
    read: Callable[[Path], Any],
    stack: Callable[[list[Any]], Any],
) -> Sample:
    """Training and validation parts, one below the other, as the paper uses them.

    `paths` are those of ``train.data``, ``train.labels``, ``valid.data``, ``valid.labels``.
    """
    parts = [read(path) for path in paths[::2]]
    labels = [np.loadtxt(path, dtype=np.int64, ndmin=1) for path in paths[1::2]]
    for path, part, label in zip(paths[::2], parts, labels, strict=True):
        if part.shape[0] != len(label):
            raise ValueError(
                f"{path.name} has {part.shape[0]} lines but its labels are {len(label)}: one of "
                "the two files is cut short."
            )
    split = np.repeat(np.arange(len(labels), dtype=np.uint8), [len(label) for label in labels])
    return Sample(stack(parts), as_labels(np.concatenate(labels)), {"split": split})


def _csr(path: Path, n_features: int) -> sparse.csr_array:
    rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    entries = [entry.partition(":") for row in rows for entry in row]
    columns = np.array([int(index) for index, _, _ in entries], dtype=np.int64) - 1
    if columns.size and (columns.min() < 0 or columns.max() >= n_features):
        raise ValueError(
            f"{path.name} has feature indices {columns.min() + 1} to {columns.max() + 1}; they "
            f"must lie between 1 and {n_features}."
        )
    values = np.array([float(value or 1) for _, _, value in entries])
    ends = np.cumsum([0, *map(len, rows)])
    X = sparse.csr_array((values, columns, ends), shape=(len(rows), n_features))
    X.sort_indices()
    return X


def _as_target(y: NDArray[Any]) -> NDArray[Any]:
    return y.astype(np.int64 if y.dtype.kind == "i" else np.float64)


def _corn(X: NDArray[Any], Y: NDArray[Any], wavelength: NDArray[Any]) -> Sample:
    wavelength = wavelength.astype(np.int64)
    extras = {
        "feature_names": np.array([f"{value} nm" for value in wavelength]),
        "wavelength_nm": wavelength,
        "targets": Y,
        "target_names": np.array(CORN_PROPERTIES),
    }
    return Sample(X, Y[:, 0].copy(), extras)


TIMEOUT = 30.0  # seconds without an answer
SLOWEST = 1 << 18  # bytes a second, on the whole, below which a download is given up
CHUNK = 1 << 16

# the largest set on OpenML has 35 million values
OPENML_SECONDS, OPENML_BYTES = 3600.0, 16 << 30


def download(file: File, folder: Path) -> Path:
    """Fetch one file into `folder`, under its own name only once it is whole.

    Raises
    ------
    OSError
        No connection, no such file, the connection broke off, or what comes is too large or slow.
    ChecksumError
        What arrived is not the file that the registry describes.
    """
    path = folder / file.name
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as target:
        fetch_bounded(str(file.url), target, file.size or file.most)
    try:
        return verify(path, file)
    except ChecksumError:
        path.unlink()
        raise


def fetch_bounded(url: str, target: BinaryIO, largest: int) -> None:
    """Write what stands at `url`: at most `largest` bytes, no slower than `SLOWEST`."""
    seconds = TIMEOUT + largest / SLOWEST
    deadline, count = time.monotonic() + seconds, 0
    request = Request(url, headers={"User-Agent": f"skstretch/{__version__}"})
    with urlopen(request, timeout=TIMEOUT) as answer:
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


def download_openml(data_id: int, path: Path, *, dense: bool) -> None:
    """Fetch a two-class set from OpenML and keep it as one ``.npz`` file at `path`.

    OpenML may hold a dense set as sparse text and the reverse; `dense` says what is wanted.
    scikit-learn's reader has no bounds, so it runs in a process that can be stopped.
    """
    code = "from skstretch.datasets.find import keep_openml; import sys; "
    code += "keep_openml(int(sys.argv[1]), sys.argv[2], sys.argv[3] == 'dense')"
    words = (str(data_id), str(path), "dense" if dense else "sparse")
    run_bounded(code, words, OPENML_SECONDS, OPENML_BYTES)


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
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez_compressed(file, y=as_labels(y), **({"X": X.toarray()} if dense else parts))


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


VARIABLE = "SKSTRETCH_DATA"
OLD_VARIABLE = "STRETCHY_DATA"  # its name until version 0.1, still read

Folder = str | os.PathLike[str] | None

# What a reader raises on a damaged file, and what a download raises besides OSError.
DAMAGE = (ValueError, LookupError, EOFError, OSError, zipfile.BadZipFile, zlib.error)
FAILURE = (OSError, ValueError, EOFError, HTTPException)


# what a place is called -> the folder that is searched, None where the environment names none
Places = dict[str, Path | None]


def data_home(folder: Folder = None) -> Path:
    """The cache: `folder`, or ``~/skstretch_data``. It is not created.

    Where only ``~/stretchy_data`` is there, the cache of version 0.1, it goes on being used.
    """
    if folder is not None:
        return Path(folder).expanduser()
    new, old = Path.home() / "skstretch_data", Path.home() / "stretchy_data"
    return old if old.is_dir() and not new.exists() else new


def places(folder: Folder = None) -> Places:
    """The folder that ``SKSTRETCH_DATA`` names, then the cache."""
    named = os.environ.get(VARIABLE) or os.environ.get(OLD_VARIABLE, "")
    return {VARIABLE: Path(named) if named else None, "cache": data_home(folder)}


def find_forms(dataset: Dataset, where: Places) -> Iterator[tuple[Path, Form]]:
    """Each form of the set whose files are all there, and in which folder, the first one first."""
    for folder in filter(None, where.values()):
        for form in dataset.forms:
            if all((folder / file.name).exists() for file in form.files):
                yield folder, form


def verify(path: Path, file: File) -> Path:
    """The path, if its bytes are those that the registry describes.

    Raises
    ------
    ChecksumError
        The file is shorter or longer than expected, or its SHA-256 differs.
    """
    if file.sha256 is None:
        return path
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        kind = "truncated" if size < file.size else "too long"
        raise ChecksumError(
            f"{path} is {kind}: {size} bytes, expected {file.size}. Remove it and fetch or copy "
            "it again."
        )
    with path.open("rb") as stream:
        seen = hashlib.file_digest(stream, "sha256").hexdigest()
    if seen != file.sha256:
        raise ChecksumError(
            f"{path} was changed: its sha256 is {seen}, expected {file.sha256}. Remove it and "
            "fetch or copy it again."
        )
    return path


def content_digest(X: Any, y: Any) -> str:
    """SHA-256 of shape, values and target, the same for every file format and dtype."""
    digest = data_digest(X)
    add_numbers(digest, y)
    return str(digest.hexdigest())


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
        seen = content_digest(sample.X, sample.y)
        if seen != dataset.content:
            raise ChecksumError(
                f"the values in {where} are not those of {dataset.title}: their digest is {seen}, "
                f"expected {dataset.content}. Remove the files and fetch them again."
            )
    if dataset.classes is not None:
        low, high = int(np.sum(sample.y < 0)), int(np.sum(sample.y > 0))
        if (low, high) != dataset.classes:
            raise ChecksumError(
                f"the labels in {where} are {low} times -1 and {high} times +1, but "
                f"{dataset.title} has {dataset.classes[0]} and {dataset.classes[1]}."
            )
    if dataset.levels is not None:
        least, most = float(sample.X.min()), float(sample.X.max())
        whole = bool(np.all(np.mod(sample.X, 1) == 0))
        if least < dataset.levels[0] or most > dataset.levels[1] or not whole:
            raise ChecksumError(
                f"the values in {where} run from {least:g} to {most:g}, but {dataset.title} has "
                f"whole numbers from {dataset.levels[0]} to {dataset.levels[1]}."
            )


# how a form is read; formats that do not say how many features there are take it from the registry
READERS: dict[str, Callable[..., Sample]] = {
    "npz": read_npz,
    "sparse_npz": read_sparse_npz,
    "prostate_text": read_prostate,
    "corn_npz": read_corn_npz,
    "corn_mat": read_corn_mat,
    "tfidf_text": read_tfidf,
    "dense_text": read_dense_challenge,
    "sparse_text": read_sparse_challenge,
}
SIZED = ("tfidf_text", "sparse_text")


def load(
    dataset: Dataset,
    folder: Folder = None,
    download_if_missing: bool = True,
    read: Callable[[Dataset, Form, list[Path]], Sample] | None = None,
) -> Sample:
    """The first form of the set that is found, verified and read.

    Raises
    ------
    ChecksumError
        A file is there, but it is not the right one.
    DatasetNotFoundError
        No file is there and none could be fetched.
    """
    where, read = places(folder), read or read_form
    for found, form in find_forms(dataset, where):
        return read(dataset, form, [verify(found / file.name, file) for file in form.files])
    failures: list[str] = []
    for form in dataset.forms if download_if_missing else ():
        if not is_remote(form):
            continue
        try:
            paths, new = fetch_files(dataset, form, data_home(folder))
            try:
                return read(dataset, form, paths)
            except ChecksumError:  # what turns out to be wrong is not kept
                for path in new:
                    path.unlink()
                raise
        except FAILURE as error:
            failures.append(f"{address(form)}: {error}")
    if not download_if_missing:
        failures.append("no download, because download_if_missing=False")
    raise not_found(dataset, where, failures)


def read_form(dataset: Dataset, form: Form, paths: list[Path]) -> Sample:
    """Read verified files and check what they say."""
    names = ", ".join(str(path) for path in paths)
    try:
        more: dict[str, Any] = {"n_features": dataset.features} if form.reader in SIZED else {}
        more |= {"instrument": form.instrument} if form.instrument else {}
        sample = READERS[form.reader](*paths, **more)
    except DAMAGE as error:
        raise ChecksumError(f"{names} cannot be read as {dataset.title}: {error}") from error
    check_content(dataset, sample, names)
    return sample


def is_remote(form: Form) -> bool:
    """Whether every file of the form has an address."""
    return form.openml is not None or all(file.url is not None for file in form.files)


def address(form: Form) -> str:
    """Where a remote form comes from, in words."""
    if form.openml is not None:
        return f"OpenML data set {form.openml}"
    return ", ".join(str(file.url) for file in form.files)


def fetch_files(dataset: Dataset, form: Form, cache: Path) -> tuple[list[Path], list[Path]]:
    """All files of a form, and those of them that were not in the cache before."""
    paths, new = [cache / file.name for file in form.files], []
    for path, file in zip(paths, form.files, strict=True):
        if path.exists():
            verify(path, file)
            continue
        if form.openml is not None:
            download_openml(form.openml, path, dense=dataset.kind == "dense")
        else:
            download(file, cache)
        new.append(path)
    return paths, new


def not_found(dataset: Dataset, where: Places, failures: list[str]) -> DatasetNotFoundError:
    """The error that says what was tried and where to put the file by hand."""
    tried = [f"{label}: {_state(dataset, folder)}" for label, folder in where.items()]
    lines = [f"the data set {dataset.title} was not found. Tried:"]
    lines += [f"  - {line}" for line in [*tried, *failures]]
    files = [file for form in dataset.forms for file in form.files]
    remote = [f"{file.name} from {file.url}" for file in files if file.url is not None]
    lines.append("By hand: fetch" if remote else "By hand: put")
    lines += [f"  - {line}" for line in remote or [file.name for file in dataset.forms[0].files]]
    lines.append(f"into {where['cache']}, or into the folder that SKSTRETCH_DATA names.")
    return DatasetNotFoundError("\n".join(lines))


def _state(dataset: Dataset, folder: Path | None) -> str:
    if folder is None:
        return "is not set"
    if not folder.is_dir():
        return f"{folder} is no folder"
    lacking = []
    for form in dataset.forms:
        absent = [file.name for file in form.files if not (folder / file.name).exists()]
        lacking += absent if len(absent) < len(form.files) else []
    return f"{folder} lacks {', '.join(lacking) if lacking else 'its files'}"
