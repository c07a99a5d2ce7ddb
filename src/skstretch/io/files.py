"""Files that appear complete or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends without an error.

    Written under a temporary name in the same folder, forced to the disk, then renamed. After an
    error the temporary is gone and an older file is as it was.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing at the new file
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    # a plain open, unlike tempfile, leaves the permissions to the umask
    with open(temporary, "xb+") as file:
        try:
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
            os.replace(temporary, target)
        except BaseException:
            file.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
