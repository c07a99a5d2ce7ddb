"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stretchy.cli.complete import columns
from stretchy.cli.data.form import Kind

FORMAT_PANEL = "How the data are written"


class TaskName(StrEnum):
    """What is to be learned."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class RuleName(StrEnum):
    """Which cell of the search wins."""

    GUARDED = "guarded"
    BEST = "best"
    ONE_SE = "1se"


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV or TSV (also .gz, .bz2, .xz, .zst), Parquet, Feather, NPZ, Matrix Market or "
        "LIBSVM/SVMlight; - reads CSV from standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that stretchy fit wrote.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COL",
        help="The column to predict. For NPZ the name of an array, for SVMlight the label by "
        "default; for a bare matrix a file with one value a row (.npy or text).",
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
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out the rows that have a missing value.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors and the data asked for.")
]
KindOption = Annotated[
    Kind,
    typer.Option("--format", help="auto looks at the file.", rich_help_panel=FORMAT_PANEL),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHAR",
        help="Between the fields of a CSV: a character, or tab. Found out by default.",
        rich_help_panel=FORMAT_PANEL,
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        "--decimal", metavar="CHAR", help="The decimal mark: . or ,", rich_help_panel=FORMAT_PANEL
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a CSV; UTF-8 by default.", rich_help_panel=FORMAT_PANEL),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of a CSV is data; columns are called 'column 1' and so on.",
        rich_help_panel=FORMAT_PANEL,
    ),
]
ZeroBased = Annotated[
    bool,
    typer.Option(
        "--zero-based",
        help="Features of an SVMlight file are numbered from 0, not from 1.",
        rich_help_panel=FORMAT_PANEL,
    ),
]
