"""Files and standard input as streams of bytes, unpacked on the way."""

import bz2
import contextlib
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from skstretch.cli.data.errors import DataError

HEAD = 1 << 16
PACKED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstandard", lambda file: _zstandard(file)),
}
Watch = Callable[[BinaryIO, int | None], BinaryIO]


class Unpacked(io.BufferedReader):
    """A stream that is unpacked on the way: it has no bytes on the disk to go back to."""


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
    from skstretch.cli.names import nearest

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return "."
    found = nearest(path.name, names)
    return f"; did you mean {str(path.with_name(found))!r}?" if found else "."


@contextlib.contextmanager
def opened(source: str, watch: Watch) -> Iterator[io.BufferedReader]:
    """The unpacked bytes of a file, or of standard input for ``-``.

    `watch` wraps the raw file, given its size, so that someone can see how far reading has come.
    """
    check_source(source)
    with contextlib.ExitStack() as stack:
        raw: BinaryIO
        if source == "-":
            raw, size = sys.stdin.buffer, None
        else:
            try:
                raw = stack.enter_context(open(source, "rb"))
            except PermissionError:
                raise DataError(f"{source!r} may not be read: permission denied.") from None
            size = Path(source).stat().st_size
        file = io.BufferedReader(cast(Any, watch(raw, size)), HEAD)
        head = file.peek(8)
        for magic, (name, unpack) in PACKED.items():
            if head.startswith(magic):
                with _sound(source, name):
                    yield Unpacked(stack.enter_context(unpack(file)), HEAD)
                return
        yield file


@contextlib.contextmanager
def _sound(source: str, name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
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
