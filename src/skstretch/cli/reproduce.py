"""``skstretch reproduce``: the tables, figures and claims of the paper, measured again."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from skstretch.exceptions import DataError

EXAMPLES = (
    "skstretch reproduce --quick",
    "skstretch reproduce table1 fig4",
    "skstretch reproduce all --trials 10 --jobs 2 --out out/reproduction",
)


def reproduce(
    piece: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PIECE]...", help="all, table1 to table3, fig1 to fig12, madelon, standins."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One trial, smaller grids.")] = False,
    trials: Annotated[
        int | None, typer.Option(metavar="N", help="Trials of 2-fold: 10 by default, 1 if quick.")
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Data sets, parted by commas or given several times."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of results, figures and page: out/reproduction, or out/quick if quick.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Processes: one a core, four at most.")
    ] = None,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Run nothing, draw from the files that are there.")
    ] = False,
) -> None:
    """Reproduce the paper. A run that was stopped goes on where it was with the same command."""
    from skstretch.experiments.command import execute, split_names, usual_folder, usual_jobs
    from skstretch.experiments.reproduction import Request

    _check_words(piece or [], datasets or [])
    request = Request(
        pieces=piece or ("all",),
        out=out or usual_folder(quick),
        quick=quick,
        trials=trials,
        datasets=split_names(datasets),
        jobs=usual_jobs() if jobs is None else jobs,
        draw_only=draw_only,
    )
    code = execute(request)
    if code:
        raise typer.Exit(code)


def _check_words(pieces: list[str], datasets: list[str]) -> None:
    """Refuse ``--datasets a b``: an option takes one word, and b would be read as a piece."""
    from skstretch.experiments.plan import PIECES
    from skstretch.experiments.sets import SETS

    loose = [piece for piece in pieces if piece in SETS and piece not in PIECES]
    if not loose and (after := _word_behind_datasets()) in SETS and after in pieces:
        loose = [after]  # madelon is a data set and a piece
    if datasets and loose:
        several = ",".join([*datasets, *loose])
        also = f" For the piece {loose[0]!r} write it first." if loose[0] in PIECES else ""
        raise DataError(
            f"--datasets takes one word, and {loose[0]!r} stands apart: write --datasets "
            f"{several}, or repeat the option for each set.{also}"
        )


def _word_behind_datasets() -> str:
    """The word that follows ``--datasets NAME`` on the command line."""
    words = [*sys.argv, "", ""]
    return words[words.index("--datasets") + 2] if "--datasets" in words else ""
