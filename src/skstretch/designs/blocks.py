"""How much of the data is held at a time, and how many threads work on it.

Either threads share the blocks and BLAS is calm, or one thread walks and BLAS has threads.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, TypeVar

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from skstretch.core.factors import tally

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
SHARED_CELL = 10_000

# the sum of the sides of systems that a thread makes in one go: handing over one takes as long as
# making a small one
SIDES_TOGETHER = 1600

# square matrices that a system takes while it is worked on
CELL_COPIES = 2

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
def calm_blas(size: int, largest: int = SMALL_SYSTEM) -> Iterator[None]:
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
    """The threads to share blocks of columns among; BLAS is calm where there are several."""
    threads = available_threads() if n_rows <= SHARED_ROWS else 1
    with calm_blas(0 if threads > 1 else n_rows):
        yield threads


@contextmanager
def threads_for_cells(side: int, n_rows: int = 0) -> Iterator[int]:
    """The threads to share square systems among; BLAS is calm where there are several.

    As many as have room for their systems in the working memory; one where systems (and rows that
    are multiplied by them) are so small that threads cost more than they save.
    """
    room = CELL_COPIES * 8 * max(1, side) ** 2
    threads = max(1, min(available_threads(), (working_bytes() // room - 1) // 2))
    if side * max(side, n_rows) < SHARED_CELL:
        threads = 1
    with calm_blas(0 if threads > 1 else side):
        yield threads


class HaltedError(Exception):
    """Another thread has failed or the user has interrupted: there is no use in going on."""


_worker = threading.local()


def halt_point() -> None:
    """Where a walk over blocks may be stopped from outside."""
    halt = getattr(_worker, "halt", None)
    if halt is not None and halt.is_set():
        raise HaltedError


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[work(item) for item in items]`` in threads; the order of results is that of the items.

    The caller is one of them. An error or an interrupt stops the other threads at their next block.
    Scikit-learn's settings are those of the caller.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    first, *others = items
    with Crew(len(others)) as crew:
        futures = [crew.submit(partial(work, item)) for item in others]
        try:
            own = crew.do(partial(work, first))
        except HaltedError:
            _results(futures)
            raise
        return [own, *_results(futures)]


class Crew:
    """Threads that share work; an error in one of them, or leaving it, stops the others.

    They stop at their next block; what has not begun is dropped.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._halt, self._config, self._tally = threading.Event(), get_config(), tally.get()

    def __enter__(self) -> "Crew":
        self._pool = ThreadPoolExecutor(self.threads)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            self._halt.set()
        self._pool.shutdown(cancel_futures=error is not None)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Have it done, after what was submitted before."""
        return self._pool.submit(self._run, work)

    def _run(self, work: Callable[[], Result]) -> Result:
        tally.set(self._tally)
        with config_context(**self._config):
            return self.do(work)

    def do(self, work: Callable[[], Result]) -> Result:
        """Do it in this thread, as one of the crew."""
        before, _worker.halt = getattr(_worker, "halt", None), self._halt
        try:
            with lone_thread():
                return work()
        except BaseException:
            self._halt.set()
            raise
        finally:
            _worker.halt = before


def in_turn(
    tasks: Sequence[Callable[[], Result]],
    threads: int,
    early: Sequence[Callable[[], object]] = (),
    together: int = 1,
    ahead: int = 0,
) -> Generator[Result, None, None]:
    """``task()`` of every task, in their order, each made by one of the threads.

    So many at a time are handed over `together`. A few hands are filled ahead: as many as threads
    and one that waits for its turn, or more where there is room for what they make. What is called
    `early` is begun before all of them; tasks that need it wait for it.
    """
    if threads < 2 or len(tasks) < 2:
        for task in tasks:
            yield task()
        return
    with Crew(threads) as crew:
        waiting: deque[Future[Any]] = deque()
        begun = [crew.submit(work) for work in early]
        for start in range(0, len(tasks), together):
            if len(waiting) > max(threads, ahead):
                yield from _first(waiting, begun)
            waiting.append(crew.submit(partial(_all, tasks[start : start + together])))
        while waiting:
            yield from _first(waiting, begun)


def _all(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    return [task() for task in tasks]


def _first(waiting: deque[Future[Any]], begun: Sequence[Future[Any]]) -> Any:
    """The first result; where it was halted, the error that halted it."""
    first = waiting.popleft()
    return first.result() if first.exception() is None else _results([first, *waiting, *begun])[0]


def _results(futures: Sequence[Future[Result]]) -> list[Result]:
    """All results, or the error that halted the others."""
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None and not isinstance(error, HaltedError):
            raise error
    return [future.result() for future in futures]


def spread(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[work(item) for item in items]``, item by item in as many threads as there are.

    Each item has one thread, and BLAS is calm: for work of which no item needs several.
    """
    threads = min(available_threads(), len(items))
    if threads < 2:
        return [work(item) for item in items]
    todo = iter(enumerate(items))

    def part(_: int) -> list[tuple[int, Result]]:
        done = []
        with lone_thread():
            for place, item in todo:
                halt_point()
                done.append((place, work(item)))
        return done

    with calm_blas(0):
        found = in_threads(part, range(threads))
    return [result for _, result in sorted(chain(*found), key=itemgetter(0))]


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
