"""One run in a folder at a time, by a lock of the operating system that dies with its process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["FolderInUseError", "only_run"]

FILE = ".lock"


class FolderInUseError(ValueError):
    """Another run writes into the folder."""


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold the folder, which is made where it is missing, until the block ends.

    The file ``.lock`` stays, the lock on it does not: the system lets go of it when the process
    ends, however it ends, so that a crash leaves nothing to clear away.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / FILE, "a+b") as file:
        if not _taken(file):
            raise FolderInUseError(_message(folder, file))
        file.truncate(0)
        file.write(_content())
        file.flush()
        try:
            yield
        finally:
            _let_go(file)


def _content() -> bytes:
    # Windows locks the first byte, which the loser could then not read: the number follows it.
    return f"\n{os.getpid()}\n".encode()


def _message(folder: Path, file: IO[bytes]) -> str:
    file.seek(1)
    owner = file.read(20).decode("ascii", "replace").strip() or "unknown"
    return (
        f"{str(folder)!r} is in use by another run (process {owner}): wait for it or stop it, or "
        "choose another folder with --out; --draw-only works meanwhile. The lock ends with that "
        f"process. If there is none, as may be on a network drive, remove {str(folder / FILE)!r}."
    )


if sys.platform == "win32":
    import msvcrt

    def _taken(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _let_go(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _taken(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
