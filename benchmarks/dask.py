"""``python -m benchmarks.dask``: a cluster of this machine's cores; fills in docs/scaling.md.

Workers have one thread each, and read blocks that lie in files. ``--quick`` is a small run that
shows that everything works and writes nothing.
"""

import os

# before numpy: one BLAS thread in this process too, as in the workers
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import logging
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.page import write_page
from skstretch import StretchyRegressorCV
from skstretch.core.features import column_moments
from skstretch.core.gram import dual_grams
from skstretch.core.quadrant import Quadrant
from skstretch.designs import dask_plan, tidy
from skstretch.designs.dask.design import MomentsAndGrams, merged
from skstretch.designs.dask.passes import pass_graph
from skstretch.exceptions import GridEdgeWarning

PAGE = Path("docs/scaling.md")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
POWERS = (1.1, 1.25, 1.5, 1.75, 2.0)
WIDTH = 5000


@dataclass(frozen=True)
class Timed:
    """Seconds of one search, with what it was."""

    n_rows: int
    n_columns: int
    n_powers: int
    n_workers: int
    seconds: float


class Files:
    """Makes a block by reading its file."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, block_info: Any = None) -> Any:
        number = block_info[None]["chunk-location"][1]
        return np.load(f"{self.folder}/{number}.npy")


def stored(folder: str, n_rows: int, n_columns: int, width: int) -> Any:
    """A Dask array whose blocks lie in files of a folder."""
    rng = np.random.default_rng(0)
    for number in range(n_columns // width):
        np.save(f"{folder}/{number}.npy", rng.standard_normal((n_rows, width)))
    chunks = ((n_rows,), (width,) * (n_columns // width))
    return da.map_blocks(Files(folder), chunks=chunks, dtype=float, meta=np.empty((0, 0)))


@contextmanager
def workers(count: int, folder: str) -> Iterator[Client]:
    """A cluster of processes with one thread each."""
    with (
        dask.config.set({"temporary-directory": folder}),
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit=0, local_directory=folder, silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(count)
        client.run(lambda: __import__("skstretch").StretchyRegressorCV)
        yield client


def searched(X: Any, powers: Sequence[float], n_workers: int, repeats: int) -> Timed:
    """The best time of a few searches with the current client."""
    y = np.random.default_rng(1).standard_normal(X.shape[0])
    model = StretchyRegressorCV(a_grid=(-0.2,), k_grid=powers, c_grid=(0.01, 0.1, 1.0))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    found = Timed(*X.shape, len(powers), n_workers, min(times))
    print(found, file=sys.stderr, flush=True)
    return found


def growth(n_rows: int, n_columns: int, repeats: int) -> list[Timed]:
    """The search with one worker and two, and with half of the rows, columns and powers."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        X = stored(folder, n_rows, n_columns, min(WIDTH, n_columns // 4))
        half = X[:, : n_columns // 2]
        fewer = X[: n_rows // 2]
        for count in (1, 2):
            with workers(count, folder):
                found.append(searched(X, POWERS, count, repeats))
                if count == 2:
                    found.append(searched(half, POWERS, count, repeats))
                    found.append(searched(fewer, POWERS, count, repeats))
                    found.append(searched(X, POWERS[1:2], count, repeats))
    return found


def graph_times(counts: Sequence[int]) -> list[tuple[int, int, float]]:
    """Blocks, tasks and seconds to build the graph of the pass for K."""
    rows = []
    for count in counts:
        X = da.zeros((100, 10 * count), chunks=(100, 10))
        start = time.perf_counter()
        array = tidy(X)
        pass_graph(
            array, MomentsAndGrams([], np.ones(100), False), [None] * count, range(count), merged
        )
        rows.append((count, dask_plan(array).n_tasks, time.perf_counter() - start))
    return rows


def block_rate(n_rows: int, n_columns: int) -> float:
    """Floating-point operations a second of one thread that sums K of five k over a block.

    ``2 M^2 b`` for each k; moments and exponentials are in the time, not in the operations.
    """
    raw = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    weights = np.ones(n_rows)
    times = []
    for _ in range(2):
        start = time.perf_counter()
        quadrant = Quadrant("exp", column_moments(raw, weights), -0.2, np.zeros(n_columns))
        features = quadrant.features(raw, slice(None), False)
        dual_grams([features], [1.0 / (k - 1.0) for k in POWERS], weights, None, False)
        times.append(time.perf_counter() - start)
    return 2.0 * n_rows**2 * n_columns * len(POWERS) / min(times)


def worked_plan(rate: float) -> list[str]:
    """10,000 x 100 million on 100 workers, from the measured rate of one thread."""
    n_rows, n_columns, n_workers, threads, width = 10_000, 100_000_000, 100, 16, 20_000
    network = 1.25e9  # bytes a second: 10 Gbit/s
    X = da.zeros((n_rows, n_columns), chunks=(n_rows, width))
    plan = dask_plan(tidy(X), n_transforms=len(POWERS))
    products = 2.0 * n_rows**2 * n_columns * len(POWERS)
    compute = products / (rate * n_workers * threads)
    traffic = plan.bytes_moved / n_workers / network
    reading = 8.0 * n_rows * n_columns / n_workers / network
    again = 2.0 * n_rows * n_columns / (rate * n_workers * threads)
    return [
        "| what | how much | from |",
        "|---|---|---|",
        f"| data | {8 * n_rows * n_columns / 1e12:.0f} TB as float64 | 8 M D |",
        f"| blocks | {plan.n_blocks:,} of {8 * n_rows * width / 1e9:.1f} GB "
        f"({width:,} columns each) | `X.rechunk({{0: -1, 1: {width}}})` |",
        f"| tasks of the pass for K | {plan.n_tasks:,} (and one a block to read it) | plan |",
        f"| K of five k | {8 * n_rows**2 * len(POWERS) / 1e9:.0f} GB a block, in the worker "
        "that has the block | 8 M² k |",
        f"| traffic between workers | at most {plan.bytes_moved / 1e12:.1f} TB, "
        f"{plan.bytes_moved / n_workers / 1e9:.0f} GB a worker | plan |",
        f"| memory of a worker | {plan.worker_bytes / 1e9:.0f} GB | the formula above |",
        f"| products | {products:.1e} operations at {rate / 1e9:.0f} GFlop/s a thread, "
        f"{threads} BLAS threads a worker, taken as {threads} times one: "
        f"**{compute / 3600:.1f} h** | measured rate |",
        f"| traffic at 10 Gbit/s | {traffic / 60:.0f} min, while others compute | 1.25 GB/s |",
        f"| reading at 10 Gbit/s | {reading / 60:.0f} min a pass, while others compute | 8 M D |",
        f"| coefficients | one more pass: {max(reading, again) / 60:.0f} min; "
        f"{8 * n_columns / 1e9:.1f} GB for the model, {6 * 8 * n_columns / 1e9:.1f} GB for its "
        "moments | M D |",
        f"| the system | LU of {n_rows:,} x {n_rows:,} on the client: "
        f"{(2 / 3 + 4 / 3) * n_rows**3 / rate:.0f} s a candidate with one thread | M³ |",
    ]


def tables(rows: Sequence[Timed], graphs: Sequence[Any], rate: float, load: float) -> list[str]:
    """The measured part of the page."""
    one, two = rows[0], rows[1]
    ratio = one.seconds / two.seconds
    verdict = "reached" if ratio >= 1.7 else "missed in this run"
    lines = [
        f"Written by `python -m benchmarks.dask` on {date.today()}: {os.cpu_count()} cores, "
        f"{platform.system()}, Python {platform.python_version()}, Dask {dask.__version__}; load "
        f"of the machine at the start {load:.1f}. Workers are processes with one thread each; "
        "blocks lie in files. One search over the k and three c, best of a few runs.",
        "",
        "| rows | columns | k | workers | seconds |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.n_rows:,} | {r.n_columns:,} | {r.n_powers} | {r.n_workers} | {r.seconds:.2f} |"
        for r in rows
    ]
    lines += [
        "",
        f"Two workers over one: **{ratio:.2f}** times as fast (target 1.7: {verdict}).",
        "",
        "| blocks | tasks of the pass for K | seconds to build its graph |",
        "|---|---|---|",
    ]
    lines += [f"| {blocks:,} | {tasks:,} | {seconds:.3f} |" for blocks, tasks, seconds in graphs]
    lines += ["", "### 10,000 x 100 million on 100 workers", "", *worked_plan(rate)]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, and nothing is written")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", GridEdgeWarning)
    load = os.getloadavg()[0]
    shape, repeats = ((100, 8000), 1) if quick else ((500, 200_000), 2)
    rows = growth(*shape, repeats)
    graphs = graph_times((50, 200, 800))
    rate = block_rate(*((500, 500) if quick else (4000, 512)))
    lines = tables(rows, graphs, rate, load)
    print("\n".join(lines))
    if not quick:
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
        write_page(PAGE, [f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


if __name__ == "__main__":
    main()
