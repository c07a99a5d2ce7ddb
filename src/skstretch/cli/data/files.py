"""Data files as streams of bytes, unpacked on the way, and the form that they are written in.

The form is told by the first bytes and the name, or by the user.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, cast

from skstretch.cli.console import nearest
from skstretch.cli.data.memory import Budget
from skstretch.exceptions import DataError


class Kind(StrEnum):
    """Formats of data files."""

    AUTO = "auto"
    CSV = "csv"
    PARQUET = "parquet"
    FEATHER = "feather"
    NPZ = "npz"
    MTX = "mtx"
    SVMLIGHT = "svmlight"


@dataclass(frozen=True)
class Form:
    """How a file is to be read; what is None is found out."""

    kind: Kind = Kind.AUTO
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True
    zero_based: bool = False
    comment: str | None = None
    skip_rows: int = 0
    max_memory: int | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise DataError(f"--decimal {self.decimal!r} is not known: use . or ,")
        if self.comment == "":
            raise DataError("--comment '' is empty: name what comment lines start with, say '#'.")
        if self.separator is not None and len(self.separator) != 1:
            raise DataError(
                f"--sep {self.separator!r} must be a single character; for a tab write --sep tab."
            )


SUFFIXES = {
    ".csv": Kind.CSV,
    ".tsv": Kind.CSV,
    ".tab": Kind.CSV,
    ".parquet": Kind.PARQUET,
    ".pq": Kind.PARQUET,
    ".feather": Kind.FEATHER,
    ".arrow": Kind.FEATHER,
    ".npz": Kind.NPZ,
    ".mtx": Kind.MTX,
    ".svm": Kind.SVMLIGHT,
    ".libsvm": Kind.SVMLIGHT,
    ".svmlight": Kind.SVMLIGHT,
}

PACKED = (".gz", ".bz2", ".xz", ".zst")

MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.FEATHER,
    b"FEA1": Kind.FEATHER,
    b"PK\x03\x04": Kind.NPZ,
    b"%%MatrixMarket": Kind.MTX,
}

INSTRUMENT = (
    "a spectrum as an instrument writes it: read_spectra of skstretch.datasets reads it in Python, "
    "and DataFrame.to_csv makes the table that is asked for here"
)
OTHERS = {
    ".dx": INSTRUMENT,
    ".jdx": INSTRUMENT,
    ".spc": INSTRUMENT,
    ".xlsx": "an Excel workbook: save the sheet as CSV first",
    ".xls": "an Excel workbook: save the sheet as CSV first",
    ".ods": "a spreadsheet: save the sheet as CSV first",
    ".zip": "a zip archive: unpack it first (.gz, .bz2, .xz and .zst are read as they are)",
    ".stretchy": "a model file: data are asked for here",
}

HEAD = 1 << 16
SVMLIGHT_LINE = re.compile(rb"[-+0-9.eE]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?$")


def kind_of(name: str, head: bytes) -> Kind:
    """The format of a file from its first bytes, already unpacked, and its name."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if last in OTHERS:
        raise DataError(f"{name!r} is {OTHERS[last]}.")
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if last in SUFFIXES:
        return SUFFIXES[last]
    lines = [line for line in head.splitlines()[:2] if line.strip() and not line.startswith(b"#")]
    return Kind.SVMLIGHT if lines and SVMLIGHT_LINE.match(lines[0]) else Kind.CSV


# first bytes -> name, and a function of the file and of how much memory it may take
UNPACKERS: dict[bytes, tuple[str, Callable[[Any, int], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file, limit: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", lambda file, limit: bz2.BZ2File(file)),
    b"\xfd7zXZ\x00": ("xz", lambda file, limit: Xz(file, limit)),
    b"\x28\xb5\x2f\xfd": ("zstandard", lambda file, limit: _zstandard(file)),
}

Watch = Callable[[BinaryIO, int | None], BinaryIO]


class Stream(io.BufferedReader):
    """Bytes of a file; `size` is None where they are unpacked on the way, or come from a pipe."""

    size: int | None = None

    def whole(self, budget: Budget) -> io.BytesIO:
        """All bytes in memory."""
        taken = io.BytesIO()
        while part := self.read(HEAD):
            budget.check(taken.tell() + len(part), "the unpacked file")
            taken.write(part)
        taken.seek(0)
        return taken

    def seekable_file(self, budget: Budget) -> BinaryIO:
        """A file that one can go back in: this one, or a copy in memory."""
        return cast(BinaryIO, self if self.size is not None else self.whole(budget))


class Xz(io.RawIOBase):
    """An xz file, unpacked within a limit: its dictionary alone can claim gigabytes."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self.file, self.limit = file, limit
        self.unpacker, self.rest = self._fresh(), b""

    def _fresh(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=self.limit)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self.unpacker.eof:
                self.rest = (self.unpacker.unused_data or self.file.read(HEAD)).lstrip(b"\0")
                if not self.rest:
                    return 0
                self.unpacker = self._fresh()
            elif self.unpacker.needs_input and not self.rest:
                self.rest = self.file.read(HEAD)
                if not self.rest:
                    raise EOFError("it ends before its end mark")
            part = self.unpacker.decompress(self.rest, len(buffer))
            self.rest = b""
            if part:
                buffer[: len(part)] = part
                return len(part)


def check_source(source: str) -> None:
    """Refuse what is no readable file."""
    path = Path(source)
    if source == "-":
        return
    if path.is_dir():
        raise DataError(f"{source!r} is a folder: name a file in it.")
    if not path.exists():
        raise DataError(f"there is no file {source!r}{_near(path)}")


def _near(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return "."
    found = nearest(path.name, names)
    return f"; did you mean {str(path.with_name(found))!r}?" if found else "."


@contextlib.contextmanager
def opened(source: str, watch: Watch, budget: Budget) -> Iterator[Stream]:
    """The unpacked bytes of a file, or of standard input for ``-``.

    `watch` wraps the raw file, given its size, so that someone can see how far reading has come.
    """
    check_source(source)
    with contextlib.ExitStack() as stack:
        raw = _raw(source, stack)
        about = os.fstat(raw.fileno()) if source != "-" else None
        size = about.st_size if about is not None and stat.S_ISREG(about.st_mode) else None
        file = Stream(cast(Any, watch(raw, size)), HEAD)
        file.size = size
        head = file.peek(8)
        for magic, (name, unpack) in UNPACKERS.items():
            if head.startswith(magic):
                with _sound(source, name):
                    yield Stream(stack.enter_context(unpack(file, budget.limit)), HEAD)
                return
        yield file


def _raw(source: str, stack: contextlib.ExitStack) -> BinaryIO:
    if source == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed: name a file in place of -.")
        return sys.stdin.buffer
    try:
        return stack.enter_context(open(source, "rb"))
    except PermissionError:
        raise DataError(f"{source!r} may not be read: permission denied.") from None


@contextlib.contextmanager
def _sound(source: str, name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        if "Memory usage limit" in str(error):
            raise DataError(
                f"{source!r} needs more memory to unpack than is allowed. If the file is sound, "
                "allow more with --max-memory."
            ) from None
        raise DataError(f"{source!r} is damaged: {name} says {str(error).rstrip('.')}.") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise DataError(f"{source!r} is damaged: {name} says {str(error).rstrip('.')}.") from None


def _zstandard(file: BinaryIO) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            "a .zst file needs pyarrow: pip install pyarrow, or unpack the file first."
        ) from None
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
