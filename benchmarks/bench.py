"""``make bench``: every row a ratio measured in one run; writes docs/benchmarks.md."""

import os
import platform
import sys
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from benchmarks.page import write_page
from benchmarks.search import measure

PAGE = Path("docs/benchmarks.md")


def machine() -> str:
    """What the numbers were measured on."""
    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    return (
        f"{os.cpu_count()} cores, {threads} BLAS threads, {platform.system()}, Python "
        f"{platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


def search_table() -> list[str]:
    """The exact search, dense."""
    rows = [
        "| data | rows x features | ours, s | glmnet, 100 penalties, s | glmnet / ours "
        "| glmnet, own path, s | glmnet / ours | RidgeCV, s | ours / RidgeCV "
        "| bare BLAS + LAPACK, s | ours / bare |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in ("arcene", "dexter"):
        print(f"measuring {name} ...", file=sys.stderr)
        t = measure(name)
        rows.append(
            f"| {t.name} | {t.shape[0]} x {t.shape[1]:,} | {t.ours:.3f} | {t.glmnet:.1f} | "
            f"**{t.glmnet / t.ours:.0f}** | {t.glmnet_short:.1f} | "
            f"{t.glmnet_short / t.ours:.0f} | {t.ridge:.3f} | {t.ours / t.ridge:.2f} | "
            f"{t.bare:.3f} | **{t.ours / t.bare:.2f}** |"
        )
    return rows


def main() -> None:
    """Measure, print and write the page."""
    if "STRETCHY_DATA" not in os.environ:
        sys.exit("set STRETCHY_DATA to the folder of data sets: these benchmarks run on real data.")
    page = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Times are the best of a few runs after one that warms up (ours "
        "five, RidgeCV two, glmnet one without), all in the same process. "
        f"Machine: {machine()}.",
        "",
        "## Exact leave-one-out over 5 k x 6 c, dense",
        "",
        "Against python-glmnet's own 10-fold search over the paper's five mixing values with "
        "100 penalties each (two processes; on its own path it stops after about half of "
        "them, so both are shown), scikit-learn's RidgeCV with 100 penalties, and "
        "the bare calls that the search cannot do without: one matrix product for each k, LU "
        "and two triangular inverses for each cell, one eigendecomposition at k = 2.",
        "",
        *search_table(),
    ]
    write_page(PAGE, page)
    print("\n".join(page))


if __name__ == "__main__":
    main()
