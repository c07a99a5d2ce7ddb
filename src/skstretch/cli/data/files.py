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

    @classmethod
    def of(cls, source: str, max_memory: int | None) -> "Budget":
        """The limit that was asked for, else half of the machine's memory."""
        return cls(source, half_of_the_machine() if max_memory is None else max_memory)

    @property
    def line(self) -> int:
        """How long a line of text may be, in characters."""
        return max(1 << 16, self.limit // FIELDS)

    def check(self, size: int, what: str) -> None:
        """Refuse what would not fit."""
        if size > self.limit:
            raise DataError(
                f"{self.source!r} is too large: {what} would take {shown(size)}, and "
                f"{shown(self.limit)} are allowed. If the file is sound, allow more with "
                "--max-memory."
            )

    def check_line(self, line: str | bytes) -> None:
        """Refuse a line that was cut off at the limit."""
        if len(line) >= self.line:
            raise DataError(
                f"{self.source!r} has a line of more than {shown(self.line)}, too long for the "
                f"{shown(self.limit)} of memory that are allowed. If the file is sound, allow more "
                "with --max-memory."
            )

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
            used = _data_of_this_process()
        except (ImportError, AttributeError, OSError, ValueError):
            yield
            return
        soft, hard = resource.getrlimit(kind)
        wanted = used + self.limit + SLACK
        allowed = min([wanted, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)])
        resource.setrlimit(kind, (allowed, hard))
        try:
            yield
        except MemoryError:
            raise DataError(
                f"{self.source!r} is too large: unpacked it would take more than the "
                f"{shown(self.limit)} that are allowed. If the file is sound, allow more with "
                "--max-memory."
            ) from None
        finally:
            resource.setrlimit(kind, (soft, hard))


def _data_of_this_process() -> int:
    """Bytes that count against the limit on data, by Linux."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) << 10
    raise ValueError("this system does not say")


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
        return isinstance(name, str) and self._number(name) is not None

    def index(self, name: str, *bounds: int) -> int:
        """The place of a name, from 0."""
        number = self._number(name)
        if number is None:
            raise ValueError(f"{name!r} is not in 1..{self.size}")
        return number - 1

    def _number(self, name: str) -> int | None:
        plain = name.isascii() and name.isdecimal() and len(name) < 20 and name[0] != "0"
        return int(name) if plain and int(name) <= self.size else None


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
    """Text where numbers are expected: in how many rows, the first place, and of what kind.

    `decimals`: all of it reads as numbers with a decimal comma; `thousands`: with commas between
    thousands; `pointed`: all of it has a point though the comma is the decimal mark.
    """

    value: str
    line: int | None
    count: int = 0
    decimals: bool = True
    thousands: bool = True
    pointed: bool = False
    noun: str = "line"

    def add(self, value: str) -> None:
        """Count one more."""
        self.count += 1
        self.decimals = self.decimals and DECIMAL_COMMA.fullmatch(value) is not None
        self.thousands = self.thousands and THOUSANDS.fullmatch(value) is not None

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
    complete : bool
        False where reading stopped early, because columns are text throughout.
    elastic : bool
        Whether columns beyond the last one stand for zeros, as in SVMlight files.
    notes : list of str
        What was found out about the file that users may want to know.
    """

    X: Any
    names: list[str] | None
    aside: dict[str, Any] = field(default_factory=dict)
    stray: dict[str, Stray] = field(default_factory=dict)
    complete: bool = True
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
    sheet: str | None = None

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
    ".xlsx": Kind.XLSX,
    ".xlsm": Kind.XLSX,
}

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
                with _unpacking(source, name):
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
def _unpacking(source: str, name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        if "Memory usage limit" in str(error):
            raise DataError(
                f"{source!r} needs more memory to unpack than is allowed. If the file is sound, "
                "allow more with --max-memory."
            ) from None
        raise DataError(f"{source!r} is damaged: {name} says {str(error).rstrip('.')}.") from None


def _zstandard(file: BinaryIO) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            "a .zst file needs pyarrow: pip install pyarrow, or unpack the file first."
        ) from None
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
