"""Dask graphs are run by whichever scheduler is current; what goes wrong there is said plainly."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, cast

from skstretch.designs.dask.array import Block, DaskArray, worker_bytes
from skstretch.designs.threads import single_blas_thread
from skstretch.exceptions import BlockError, InterruptedPassError, LostDataError

# between two looks at the workers, and how long none of them may be able to work
POLL_SECONDS = 2.0


PATIENCE_SECONDS = 120.0


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

    check_at_hand(array)

    class Running(Callback):
        """Counts the blocks that are done; remembers what was running when something failed."""

        keys: Sequence[Any] = ()

        def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
            if array.meter is not None and _is_ours(key):
                array.meter.add(_bytes_of(array, array.blocks[key[1]]))

        def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
            self.keys = [*state.get("running", ())] if errored else []

    running, compute = cast(Any, Running)(), cast(Any, dask.compute)
    try:
        with single_blas_thread(0), running:
            return list(compute(*outputs))
    except Exception as error:
        if getattr(error, "__notes__", None):  # it says already where it happened
            raise
        if str(error).startswith("Missing dependency"):
            raise LostDataError from error
        blamed = _blocks_behind(running.keys, array)
        if len(blamed) > 1:  # what ran beside the failure, or went into it, is no culprit
            blamed = [block for block in blamed if not _can_be_made(array, block)]
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
        _wait(client, futures, PassProgress(client, outputs, array))
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
        if client.status == "running" and is_elsewhere(array):
            raise LostDataError from error
        raise InterruptedPassError(
            "the Dask client was closed, or its work cancelled, before the pass over X was over: "
            "connect a client and fit again."
        ) from error
    except InterruptedPassError:
        raise
    except KeyboardInterrupt:
        # whoever keeps the traceback keeps the futures, and the cluster would go on for nobody
        client.cancel(futures, force=True)
        raise
    except Exception as error:
        if client.status != "running":
            raise InterruptedPassError(
                f"the connection to the Dask scheduler was lost ({error}): connect a client and "
                "fit again."
            ) from error
        if getattr(error, "__notes__", None):
            raise
        cause = _cause(client, [f.key for f in futures])
        _blame(error, _blocks_behind([cause], array) or _kept_blocks(client, array))


def _cause(client: Any, keys: Sequence[Any]) -> Any:
    """The task that failed behind the first of these that failed, or None."""
    return client.sync(client.scheduler.get_error_cause, keys=[*keys])


def _kept_blocks(client: Any, array: DaskArray) -> list[Block]:
    """Blocks that failed when the cluster made them to keep them: they are not in the graph."""
    graph = array.parts[0].dask.to_dict()
    pairs = zip(array.parts, array.blocks, strict=True)
    return [b for part, b in pairs if part.key not in graph and _cause(client, [part.key])]


class PassProgress:
    """Tells the meter of an array how many blocks of a pass a cluster has done."""

    def __init__(self, client: Any, outputs: Sequence[Any], array: DaskArray) -> None:
        self.client, self.array, self.done = client, array, 0
        self.name = str(outputs[0].key[0]).split("-level")[0]
        self.count = sum(_is_ours(key) for key in outputs[0].dask.layers[self.name])

    def look(self) -> None:
        """Ask the scheduler."""
        if self.array.meter is None:
            return

        def counts(name: str, dask_scheduler: Any) -> tuple[int, int]:
            group = dask_scheduler.task_groups.get(name)
            states = {} if group is None else {**group.states}
            open_states = ("waiting", "queued", "no-worker", "processing")
            return sum(states.values()), sum(states.get(state, 0) for state in open_states)

        try:
            total, left = self.client.run_on_scheduler(counts, self.name)
        except Exception:  # a cluster that does not tell shows no progress
            return
        self._add(total - left)

    def end(self) -> None:
        """All blocks are done."""
        if self.array.meter is not None:
            self._add(self.count)

    def _add(self, done: int) -> None:
        assert self.array.meter is not None
        if done > self.done:
            each = _bytes_of(self.array, self.array) / len(self.array.blocks)
            self.array.meter.add(int((done - self.done) * each))
            self.done = done


def _bytes_of(array: DaskArray, part: Any) -> int:
    """Bytes of a part of the array, were it dense."""
    return int(array.dtype.itemsize * part.shape[0] * part.shape[1])


def is_elsewhere(array: DaskArray) -> bool:
    """Whether blocks are only known by name: a cluster keeps them."""
    return array.parts[0].key not in array.parts[0].dask


def check_at_hand(array: DaskArray) -> None:
    """Refuse blocks that a cluster keeps where no client is current."""
    if is_elsewhere(array) and current_client(array.parts[:1]) is None:
        raise LostDataError


def _wait(client: Any, futures: Sequence[Any], progress: PassProgress) -> None:
    """Wait until all is done or something failed; Dask alone would wait for workers for ever."""
    from distributed import TimeoutError as Waiting
    from distributed import wait

    idle_since, seen = None, bool(_workers(client))
    while not any(future.status in ("error", "cancelled", "lost") for future in futures):
        try:
            with client.as_current():
                cast(Any, wait)(futures, timeout=POLL_SECONDS)
            progress.end()
            return
        except Waiting:
            states = [worker.get("status") for worker in _workers(client).values()]
        progress.look()
        seen = seen or bool(states)
        if "running" in states:
            idle_since = None
            continue
        idle_since = time.monotonic() if idle_since is None else idle_since
        if time.monotonic() - idle_since > PATIENCE_SECONDS:
            client.cancel(list(futures))
            if not seen:
                raise InterruptedPassError(
                    f"no worker has joined the Dask cluster for {PATIENCE_SECONDS:.0f} s: start "
                    "some, call client.wait_for_workers(1), and fit again."
                )
            state = f"{len(states)} worker(s), all {states[0]}" if states else "no worker left"
            raise InterruptedPassError(
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
    named = isinstance(key, tuple) and len(key) == 2 and str(key[0]).startswith("skstretch-")
    return named and "-level" not in str(key[0])


def check_workers(client: Any, array: DaskArray, need: int) -> None:
    """Refuse a pass that the smallest worker has no memory for."""
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
            f"a worker with {threads} thread(s) needs {required / 2**20:,.0f} MiB for this pass "
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
