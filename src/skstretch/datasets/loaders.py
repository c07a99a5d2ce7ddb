"""The loaders ``fetch_*``, made from the registry, its table in rows, and generated spectra.

Of Columbia Gaze a folder (or the zip archive) of photographs becomes one memory map.
"""

from __future__ import annotations

import inspect
import os
import re
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from skstretch.datasets.find import (
    Folder,
    Sample,
    address,
    check_content,
    data_home,
    find_forms,
    is_remote,
    load,
    places,
)
from skstretch.datasets.registry import DATASETS, PARTS, Dataset, Form
from skstretch.exceptions import ChecksumError, DatasetNotFoundError
from skstretch.io.archive import replacing

DESCRIPTION = """\
Generated transmission spectra of two dyes
------------------------------------------
Not measured: made by `skstretch.datasets.make_spectra`, the same for the same random_state.

Each sample holds two dyes in concentrations drawn from [0, 1]. Their absorption bands, at 600 nm
(width 40 nm) and 650 nm (width 50 nm), overlap; a scattering background falls with the square of
the wavelength. The detector sees the transmittance, 10 ** -(absorbance), with noise
of standard deviation {noise:g}. So light falls exponentially with the concentration (the law of
Beer and Lambert): a straight line through the intensities cannot follow it.

Samples: {rows}. Features: transmission at {columns} wavelengths from 400 to 900 nm.
Target: the concentration of the first dye.
"""


def make_spectra(
    n_samples: int = 60,
    n_wavelengths: int = 501,
    *,
    noise: float = 1e-3,
    random_state: Any = 0,
    return_X_y: bool = False,
) -> Any:
    """Generate transmission spectra of two dyes with overlapping bands.

    With concentrations ``p_i, q_i`` in [0, 1] and a background ``s_i`` in [0, 0.1], sample i at
    wavelength ``l_j`` has the absorbance ``A_ij = p_i g(l_j; 600, 40) + q_i g(l_j; 650, 50) +
    s_i (700 / l_j)**2``, ``g`` a Gauss curve of height one, and the detector sees
    ``X_ij = 10**(-A_ij)`` plus noise.

    Parameters
    ----------
    n_samples : int, default=60
        Number of spectra.
    n_wavelengths : int, default=501
        Number of features, evenly spaced from 400 to 900 nm.
    noise : float, default=0.001
        Standard deviation of the detector, where all light passes at 1.
    random_state : int, RandomState or None, default=0
        The draw; an int gives the same spectra every time.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or tuple
        With ``data`` of shape (n_samples, n_wavelengths), ``target`` (the concentration of the
        first dye), ``feature_names`` (wavelengths in nm) and ``DESCR``.

    See Also
    --------
    fetch_corn : Measured spectra.

    Examples
    --------
    >>> from skstretch.datasets import make_spectra
    >>> spectra = make_spectra()
    >>> spectra.data.shape
    (60, 501)
    >>> spectra.feature_names[0], spectra.feature_names[-1]
    ('400', '900')
    """
    if n_samples < 1 or n_wavelengths < 1 or not noise >= 0.0:
        raise ValueError(
            f"n_samples={n_samples!r}, n_wavelengths={n_wavelengths!r}, noise={noise!r}: the "
            "first two are whole numbers from 1, the noise is not negative."
        )
    rng = check_random_state(random_state)
    wavelength = np.linspace(400.0, 900.0, n_wavelengths)
    first, second = rng.uniform(size=n_samples), rng.uniform(size=n_samples)
    background = 0.1 * rng.uniform(size=n_samples)
    absorbance = (
        np.outer(first, _band(wavelength, 600.0, 40.0))
        + np.outer(second, _band(wavelength, 650.0, 50.0))
        + np.outer(background, (700.0 / wavelength) ** 2)
    )
    X = 10.0**-absorbance + noise * rng.standard_normal(absorbance.shape)
    if return_X_y:
        return X, first
    return Bunch(
        data=X,
        target=first,
        feature_names=[f"{value:g}" for value in wavelength],
        DESCR=DESCRIPTION.format(noise=noise, rows=n_samples, columns=n_wavelengths),
    )


def _band(wavelength: Any, centre: float, width: float) -> Any:
    return np.exp(-0.5 * ((wavelength - centre) / width) ** 2)


Reader = Callable[[Dataset, Folder, bool], Sample]


def _fetcher(
    name: str,
    *,
    read: Reader = load,
    more: str = "",
    shown: str = "",
    text: str = "",
    **choice: dict[str, str],
) -> Callable[..., Any]:
    """The loader of a set: its name, signature and documentation as if written by hand.

    `more` is a paragraph, `shown` an example for the documentation. `choice` is a keyword of the
    loader with its values, the default first, and their sets; `text` is what is said of it.
    """

    def fetch(
        *,
        data_home: Folder = None,
        download_if_missing: bool = True,
        return_X_y: bool = False,
        **part: str,
    ) -> Any:
        signature.bind(**part)  # an unknown keyword is a TypeError
        chosen = name
        for keyword, sets in choice.items():
            value = part.get(keyword, next(iter(sets)))
            if value not in sets:
                raise ValueError(f"{keyword}={value!r} is unknown; choose from {', '.join(sets)}.")
            chosen = sets[value]
        dataset = (DATASETS | PARTS)[chosen]
        sample = read(dataset, data_home, download_if_missing)
        if return_X_y:
            return sample.X, sample.y
        more = {"DESCR": describe(dataset), "standin": False, **sample.extras}
        return Bunch(data=sample.X, target=sample.y, **more)

    # a keyword that picks has a name in place of ``**part``
    signature = inspect.signature(fetch)
    *shared, part = signature.parameters.values()
    own = [
        part.replace(name=keyword, kind=part.KEYWORD_ONLY, default=next(iter(sets)))
        for keyword, sets in choice.items()
    ]
    signature = signature.replace(parameters=[*shared, *own])
    fetch.__signature__ = signature  # type: ignore[attr-defined]
    fetch.__name__ = fetch.__qualname__ = f"fetch_{name}"
    fetch.__doc__ = _documentation(DATASETS[name], choice, text, more, shown)
    return fetch


DOCUMENTATION = """{title}: {problem}, {samples:,} x {features:,}, {kind}.
{more}
Parameters
----------
data_home : path or None, default=None
    The cache; None means ``~/skstretch_data``.
download_if_missing : bool, default=True
    False raises `DatasetNotFoundError` instead of asking the network.
return_X_y : bool, default=False
    True returns ``(data, target)`` instead of a `Bunch`.
{choice}
Returns
-------
Bunch or (X, y)
{gives}

See Also
--------
list_datasets : All sets, and where each would come from.

Examples
--------
{shown}"""
# Where no example can be run without a file or the network.
SHOWN = """>>> from skstretch.datasets import fetch_{name}
>>> X, y = fetch_{name}(return_X_y=True)  # doctest: +SKIP
"""


def _documentation(
    dataset: Dataset, choice: dict[str, dict[str, str]], text: str, more: str, shown: str
) -> str:
    listed = ""
    for keyword, sets in choice.items():
        values = [f'"{value}"' for value in sets]
        listed = f"{keyword} : {{{', '.join(values)}}}, default={values[0]}\n    {text}\n"
    gives = textwrap.wrap(f"{dataset.gives}, `DESCR`, `standin`.", 90)
    return DOCUMENTATION.format(
        **vars(dataset) | {"gives": textwrap.indent("\n".join(gives), "    ")},
        more=f"\n{more}\n" if more else "",
        choice=listed,
        shown=shown or SHOWN.format(name=dataset.name),
    )


def _diabetes(dataset: Dataset, folder: Folder, download_if_missing: bool) -> Sample:
    """From a file, else from scikit-learn itself; the network is never asked."""
    from sklearn.datasets import load_diabetes

    try:
        return load(dataset, folder, download_if_missing=False)
    except DatasetNotFoundError:
        held = load_diabetes(scaled=False)
    X = np.round(held.data, 4)  # older scikit-learn wrote 4.804 as 4.803999999999999
    sample = Sample(X, held.target, {"feature_names": np.array(held.feature_names)})
    check_content(dataset, sample, "scikit-learn's load_diabetes(scaled=False)")
    return sample


# Columbia Gaze

WIDTH, HEIGHT = 1200, 1000

# subject _ distance _ head pose P _ vertical gaze V, which is 0 _ horizontal gaze H, in degrees
NAME = re.compile(r"\d+_\d+m_-?\d+P_-?0V_(-?\d+)H\.jpe?g", re.IGNORECASE)


def write_gaze_map(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    n_images: int | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Crop photographs to their centre, in grey, and write them as rows of a ``.npy`` file.

    Those with a vertical gaze of 0 are taken. The file appears under its name only when it is
    whole, so a run that was stopped leaves none.

    Parameters
    ----------
    source : path
        Folder that holds the JPEGs at any depth, or the zip archive of them.
    path : path
        The ``.npy`` file to write, float32 in [0, 1]; the angles go beside it, into
        ``<stem>_y.npy``.
    width, height : int
        Size of the crop in pixels.
    n_images : int or None, default=None
        Refuse any other number of photographs, before one is read.

    Returns
    -------
    X : read-only memory map of shape (n_images, height * width)
        Rows in the order of the file names.
    y : ndarray of shape (n_images,)
        Horizontal gaze angle in radians.
    """
    path, kind = Path(path), np.dtype(np.float32)
    with _opened(Path(source)) as photographs:
        names = sorted(photographs)
        if not names:
            raise FileNotFoundError(
                f"{source} holds no photographs named like 0001_2m_-15P_0V_-10H.jpg."
            )
        if n_images not in (None, len(names)):
            raise ChecksumError(
                f"{source} holds {len(names)} photographs of the wanted vertical gaze, expected "
                f"{n_images}: it is not the whole set."
            )
        y = np.radians([float(NAME.sub(r"\1", name)) for name in names])
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(angles_path(path)) as file:
            np.save(file, y)
        shape = (len(names), width * height)
        header = {"descr": kind.str, "fortran_order": False, "shape": shape}
        with replacing(path) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for name in names:
                row = _grey_row(photographs[name], name, width, height)
                file.write(np.divide(row, 255, dtype=kind).data)
    return np.load(path, mmap_mode="r"), y


def angles_path(path: Path) -> Path:
    """Where the angles of the map at `path` are kept."""
    return path.with_name(f"{path.stem}_y.npy")


def load_gaze(dataset: Dataset, folder: Folder, download_if_missing: bool) -> Sample:
    """The map in the cache; where there is none, it is written from the photographs first."""
    path = data_home(folder) / f"gaze_{WIDTH}x{HEIGHT}.npy"

    def mapped(X: Any, y: Any) -> Sample:
        sample = Sample(X, y, {"image_shape": (HEIGHT, WIDTH), "scale": 1.0})
        check_content(dataset, sample, str(path))
        return sample

    def written(dataset: Dataset, form: Form, paths: list[Path]) -> Sample:
        return mapped(*write_gaze_map(paths[0], path, n_images=dataset.samples))

    if path.exists():
        return mapped(np.load(path, mmap_mode="r"), np.load(angles_path(path)))
    return load(dataset, folder, download_if_missing, written)


@contextmanager
def _opened(source: Path) -> Iterator[dict[str, Callable[[], Any]]]:
    """Photographs of vertical gaze 0 by name, each with a function that opens it."""
    if source.is_dir():
        found = (path for path in source.rglob("*") if NAME.fullmatch(path.name))
        yield {path.name: partial(path.open, "rb") for path in found}
        return
    try:
        archive = zipfile.ZipFile(source)
    except zipfile.BadZipFile as error:
        raise ChecksumError(f"{source} is no whole zip archive: {error}") from error
    with archive:
        # macOS archives carry "._name" twins of every file; NAME leaves them out.
        inside = {member.rpartition("/")[2]: member for member in archive.namelist()}
        yield {
            name: partial(archive.open, member)
            for name, member in inside.items()
            if NAME.fullmatch(name)
        }


def _grey_row(opened: Callable[[], Any], name: str, width: int, height: int) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading photographs needs Pillow: pip install pillow") from error
    try:
        with opened() as stream, Image.open(stream) as image:
            left, top = (image.width - width) // 2, (image.height - height) // 2
            if left < 0 or top < 0:
                raise ChecksumError(
                    f"{name} has {image.width} x {image.height} pixels, less than the crop of "
                    f"{width} x {height}."
                )
            grey = image.crop((left, top, left + width, top + height)).convert("L")
    except (OSError, zipfile.BadZipFile) as error:
        raise ChecksumError(f"{name} cannot be read as a photograph: {error}") from error
    return np.asarray(grey, dtype=np.uint8).reshape(-1)


fetch_prostate = _fetcher("prostate")
fetch_diabetes = _fetcher(
    "diabetes",
    read=_diabetes,
    more="Where no file is found it comes from scikit-learn itself, without network.",
    shown=""">>> from skstretch.datasets import fetch_diabetes
>>> X, y = fetch_diabetes(return_X_y=True)
>>> X.shape, float(y.max())
((442, 10), 346.0)
""",
)
fetch_corn = _fetcher(
    "corn",
    text="The spectrometer; the paper uses m5.",
    instrument={"m5": "corn", "mp5": "corn_mp5", "mp6": "corn_mp6"},
)
fetch_tfidf = _fetcher(
    "tfidf",
    text="The paper uses the test part; the training part has 16,087 samples.",
    subset={"test": "tfidf", "train": "tfidf_train"},
)
fetch_gaze = _fetcher(
    "gaze",
    read=load_gaze,
    more="The photographs are read once, with Pillow, and written to the cache as a memory map of\n"
    "float32 (9.4 GB). Later calls open that map.",
)
fetch_arcene = _fetcher("arcene")
fetch_dexter = _fetcher("dexter")
fetch_dorothea = _fetcher("dorothea")
fetch_gisette = _fetcher("gisette")
fetch_madelon = _fetcher("madelon")


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

    See Also
    --------
    make_spectra : Generated data.

    Examples
    --------
    >>> from skstretch.datasets import list_datasets
    >>> row = list_datasets()[0]
    >>> row["name"], row["features"], row["samples"]
    ('prostate', 8, 97)
    """
    shown = ("name", "table", "domain", "task", "kind", "features", "samples")
    rows = []
    for dataset in DATASETS.values():
        sizes = zip(("train", "valid", "test"), dataset.parts or (None, None, None), strict=True)
        own = {name: getattr(dataset, name) for name in shown}
        rows.append(own | dict(sizes) | {"where": where(dataset, data_home)})
    return rows


def where(dataset: Dataset, data_home: Folder = None) -> str:
    """A file that is there, or the first address that would be asked."""
    for folder, form in find_forms(dataset, places(data_home)):
        return str(folder / form.files[0].name)
    if dataset.name == "diabetes":
        return "scikit-learn"
    remote = next(form for form in dataset.forms if is_remote(form))
    return f"download: {address(remote).partition(', ')[0]}"
