"""Bytes that have been read, shown on stderr."""

import sys
import threading
import time
from typing import TextIO


class Meter:
    """A line that tells how much of the data was read; threads may share it."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done = max(1, total), 0
        self.stream = sys.stderr if stream is None else stream
        # a log file gets a line now and then, a terminal one line that moves
        self.moving = self.stream.isatty()
        self.interval = 0.2 if self.moving else 15.0
        self.start = self.last = time.monotonic()
        self.closed = False
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """So many bytes more; what is read after the end is not shown."""
        with self._lock:
            if self.closed:
                return
            self.done += nbytes
            now = time.monotonic()
            if now - self.last > self.interval:
                self.last = now
                self._draw(now)

    def _draw(self, now: float) -> None:
        share = min(1.0, self.done / self.total)
        left = (now - self.start) * (1.0 / share - 1.0) if share else 0.0
        line = f"read {self.done / 1e9:.2f} of about {self.total / 1e9:.2f} GB, {left:.0f} s left"
        self.stream.write(f"\r{line} " if self.moving else f"{line}\n")
        self.stream.flush()

    def close(self) -> None:
        """End the line, if there is one."""
        self.closed = True
        if self.moving and self.last > self.start:
            self.stream.write("\n")
            self.stream.flush()
