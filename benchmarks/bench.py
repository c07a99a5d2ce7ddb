"""``make bench``: every row a ratio measured in one run; writes docs/benchmarks.md.

``python -m benchmarks.bench [section ...]`` measures some sections only; the others stay as they
stand on the page, each with the day of its own.
"""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from benchmarks import blocked, growth_plot, minimiser, neighbour, search, sparse_search, text
from benchmarks.page import write_page

PAGE = Path("docs/benchmarks.md")


@dataclass(frozen=True)
class Section:
    """A measurement, and how its table is written."""

    title: str
    text: str
    measure: Callable[[], Any]
    table: Callable[[Any], list[str]]
    goals: Callable[[Any], str] | None = None


SECTIONS = {
    "dense": Section(
        "Exact leave-one-out over 5 k x 6 c, dense",
        "Against python-glmnet's own 10-fold search over the paper's five mixing values with "
        "100 penalties each (two processes; on its own path it stops after about half of "
        "them, so both are shown), scikit-learn's RidgeCV with 100 penalties, and "
        "the bare calls that the search cannot do without: one matrix product for each k, LU "
        "and two triangular inverses for each (k, c), one eigendecomposition at k = 2.",
        lambda: [asdict(search.measure(name)) for name in ("arcene", "dexter")],
        search.table,
        search.search_goals,
    ),
    "sparse": Section(
        "Exact leave-one-out over 5 k x 6 c, sparse",
        "Against python-glmnet's sparse 10-fold search over five mixing values (two processes; "
        "with 100 penalties each, and on its own path, which stops earlier), scikit-learn's "
        "RidgeCV (100 penalties) and LassoCV (10 folds, two processes), our own dense path, and "
        "the bare LAPACK calls: LU and two triangular inverses for each (k, c), one "
        "eigendecomposition at k = 2. The limit is the flops of those at the measured rate of "
        "BLAS.",
        lambda: [sparse_search.measure(name) for name in ("dexter", "dorothea")],
        sparse_search.table,
        sparse_search.search_goals,
    ),
    "neighbour": Section(
        "Beside a busy neighbour",
        "The searches of this page and of the [page on mixing](mixing.md) alone, and again while "
        "another process keeps one core busy without a pause, so that on two cores half of the "
        "time is left to them at worst. Threads that wait for each other by spinning would make "
        "it much more.",
        neighbour.measure,
        neighbour.table,
        neighbour.neighbour_goals,
    ),
    "minimiser": Section(
        "The exact minimiser (a = 0, k below 2)",
        "The whole search: six k from 1.05 to 2, up to 20 c each, approximate leave one out for "
        "all candidates and exact for what is reported, the closed form at k = 2. Against "
        "python-glmnet's five mixing values on its own path with ten folds (two processes). One "
        "fit of `StretchyRegressor(k=1.25, a=0)`, moments and z-scores included, from a cold "
        "start at the search's c, against the bare symmetric product (dsyrk) of that shape.",
        minimiser.measure,
        minimiser.table,
        minimiser.said_goals,
    ),
    "text": Section(
        "Text: one fit, generated",
        "1,241 words a document, frequencies after Zipf. Against our own dense path and scipy's "
        "product of the same sparse matrix with itself; the limit counts the multiplications of "
        "that product, at the rate of dense BLAS, which no sparse product reaches.",
        text.measure_part,
        text.part_table,
        text.part_goals,
    ),
    "whole": Section(
        "Text: all documents",
        "16,087 x 150,360, generated: the direct solve of a 16,087 x 16,087 system, and Krylov, "
        "which never forms it.",
        text.measure_whole,
        text.whole_table,
        text.whole_goals,
    ),
    "gaze": Section(
        "Images: 980 x 1,200,000 pixels from a memory map",
        "One byte a pixel, generated, taken as it is (`quadrant` identity), never in memory at "
        "once. Against the bare BLAS product of that size in float64 (timed on a slice); the limit "
        "adds two readings of the file at the measured rate.",
        blocked.measure_gaze,
        blocked.gaze_table,
        blocked.gaze_goals,
    ),
    "growth": Section(
        "Growth",
        "One fit on pixels from a memory map.\n\n![time against features and samples]"
        "(images/growth.png)",
        blocked.measure_growth,
        blocked.growth_table,
        blocked.growth_goals,
    ),
    "news": Section(
        "news20",
        "Real text, one fit each.",
        text.measure_news,
        text.news_table,
        text.news_goals,
    ),
}  # fmt: skip


def machine() -> str:
    """What the numbers were measured on."""
    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    return (
        f"{os.cpu_count()} cores, {threads} BLAS threads, {platform.system()}, Python "
        f"{platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


def standing() -> dict[str, str]:
    """The sections that stand on the page, by their titles."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    parts = (part.split("\n", 1) for part in text.split("\n## ")[1:])
    return {title: body.strip() for title, body in parts}


def measured(section: Section) -> str:
    """A section with what was measured just now."""
    found = section.measure()
    lines = [section.text, "", *section.table(found)]
    if section.goals is not None:
        lines += ["", section.goals(found)]
    if section is SECTIONS["growth"]:
        growth_plot.draw(found, PAGE.parent / "images" / "growth.png")
    return "\n".join([*lines, "", f"Measured on {date.today().isoformat()}: {machine()}."])


def page(parts: dict[str, str]) -> list[str]:
    """The page of sections, by their titles."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Every ratio is between two things measured in one run; seconds "
        "are the best of a few runs unless they are long. *Limit* is the least time that the "
        "flops (at the rate of a large BLAS product) and the bytes (at the rate of a memory map) "
        "of the row need on the same machine. Words such as *candidate* are in the "
        "[glossary](glossary.md).",
    ]
    for section in SECTIONS.values():
        if section.title in parts:
            lines += ["", f"## {section.title}", "", parts[section.title]]
    return lines


def main() -> None:
    """Measure section by section, and write the page after each."""
    names = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        sys.exit(f"no section {unknown[0]!r}: there are {', '.join(SECTIONS)}.")
    if "SKSTRETCH_DATA" not in os.environ:
        sys.exit(
            "set SKSTRETCH_DATA to the folder of data sets: these benchmarks run on real data."
        )
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        parts = {**standing(), SECTIONS[name].title: measured(SECTIONS[name])}
        write_page(PAGE, page(parts))


if __name__ == "__main__":
    main()
