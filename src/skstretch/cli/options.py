"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from skstretch.cli.complete import columns


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
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out the rows that have a missing value.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors and the data asked for.")
]
