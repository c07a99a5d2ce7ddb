"""The zip container of a model file, read with bounds on everything it claims."""

import contextlib
import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from typing import IO, BinaryIO

from skstretch.io.errors import ModelFileError

MEMBER_NAME = re.compile(r"header\.json|[a-z][a-z0-9_]{0,63}\.npy")
MAX_MEMBERS = 200
# a directory entry is 46 bytes, a name of at most 68 and an extra field
MAX_DIRECTORY = 1 << 15
END, LOCATOR, END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"


@contextlib.contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn whatever a parser raises at bytes that make no sense into `ModelFileError`.

    There is no list of it: `zipfile`, `json` and numpy let errors of their own helpers through.
    """
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        reason = str(error)[:200] or type(error).__name__
        raise ModelFileError(f"{what}: {reason}") from error


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
