"""Files that appear complete or not at all."""

import contextlib
import errno
import os
import re
import secrets
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, cast

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
    writing = _through(path) if is_special(path) else _renamed(Path(os.path.realpath(path)))
    with writing as file:
        yield file


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
            # a plain open, unlike tempfile, leaves the permissions to the umask
            with open(temporary, "xb+") as file:
                yield cast(BinaryIO, file)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
            os.replace(temporary, target)
        except BaseException:
            # last: on a full disk, closing the file is an error of its own
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    _sync_folder(target.parent)


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
