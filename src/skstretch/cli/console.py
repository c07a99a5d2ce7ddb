"""Where words go: data on stdout, everything else on stderr."""

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from skstretch.cli.wording import in_options

# smaller files are read before a bar could be seen
LARGE = 8 << 20
# without a terminal there is no width to keep to
PIPED_WIDTH = 120


def show(result: Any) -> None:
    """A result on stdout, without the blanks that pad its lines."""
    wide = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(width=wide, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(result)
    lines = capture.get().rstrip().split("\n")
    print("\n".join(line.rstrip() for line in lines))


def stderr() -> Console:
    """The console for messages and progress."""
    return Console(stderr=True, highlight=False, emoji=False)


def say(kind: str, message: str, style: str) -> None:
    """One message on stderr, not cut to the width of the screen."""
    text = Text.assemble((f"{kind}: ", style), message) if kind else Text(message)
    stderr().print(text, soft_wrap=True)


def fail(message: str) -> None:
    """Say what is wrong."""
    say("error", message, "bold red")


@dataclass(frozen=True)
class Talk:
    """What a command says beside its result; nothing when it shall be quiet."""

    quiet: bool = False

    def note(self, message: str) -> None:
        """Something the user may want to know."""
        if not self.quiet:
            say("note", message, "cyan")

    def done(self, message: str) -> None:
        """Something that was written."""
        if not self.quiet:
            say("", message, "")

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and sys.stderr.isatty()

    @contextlib.contextmanager
    def reading(self, label: str) -> Iterator[Any]:
        """Gives a function that wraps a file, so that a bar shows how much of it was read."""
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(
            *columns,
            TimeRemainingColumn(),
            console=stderr(),
            transient=True,
            disable=not self.shows_progress,
        ) as progress:

            def watch(file: BinaryIO, size: int | None) -> BinaryIO:
                if not self.shows_progress or (size is not None and size < LARGE):
                    return file
                return progress.wrap_file(file, total=size or 0, description=label)

            yield watch

    @contextlib.contextmanager
    def steps(self, total: int) -> Iterator[Any]:
        """Gives a function to be told of every step: ``step(label)``."""
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=stderr(),
            transient=True,
            disable=not self.shows_progress,
        ) as progress:
            task = progress.add_task("", total=total)

            def step(label: str, advance: int = 1) -> None:
                progress.update(task, description=label, advance=advance)

            yield step

    @contextlib.contextmanager
    def warnings(self, names: Sequence[str] | None = None) -> Iterator[None]:
        """Show Python's warnings as messages, each once, in the words of the command line."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for message in dict.fromkeys(str(warning.message) for warning in caught):
                    if not self.quiet:
                        say("warning", in_options(message, names), "yellow")


def print_json(value: Any) -> None:
    """A value as JSON on stdout."""
    sys.stdout.write(json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """Values of numpy as those of JSON: NaN is null, infinity the string ``inf``."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
