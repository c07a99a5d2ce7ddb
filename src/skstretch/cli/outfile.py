"""Files that commands write: checked before the work, written whole or not at all."""

import os
from pathlib import Path

from skstretch.cli.data.errors import DataError


def check_writable(path: Path | None, option: str = "-o", *others: object) -> None:
    """Refuse a place where no file can be written, before any work is done.

    `others` are files that the same command reads or writes: none of them may be replaced.
    """
    if path is None:
        return
    for other in others:
        if other is not None and os.path.realpath(str(other)) == os.path.realpath(path):
            raise DataError(
                f"{option} {str(path)!r} would replace a file that this command also uses: choose "
                "another name."
            )
    if path.is_dir():
        raise DataError(f"{option} {str(path)!r} is a folder: add the name of a file.")
    folder = path.parent
    if not folder.is_dir():
        raise DataError(f"{option} {str(path)!r}: there is no folder {str(folder)!r}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write in this folder", str(folder))


def write_text(path: Path, text: str) -> None:
    """Write a whole file in one step; an older one is replaced."""
    from skstretch.io.atomic import replacing

    with replacing(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
