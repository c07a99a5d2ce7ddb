"""An ordered tree of sums: which parts are added to which never depends on who comes first."""

from collections.abc import Callable, Sequence
from typing import Any

# parts that one task adds up
FAN_IN = 8


def tree(name: str, keys: Sequence[Any], merge: Callable[..., Any]) -> tuple[dict[Any, Any], Any]:
    """Tasks of a Dask graph that merge neighbours, eight at a time, and the key of the root.

    `merge` takes a list of parts in their order.
    """
    tasks: dict[Any, Any] = {}
    level, row = 0, list(keys)
    while len(row) > 1:
        groups = [row[start : start + FAN_IN] for start in range(0, len(row), FAN_IN)]
        row = []
        for number, group in enumerate(groups):
            if len(group) == 1:
                row.append(group[0])
                continue
            key = (f"{name}-level{level}", number)
            tasks[key] = (merge, group)
            row.append(key)
        level += 1
    return tasks, row[0]


def tree_size(n_blocks: int) -> int:
    """The number of tasks in the tree over so many blocks."""
    size = 0
    while n_blocks > 1:
        full, rest = divmod(n_blocks, FAN_IN)
        size += full + (rest > 1)
        n_blocks = full + (rest > 0)
    return size


def tree_depth(n_blocks: int) -> int:
    """The number of levels above the blocks."""
    depth = 0
    while n_blocks > 1:
        n_blocks, depth = -(-n_blocks // FAN_IN), depth + 1
    return depth
