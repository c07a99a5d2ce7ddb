"""Single arrays as members of a model file: `.npy`, hashed, never pickled."""

import hashlib
import math
import re
import zipfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from skstretch.io.archive import Archive, refusing
from skstretch.io.errors import ModelFileError

DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16|[US][1-9]\d{0,5}|[mM]8(\[\w{1,12}\])?)")
MAX_DIMENSIONS = 3
MAX_NPY_HEADER = 4096
CHUNK = 1 << 20


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
