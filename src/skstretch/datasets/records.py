"""The shape of a registry entry: a data set, its forms and their files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """One file (or folder): its name, its address, and what is known of its bytes."""

    name: str
    url: str | None = None
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Form:
    """Files that together hold a set, and the name of the reader that understands them."""

    reader: str
    files: tuple[File, ...]
    openml: int | None = None
    argument: str = ""


@dataclass(frozen=True)
class Dataset:
    """One row of the paper's Table 2 (regression) or 3 (classification), and its files.

    `samples` is what the paper evaluates: training and validation parts together (`parts` has
    the sizes of training, validation and test), or the part that it names. `content` is the
    `content_digest` of the set, None where no copy was at hand to compute it; `classes` (sizes
    of the classes −1 and +1) and `levels` (range of X) are then checked where published.
    """

    name: str
    title: str
    domain: str
    task: str
    kind: str
    features: int
    samples: int
    forms: tuple[Form, ...]
    source: str
    terms: str
    parts: tuple[int, int, int] | None = None
    content: str | None = None
    classes: tuple[int, int] | None = None
    levels: tuple[int, int] | None = None
    note: str = ""

    @property
    def table(self) -> int:
        """Number of the paper's table that lists the set."""
        return 2 if self.task == "regression" else 3


def prepared(name: str, sha256: str, size: int) -> File:
    """A file of the prepared form: no address, exact checksum."""
    return File(name, None, sha256, size)
