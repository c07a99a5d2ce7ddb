"""A bar on stderr."""

import sys
import time
from typing import TextIO


class Progress:
    """Counts steps; draws a bar when there is something to show and someone to see it."""

    def __init__(self, total: int, label: str, verbose: int, stream: TextIO | None = None) -> None:
        self.total, self.label, self.done = total, label, 0
        self.stream = sys.stderr if stream is None else stream
        self.shown = bool(verbose)
        self.start = self.last = time.monotonic()

    def step(self) -> None:
        """One more done."""
        self.done += 1
        now = time.monotonic()
        if self.shown and (now - self.last > 0.1 or self.done == self.total):
            self.last = now
            self._draw(now)

    def _draw(self, now: float) -> None:
        filled = 30 * self.done // max(1, self.total)
        bar = "█" * filled + "·" * (30 - filled)
        left = (now - self.start) / self.done * (self.total - self.done)
        self.stream.write(f"\r{self.label} {bar} {self.done}/{self.total}, {left:.0f} s left ")
        self.stream.flush()

    def close(self) -> None:
        """End the line."""
        if self.shown and self.done:
            self.stream.write("\n")
            self.stream.flush()
