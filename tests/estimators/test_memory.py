"""How much anonymous memory a fit takes, measured from outside on a process of its own.

The pages of a mapped file are not counted: the system takes them back as it likes.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="anonymous memory is read from /proc, which only Linux has",
)
MB = 1e6

BLOCKED = """
import sys
import numpy as np
from skstretch import StretchyRegressor

X = np.memmap(sys.argv[1], dtype=np.float64, mode="r").reshape(int(sys.argv[2]), -1)
y = np.arange(len(X)) % 7.0
"""
SPARSE = """
import sys
import numpy as np
from scipy import sparse
from skstretch import StretchyRegressor

rows, columns, stored = (int(word) for word in sys.argv[1:])
rng = np.random.default_rng(0)
# every row has its entries in strictly increasing columns: no sorting, no second copy
start = np.arange(stored) * (columns // stored)
indices = (start + rng.integers(0, columns // stored, (rows, stored))).astype(np.int32).ravel()
indptr = np.arange(0, rows * stored + 1, stored, dtype=np.int32)
X = sparse.csr_array((rng.random(rows * stored), indices, indptr), shape=(rows, columns))
y = rng.standard_normal(rows)
del start, indices, indptr
"""
FIT = """
print("ready", flush=True)
sys.stdin.readline()
model = StretchyRegressor(c=1.0).fit(X, y)
print(float(np.abs(model.predict(X[:3])).max()), flush=True)
"""


def anonymous_bytes(pid):
    """What a process holds that no file could give back, or None when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return 1024 * int(sizes[0]) if sizes else None


def peak_of_fit(script, *arguments):
    """The largest growth of anonymous memory while the script fits, in bytes."""
    process = subprocess.Popen(
        [sys.executable, "-c", script + FIT, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        base = peak = anonymous_bytes(process.pid)
        process.stdin.write("go\n")
        process.stdin.flush()
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid) or 0)
            time.sleep(0.002)
        answer = process.stdout.read()
        assert process.returncode == 0, process.stderr.read()
    assert np.isfinite(float(answer))
    return peak - base


def file_of(path, rows, columns):
    """Random numbers on the disk, row after row."""
    rng = np.random.default_rng(0)
    with open(path, "wb") as file:
        for _ in range(rows):
            rng.random(columns).tofile(file)
    return path


HUNGRY = """
import sys
import numpy as np
from skstretch import StretchyRegressor as Modest

class StretchyRegressor(Modest):
    def fit(self, X, y):
        self.kept = np.ones(100_000_000 // 8)
        return super().fit(X, y)

X, y = np.random.default_rng(0).random((100, 9)), np.arange(100.0)
"""


def test_the_measure_sees_memory():
    assert 100 * MB < peak_of_fit(HUNGRY) < 110 * MB


def test_blocked_fit_of_a_file(tmp_path):
    path = file_of(tmp_path / "X.dat", 150, 250_000)
    assert path.stat().st_size == 300 * MB
    assert peak_of_fit(BLOCKED, path, 150) < 150 * MB


def test_sparse_fit():
    assert peak_of_fit(SPARSE, 400, 200_000, 200) < 150 * MB


@pytest.mark.slow
def test_blocked_fit_of_two_gigabytes(tmp_path):
    path = file_of(tmp_path / "X.dat", 500, 500_000)
    assert path.stat().st_size == 2000 * MB
    assert peak_of_fit(BLOCKED, path, 500) < 500 * MB


@pytest.mark.slow
def test_sparse_fit_of_a_million_columns():
    assert peak_of_fit(SPARSE, 2_000, 1_000_000, 1_000) < 500 * MB
