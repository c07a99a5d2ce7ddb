"""Completion in the shell: names of the columns of the file that was typed before."""

import os
import shlex
from pathlib import Path
from typing import Any

HEAD = 1 << 16
# where bash and the other shells put the line that is being typed
TYPED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def columns(ctx: Any, incomplete: str) -> list[str]:
    """Names in the header of the CSV on the command line; nothing where that fails."""
    from skstretch.cli.data.dialect import column_names, fields, separator_of

    try:
        with open(_file(), encoding="utf-8-sig") as file:
            header, *rest = file.read(HEAD).splitlines()
        names = fields(header, separator_of([header, *rest[:1]]))
    except Exception:  # a shell that waits for Tab must never see a traceback
        return []
    return [name for name in column_names(names, len(names)) if name.startswith(incomplete)]


def _file() -> str:
    """The first word of the line that is a data file."""
    line = " ".join(os.environ.get(name, "") for name in TYPED)
    words = [word for word in shlex.split(line) if Path(word).suffix != ".stretchy"]
    return next(word for word in words if Path(word).is_file())
