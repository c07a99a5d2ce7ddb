"""The container of a model file: a zip of arrays, read with bounds on everything that it claims.

Arrays are members in numpy's ``.npy`` format, hashed, and never pickled. Files of any kind appear
complete or not at all (`replacing`). Equal data have equal digests, whatever they came in.
"""

import contextlib
import errno
import hashlib
import math
import os
import re
import secrets
import shutil
import signal
import stat
import struct
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, Any, BinaryIO, cast

import numpy as np
from numpy.lib import format as npy_format

from skstretch.exceptions import ModelFileError

CHUNK = 1 << 20  # entries or bytes that are hashed at a time


def data_digest(X: Any) -> Any:
    """A SHA-256 of shape and values of X by rows, to which more can be added.

    Sparse matrices are hashed by their entries that are not zero, and so have another digest than
    the same data stored dense.
    """
    digest = hashlib.sha256(str(tuple(X.shape)).encode())
    if hasattr(X, "tocsr"):
        _add_sparse(digest, X.tocsr(copy=True))
        return digest
    rows = max(1, CHUNK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], rows):
        add_numbers(digest, X[start : start + rows])
    return digest


def add_numbers(digest: Any, values: Any) -> None:
    """Add numbers to a digest, as float64 whatever type they have."""
    # + 0.0 makes one zero of two
    digest.update(np.ascontiguousarray(np.asarray(values, dtype="<f8") + 0.0).tobytes())


def _add_sparse(digest: Any, X: Any) -> None:
    X.sum_duplicates()
    X.eliminate_zeros()
    digest.update(b"sparse")
    for part in (X.indptr, X.indices):
        digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    add_numbers(digest, X.data)


# descriptors of this process by the names that shells know them by
STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")

# what ends a process without a word: closing the terminal, `kill`, a shutdown
ENDINGS = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name))

# what is written to a pipe or device waits in memory up to this size, then on the disk
SPOOLED_BYTES = 1 << 24


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends without an error.

    A regular file is written under a temporary name in the same folder, forced to the disk, then
    renamed. After an error, and when a signal ends the process, the temporary is gone and an older
    file is as it was. What is not a regular file (a device, a pipe, ``/dev/stdout``) is never
    replaced: the bytes go through to it at the end of the block.
    """
    _check_link(Path(os.fspath(path)))
    writing = _through(path) if is_special(path) else _renamed(Path(os.path.realpath(path)))
    try:
        with writing as file:
            yield file
    except OSError as error:
        if error.errno == errno.ENOSPC and error.filename is None:
            error.filename = os.fspath(path)
        raise


def _check_link(path: Path) -> None:
    """Refuse a link that another user has put into a folder that all may write to.

    As Linux does where it opens such a link; a file that is renamed into place is not opened.
    """
    try:
        folder, link = os.stat(path.parent), os.lstat(path)
    except OSError:
        return
    shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if stat.S_ISLNK(link.st_mode) and shared and link.st_uid not in (os.geteuid(), folder.st_uid):
        raise PermissionError(
            errno.EACCES, "it is a link of another user in a shared folder", str(path)
        )


def is_special(path: Any) -> bool:
    """Whether something other than a regular file stands at `path`, which must stay what it is."""
    if _descriptor(path) is not None:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _descriptor(path: Any) -> int | None:
    """The number of the open file that a name such as ``/dev/stdout`` stands for."""
    name = os.fspath(path)
    if name in STANDARD:
        return STANDARD[name]
    found = DESCRIPTOR.fullmatch(name) if isinstance(name, str) else None
    return None if found is None else int(found[1])


@contextlib.contextmanager
def _through(path: Any) -> Iterator[BinaryIO]:
    """A file whose bytes go to what stands at `path`, once they are complete.

    Pipes cannot be searched, and archives must be: so they are made beside first.
    """
    with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as file:
        yield cast(BinaryIO, file)
        file.seek(0)
        number = _descriptor(path)
        # a descriptor is written where it stands: opened by its name, a file would be cut first
        with open(path if number is None else os.dup(number), "wb") as target:
            shutil.copyfileobj(file, target)


@contextlib.contextmanager
def _renamed(target: Path) -> Iterator[BinaryIO]:
    """A temporary file that becomes `target`; links to it keep pointing at the new file."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT,
            f"there is no folder {str(target.parent)!r} to write into: create it, or pass another "
            "path",
            str(target),
        )
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    with _removed_at_the_end(temporary):
        try:
            mode = target.stat().st_mode & 0o777 if target.exists() else None
            with open(temporary, "xb+", opener=partial(_private, mode)) as file:
                yield cast(BinaryIO, file)
                file.flush()
                os.fsync(file.fileno())
            _put_in_place(temporary, target)
        except BaseException:
            # last: on a full disk, closing the file is an error of its own
            with contextlib.suppress(OSError):
                os.chmod(temporary, 0o600)  # Windows removes no file that may not be written to
                os.unlink(temporary)
            raise
    _sync_folder(target.parent)


def _put_in_place(temporary: Path, target: Path) -> None:
    try:
        os.replace(temporary, target)
    except PermissionError as error:
        # Windows replaces no file that a program has open, as a spreadsheet has its tables
        raise PermissionError(
            error.errno,
            "it cannot be replaced: another program may have it open, it may be read-only, or "
            "belong to another user",
            str(target),
        ) from error


def _private(mode: int | None, name: str, flags: int) -> int:
    """Open a new file with the permissions of the one that it replaces, else those of the umask.

    No one else can open it before it has them.
    """
    if mode is None:
        return os.open(name, flags, 0o666)
    number = os.open(name, flags, 0o600)
    os.chmod(name, mode)
    return number


@contextlib.contextmanager
def _removed_at_the_end(temporary: Path) -> Iterator[None]:
    """Remove a file if a signal ends the process meanwhile, which then ends as it would have.

    Signals that the program handles or ignores are left to it, and only the main thread can ask.
    """
    guarded = []
    if threading.current_thread() is threading.main_thread():
        guarded = [number for number in ENDINGS if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in guarded:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in guarded:
            if signal.getsignal(number) is end:
                signal.signal(number, signal.SIG_DFL)


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


MEMBER_NAME = re.compile(r"header\.json|[a-z][a-z0-9_]{0,63}\.npy")
# a search has some fifty, every step before it a few
MAX_MEMBERS = 200
# a directory entry is 46 bytes, a name of at most 68 and an extra field
MAX_DIRECTORY = 164 * MAX_MEMBERS
END, LOCATOR, END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"

DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16|[US][1-9]\d{0,5}|[mM]8(\[\w{1,12}\])?)")
MAX_DIMENSIONS = 3  # transforms, samples, columns
MAX_NPY_HEADER = 4096  # numpy writes 128 bytes for such arrays, and parses them as Python


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
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise ModelFileError("it is a pipe or a device: write the model to a file first.")
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


# what the header says of an array: its type, shape and checksum
Entry = tuple[str, tuple[int, ...], str]


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
    return dtype, tuple(shape), sha256


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
    member, (dtype, shape, sha256) = f"{name}.npy", entry
    n_bytes = int(np.dtype(dtype).itemsize) * math.prod(shape)
    with archive.open(member) as raw:
        stream = Hashed(raw)
        _check_npy_header(stream, name, np.dtype(dtype), shape)
        if archive.size(member) != stream.count + n_bytes:
            raise ModelFileError(f"its array {name!r} has not the size that the header gives.")
        buffer = np.empty(n_bytes, dtype=np.uint8)
        for start in range(0, n_bytes, CHUNK):
            part = stream.read(min(CHUNK, n_bytes - start))
            buffer[start : start + len(part)] = np.frombuffer(part, dtype=np.uint8)
        if stream.read(1) or stream.count != archive.size(member):
            raise ModelFileError(f"its array {name!r} is cut short.")
    if stream.digest.hexdigest() != sha256:
        raise ModelFileError(f"the checksum of its array {name!r} does not match.")
    array = buffer.view(dtype).reshape(shape)
    _check_bits(array, name)
    return array


def read_npy_header(stream: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, order and type of an array in npy form, of the versions that hold plain numbers."""
    version = npy_format.read_magic(stream)
    readers: dict[Any, Any] = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"its npy version {version} holds no plain numbers")
    found: tuple[tuple[int, ...], bool, Any] = readers[version](
        stream, max_header_size=MAX_NPY_HEADER
    )
    return found


def _check_npy_header(stream: Hashed, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    own_shape, fortran, own = read_npy_header(stream)
    if own.hasobject:
        raise ModelFileError(f"its array {name!r} holds pickled objects, which are never read.")
    if own != dtype or tuple(own_shape) != shape or fortran:
        raise ModelFileError(
            f"its array {name!r} is {own} of shape {str(own_shape)[:80]}, and the header says "
            f"{dtype.str} of shape {shape}."
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
    """What an array must be.

    `shape` names the axes: "M t" is a row for each of M samples, a column for each of t targets.
    Arrays of one record agree in what they share. None leaves the shape open.
    """

    shape: str | None = None
    kinds: str = "f"
    itemsize: int | None = 8  # of numbers; masks have one byte, None leaves it open
    finite: bool = False
    known: bool = False  # infinite perhaps, but no NaN
    positive: bool = False

    def allows_type(self, array: Any, sizes: dict[str, int]) -> bool:
        """Whether type and shape are as they must be; an axis met first gives its size."""
        kind, item = array.dtype.kind, array.dtype.itemsize
        sized = len(self.kinds) > 1 or kind == "b" or self.itemsize in (None, item)
        if kind not in self.kinds or not sized:
            return False
        if self.shape is None:
            return True
        axes = self.shape.split()
        return len(axes) == array.ndim and all(
            sizes.setdefault(axis, size) == size
            for axis, size in zip(axes, array.shape, strict=True)
        )

    def fault(self, array: Any) -> str:
        """What entries of the array break the rule."""
        if self.finite and not np.isfinite(array).all():
            return "has entries that are not finite"
        if self.positive and not (array > 0).all():
            return "has entries that are not positive"
        return "has entries that are NaN" if self.known and np.isnan(array).any() else ""
