"""``python -m reproduction``: run what is missing, draw, write the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from reproduction.files import CurveBook, Ledger, keep_settings, only_run, there_or_packed
from reproduction.plan import PIECES, Plan, make_plan
from reproduction.run import run_plan
from reproduction.sets import (
    DEFAULT,
    STANDINS,
    StudySet,
    choose_sets,
    lasso_bytes,
    lasso_fits,
    memory_bytes,
)
from reproduction.settings import FULL, QUICK, Settings
from skstretch.datasets import DatasetNotFoundError

RESULTS, CURVES, PAGE = "results.csv", "curves.csv", "reproduction.md"


@dataclass(frozen=True)
class Request:
    """What the command was asked.

    Attributes
    ----------
    pieces : sequence of str
        Tables and figures, or ``"all"``.
    out : Path
        The folder of results, figures and page.
    quick : bool
        One trial, smaller grids.
    trials : int or None
        Another number of trials.
    datasets : sequence of str or None
        Other sets than the usual ones.
    jobs : int
        Processes.
    draw_only : bool
        Run nothing; draw from the files that are there.
    """

    pieces: Sequence[str] = ("all",)
    out: Path = Path("out/reproduction")
    quick: bool = False
    trials: int | None = None
    datasets: Sequence[str] | None = None
    jobs: int = 1
    draw_only: bool = False

    def settings(self) -> Settings:
        """The grid and the number of trials."""
        settings = QUICK if self.quick else FULL
        if self.trials is None:
            return settings
        if self.trials < 1:
            raise ValueError(f"trials={self.trials}: at least one trial is needed.")
        return replace(settings, trials=self.trials)

    def sets(self) -> list[StudySet]:
        """The data sets; a quick run has stand-ins only where they are asked for."""
        if self.datasets:
            return self._named(choose_sets(self.datasets))
        asked = "standins" in self.pieces or not self.quick
        return choose_sets((*DEFAULT, *STANDINS) if asked else DEFAULT)

    def _named(self, sets: list[StudySet]) -> list[StudySet]:
        """The sets, or an error where a stand-in is named for what it is not in, or none is."""
        standins = [entry.name for entry in sets if entry.standin]
        if standins and not {"all", "standins"} & set(self.pieces):
            raise ValueError(
                f"{', '.join(standins)}: stand-ins are generated and in no table or figure of the "
                "paper; ask for the piece 'standins'."
            )
        if not standins and "standins" in self.pieces:
            raise ValueError(
                f"the piece 'standins' needs one of the data sets {', '.join(STANDINS)}, not "
                f"{', '.join(entry.name for entry in sets)}; leave --datasets out for all of them."
            )
        return sets


def reproduce_paper(request: Request, say: Callable[[str], None]) -> list[str]:
    """Do what was asked; returns what failed, in words.

    A figure that cannot be drawn for want of data is a failure where it was asked for by name.
    """
    settings, sets = request.settings(), request.sets()
    if request.jobs < 1:
        raise ValueError(f"jobs={request.jobs}: at least one process is needed.")
    plan = make_plan(request.pieces, sets, settings)  # checks all names before touching a file
    if request.draw_only:
        _check_run(request.out)
        failures, gaps = [], draw(request.out, plan, say)
    else:
        _check_unpacked(request.out)
        with only_run(request.out):
            failures = _run(request, plan, settings, sets, say)
            gaps = draw(request.out, plan, say)
    if "all" not in request.pieces:
        return failures + gaps
    for gap in gaps:
        say(f"not drawn: {gap}")
    return failures


def _run(
    request: Request,
    plan: Plan,
    settings: Settings,
    sets: Sequence[StudySet],
    say: Callable[[str], None],
) -> list[str]:
    """Run what the files lack of the plan, on the sets that can be loaded."""
    keep_settings(request.out, settings)
    ledger, book = Ledger(request.out / RESULTS), CurveBook(request.out / CURVES)
    _check_packages(plan)
    lacking = _lacking([entry for entry in sets if entry.name in plan.datasets], request, say)
    there = [entry for entry in sets if entry.name not in lacking]
    for entry in there:
        if entry.name in plan.datasets and not entry.standin and not lasso_fits(entry.name):
            say(
                f"{entry.title} without LASSO: glmnet needs {lasso_bytes(entry.name) / 1e9:.0f} GB "
                f"for a half of it, and this machine has {memory_bytes() / 1e9:.0f} GB"
            )
    plan = make_plan(request.pieces, there, settings)
    return run_plan(plan, settings, ledger, book, jobs=request.jobs, say=say)


def _check_unpacked(out: Path) -> None:
    if there_or_packed(out / RESULTS).suffix == ".gz":
        raise ValueError(
            f"the run in {str(out)!r} is packed, and can only be drawn from (--draw-only): unpack "
            "its files with gunzip, or choose another folder with --out."
        )


def _check_run(out: Path) -> None:
    if not there_or_packed(out / RESULTS).exists():
        raise ValueError(
            f"{str(out)!r} holds no run to draw from: name its folder with --out, or leave "
            "--draw-only out."
        )


def _check_packages(plan: Plan) -> None:
    """Say what to install before a long run, not in its middle."""
    uses_lasso = any(unit.family in ("LASSO", "LASSOCV") for unit in plan.units)
    uses_lasso |= any(task.figure in ("fig7", "fig8") for task in plan.curves)
    wanted = {"matplotlib": "matplotlib", **({"glmnet": "python-glmnet"} if uses_lasso else {})}
    missing = [name for module, name in wanted.items() if find_spec(module) is None]
    if missing:
        raise ValueError(
            f"{' and '.join(missing)} cannot be imported: pip install {' '.join(missing)}."
        )


def _lacking(sets: Sequence[StudySet], request: Request, say: Callable[[str], None]) -> set[str]:
    """Names of the sets that cannot be loaded. One that was asked for by name is an error."""
    lacking = set()
    for entry in sets:
        if entry.standin:
            continue
        try:
            entry.load()
        except DatasetNotFoundError as error:
            if request.datasets:
                raise
            say(f"{entry.title} is left out: {error}")
            lacking.add(entry.name)
    return lacking


def draw(out: Path, plan: Plan, say: Callable[[str], None]) -> list[str]:
    """Figures and page from the two files; returns what could not be drawn, in words."""
    from reproduction.page import write_page

    return write_page(out, plan.figures, say)


STOPPED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments and run; returns the exit code."""
    options = _parser().parse_args(arguments)
    jobs = usual_jobs() if options.jobs is None else options.jobs
    request = Request(
        pieces=options.piece or ("all",),
        out=options.out or usual_folder(options.quick),
        quick=options.quick,
        trials=options.trials,
        datasets=split_names(options.datasets),
        jobs=jobs,
        draw_only=options.draw_only,
    )
    return execute(request)


def execute(request: Request) -> int:
    """Run a request: 0 when all is there, 1 after a failure, 2 for a bad request, 130 stopped."""
    try:
        failures = reproduce_paper(request, say)
    except (ValueError, DatasetNotFoundError) as error:
        say(f"error: {error}")
        return 2
    except RuntimeError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        return STOPPED
    for failure in failures:
        say(f"not done: {failure}")
    return 1 if failures else 0


def say(line: str) -> None:
    """A message for people, on stderr."""
    print(line, file=sys.stderr, flush=True)


def split_names(words: Sequence[str] | None) -> list[str] | None:
    """Names given apart or parted by commas; None where there are none."""
    return [name for word in words or () for name in word.split(",") if name] or None


def usual_jobs() -> int:
    """One process per core, four at most."""
    return min(4, os.cpu_count() or 1)


def usual_folder(quick: bool) -> Path:
    """Where a run goes if nothing is said; quick and full runs do not share a folder."""
    return Path("out/quick") if quick else Request.out


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Reproduce the tables, figures and claims of the paper.",
    )
    add = parser.add_argument
    add("piece", nargs="*", help=f"one or more of {', '.join(PIECES)} (default: all)")
    add("--quick", action="store_true", help="one trial, smaller grids")
    add("--trials", type=int, help="trials of 2-fold (default 10, quick 1)")
    usual = f"{','.join(DEFAULT)}; generated: {','.join(STANDINS)}"
    add(
        "--datasets",
        nargs="+",
        action="extend",
        help=f"data sets (default {usual}, which quick leaves out)",
    )
    add("--out", type=Path, help="output folder (out/reproduction, or out/quick if quick)")
    add("--jobs", type=int, help="processes (default: one per core, four at most)")
    add("--draw-only", action="store_true", help="run nothing, draw from what is there")
    return parser
