"""Options that several commands share, and the names of columns that the shell completes."""

import inspect
import os
import shlex
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from skstretch.cli.data.files import Form, Kind
from skstretch.cli.data.memory import read_size

Command = TypeVar("Command", bound=Callable[..., Any])

# the heading of the options that say how a data file is written
PANEL = "How the data are written"
# how much of a file is read to complete the name of a column
HEAD = 1 << 16
# where bash and the other shells put the line that is being typed
TYPED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def columns(ctx: Any, incomplete: str) -> list[str]:
    """For the shell: names in the header of the CSV that was typed; nothing where that fails."""
    from skstretch.cli.data.delimited import column_names, fields, separator_of

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


class TaskName(StrEnum):
    """What is to be learned."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class RuleName(StrEnum):
    """Which cell of the search wins, or that the best ones are mixed."""

    MIX = "mix"
    GUARDED = "guarded"
    BEST = "best"
    ONE_SE = "1se"


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV or TSV (also .gz, .bz2, .xz, .zst), Parquet, Feather, NPZ, Matrix Market or "
        "LIBSVM/SVMlight; - is standard input.",
    ),
]

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that skstretch fit wrote.")]

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        help="The column to predict. For NPZ the name of an array, for SVMlight the label by "
        "default; for a bare matrix a file with one value a row (.npy, .mtx or text).",
        autocompletion=columns,
    ),
]

TaskOption = Annotated[
    TaskName,
    typer.Option(
        help="auto: classification if the target holds text or exactly two different values, "
        "else regression."
    ),
]

Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Rows with the same value stay in one fold.", autocompletion=columns
    ),
]

Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL", help="Leave a column out; may be repeated.", autocompletion=columns
    ),
]

PenaltyFactor = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL=NUMBER",
        help="Penalise a feature so many times as much as the others: 0 never (age, sex, batch), "
        "inf leaves it out; may be repeated.",
    ),
]

DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out the rows that have a missing value.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors and the data asked for.")
]


def output(help: str) -> Any:
    """The option -o of a command; `help` says what is written."""
    return typer.Option("--output", "-o", metavar="FILE", help=help)


KindOption = Annotated[
    Kind,
    typer.Option("--format", help="auto looks at the file.", rich_help_panel=PANEL),
]

Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHAR",
        help="Between the fields of a CSV: a character, or tab. Found out by default.",
        rich_help_panel=PANEL,
    ),
]

Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="CHAR",
        help="The decimal mark: . or , Found out by default.",
        rich_help_panel=PANEL,
    ),
]

Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a CSV; UTF-8 by default.", rich_help_panel=PANEL),
]

NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of a CSV is data; columns are called 'column 1' and so on.",
        rich_help_panel=PANEL,
    ),
]

ZeroBased = Annotated[
    bool,
    typer.Option(
        "--zero-based",
        help="Features of an SVMlight file are numbered from 0, not from 1.",
        rich_help_panel=PANEL,
    ),
]


Comment = Annotated[
    str | None,
    typer.Option(
        metavar="START",
        help="Leave out lines of a CSV that start so, say '#'.",
        rich_help_panel=PANEL,
    ),
]

SkipRows = Annotated[
    int,
    typer.Option(
        "--skip-rows",
        min=0,
        metavar="N",
        help="Leave out the first N lines of a CSV.",
        rich_help_panel=PANEL,
    ),
]

MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="What reading a file may take, say 8GB; half of this machine's memory by default.",
        rich_help_panel=PANEL,
    ),
]


def read_form(
    format: KindOption = Kind.AUTO,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    comment: Comment = None,
    skip_rows: SkipRows = 0,
    zero_based: ZeroBased = False,
    max_memory: MaxMemory = None,
) -> Form:
    """The form that the options ask for."""
    from skstretch.cli.data.delimited import separator_named

    return Form(
        format,
        separator_named(sep),
        decimal,
        encoding,
        header=not no_header,
        zero_based=zero_based,
        comment=comment,
        skip_rows=skip_rows,
        max_memory=None if max_memory is None else read_size(max_memory),
    )


def takes_form(command: Command) -> Command:
    """Give a command the options of `read_form` in place of its argument `form`."""
    return taking(command, "form", read_form)


def taking(command: Command, name: str, reader: Callable[..., Any]) -> Command:
    """Give a command the options of a function in place of the argument that it makes.

    The help page lists them where that argument stands.
    """
    shared = inspect.signature(reader).parameters
    own = inspect.signature(command)

    @wraps(command)
    def run(**words: Any) -> Any:
        made = reader(**{key: words.pop(key) for key in shared})
        return command(**{name: made}, **words)

    listed = [
        # by name alone: then those with and without a default may stand in any order
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for key, place in own.parameters.items()
        for parameter in (shared.values() if key == name else [place])
    ]
    changed = cast(Any, run)
    changed.__signature__ = own.replace(parameters=listed)
    changed.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return cast(Command, run)
