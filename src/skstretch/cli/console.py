"""Words and files of the command line: data on stdout, everything else on stderr."""

import contextlib
import difflib
import itertools
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skstretch.exceptions import DataError, Failure
from skstretch.style import count

# names of the library, which speaks of Python, and what users of the command line type
OPTIONS: tuple[tuple[str, str], ...] = (
    (r"\b([kac])_grid\b", r"--\1"),
    (r"\bn_features_to_select\b", "--select"),
    (r"\b(smaller|larger) (values of )?([kc])\b", r"\1 \2--\3"),
    (r"\ba smaller \|a\|", "an --a nearer to 0"),
    (r"\bA finite c\b", "A finite --c"),
    (r"\banother cv, or fit in place of partial_fit\b", "or another --cv in skstretch fit"),
    (r"\banother cv\b", "another --cv"),
    (r"\bnp\.inf\b", "inf"),
    (r"\bat=", "--at "),
    (r"\bpass groups=\.\.\.", "use --groups"),
    (r"batch, or cv=TimeSeriesSplit\(\) for an order in time", "batch or period"),
    (r"\bsample_weight\b", "--weights"),
    (r"\bpenalty_factor\b", "--penalty-factor"),
    (r"\badaptive=True\b", "--adaptive"),
    (r"\bbands=", "--bands "),
    (r"\bcheck y, or use loss=\"squared\"", "check the target, or use --loss squared"),
    (r"^y has\b", "the target has"),
    (r"\b(derivative|polyorder|window)=", r"--\1 "),
    (r"\bn_features=(\d+)", r"the \1 features of the file"),
    (r"\bsave with skstretch\.save\(model, path, intervals=True\)", "fit with --intervals"),
    (r"\bno column of X varies\b", "every feature has one value in all rows"),
)

# smaller files are read before a bar could be seen
LARGE = 8 << 20
# without a terminal there is no width to keep to
PIPED_WIDTH = 120
# how many names a message lists
SHOWN = 8
# comparing with very many names would take longer than reading the file
NAMES = 20_000


def in_options(message: str, names: Sequence[str] | None = None) -> str:
    """A message that names options as users type them, columns by name and rows from 1."""
    for pattern, words in OPTIONS:
        message = re.sub(pattern, words, message)
    if names is not None:
        message = re.sub(r"\bcolumn (\d+)\b", lambda found: _named(found, names), message)
    return re.sub(r"\b(row|sample) (\d+)\b", lambda found: f"row {int(found[2]) + 1}", message)


def _named(found: re.Match[str], names: Sequence[str]) -> str:
    column = int(found[1])
    return f"column {names[column]!r}" if column < len(names) else found[0]


def stdout() -> TextIO:
    """Where results go."""
    if sys.stdout is None:
        raise Failure("standard output is closed: the result has nowhere to go.")
    return sys.stdout


def close_stdout() -> None:
    """Let what is still to be written go nowhere, so that Python does not fail over it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def show(result: Any, stream: TextIO | None = None) -> None:
    """A result on stdout or another stream, without the blanks that pad its lines."""
    stream = stream or stdout()
    wide = None if stream.isatty() else PIPED_WIDTH
    console = Console(file=stream, width=wide, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(result)
    lines = capture.get().rstrip().split("\n")
    print("\n".join(line.rstrip() for line in lines), file=stream)


def stderr() -> Console:
    """The console for messages and progress."""
    return Console(stderr=True, highlight=False, emoji=False)


def say(kind: str, message: str, style: str) -> None:
    """One message on stderr, not cut to the width of the screen."""
    message = printable(message, "\n\t")
    text = Text.assemble((f"{kind}: ", style), message) if kind else Text(message)
    stderr().print(text, soft_wrap=True)


def fail(message: str) -> None:
    """Say what is wrong."""
    say("error", message, "bold red")


@dataclass(frozen=True)
class Talk:
    """What a command says: its result, perhaps as JSON, and beside it what may be left out."""

    json: bool = False
    quiet: bool = False

    def check_output(self, path: Path | None, *others: object, option: str = "-o") -> None:
        """Refuse a place where no file can be written, before any work is done.

        `others` are files that the same command reads or writes: none of them may be replaced.
        """
        from skstretch.io.archive import is_special

        if path is None:
            return
        named = f"{option} {str(path)!r}"
        if self.json and is_stdout(path):
            raise DataError(f"--json and {named} would both go to stdout: name a file.")
        if is_special(path) and not path.is_dir():
            # a device or a pipe: nothing is replaced
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "no permission to write to it", str(path))
            return
        for other in others:
            if other is not None and os.path.realpath(str(other)) == os.path.realpath(path):
                raise DataError(
                    f"{named} would replace a file that this command also uses: choose another "
                    "name."
                )
        if path.is_dir():
            raise DataError(f"{named} is a folder: add the name of a file.")
        folder = path.parent
        if not folder.is_dir():
            raise DataError(f"{named}: there is no folder {str(folder)!r}.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write in this folder", str(folder))

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
    def reading(self) -> Iterator[Any]:
        """Gives a function that wraps a file, so that a bar shows how much of it was read."""
        with self._bar("DownloadColumn") as progress:

            def watch(file: BinaryIO, size: int | None) -> BinaryIO:
                if progress is None or (size is not None and size < LARGE):
                    return file
                return progress.wrap_file(file, total=size or 0, description="reading")

            yield watch

    @contextlib.contextmanager
    def steps(self, total: int) -> Iterator[Any]:
        """Gives a function to be told of every step: ``step(label)``."""
        with self._bar("MofNCompleteColumn") as progress:
            task = None if progress is None else progress.add_task("", total=total)

            def step(label: str, advance: int = 1) -> None:
                if progress is not None:
                    progress.update(task, description=label, advance=advance)

            yield step

    @contextlib.contextmanager
    def _bar(self, column: str) -> Iterator[Any]:
        """A bar on a terminal, else None: an idle bar of rich 13.7 still prints a blank line."""
        if not self.shows_progress:
            yield None
            return
        # help pages need no bars, and should not wait for them
        from rich import progress as bars

        columns = bars.TextColumn("{task.description}"), bars.BarColumn(), getattr(bars, column)()
        with bars.Progress(
            *columns, bars.TimeRemainingColumn(), console=stderr(), transient=True
        ) as progress:
            yield progress

    @contextlib.contextmanager
    def translating(self, names: Sequence[str] | None = None) -> Iterator[None]:
        """Say warnings, each once, and errors of the library in the words of the command line."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # arrays have no names any more; their columns were put in order by name
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            try:
                yield
            except ValueError as error:
                raise DataError(in_options(str(error), names)) from error
            finally:
                for message in dict.fromkeys(str(warning.message) for warning in caught):
                    if not self.quiet:
                        say("warning", in_options(message, names), "yellow")


def print_json(value: Any) -> None:
    """A value as JSON on stdout."""
    stdout().write(json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


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


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None; case and spaces count little."""
    folded = {
        entry.casefold().strip(): entry for entry in reversed([*itertools.islice(known, NAMES)])
    }
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=1, cutoff=0.7)
    return folded[found[0]] if found else None


def listed(words: Sequence[str], total: int, more: str = "more") -> str:
    """The first few of `total` words, and how many more there are."""
    rest = total - len(words)
    return ", ".join(words) + (f" and {rest:,} {more}" if rest > 0 else "")


def quoted(names: Sequence[str], shown: int = SHOWN, total: int | None = None) -> str:
    """Names in quotes, the first few of many; `total` where `names` are not all of them."""
    return listed([repr(name) for name in names[:shown]], len(names) if total is None else total)


def on_terminal(text: str) -> str:
    """A sentence with plain spaces."""
    return text.replace("\u00a0", " ")


def size_words(n_rows: int, n_features: int) -> str:
    """Rows and features in one line."""
    return f"{count(n_rows, 'row')}, {count(n_features, 'feature')}"


def page(rows: Iterable[tuple[str, object]]) -> Table:
    """Labels and texts side by side; where there is no text the label is left out too."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        if text:
            table.add_row(label, safe_text(text))
    return table


def columns(labels: Mapping[str, str], rows: Iterable[Sequence[object]]) -> Table:
    """A table with a line below its head; `labels` map each heading to left or right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for label, side in labels.items():
        table.add_column(label, justify=cast(Any, side), overflow="fold")
    for row in rows:
        table.add_row(*map(safe_text, row))
    return table


def printable(text: str, kept: str = "") -> str:
    """Text of a file without characters that a terminal would act upon, but for those `kept`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in kept else char.encode("unicode_escape").decode()
        for char in text
    )


def safe_text(text: object) -> Text:
    """Text of a file for a table: no markup, nothing that a terminal would act upon."""
    return Text(printable(str(text)))


def is_stdout(path: Path) -> bool:
    """Whether a file to write is what stdout goes to, as ``/dev/stdout`` is."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def write_text(path: Path, text: str) -> None:
    """Write a whole file in one step; an older one is replaced."""
    from skstretch.io.archive import replacing

    with replacing(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
