"""Command line of the arena: results on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .data import KINDS, available_tasks
from .methods import choose_methods, method_names
from .run import LIMIT, SEEDS, TEST, Plan, run
from .summary import summarise

# Kept with the code: hours of fits that need not be run again, and the numbers behind the page.
OUT = Path(__file__).with_name("results.csv")


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.arena", description=__doc__)
    add = options.add_argument
    add("--tasks", nargs="+", metavar="SET", help="sets in order, or a kind of task; default: all")
    add(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help=f"of {', '.join(method_names())}; 'competitors' is all but skstretch; default: all",
    )
    add(
        "--seed",
        choices=list(SEEDS),
        default=TEST,
        help="folds: 'dev' to settle anything on, 'test' to report (default %(default)s)",
    )
    add("--repeats", type=int, help="of 2-fold; default: 2 to 5 by the number of rows")
    add("--fresh", action="store_true", help="run again what the file of results has")
    add("--limit", type=float, default=LIMIT, help="CPU seconds for one fit (default %(default)g)")
    add("--out", type=Path, default=OUT, help="the file of results (default %(default)s)")
    add("--summary", action="store_true", help="run nothing, only summarise the file of results")
    add("--write", type=Path, metavar="FILE", help="write the summary into a file as well")
    add("--kinds", nargs="+", choices=sorted(set(KINDS.values())), help="sections to write anew")
    return options


def choose_tasks(names: list[str] | None) -> list[str]:
    """Spell out the kinds; None is every set that is in the data folder."""
    present = available_tasks()
    chosen: list[str] = []
    for name in names or present:
        if name not in (*KINDS, *KINDS.values()):
            raise ValueError(f"unknown set {name!r}; choose from {', '.join(KINDS)}.")
        chosen += [name] if name in KINDS else [n for n in present if KINDS[n] == name]
    return list(dict.fromkeys(chosen))


def main(arguments: list[str] | None = None) -> int:
    """Run, then summarise."""
    options = parser().parse_args(arguments)
    try:
        if not options.summary:
            run(planned(options))
        page = options.write.read_text("utf-8") if options.write and options.write.exists() else ""
        kinds = options.kinds or sorted(set(KINDS.values()))
        text = summarise(options.out, options.seed, kinds, page)
    except (ValueError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"error: {error}; leave that method out with --methods", file=sys.stderr)
        return 2
    print(text)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(text, encoding="utf-8")
    return 0


def planned(options: argparse.Namespace) -> Plan:
    """What the options ask to run."""
    return Plan(
        out=options.out,
        tasks=choose_tasks(options.tasks),
        methods=choose_methods(options.methods),
        seed=options.seed,
        repeats=options.repeats,
        fresh=options.fresh,
        limit=options.limit,
    )


if __name__ == "__main__":
    raise SystemExit(main())
