"""What a walk over a Dask array costs before it starts: tasks, traffic, memory, walks."""

from dataclasses import dataclass

from scipy import sparse

from stretchy.designs.blocks import BLOCK_BYTES, BLOCK_LENGTH, working_bytes
from stretchy.designs.dask_array import DaskArray
from stretchy.designs.tree import FAN_IN, tree_depth, tree_size

# a worker with this library loaded and nothing to do
IDLE_BYTES = 250 * 2**20
# Dask lets a worker start nothing new above this share of its limit
PAUSE_SHARE = 0.8
# a sub-block, its z-scores, its features and a product; its powers come on top
SUB_BLOCK_COPIES = 4


@dataclass(frozen=True)
class DaskPlan:
    """The cost of a fit.

    Attributes
    ----------
    n_blocks : int
    n_tasks : int
        Tasks of the walk that sums the Gram matrices, without those that read the data.
    bytes_moved : int
        Upper bound of what that walk moves between workers: every part, once.
    worker_bytes : int
        The memory limit that a worker with one thread needs.
    walks : dict of str to int
        How often the blocks are walked over, and for what. For selections it is the most that can
        be: columns that were selected before are not read again, and folds select much the same.
    """

    n_blocks: int
    n_tasks: int
    bytes_moved: int
    worker_bytes: int
    walks: dict[str, int]

    @property
    def n_walks(self) -> int:
        """All walks together."""
        return sum(self.walks.values())

    def __str__(self) -> str:
        walks = ", ".join(f"{count} for {what}" for what, count in self.walks.items() if count)
        return (
            f"{self.n_blocks:,} blocks, {self.n_tasks:,} tasks, at most "
            f"{self.bytes_moved / 1e6:,.0f} MB between workers, workers of "
            f"{self.worker_bytes / 2**20:,.0f} MiB; walks over the blocks: {walks}"
        )


def dask_plan(
    array: DaskArray,
    n_maps: int = 1,
    n_transforms: int = 1,
    n_cells: int = 1,
    n_selections: int = 0,
    n_folds: int = 10,
) -> DaskPlan:
    """The plan for `n_maps` values of a and `n_transforms` pairs of a and k.

    Of the `n_cells` cells of the grid `n_selections` have a density below one; `n_folds` is only
    asked for these.
    """
    n_blocks, sums = len(array.blocks), gram_bytes(array, n_transforms)
    search, small = n_cells > 1, fits_here(array, array.shape[1])
    if array.is_wide:
        walks = {"moments and K": 1, "coefficients": 1}
        each, once = 3 + 2 * n_folds, 2
    else:
        walks = {"moments": 1, "C": n_maps, "right-hand sides": n_transforms}
        if search:
            walks["held-out rows"] = n_maps if small else n_transforms
        each, once = 1 + 4 * n_folds, 2
    if n_selections and (array.is_wide or not small):
        walks["selections"] = n_selections * each if search else once
    elif n_selections:
        walks["selections"] = n_maps
    inner = tree_size(n_blocks)
    # of every column six moments and a mean climb the tree
    small_parts = 7 * 8 * array.shape[1] * tree_depth(n_blocks) if array.is_wide else 0
    moved = (n_blocks + inner - 1) * sums + small_parts
    return DaskPlan(n_blocks, n_blocks + inner + 1, moved, worker_bytes(array, sums, 1), walks)


def gram_bytes(array: DaskArray, n_transforms: int) -> int:
    """Bytes of the square matrices that one block returns."""
    return 8 * n_transforms * min(array.shape) ** 2


def worker_bytes(array: DaskArray, sums: int, threads: int) -> int:
    """The memory limit that a worker needs, for blocks that return `sums` bytes each.

    ``(idle + (threads + 1) chunk + threads (sub-blocks + sums) + 9 sums) / 0.8``: a chunk for
    every thread and one read ahead, the sums that grow, and a merge with its eight parts. Chunks
    of a sparse array are not counted: how much they hold is not known before they are read.
    """
    n_rows, n_columns = max((block.shape for block in array.blocks), key=lambda s: s[0] * s[1])
    length, other = (n_columns, n_rows) if array.is_wide else (n_rows, n_columns)
    chunk = 0 if is_sparse(array) else array.dtype.itemsize * n_rows * n_columns
    width = min(length, max(BLOCK_LENGTH, BLOCK_BYTES // (8 * max(1, other))))
    copies = SUB_BLOCK_COPIES + sums // gram_bytes(array, 1)
    sub = min(copies * 8 * other * width, working_bytes())
    peak = IDLE_BYTES + (threads + 1) * chunk + threads * (sub + sums) + (FAN_IN + 1) * sums
    return int(peak / PAUSE_SHARE)


def fits_here(array: DaskArray, n_columns: int) -> bool:
    """Whether so many columns take at most a quarter of this process's working memory."""
    return 8 * array.shape[0] * n_columns <= working_bytes() // 4


def is_sparse(array: DaskArray) -> bool:
    """Whether the array says that its chunks are sparse."""
    return bool(sparse.issparse(getattr(array.array, "_meta", None)))
