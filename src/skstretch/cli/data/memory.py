"""How much memory a data file may take: what it claims is checked before anything is allocated."""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skstretch.exceptions import DataError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)

# fields of a line as Python's strings take up to so many bytes for each byte of the line
FIELDS = 24
# a sparse matrix may have so many rows or columns, however few entries it has
MANY = 1_000_000
# beyond that, so many for each byte of the file
SPREAD = 16
# what a limit on the process leaves to threads and allocators, which reserve more than they use
SLACK = 1 << 30

# where Linux says how much memory a container may take
CONTAINER = Path("/sys/fs/cgroup/memory.max")


def read_size(text: str) -> int:
    """Bytes from what users type: ``500MB``, ``8G``."""
    found = SIZE.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise DataError(f"--max-memory {text!r} is no size: write it like 500MB or 8GB.")
    return int(float(found[1]) * UNITS[found[2].upper()])


def half_of_the_machine() -> int:
    """Half of the memory that this machine, or container, has."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows does not say
        whole = 8 << 30
    with contextlib.suppress(OSError, ValueError):
        whole = min(whole, int(CONTAINER.read_text()))
    return whole // 2


def shown(size: float) -> str:
    """Bytes for people: ``1.5 GB``."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1024 or unit == "TB":
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if size >= 10 or unit == "bytes" else f"{size:,.1f} {unit}"


@dataclass(frozen=True)
class Budget:
    """What reading one file may take."""

    source: str
    limit: int

    @classmethod
    def of(cls, source: str, max_memory: int | None) -> "Budget":
        """The limit that was asked for, else half of the machine's memory."""
        return cls(source, half_of_the_machine() if max_memory is None else max_memory)

    @property
    def line(self) -> int:
        """How long a line of text may be, in characters."""
        return max(1 << 16, self.limit // FIELDS)

    def check(self, size: int, what: str) -> None:
        """Refuse what would not fit."""
        if size > self.limit:
            raise DataError(
                f"{self.source!r} is too large: {what} would take {shown(size)}, and "
                f"{shown(self.limit)} are allowed. If the file is sound, allow more with "
                "--max-memory."
            )

    def check_line(self, line: str | bytes) -> None:
        """Refuse a line that was cut off at the limit."""
        if len(line) >= self.line:
            raise DataError(
                f"{self.source!r} has a line of more than {shown(self.line)}, too long for the "
                f"{shown(self.limit)} of memory that are allowed. If the file is sound, allow more "
                "with --max-memory."
            )

    def check_spread(self, count: int, noun: str, size: int) -> None:
        """Refuse rows or columns of a sparse matrix that a file of `size` bytes cannot fill."""
        if count > max(MANY, SPREAD * size):
            raise DataError(
                f"{self.source!r} claims {count:,} {noun}s in {shown(size)}, nearly all of them "
                f"empty: correct the number, or leave out the empty {noun}s."
            )

    @contextlib.contextmanager
    def enforced(self) -> Iterator[None]:
        """Let the system refuse what a package takes beyond the limit, where it can."""
        try:
            import resource

            kind = resource.RLIMIT_DATA
            used = _data_of_this_process()
        except (ImportError, AttributeError, OSError, ValueError):
            yield
            return
        soft, hard = resource.getrlimit(kind)
        wanted = used + self.limit + SLACK
        allowed = min([wanted, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)])
        resource.setrlimit(kind, (allowed, hard))
        try:
            yield
        except MemoryError:
            raise DataError(
                f"{self.source!r} is too large: unpacked it would take more than the "
                f"{shown(self.limit)} that are allowed. If the file is sound, allow more with "
                "--max-memory."
            ) from None
        finally:
            resource.setrlimit(kind, (soft, hard))


def _data_of_this_process() -> int:
    """Bytes that count against the limit on data, by Linux."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) << 10
    raise ValueError("this system does not say")
