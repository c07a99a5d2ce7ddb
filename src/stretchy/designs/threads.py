"""How work is spread over cores: threads over blocks with calm BLAS, or BLAS threads.

BLAS threads pay on large matrices. On small ones, and on a machine that others use too, they wait
for each other (measured: a hundred times slower); there BLAS is held to one thread and blocks of
features are shared among threads instead.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

# the side of a square system up to which BLAS is held to one thread
SMALL_SYSTEM = 512

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
def calm_blas(size: int) -> Iterator[None]:
    """Hold BLAS to one thread where systems have at most `SMALL_SYSTEM` rows."""
    threads = available_threads()
    if size > SMALL_SYSTEM or threads == 1 or _outer_threads.get() is not None:
        yield
        return
    token = _outer_threads.set(threads)
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _outer_threads.reset(token)


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[work(item) for item in items]`` in threads; the order of results is that of the items."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(work, items))
