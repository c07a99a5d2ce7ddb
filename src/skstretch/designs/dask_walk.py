"""A walk over the blocks of a Dask array: one task a block, and an ordered tree that merges."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from sklearn import config_context, get_config

from skstretch.designs.dask_array import DaskArray, reference
from skstretch.designs.dask_block import Block, opened
from skstretch.designs.dask_run import run
from skstretch.designs.threads import lone_thread
from skstretch.designs.tree import tree


class Work(Protocol):
    """What is done with one block: `X` its numbers, `own` what is told to this block alone."""

    def __call__(self, X: Any, block: Block, own: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Shared:
    """What all tasks of a walk are told: one node of the graph."""

    work: Work
    working_memory: float


@dataclass(frozen=True, eq=False)
class Own:
    """What one task is told."""

    block: Block
    value: Any


def work_on(chunk: Any, shared: Shared, own: Own) -> Any:
    """The task of one block, in place: it runs through sub-blocks of the chunk that it is given."""
    try:
        with lone_thread(), config_context(working_memory=shared.working_memory):
            return shared.work(opened(chunk, own.block), own.block, own.value)
    except Exception as error:
        error.add_note(f"in {own.block}")
        raise


def walk_graph(
    array: DaskArray,
    work: Work,
    owns: Sequence[Any],
    numbers: Sequence[int],
    merge: Callable[..., Any] | None,
) -> list[Any]:
    """The results of some blocks, or the one that they merge to, as delayed values.

    `owns` has one entry for each block in `numbers`. Data is only referred to: what the graph
    holds is the work, and `owns`.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    name = f"skstretch-{type(work).__name__.lower()}-{uuid.uuid4().hex}"
    shared = f"{name}-shared"
    tasks: dict[Any, Any] = {shared: Shared(work, get_config()["working_memory"])}
    keys = []
    for number, value in zip(numbers, owns, strict=True):
        key = (name, number)
        chunk = reference(array.parts[number])
        tasks[key] = (work_on, chunk, shared, Own(array.blocks[number], value))
        keys.append(key)
    if merge is not None:
        merging, root = tree(name, keys, merge)
        tasks.update(merging)
        keys = [root]
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=array.parts[:1])
    return [cast(Any, Delayed)(key, graph, layer=name) for key in keys]


def walked(
    array: DaskArray,
    work: Work,
    owns: Sequence[Any] | None = None,
    numbers: Sequence[int] | None = None,
    merge: Callable[..., Any] | None = None,
    need: int = 0,
) -> Any:
    """Walk now: a list of results, or the merged one.

    `need` is the number of bytes that the parts to be merged take, for the check of the workers'
    memory.
    """
    numbers = range(len(array.blocks)) if numbers is None else numbers
    owns = [None] * len(numbers) if owns is None else owns
    results = run(walk_graph(array, work, owns, numbers, merge), array, need)
    return results if merge is None else results[0]
