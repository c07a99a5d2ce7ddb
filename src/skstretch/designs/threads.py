"""How much of the data is held at a time, and how many threads work on it.

Either threads share the blocks and BLAS has one, or one thread passes and BLAS has threads.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

# the side of a square system up to which BLAS is held to one thread, since threads that wait keep
# others from work
SMALL_SYSTEM = 1024

# rows up to which blocks of columns are shared among threads, each with its own sums (measured at
# 500, 980 and 2,000 rows: up to twice as fast as BLAS threads, which win at 4,000). Up to there
# searches and exact minimisers, too, hold BLAS to one thread: of 1,200 and of 2,000 samples they
# take three quarters of the time
SHARED_ROWS = 2048

# numbers of a square system from which threads share systems: below, one takes less time than
# handing it over (measured)
SHARED_CANDIDATE = 10_000

# square matrices that a system takes while it is worked on
CANDIDATE_COPIES = 2

_outer_threads: ContextVar[int | None] = ContextVar("outer_threads", default=None)

Item = TypeVar("Item")

Result = TypeVar("Result")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def available_threads() -> int:
    """The threads that BLAS may use here, before this library held it back."""
    outer = _outer_threads.get()
    if outer is not None:
        return outer
    return max((lib.num_threads for lib in _blas().lib_controllers), default=1)


@contextmanager
def single_blas_thread(size: int, largest: int = SMALL_SYSTEM) -> Iterator[None]:
    """Hold BLAS to one thread where systems have at most so many rows."""
    threads = available_threads()
    if size > largest or threads == 1 or _outer_threads.get() is not None:
        yield
        return
    token = _outer_threads.set(threads)
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _outer_threads.reset(token)


@contextmanager
def threads_for_rows(n_rows: int) -> Iterator[int]:
    """The threads to share blocks of columns among; BLAS has one where there are several."""
    threads = available_threads() if n_rows <= SHARED_ROWS else 1
    with single_blas_thread(0 if threads > 1 else n_rows):
        yield threads


@contextmanager
def threads_for_candidates(side: int, n_rows: int = 0) -> Iterator[int]:
    """The threads to share square systems among; BLAS has one where there are several.

    As many as have room for their systems in the working memory; one where systems (and rows that
    are multiplied by them) are so small that threads cost more than they save.
    """
    room = CANDIDATE_COPIES * 8 * max(1, side) ** 2
    threads = max(1, min(available_threads(), (working_bytes() // room - 1) // 2))
    if side * max(side, n_rows) < SHARED_CANDIDATE:
        threads = 1
    with single_blas_thread(0 if threads > 1 else side):
        yield threads


# how long a Ctrl-C may go unnoticed
TURN_SECONDS = 0.2


class HaltedError(Exception):
    """Another thread has failed or the user has interrupted: there is no use in going on."""


class Halt:
    """What stops the threads of one call at their next block, and the error that was first."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.error: BaseException | None = None

    def stop(self, error: BaseException) -> None:
        """Have all threads stop; later errors are consequences."""
        if not self.event.is_set():
            self.error = error
        self.event.set()


_halt: ContextVar[Halt | None] = ContextVar("halt", default=None)


def halt_point() -> None:
    """Where a pass over blocks may be stopped from outside."""
    halt = _halt.get()
    if halt is not None and halt.event.is_set():
        raise HaltedError


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[work(item) for item in items]``, item by item in as many threads as there are.

    Each item has one thread, and BLAS is held to one: for work of which no item needs several.
    """
    threads = min(available_threads(), len(items))
    if threads < 2:
        return [work(item) for item in items]
    with single_blas_thread(0):
        return [*ordered_map([partial(work, item) for item in items], threads, len(items))]


def ordered_map(
    tasks: Sequence[Callable[[], Result]], threads: int, ahead: int = 0
) -> Generator[Result, None, None]:
    """``task()`` of every task, in their order, each made by one of the threads.

    No more results wait than there are threads and one, or as many as may be made ahead. An error
    in a task, an interrupt or closing the generator stops all threads at their next block; what
    has not begun is dropped. Settings of scikit-learn and context variables are the caller's.
    """
    if threads < 2 or len(tasks) < 2:
        for task in tasks:
            yield task()
        return
    halt, waiting = Halt(), deque[Future[Result]]()
    run = partial(_run, halt, get_config())
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                if len(waiting) > max(threads, ahead):
                    yield _awaited(waiting.popleft())
                waiting.append(pool.submit(copy_context().run, run, task))
            while waiting:
                yield _awaited(waiting.popleft())
        except HaltedError as halted:
            raise halt.error or halted from None
        finally:
            halt.event.set()
            pool.shutdown(cancel_futures=True)


def _awaited(future: Future[Result]) -> Result:
    """The result, waited for in short turns: a Ctrl-C that comes just before a wait begins does not
    end that wait, and would be answered by the next result alone."""
    while not future.done():
        wait([future], timeout=TURN_SECONDS)
    return future.result()


def _run(halt: Halt, config: dict[str, Any], task: Callable[[], Result]) -> Result:
    """A task in a thread of its own, which an error of another one may stop."""
    _halt.set(halt)
    try:
        halt_point()
        with config_context(**config), lone_thread():
            return task()
    except BaseException as error:
        halt.stop(error)
        raise


@contextmanager
def lone_thread() -> Iterator[None]:
    """Work of which a scheduler runs several at a time: each keeps to its own thread."""
    token = _outer_threads.set(1)
    try:
        yield
    finally:
        _outer_threads.reset(token)


# large enough for BLAS to run at full speed, small enough to stay in the cache of a core
BLOCK_BYTES = 1 << 21

# fewer columns than this would spend their time adding products up
BLOCK_LENGTH = 1 << 10

# a block, one of its powers and their copies, in a few threads
COPIES = 8

# targets whose coefficients threads may all hold at once
FEW_TARGETS = 16

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
