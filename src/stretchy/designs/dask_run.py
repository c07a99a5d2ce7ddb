"""Dask graphs are run by whichever scheduler is current; what goes wrong there is said plainly."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, cast

from stretchy.designs.dask_array import DaskArray
from stretchy.designs.dask_block import Block
from stretchy.designs.dask_plan import worker_bytes
from stretchy.designs.threads import calm_blas

# between two looks at the workers, and how long none of them may be able to work
POLL_SECONDS = 2.0
PATIENCE_SECONDS = 120.0


class BlockError(RuntimeError):
    """A block of X could not be made, or the worker that had it died."""


class InterruptedWalkError(RuntimeError):
    """The cluster went away in the middle of a walk."""


def run(outputs: Sequence[Any], array: DaskArray, need: int = 0) -> list[Any]:
    """The values of delayed outputs that were built on the blocks of an array."""
    client = current_client(outputs)
    if client is None:
        return _run_here(outputs, array)
    check_workers(client, array, need)
    return _run_on(client, outputs, array)


def current_client(outputs: Sequence[Any]) -> Any:
    """The client of the scheduler that Dask would use now; None for a scheduler in this process."""
    import dask.base

    get_scheduler: Any = dask.base.get_scheduler
    client = getattr(get_scheduler(collections=outputs), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _run_here(outputs: Sequence[Any], array: DaskArray) -> list[Any]:
    import dask
    from dask.callbacks import Callback

    class Running(Callback):
        """Remembers what was running when something failed."""

        keys: Sequence[Any] = ()

        def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
            self.keys = [*state.get("running", ())] if errored else []

    running, compute = cast(Any, Running)(), cast(Any, dask.compute)
    try:
        with calm_blas(0), running:
            return list(compute(*outputs))
    except Exception as error:
        if getattr(error, "__notes__", None):  # it says already where it happened
            raise
        blamed = _blocks_behind(running.keys, array)
        if len(blamed) > 1:
            blamed = [block for block in blamed if not _can_be_made(array, block)] or blamed
        _blame(error, blamed)


def _can_be_made(array: DaskArray, block: Block) -> bool:
    try:
        array.parts[block.number].compute(scheduler="synchronous")
    except Exception:
        return False
    return True


def _run_on(client: Any, outputs: Sequence[Any], array: DaskArray) -> list[Any]:
    import dask
    from distributed import CancelledError, KilledWorker

    # y, weights and dual coefficients travel with the graph; the plan has counted them
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}
    futures: list[Any] = []
    try:
        with dask.config.set(quiet):
            futures = client.compute(list(outputs))
        _wait(client, futures)
        return list(client.gather(futures))
    except KilledWorker as error:
        blocks = _blocks_behind(_given_up(client, outputs) or [error.task], array)
        where = f"on {_any_of(blocks)}" if blocks else "on the sums of several blocks"
        raise BlockError(
            f"workers died again and again while they worked {where}. The usual reason is memory: "
            "see docs/scaling.md for what a worker needs, and use smaller chunks, fewer k at a "
            "time, or larger workers."
        ) from error
    except CancelledError as error:
        raise InterruptedWalkError(
            "the Dask client was closed, or its work cancelled, before the walk over X was over: "
            "connect a client and fit again."
        ) from error
    except InterruptedWalkError:
        raise
    except Exception as error:
        if client.status != "running":
            raise InterruptedWalkError(
                f"the connection to the Dask scheduler was lost ({error}): connect a client and "
                "fit again."
            ) from error
        if getattr(error, "__notes__", None):
            raise
        cause = client.sync(client.scheduler.get_error_cause, keys=[f.key for f in futures])
        _blame(error, _blocks_behind([cause], array))


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Wait until all is done or something failed; Dask alone would wait for workers for ever."""
    from distributed import TimeoutError as Waiting
    from distributed import wait

    idle_since, seen = None, bool(_workers(client))
    while not any(future.status in ("error", "cancelled", "lost") for future in futures):
        try:
            with client.as_current():
                cast(Any, wait)(futures, timeout=POLL_SECONDS)
            return
        except Waiting:
            states = [worker.get("status") for worker in _workers(client).values()]
        seen = seen or bool(states)
        if not seen or "running" in states:
            idle_since = None
            continue
        idle_since = time.monotonic() if idle_since is None else idle_since
        if time.monotonic() - idle_since > PATIENCE_SECONDS:
            client.cancel(list(futures))
            state = f"{len(states)} worker(s), all {states[0]}" if states else "no worker left"
            raise InterruptedWalkError(
                f"for {PATIENCE_SECONDS:.0f} s no worker of the Dask cluster could work ({state}). "
                "The usual reason is memory: see docs/scaling.md for what a worker needs."
            )


def _given_up(client: Any, outputs: Sequence[Any]) -> list[Any]:
    """All tasks that the scheduler gave up: those that only waited on the dead workers as well.

    KilledWorker names one of them, and not always the one that killed.
    """

    def erred(dask_scheduler: Any) -> list[Any]:
        tasks = dask_scheduler.tasks.values()
        return [task.key for task in tasks if task.exception_blame is task]

    ours = {key for output in outputs for key in output.dask}
    try:
        return [key for key in client.run_on_scheduler(erred) if key in ours]
    except Exception:  # the error at hand matters more than a better name for it
        return []


def _any_of(blocks: Sequence[Block]) -> str:
    return " or ".join(str(block) for block in blocks)


def _blame(error: Exception, blocks: Sequence[Block]) -> NoReturn:
    if not blocks:
        raise error
    name = f"{type(error).__name__}: {error}"
    raise BlockError(f"{_any_of(blocks)} could not be made: {name}") from error


def _blocks_behind(keys: Iterable[Any], array: DaskArray) -> list[Block]:
    """The blocks that are made from these tasks of the graph."""
    from dask.core import get_dependencies

    wanted = {tuple(key) if isinstance(key, list) else key for key in keys}
    graph = array.parts[0].dask.to_dict()
    found = {key[1] for key in wanted if _is_ours(key)}
    for part, block in zip(array.parts, array.blocks, strict=True):
        seen, todo = set(), [part.key]
        while todo:
            key = todo.pop()
            if key in graph and key not in seen:
                seen.add(key)
                todo.extend(get_dependencies(graph, key))
        if seen & wanted:
            found.add(block.number)
    return [array.blocks[number] for number in sorted(found)]


def _is_ours(key: Any) -> bool:
    """Whether a key is that of the work on one block, whose number it then ends with."""
    named = isinstance(key, tuple) and len(key) == 2 and str(key[0]).startswith("stretchy-")
    return named and "-level" not in str(key[0])


def check_workers(client: Any, array: DaskArray, need: int) -> None:
    """Refuse a walk that the smallest worker has no memory for."""
    workers = _workers(client).values()
    limited = [w for w in workers if w.get("memory_limit")]
    if not limited:
        return
    smallest = min(limited, key=lambda w: int(w["memory_limit"]))
    limit, threads = int(smallest["memory_limit"]), int(smallest["nthreads"])
    required = worker_bytes(array, need, threads)
    if limit < required:
        largest = max(block.shape[0] * block.shape[1] for block in array.blocks)
        raise MemoryError(
            f"a worker with {threads} thread(s) needs {required / 2**20:,.0f} MiB for this walk "
            f"and has {limit / 2**20:,.0f} MiB: its chunks take "
            f"{largest * array.dtype.itemsize / 2**20:,.0f} MiB each and the sums over one of them "
            f"{need / 2**20:,.0f} MiB. Use workers with more memory or fewer threads, smaller "
            "chunks (X.rechunk), or fewer k at a time; docs/scaling.md has the formula."
        )


def _workers(client: Any) -> dict[str, Any]:
    try:
        info = client.scheduler_info(n_workers=-1)
    except TypeError:  # before 2025.4 it told of all workers anyway
        info = client.scheduler_info()
    workers: dict[str, Any] = info["workers"]
    return workers
