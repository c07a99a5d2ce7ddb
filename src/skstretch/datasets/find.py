"""Finding a data set: SKSTRETCH_DATA, then the cache, then the network; read and verified.

Readers of the formats that the sets are published in take paths and give a `Sample`. Downloads have
bounds on size and time: pooch for addresses, OpenML's own reader in a process that can be stopped.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skstretch._version import __version__
from skstretch.datasets.registry import Dataset, File, Form
from skstretch.exceptions import ChecksumError, DatasetNotFoundError
from skstretch.io.archive import replacing

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


def read_dense_npz(path: Path) -> Sample:
    """``X``, ``y`` and whatever else an ``.npz`` file names; no pickles."""
    # numpy leaves a file that it opened itself open when it is no whole archive
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    X, y = held.pop("X").astype(np.float64), held.pop("y")
    return Sample(X, _as_target(y), held)


def read_sparse_npz(x_path: Path, y_path: Path, split_path: Path) -> Sample:
    """A CSR matrix, its target and its split (0 = training, 1 = validation), one file each."""
    X = sparse.csr_array(sparse.load_npz(x_path), dtype=np.float64)
    split = np.load(split_path, allow_pickle=False)
    return Sample(X, _as_target(np.load(y_path, allow_pickle=False)), {"split": split})


def read_stored(path: Path) -> Sample:
    """A sample as `store` wrote it."""
    # numpy leaves a file that it opened itself open when it is no whole archive
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        if "X" in file:
            X: Any = file["X"].astype(np.float64)
        else:
            parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
            X = sparse.csr_array(parts, shape=tuple(file["shape"]))
        return Sample(X, file["y"])


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
    sample = read_dense_npz(path)
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
    """Lines of ``index:value``, the first index is 1."""

    def split(line: str) -> tuple[list[int], list[float]]:
        pairs = [entry.partition(":") for entry in line.split()]
        return [int(index) for index, _, _ in pairs], [float(value) for _, _, value in pairs]

    return _both_parts(paths, lambda path: _csr(path, split, n_features), _stack)


def read_binary_challenge(*paths: Path, n_features: int) -> Sample:
    """Lines of the indices of the features that are 1; the first index is 1."""

    def split(line: str) -> tuple[list[int], list[float]]:
        indices = [int(entry) for entry in line.split()]
        return indices, [1.0] * len(indices)

    return _both_parts(paths, lambda path: _csr(path, split, n_features), _stack)


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


def _csr(
    path: Path, split: Callable[[str], tuple[list[int], list[float]]], n_features: int
) -> sparse.csr_array:
    indices: list[int] = []
    values: list[float] = []
    ends = [0]
    with path.open(encoding="ascii") as lines:
        for line in lines:
            found, held = split(line)
            indices += found
            values += held
            ends.append(len(indices))
    columns = np.array(indices, dtype=np.int64) - 1
    if columns.size and (columns.min() < 0 or columns.max() >= n_features):
        raise ValueError(
            f"{path.name} has feature indices {columns.min() + 1} to {columns.max() + 1}; they "
            f"must lie between 1 and {n_features}."
        )
    parts = (np.array(values), columns.astype(np.int32), np.array(ends, dtype=np.int32))
    X = sparse.csr_array(parts, shape=(len(ends) - 1, n_features))
    X.sort_indices()
    return X


def _stack(parts: Iterable[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack(list(parts), format="csr"))


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
    code = "from skstretch.datasets.find import keep_openml; import sys; "
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


VARIABLE = "SKSTRETCH_DATA"
OLD_VARIABLE = "STRETCHY_DATA"  # its name until version 0.1, still read

Folder = str | os.PathLike[str] | None

# What a reader raises on a damaged file, and what a download raises besides OSError.
DAMAGE = (ValueError, LookupError, EOFError, OSError, zipfile.BadZipFile, zlib.error)
FAILURE = (OSError, ValueError, ImportError, EOFError, HTTPException)


@dataclass(frozen=True)
class Place:
    """A folder that is searched; `path` is None where the environment names none."""

    label: str
    path: Path | None

    def has(self, file: File) -> bool:
        return self.path is not None and (self.path / file.name).exists()

    def holds(self, form: Form) -> bool:
        return all(self.has(file) for file in form.files)


def data_home(folder: Folder = None) -> Path:
    """The cache: `folder`, or ``~/skstretch_data``. It is not created.

    Where only ``~/stretchy_data`` is there, the cache of version 0.1, it goes on being used.
    """
    if folder is not None:
        return Path(folder).expanduser()
    new, old = Path.home() / "skstretch_data", Path.home() / "stretchy_data"
    return old if old.is_dir() and not new.exists() else new


def places(folder: Folder = None) -> tuple[Place, Place]:
    """The folder that ``SKSTRETCH_DATA`` names, then the cache."""
    named = os.environ.get(VARIABLE) or os.environ.get(OLD_VARIABLE, "")
    return Place(VARIABLE, Path(named) if named else None), Place("cache", data_home(folder))


def find_forms(dataset: Dataset, where: tuple[Place, ...]) -> Iterator[tuple[Place, Form]]:
    """Each form of the set whose files are all there, the first place first."""
    for place in where:
        for form in dataset.forms:
            if place.holds(form):
                yield place, form


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
    seen = file_digest(path)
    if seen != file.sha256:
        raise ChecksumError(
            f"{path} was changed: its sha256 is {seen}, expected {file.sha256}. Remove it and "
            "fetch or copy it again."
        )
    return path


def verified_paths(place: Place, form: Form) -> list[Path]:
    """Paths of a form's files in a place that holds them, each verified."""
    folder = place.path or Path()
    return [verify(folder / file.name, file) for file in form.files]


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


# how a form is read; formats that do not say how many features there are take it from the registry
READERS: dict[str, Callable[..., Sample]] = {
    "dense_npz": read_dense_npz,
    "sparse_npz": read_sparse_npz,
    "stored": read_stored,
    "prostate_text": read_prostate,
    "corn_npz": read_corn_npz,
    "corn_mat": read_corn_mat,
    "tfidf_text": read_tfidf,
    "dense_text": read_dense_challenge,
    "sparse_text": read_sparse_challenge,
    "binary_text": read_binary_challenge,
}
SIZED = ("tfidf_text", "sparse_text", "binary_text")


def load(dataset: Dataset, folder: Folder = None, download_if_missing: bool = True) -> Sample:
    """The first form of the set that is found, verified.

    Raises
    ------
    ChecksumError
        A file is there, but it is not the right one.
    DatasetNotFoundError
        No file is there and none could be fetched.
    """
    where = places(folder)
    for place, form in find_forms(dataset, where):
        return read_form(dataset, form, verified_paths(place, form))
    failures: list[str] = []
    for form in dataset.forms if download_if_missing else ():
        if not is_remote(form):
            continue
        try:
            return _fetch(dataset, form, data_home(folder))
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
    return _as_float(sample)


def _as_float(sample: Sample) -> Sample:
    X = sample.X.astype(np.float64, copy=False)
    return Sample(X, sample.y, sample.extras)


def is_remote(form: Form) -> bool:
    """Whether every file of the form has an address."""
    return form.openml is not None or all(file.url is not None for file in form.files)


def address(form: Form) -> str:
    """Where a remote form comes from, in words."""
    if form.openml is not None:
        return f"OpenML data set {form.openml}"
    return ", ".join(str(file.url) for file in form.files)


def _fetch(dataset: Dataset, form: Form, cache: Path) -> Sample:
    """Download a form into the cache; what turns out to be wrong is not kept."""
    if form.openml is not None:
        path = cache / form.files[0].name
        sample = download_openml(form.openml, path, dense=dataset.kind == "dense")
        try:
            check_content(dataset, sample, address(form))
        except ChecksumError:
            path.unlink()
            raise
        return _as_float(sample)
    paths, new = fetch_files(form, cache)
    try:
        return read_form(dataset, form, paths)
    except ChecksumError:
        for path in new:
            path.unlink()
        raise


def fetch_files(form: Form, cache: Path) -> tuple[list[Path], list[Path]]:
    """All files of a form, and those of them that were not in the cache before."""
    paths, new = [], []
    for file in form.files:
        if (cache / file.name).exists():
            paths.append(verify(cache / file.name, file))
        else:
            paths.append(download(file, cache))
            new.append(paths[-1])
    return paths, new


def not_found(
    dataset: Dataset, where: tuple[Place, ...], failures: list[str]
) -> DatasetNotFoundError:
    """The error that says what was tried and where to put the file by hand."""
    tried = [f"{place.label}: {_state(dataset, place)}" for place in where]
    tried += failures
    lines = [f"the data set {dataset.title} was not found. Tried:"]
    lines += [f"  - {line}" for line in tried]
    lines.append(by_hand(dataset, where[-1]))
    return DatasetNotFoundError("\n".join(lines))


def _state(dataset: Dataset, place: Place) -> str:
    if place.path is None:
        return "is not set"
    if not place.path.is_dir():
        return f"{place.path} is no folder"
    started = [form for form in dataset.forms if any(map(place.has, form.files))]
    lacking = [file.name for form in started for file in form.files if not place.has(file)]
    return f"{place.path} lacks {', '.join(lacking) if lacking else 'its files'}"


def by_hand(dataset: Dataset, cache: Place) -> str:
    """How to put the files in place without a download."""
    remote = [file for form in dataset.forms for file in form.files if file.url is not None]
    lines = ["By hand: fetch"] if remote else ["By hand: put"]
    lines += [f"  - {file.name} from {file.url}" for file in remote]
    ours = [file.name for file in dataset.forms[0].files if file.url is None]
    if not remote:
        lines += [f"  - {name}" for name in ours]
    lines.append(f"into {cache.path}, or into the folder that SKSTRETCH_DATA names.")
    return "\n".join(lines)
