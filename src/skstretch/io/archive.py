"""The zip container of a model file and its arrays, read with bounds on everything they claim.

Arrays are members in numpy's ``.npy`` format, hashed, and never pickled.
"""

import contextlib
import hashlib
import math
import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from skstretch.exceptions import ModelFileError

MEMBER_NAME = re.compile(r"header\.json|[a-z][a-z0-9_]{0,63}\.npy")
MAX_MEMBERS = 200
# a directory entry is 46 bytes, a name of at most 68 and an extra field
MAX_DIRECTORY = 1 << 15
END, LOCATOR, END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"

DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16|[US][1-9]\d{0,5}|[mM]8(\[\w{1,12}\])?)")
MAX_DIMENSIONS = 3
MAX_NPY_HEADER = 4096
CHUNK = 1 << 20


@contextlib.contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn whatever a parser raises at bytes that make no sense into `ModelFileError`.

    There is no list of it: `zipfile`, `json` and numpy let errors of their own helpers through.
    A machine that is too small for a sound file says so itself.
    """
    try:
        yield
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:
        reason = str(error)[:200] or type(error).__name__
        raise ModelFileError(f"{what}: {reason}") from error


def unsound(name: str, error: ModelFileError) -> ModelFileError:
    """The error with the name of the file, without characters that a terminal would act upon."""
    reason = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(error))
    return ModelFileError(f"{name!r} is not a sound model file: {reason}")


class Archive:
    """The members of an open model file: checked names, stored as they are, each once.

    Members are never compressed, so that what they take in memory is at most what the file takes
    on the disk.
    """

    def __init__(self, file: BinaryIO) -> None:
        check_end(file)
        with refusing("not a readable zip file"):
            self._zip = zipfile.ZipFile(file)
            self.members: dict[str, zipfile.ZipInfo] = {}
            for info in self._zip.infolist():
                self._admit(info)
        total, size = sum(info.file_size for info in self.members.values()), file_size(file)
        if total > size:
            raise ModelFileError(f"its members claim {total} bytes, and the file has {size}.")

    def _admit(self, info: zipfile.ZipInfo) -> None:
        name = info.orig_filename
        if not MEMBER_NAME.fullmatch(name) or info.filename != name:
            raise ModelFileError(f"it has a member {name[:80]!r}, which no model file has.")
        if name in self.members:
            raise ModelFileError(f"it has two members {name!r}.")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ModelFileError(f"its member {name!r} is a link or another special file.")
        if info.flag_bits & 0x1:
            raise ModelFileError(f"its member {name!r} is encrypted.")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ModelFileError(
                f"its member {name!r} is compressed ({info.compress_size} bytes claim to be "
                f"{info.file_size}); model files are stored without compression."
            )
        self.members[name] = info

    def size(self, name: str) -> int:
        """Bytes of a member."""
        if name not in self.members:
            raise ModelFileError(f"its member {name!r} is missing.")
        return self.members[name].file_size

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Read a member; its CRC is checked when the end is reached."""
        self.size(name)
        with refusing(f"its member {name!r} cannot be read"), self._zip.open(name) as member:
            yield member


def file_size(file: BinaryIO) -> int:
    """Bytes of an open file."""
    return os.fstat(file.fileno()).st_size


def check_end(file: BinaryIO) -> None:
    """Look at the end records, before `zipfile` reads the directory that they claim."""
    size = file_size(file)
    if size == 0:
        raise ModelFileError("the file is empty.")
    file.seek(max(0, size - 98))
    tail = file.read(98)
    end = tail[-22:]
    if len(end) < 22 or end[:4] != END or end[20:] != b"\0\0":
        raise ModelFileError("it does not end like a zip file: it is another file, or cut short.")
    count, directory = struct.unpack("<HI", end[10:16])
    _check_directory(count, directory)
    locator = tail[-42:-22]
    if locator[:4] == LOCATOR:  # only in files beyond 4 GiB
        record = tail[-98:-42]
        (at,) = struct.unpack("<Q", locator[8:16])
        if record[:4] != END64 or at != size - 98:
            raise ModelFileError("its zip64 records are not where they belong.")
        _check_directory(*struct.unpack("<QQ", record[32:48]))


def _check_directory(count: int, directory: int) -> None:
    if count > MAX_MEMBERS or directory > MAX_DIRECTORY:
        raise ModelFileError(
            f"its directory claims {count} members in {directory} bytes; a model file has at most "
            f"{MAX_MEMBERS} in {MAX_DIRECTORY}."
        )


@dataclass(frozen=True)
class Entry:
    """What the header says of an array."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str

    @property
    def n_bytes(self) -> int:
        return int(np.dtype(self.dtype).itemsize) * math.prod(self.shape)


def read_entry(name: str, fields: Any) -> Entry:
    """An entry of the header, checked."""
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "sha256"}:
        raise ModelFileError(f"its header does not give dtype, shape and sha256 of {name!r}.")
    dtype, shape, sha256 = fields["dtype"], fields["shape"], fields["sha256"]
    if not isinstance(dtype, str) or not DTYPE.fullmatch(dtype):
        raise ModelFileError(f"its array {name!r} has a dtype {str(dtype)[:40]!r}.")
    sound = isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS
    if not sound or not all(type(size) is int and 0 <= size < 2**48 for size in shape):
        raise ModelFileError(f"its array {name!r} has a shape {str(shape)[:80]}.")
    if not isinstance(sha256, str):
        raise ModelFileError(f"its array {name!r} has no checksum.")
    with refusing(f"its array {name!r} has a dtype that numpy does not know"):
        np.dtype(dtype)
    return Entry(dtype, tuple(shape), sha256)


class Hashed:
    """A stream that hashes what passes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.digest, self.count = stream, hashlib.sha256(), 0

    def read(self, size: int) -> bytes:
        part = self.stream.read(size)
        self.digest.update(part)
        self.count += len(part)
        return part

    def write(self, part: bytes) -> int:
        self.digest.update(part)
        return self.stream.write(part)


def write_array(archive: zipfile.ZipFile, name: str, array: Any) -> dict[str, Any]:
    """Add an array to a zip file; returns its entry in the header."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    if not DTYPE.fullmatch(array.dtype.str):
        raise TypeError(f"the array {name!r} of dtype {array.dtype} cannot be stored.")
    info = zipfile.ZipInfo(f"{name}.npy")  # with a constant date: equal models give equal files
    with archive.open(info, "w", force_zip64=array.nbytes > 1 << 30) as member:
        stream = Hashed(member)
        npy_format.write_array(stream, array, allow_pickle=False)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "sha256": stream.digest.hexdigest(),
    }


def read_array(archive: Archive, name: str, entry: Entry) -> Any:
    """An array whose type, shape, size and checksum are those that the header gives."""
    member = f"{name}.npy"
    with archive.open(member) as raw:
        stream = Hashed(raw)
        _check_npy_header(stream, name, entry)
        if archive.size(member) != stream.count + entry.n_bytes:
            raise ModelFileError(f"its array {name!r} has not the size that the header gives.")
        buffer = np.empty(entry.n_bytes, dtype=np.uint8)
        for start in range(0, entry.n_bytes, CHUNK):
            part = stream.read(min(CHUNK, entry.n_bytes - start))
            buffer[start : start + len(part)] = np.frombuffer(part, dtype=np.uint8)
        if stream.read(1) or stream.count != archive.size(member):
            raise ModelFileError(f"its array {name!r} is cut short.")
    if stream.digest.hexdigest() != entry.sha256:
        raise ModelFileError(f"the checksum of its array {name!r} does not match.")
    array = buffer.view(entry.dtype).reshape(entry.shape)
    _check_bits(array, name)
    return array


def _check_npy_header(stream: Hashed, name: str, entry: Entry) -> None:
    version = npy_format.read_magic(stream)  # type: ignore[arg-type]
    readers: dict[Any, Any] = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }
    if version not in readers:
        raise ModelFileError(f"its array {name!r} has an unknown npy version {version}.")
    shape, fortran, dtype = readers[version](stream, max_header_size=MAX_NPY_HEADER)
    if dtype.hasobject:
        raise ModelFileError(f"its array {name!r} holds pickled objects, which are never read.")
    if dtype != np.dtype(entry.dtype) or tuple(shape) != entry.shape or fortran:
        raise ModelFileError(
            f"its array {name!r} is {dtype} of shape {str(shape)[:80]}, and the header says "
            f"{entry.dtype} of shape {entry.shape}."
        )


def _check_bits(array: Any, name: str) -> None:
    """Refuse bits that stand for no value of the type."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ModelFileError(f"its array {name!r} has entries that are neither true nor false.")
    if array.dtype.kind == "U" and array.size:
        points = np.ascontiguousarray(array).view(np.dtype("u4").newbyteorder(array.dtype.str[0]))
        if points.max() > 0x10FFFF:
            raise ModelFileError(f"its array {name!r} has entries that are not text.")


@dataclass(frozen=True)
class Rule:
    """What an array must be; None leaves it open."""

    shape: tuple[int, ...] | None = None
    kinds: str = "f"
    ndim: int | None = None
    itemsize: int | None = 8  # of numbers; masks have one byte
    finite: bool = False
    known: bool = False  # infinite perhaps, but no NaN

    def allows_type(self, array: Any) -> bool:
        """Whether type and shape are as they must be."""
        kind, item = array.dtype.kind, array.dtype.itemsize
        sized = len(self.kinds) > 1 or kind == "b" or self.itemsize in (None, item)
        shaped = self.shape in (None, array.shape) and self.ndim in (None, array.ndim)
        return kind in self.kinds and sized and shaped

    def fault(self, array: Any) -> str:
        """What entries of the array break the rule."""
        if self.finite and not np.isfinite(array).all():
            return "has entries that are not finite"
        return "has entries that are NaN" if self.known and np.isnan(array).any() else ""


class Arrays:
    """Arrays by name, each to be taken once."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._left = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def take(self, name: str, rule: Rule) -> Any:
        """An array that keeps the rule."""
        if name not in self._left:
            raise ModelFileError(f"its array {name[:80]!r} is missing.")
        array = self._left.pop(name)
        if not rule.allows_type(array):
            raise ModelFileError(
                f"its array {name[:80]!r} is {array.dtype} of shape {array.shape}, which does not "
                "fit the others."
            )
        if fault := rule.fault(array):
            raise ModelFileError(f"its array {name[:80]!r} {fault}.")
        return array

    def check_all_taken(self) -> None:
        """Refuse arrays that no model has."""
        if self._left:
            raise ModelFileError(f"it has an array {min(self._left)[:80]!r} of no known use.")
