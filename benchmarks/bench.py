"""``make bench``: every row a ratio measured in one run; writes docs/benchmarks.md.

``python -m benchmarks.bench [section ...]`` measures some sections only; the page is then written
from them and from what earlier runs left in out/bench.json.
"""

import json
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

PAGE, RESULTS = Path("docs/benchmarks.md"), Path("out/bench.json")


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
        "all cells and exact for what is reported, the closed form at k = 2. Against "
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


def measured(names: list[str]) -> dict[str, Any]:
    """Results of earlier runs and of this one; each is kept as soon as it is there."""
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        found = SECTIONS[name].measure()
        results[name] = {"found": found, "day": date.today().isoformat(), "machine": machine()}
        RESULTS.parent.mkdir(exist_ok=True)
        temporary = RESULTS.with_suffix(".tmp")
        temporary.write_text(json.dumps(results, indent=1), "utf-8")
        temporary.replace(RESULTS)
    return results


def page(results: dict[str, Any]) -> list[str]:
    """The page, from results alone."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Every ratio is between two things measured in one run; seconds "
        "are the best of a few runs unless they are long. *Limit* is the least time that the "
        "flops (at the rate of a large BLAS product) and the bytes (at the rate of a memory map) "
        "of the row need on the same machine. Words such as *cell* are in the "
        "[glossary](glossary.md).",
    ]
    for name, section in SECTIONS.items():
        if name in results:
            one = results[name]
            lines += ["", f"## {section.title}", "", section.text, "", *section.table(one["found"])]
            if section.goals is not None:
                lines += ["", section.goals(one["found"])]
            lines += ["", f"Measured on {one['day']}: {one['machine']}."]
    return lines


def main() -> None:
    """Measure, print and write the page."""
    names = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        sys.exit(f"no section {unknown[0]!r}: there are {', '.join(SECTIONS)}.")
    if "SKSTRETCH_DATA" not in os.environ:
        sys.exit(
            "set SKSTRETCH_DATA to the folder of data sets: these benchmarks run on real data."
        )
    results = measured(names)
    if "growth" in results:
        growth_plot.draw(results["growth"]["found"], PAGE.parent / "images" / "growth.png")
    write_page(PAGE, page(results))


if __name__ == "__main__":
    main()
