"""How much of the data is held at a time."""

from collections.abc import Iterator
from itertools import pairwise

from sklearn import get_config

from skstretch.designs.threads import halt_point

# large enough for BLAS to run at full speed, small enough to stay in the cache of a core
BLOCK_BYTES = 1 << 21
# fewer columns than this would spend their time adding products up
BLOCK_LENGTH = 1 << 10
# a block, one of its powers and their copies, in a few threads
COPIES = 8
# numbers below which threads cost more than they save
SHARED_SIZE = 1 << 18


def blocks_of(
    count: int, other: int, within: slice | None = None, copies: int = COPIES
) -> Iterator[slice]:
    """Slices of `count` things, each thing `other` float64 numbers, of about a block's size.

    So many `copies` of a block fit the working memory.
    """
    each = 8 * max(1, other)
    size = max(1, min(max(BLOCK_BYTES // each, BLOCK_LENGTH), working_bytes() // (copies * each)))
    first, last = (0, count) if within is None else (within.start, within.stop)
    for start in range(first, last, size):
        halt_point()
        yield slice(start, min(last, start + size))


def copies_for(n_powers: int, threads: int) -> int:
    """Copies of a block that are held while so many powers of it are summed in all threads."""
    return max(COPIES, threads * (n_powers + 3))


def shares(count: int, threads: int, other: int) -> list[slice]:
    """Equal parts of `count` things, one a thread; one part where that is little work, or none."""
    threads = threads if count * other >= SHARED_SIZE else 1
    edges = [round(count * i / threads) for i in range(threads + 1)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a] or [slice(0, 0)]


def working_bytes() -> int:
    """Scikit-learn's ``working_memory`` setting, in bytes."""
    return int(get_config()["working_memory"] * 2**20)
