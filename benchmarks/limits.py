"""What this machine can do: the rates that every benchmark is measured against."""

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.timing import best_time


@dataclass(frozen=True)
class Rates:
    """Flops a second of a double and a single precision product, bytes a second from a file."""

    double: float
    single: float
    read: float

    def seconds(self, flops: float, nbytes: float = 0.0, single: bool = False) -> float:
        """The least time for this much work."""
        return flops / (self.single if single else self.double) + nbytes / self.read


@cache
def rates() -> Rates:
    """Measured once a run."""
    found = []
    for dtype in (np.float64, np.float32):
        A = np.random.default_rng(0).standard_normal((1000, 8000)).astype(dtype)
        B = A[::-1].copy()
        found.append(2.0 * A.shape[0] ** 2 * A.shape[1] / best_time(lambda A=A, B=B: A @ B.T, 3))
    return Rates(*found, _read_rate())


def _read_rate() -> float:
    """Bytes a second through a memory map of a file that the system has just written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bytes"
        path.write_bytes(bytes(1 << 28))
        words = np.memmap(path, dtype=np.uint64, mode="r")
        return (1 << 28) / best_time(words.sum, 3)


def goals(*rows: tuple[str, str, bool]) -> str:
    """Targets and results in one line: what, how much, reached or not."""
    said = (f"{what}: {found} ({'reached' if met else 'missed'})" for what, found, met in rows)
    return "Targets. " + "; ".join(said) + "."
