"""The command line of the reproduction: ``python -m skstretch.experiments``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from skstretch.datasets import DatasetNotFoundError
from skstretch.experiments.plan import PIECES
from skstretch.experiments.reproduction import Request, reproduce_paper
from skstretch.experiments.sets import DEFAULT, STANDINS

__all__ = ["execute", "main"]

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
        prog="python -m skstretch.experiments",
        description="Reproduce the tables, figures and claims of the paper.",
    )
    add = parser.add_argument
    add("piece", nargs="*", help=f"one or more of {', '.join(PIECES)} (default: all)")
    add("--quick", action="store_true", help="one trial, smaller grids")
    add("--trials", type=int, help="trials of 2-fold (default 10, quick 1)")
    usual = f"{','.join(DEFAULT)}; generated: {','.join(STANDINS)}"
    add("--datasets", nargs="+", help=f"data sets (default {usual}, which quick leaves out)")
    add("--out", type=Path, help="output folder (out/reproduction, or out/quick if quick)")
    add("--jobs", type=int, help="processes (default: one per core, four at most)")
    add("--draw-only", action="store_true", help="run nothing, draw from what is there")
    return parser
