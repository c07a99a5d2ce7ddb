"""Ctrl-C in the middle of long work: a prompt stop, nothing fitted, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="the test sends SIGINT, which only POSIX systems have"
)
PROGRAM = """
import sys, threading, time
import numpy as np
from skstretch import StretchyRegressor, StretchyRegressorCV
import sklearn
from skstretch.designs import dense
from skstretch.designs import threads as blocks

work, rows, columns, n_threads = sys.argv[1], *(int(word) for word in sys.argv[2:])
blocks.available_threads = dense.available_threads = lambda: n_threads


class Slow:
    '''Hundreds of blocks, each of which takes a while: the whole would take minutes.'''

    shape, dtype, reads, rng = (rows, columns), np.dtype(float), 0, np.random.default_rng(0)

    def __getitem__(self, key):
        Slow.reads += 1
        # the moments of the minimiser's data take eight reads
        begin = 20 if work.startswith("minimiser") else 6
        if Slow.reads == begin:
            print("reading", flush=True)
        time.sleep(0.1 * (Slow.reads >= begin))
        return self.rng.random([part.stop - part.start for part in key])


model = StretchyRegressorCV() if work == "search" else StretchyRegressor()
if work == "minimiser":
    model.set_params(a=0, k=1.25)
if work == "minimisers":
    model = StretchyRegressorCV(a_grid=(0,), k_grid=(1.1, 1.25))
if work.startswith("minimiser"):
    sklearn.set_config(working_memory=8)
if work == "partial_fit":
    model.partial_fit(np.random.default_rng(0).random((50, columns)), np.arange(50.0))
before = dict(vars(model))
try:
    (model.partial_fit if work == "partial_fit" else model.fit)(Slow(), np.arange(rows) % 5.0)
    print("finished", flush=True)
except KeyboardInterrupt:
    print("stopped", vars(model) == before, threading.active_count(), flush=True)
"""
DASK = """
import threading, time
import dask.array as da
import numpy as np
from skstretch import StretchyRegressor
from skstretch.designs.dask import passes as products

made, passes, own = [], [], products.run


def block(block_info=None):
    made.append(time.monotonic())
    time.sleep(0.1)
    return np.random.default_rng(len(made)).standard_normal(block_info[None]["chunk-shape"])


def counted(*args, **keywords):
    # moments come first, then a pass for every Newton step
    passes.append(len(passes))
    if len(passes) == 4:
        threading.Timer(0.2, lambda: print("reading", flush=True)).start()
    return own(*args, **keywords)


products.run = counted
X = da.map_blocks(block, chunks=((40,), (50,) * 24), dtype=float, meta=np.empty((0, 0)))
model = StretchyRegressor(a=0, k=1.25, c=0.1)
before = dict(vars(model))
try:
    model.fit(X, np.random.default_rng(0).standard_normal(40))
    print("finished", flush=True)
except KeyboardInterrupt:
    stopped = time.monotonic()
    print("stopped", vars(model) == before, flush=True)
    time.sleep(1.0)
    print("quiet" if max(made) < stopped + 0.2 else "still reading", len(passes), flush=True)
"""
CASES = [
    ("fit", 100, 2_000_000, 1),
    ("search", 100, 2_000_000, 2),
    ("minimiser", 100, 20_000, 1),
    pytest.param(("minimiser", 100, 20_000, 2), marks=pytest.mark.slow),
    ("minimisers", 100, 20_000, 1),
    pytest.param(("fit", 10_000_000, 20, 1), marks=pytest.mark.slow),
    ("partial_fit", 10_000_000, 20, 1),
]


def interrupted(program, arguments, folder):
    """What a program says after Ctrl-C, line by line; it must answer soon and leave nothing."""
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    )
    with process:
        assert process.stdout.readline() == "reading\n", process.stderr.read()
        process.send_signal(signal.SIGINT)
        begin = time.perf_counter()
        said = [process.stdout.readline()]
        waited = time.perf_counter() - begin
        said += process.stdout.readlines()
        process.wait(timeout=60)
        error = process.stderr.read()
    assert waited < 2.0
    assert process.returncode == 0, error
    assert list(Path(folder).iterdir()) == []
    return said


@pytest.mark.parametrize("case", CASES, ids=str)
def test_interrupt(case, tmp_path):
    assert interrupted(PROGRAM, case, tmp_path) == ["stopped True 1\n"]


@pytest.mark.slow
def test_interrupt_of_a_minimiser_on_dask(tmp_path):
    """In the pass of a Newton step; the threads of Dask make no further block."""
    assert interrupted(DASK, (), tmp_path) == ["stopped True\n", "quiet 4\n"]
