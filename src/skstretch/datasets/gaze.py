"""Columbia Gaze: a folder (or the zip archive) of photographs becomes one memory map."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skstretch.datasets.find import (
    FAILURE,
    Folder,
    Sample,
    address,
    check_content,
    data_home,
    fetch_files,
    find_forms,
    is_remote,
    not_found,
    places,
    verified_paths,
)
from skstretch.datasets.registry import Dataset
from skstretch.exceptions import ChecksumError
from skstretch.io.archive import replacing

WIDTH, HEIGHT = 1200, 1000

# subject _ distance _ head pose P _ vertical gaze V _ horizontal gaze H, angles in degrees
NAME = re.compile(r"(\d+)_(\d+)m_(-?\d+)P_(-?\d+)V_(-?\d+)H\.jpe?g", re.IGNORECASE)


@dataclass(frozen=True)
class Angles:
    """What the name of a photograph says; angles in degrees."""

    subject: int
    pose: int
    vertical: int
    horizontal: int


def parse_name(name: str) -> Angles:
    """Subject and angles from a name such as ``0001_2m_-15P_10V_-10H.jpg``.

    Examples
    --------
    >>> from skstretch.datasets.gaze import parse_name
    >>> parse_name("0001_2m_-15P_10V_-10H.jpg").horizontal
    -10
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"{name!r} is not named as in the Columbia Gaze set (0001_2m_-15P_10V_-10H.jpg)."
        )
    subject, _, pose, vertical, horizontal = map(int, found.groups())
    return Angles(subject, pose, vertical, horizontal)


def write_gaze_map(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    vertical: int | None = 0,
    dtype: DTypeLike = np.float32,
    n_images: int | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Crop the photographs to their centre, in grey, and write them as rows of a ``.npy`` file.

    The file appears under its name only when it is whole, so a run that was stopped leaves none.

    Parameters
    ----------
    source : path
        Folder that holds the JPEGs at any depth, or the zip archive of them.
    path : path
        The ``.npy`` file to write; the angles go beside it, into ``<stem>_y.npy``.
    width, height : int
        Size of the crop in pixels.
    vertical : int or None, default=0
        Take only photographs with this vertical gaze in degrees; None takes all.
    dtype : dtype, default=float32
        Floats hold grey levels in [0, 1], ``uint8`` holds 0..255 in a quarter of the space.
    n_images : int or None, default=None
        Refuse any other number of photographs, before one is read.

    Returns
    -------
    X : read-only memory map of shape (n_images, height * width)
        Rows in the order of the file names.
    y : ndarray of shape (n_images,)
        Horizontal gaze angle in radians.
    """
    path = Path(path)
    with _opened(Path(source)) as photographs:
        names = [name for name in sorted(photographs) if _wanted(name, vertical)]
        _check_number(len(names), n_images, source)
        y = np.radians([float(parse_name(name).horizontal) for name in names])
        rows = (_grey_row(photographs[name], name, width, height) for name in names)
        save_array(y, angles_path(path))
        X = write_rows(rows, path, (len(names), width * height), dtype)
    return X, y


def angles_path(path: Path) -> Path:
    """Where the angles of the map at `path` are kept."""
    return path.with_name(f"{path.stem}_y.npy")


def load_gaze(dataset: Dataset, folder: Folder, download_if_missing: bool) -> Sample:
    """The map in the cache; where there is none, it is written from the photographs first."""
    path = data_home(folder) / f"gaze_{WIDTH}x{HEIGHT}.npy"
    if path.exists():
        X, y = np.load(path, mmap_mode="r"), np.load(angles_path(path))
    else:
        photographs = _photographs(dataset, folder, download_if_missing)
        X, y = write_gaze_map(photographs, path, n_images=dataset.samples)
    sample = Sample(X, y, {"image_shape": (HEIGHT, WIDTH), "scale": 1.0})
    check_content(dataset, sample, str(path))
    return sample


def _photographs(dataset: Dataset, folder: Folder, download_if_missing: bool) -> Path:
    """The folder or archive of the photographs."""
    where = places(folder)
    for place, form in find_forms(dataset, where):
        return verified_paths(place, form)[0]
    remote = next(form for form in dataset.forms if is_remote(form))
    failure = "no download, because download_if_missing=False"
    if download_if_missing:
        try:
            return fetch_files(remote, data_home(folder))[0][0]
        except FAILURE as error:
            failure = f"{address(remote)}: {error}"
    raise not_found(dataset, where, [failure])


def write_rows(
    rows: Iterator[NDArray[np.uint8]], path: Path, shape: tuple[int, int], dtype: DTypeLike
) -> NDArray[Any]:
    """Write grey levels 0..255 row by row into a ``.npy`` file; floats are scaled to [0, 1]."""
    kind = np.dtype(dtype)
    header = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": shape,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for row in rows:
            scaled = np.divide(row, 255, dtype=kind) if kind.kind == "f" else row.astype(kind)
            file.write(scaled.data)
    return np.load(path, mmap_mode="r")


def save_array(values: NDArray[Any], path: Path) -> None:
    """`np.save`, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.save(file, values)


def _wanted(name: str, vertical: int | None) -> bool:
    return vertical is None or parse_name(name).vertical == vertical


def _check_number(seen: int, expected: int | None, source: object) -> None:
    if seen == 0:
        raise FileNotFoundError(
            f"{source} holds no photographs named like 0001_2m_-15P_0V_-10H.jpg."
        )
    if expected is not None and seen != expected:
        raise ChecksumError(
            f"{source} holds {seen} photographs of the wanted vertical gaze, expected {expected}: "
            "it is not the whole set."
        )


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


@contextmanager
def _opened(source: Path) -> Iterator[dict[str, Callable[[], IO[bytes]]]]:
    """Photographs by name, each with a function that opens it."""
    if source.is_dir():
        found = (path for path in source.rglob("*") if NAME.fullmatch(path.name))
        yield {path.name: partial(_open, path) for path in found}
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


def _grey_row(
    opened: Callable[[], IO[bytes]], name: str, width: int, height: int
) -> NDArray[np.uint8]:
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
