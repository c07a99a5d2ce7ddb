"""Data files: streams of bytes, unpacked on the way; their form, their memory, their columns.

The form is found out from the first bytes and the name, or given by the user. What a file claims is
checked against the memory that it may take before anything is allocated.
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
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, cast

from skstretch.cli.console import nearest
from skstretch.exceptions import DataError

WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)

# fields of a line as Python's strings take up to so many bytes for each byte of the line
FIELDS = 24
# a sparse matrix may have so many rows or columns, however few entries it has
MANY = 1_000_000
# beyond that, so many for each byte of the file
SPREAD = 16
# deflate, which zip archives are packed with, makes at most so many bytes out of one
DEFLATE = 1032
# what a limit on the process leaves to threads and allocators, which reserve more than they use
SLACK = 1 << 30

# where Linux says how much memory a container may take
CONTAINER = Path("/sys/fs/cgroup/memory.max")


def read_size(text: str) -> int:
    """Bytes from what users type: ``500MB``, ``8G``."""
    found = SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise DataError(f"--max-memory {text!r} is no size: write it like 500MB or 8GB.")
    return int(float(found[1]) * UNITS[found[2].upper()])


def half_of_the_machine() -> int:
    """Half of the memory that this machine, or container, has."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows does not say
        whole = 8 << 30
    with contextlib.suppress(OSError, ValueError):
        whole = min(whole, int(CONTAINER.read_text()))
    return whole // 2


def shown(size: float) -> str:
    """Bytes for people: ``1.5 GB``."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1024 or unit == "TB":
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if size >= 10 or unit == "bytes" else f"{size:,.1f} {unit}"


@dataclass(frozen=True)
class Budget:
    """What reading one file may take."""

    source: str
    limit: int

    @property
    def line(self) -> int:
        """How long a line of text may be, in characters."""
        return max(1 << 16, self.limit // FIELDS)

    def exceeded(self, what: str) -> DataError:
        """The error that says what takes more than is allowed."""
        return DataError(
            f"{self.source!r} is too large: {what}, and {shown(self.limit)} are allowed. If the "
            "file is sound, allow more with --max-memory."
        )

    def check(self, size: int, what: str) -> None:
        """Refuse what would not fit."""
        if size > self.limit:
            raise self.exceeded(f"{what} would take {shown(size)}")

    def check_line(self, line: str | bytes) -> None:
        """Refuse a line that was cut off at the limit."""
        if len(line) >= self.line:
            raise self.exceeded(f"it has a line of more than {shown(self.line)}")

    def check_spread(self, count: int, noun: str, size: int) -> None:
        """Refuse rows or columns of a sparse matrix that a file of `size` bytes cannot fill."""
        if count > max(MANY, SPREAD * size):
            raise DataError(
                f"{self.source!r} claims {count:,} {noun}s in {shown(size)}, nearly all of them "
                f"empty: correct the number, or leave out the empty {noun}s."
            )

    @contextlib.contextmanager
    def enforced(self) -> Iterator[None]:
        """Let the system refuse what a package takes beyond the limit, where it can."""
        try:
            import resource

            kind = resource.RLIMIT_DATA
            status = Path("/proc/self/status").read_text()
            used = int(status.partition("VmData:")[2].split()[0]) << 10
        except (ImportError, AttributeError, OSError, LookupError):  # not Linux
            yield
            return
        soft, hard = resource.getrlimit(kind)
        wanted = used + self.limit + SLACK
        allowed = min([wanted, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)])
        resource.setrlimit(kind, (allowed, hard))
        try:
            yield
        except MemoryError:
            raise self.exceeded("unpacked it would take more") from None
        finally:
            resource.setrlimit(kind, (soft, hard))


@dataclass(frozen=True)
class Choice:
    """Columns to read.

    Attributes
    ----------
    features : sequence of int
        Column numbers, in the order in which X shall have them.
    aside : mapping of str to str
        Role (target, weights, ...) to the name of the column that is kept apart.
    """

    features: Sequence[int]
    aside: Mapping[str, str] = field(default_factory=dict)


class Numbers(Sequence[str]):
    """Names of columns that have numbers alone: ``1``, ``2``, ... made when they are asked for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        numbers = range(1, self.size + 1)[place]
        return [str(number) for number in numbers] if isinstance(place, slice) else str(numbers)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not name.isascii() or not name.isdecimal():
            return False
        return name[0] != "0" and len(name) < 20 and int(name) <= self.size


@contextlib.contextmanager
def sound(source: str, what: str, *faults: type[Exception], hint: str = "") -> Iterator[None]:
    """Turn what a parser raises at bytes that make no sense into `DataError`.

    Errors of the system, such as a disk that cannot be read, pass.
    """
    try:
        yield
    except (DataError, MemoryError):
        raise
    except faults as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).rstrip(".") or type(error).__name__
        raise DataError(f"{source!r} is not a sound {what}: {reason}.{hint}") from None


def check_packed(archive: zipfile.ZipFile) -> None:
    """Refuse members of a zip archive that claim more bytes than those they are packed in hold."""
    for info in archive.infolist():
        if info.file_size > DEFLATE * info.compress_size + HEAD:
            raise ValueError(f"{info.filename!r} claims more bytes than can be packed in it")


# Names of the columns, and of further vectors that a file holds beside them.
Choose = Callable[[Sequence[str], Sequence[str]], Choice]


DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")


@dataclass
class Stray:
    """Text where numbers are expected: the first of it, its place, and in how many rows.

    `pointed`: it has a point though the comma is the decimal mark.
    """

    value: str
    line: int | None
    count: int = 0
    pointed: bool = False
    noun: str = "line"

    @property
    def place(self) -> str:
        """The first value, and its line (the row of a sheet) where the file has lines."""
        shown = self.value if len(self.value) <= 40 else self.value[:37] + "..."
        return repr(shown) + ("" if self.line is None else f" in {self.noun} {self.line}")


@dataclass
class Table:
    """Data of a file.

    Attributes
    ----------
    X : array or CSR array of shape (n_rows, n_features), float64
    names : list of str or None
        None where columns have numbers alone.
    aside : dict
        Role to the values that were kept apart: an array of numbers, or a list of strings.
    stray : dict
        Name of a column to the text found in it; NaN stands in X there.
    elastic : bool
        Whether columns beyond the last one stand for zeros, as in SVMlight files.
    notes : list of str
        What was found out about the file that users may want to know.
    """

    X: Any
    names: list[str] | None
    aside: dict[str, Any] = field(default_factory=dict)
    stray: dict[str, Stray] = field(default_factory=dict)
    elastic: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.X, "tocsr")

    def name_of(self, column: int) -> str:
        """The name of a column, or its number from 1."""
        return str(column + 1) if self.names is None else self.names[column]


class Kind(StrEnum):
    """Formats of data files."""

    AUTO = "auto"
    CSV = "csv"
    PARQUET = "parquet"
    FEATHER = "feather"
    NPZ = "npz"
    MTX = "mtx"
    SVMLIGHT = "svmlight"
    XLSX = "xlsx"


@dataclass(frozen=True)
class Form:
    """How a file is to be read, in the words of the options; what is None is found out."""

    format: Kind = Kind.AUTO
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    no_header: bool = False
    comment: str | None = None
    skip_rows: int = 0
    zero_based: bool = False
    sheet: str | None = None
    max_memory: str | None = None

    def __post_init__(self) -> None:
        self.budget("")  # --max-memory may be no size
        if self.decimal not in (None, ".", ","):
            raise DataError(f"--decimal {self.decimal!r} is not known: use . or ,")
        if self.comment == "":
            raise DataError("--comment '' is empty: name what comment lines start with, say '#'.")
        if self.separator is not None and len(self.separator) != 1:
            raise DataError(
                f"--sep {self.separator!r} must be a single character; for a tab write --sep tab."
            )

    @property
    def separator(self) -> str | None:
        """The separator that was typed, perhaps as a word."""
        return None if self.sep is None else WORDS.get(self.sep, self.sep)

    def budget(self, source: str) -> Budget:
        """What reading may take: what was asked for, else half of the machine's memory."""
        asked = self.max_memory
        return Budget(source, half_of_the_machine() if asked is None else read_size(asked))


ENDINGS = {
    Kind.CSV: (".csv", ".tsv", ".tab"),
    Kind.PARQUET: (".parquet", ".pq"),
    Kind.FEATHER: (".feather", ".arrow"),
    Kind.NPZ: (".npz",),
    Kind.MTX: (".mtx",),
    Kind.SVMLIGHT: (".svm", ".libsvm", ".svmlight"),
    Kind.XLSX: (".xlsx", ".xlsm"),
}
SUFFIXES = {suffix: kind for kind, suffixes in ENDINGS.items() for suffix in suffixes}

PACKED = (".gz", ".bz2", ".xz", ".zst")

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.FEATHER,
    b"FEA1": Kind.FEATHER,
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
    ".xls": "an old Excel workbook: save it as .xlsx, or the sheet as CSV",
    ".xlsb": "a binary Excel workbook: save it as .xlsx, or the sheet as CSV",
    ".ods": "an OpenDocument spreadsheet: save it as .xlsx, or the sheet as CSV",
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
    if head.startswith(OLE):
        raise DataError(
            f"{name!r} is an old Excel workbook, or one with a password: save it as .xlsx without "
            "one, or the sheet as CSV."
        )
    if head.startswith(ZIP):
        if b"mimetypeapplication/vnd.oasis.opendocument" in head[:200]:
            raise DataError(f"{name!r} is {OTHERS['.ods']}.")
        # the name of the first part, behind the 30 bytes that announce it
        first = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        workbook = first.endswith((b".xml", b".rels")) or SUFFIXES.get(last) is Kind.XLSX
        return Kind.XLSX if workbook and not first.endswith(b".npy") else Kind.NPZ
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if last in SUFFIXES:
        return SUFFIXES[last]
    lines = [line for line in head.splitlines()[:2] if line.strip() and not line.startswith(b"#")]
    return Kind.SVMLIGHT if lines and SVMLIGHT_LINE.match(lines[0]) else Kind.CSV


# first bytes -> name, and a function of the file
UNPACKERS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
    b"\x28\xb5\x2f\xfd": ("zstandard", lambda file: _zstandard(file)),
}

Watch = Callable[[BinaryIO, int | None], BinaryIO]


class Stream(io.BufferedReader):
    """Bytes of a file; `size` is None where they are unpacked on the way, or come from a pipe."""

    size: int | None = None

    def seekable_in(self, budget: Budget) -> Any:
        """The file itself where one can move in it, else all bytes in memory."""
        return self if self.size is not None else self.whole(budget)

    def whole(self, budget: Budget) -> io.BytesIO:
        """All bytes in memory."""
        taken = io.BytesIO()
        while part := self.read(HEAD):
            budget.check(taken.tell() + len(part), "the unpacked file")
            taken.write(part)
        taken.seek(0)
        return taken


def check_source(source: str) -> None:
    """Refuse what is no readable file."""
    path = Path(source)
    if source == "-":
        return
    if path.is_dir():
        raise DataError(f"{source!r} is a folder: name a file in it.")
    if not path.exists():
        with contextlib.suppress(OSError):
            found = nearest(path.name, [entry.name for entry in path.parent.iterdir()])
            if found:
                near = str(path.with_name(found))
                raise DataError(f"there is no file {source!r}; did you mean {near!r}?")
        raise DataError(f"there is no file {source!r}.")


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
                with sound(source, f"{name} file", EOFError, zlib.error, lzma.LZMAError, OSError):
                    yield Stream(stack.enter_context(unpack(file)), HEAD)
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


def _zstandard(file: BinaryIO) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            "a .zst file needs pyarrow: pip install pyarrow, or unpack the file first."
        ) from None
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
