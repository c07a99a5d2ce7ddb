"""Where data files lie, and whether they are the right ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import ChecksumError
from .records import Dataset, File, Form

VARIABLE = "SKSTRETCH_DATA"
OLD_VARIABLE = "STRETCHY_DATA"  # its name until version 0.1, still read


@dataclass(frozen=True)
class Place:
    """A folder that is searched; `path` is None where the environment names none."""

    label: str
    path: Path | None

    def has(self, file: File) -> bool:
        return self.path is not None and (self.path / file.name).exists()

    def holds(self, form: Form) -> bool:
        return all(self.has(file) for file in form.files)


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """The cache: `folder`, or ``~/skstretch_data``. It is not created.

    Where only ``~/stretchy_data`` is there, the cache of version 0.1, it goes on being used.
    """
    if folder is not None:
        return Path(folder).expanduser()
    new, old = Path.home() / "skstretch_data", Path.home() / "stretchy_data"
    return old if old.is_dir() and not new.exists() else new


def places(folder: str | os.PathLike[str] | None = None) -> tuple[Place, Place]:
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
