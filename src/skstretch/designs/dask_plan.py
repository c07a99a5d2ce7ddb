"""What a walk over a Dask array costs before it starts: tasks, traffic, memory, walks."""

from dataclasses import dataclass

from scipy import sparse

from skstretch.designs.blocks import BLOCK_BYTES, BLOCK_LENGTH, working_bytes
from skstretch.designs.dask_array import DaskArray
from skstretch.designs.tree import FAN_IN, tree_depth, tree_size

# a worker with this library loaded and nothing to do
IDLE_BYTES = 250 * 2**20
# Dask lets a worker start nothing new above this share of its limit
PAUSE_SHARE = 0.8
# a sub-block, its z-scores, its features and a product; its powers come on top
SUB_BLOCK_COPIES = 4


@dataclass(frozen=True)
class DaskPlan:
    """The cost of a walk.

    Attributes
    ----------
    n_blocks : int
    n_tasks : int
        Tasks of the walk that sums the Gram matrices (Krylov: of any walk), without those that
        read the data.
    bytes_moved : int
        Upper bound of what that walk moves between workers: every part, once.
    worker_bytes : int
        The memory limit that a worker with one thread needs.
    n_workers : int
        Threads that work at the same time.
    """

    n_blocks: int
    n_tasks: int
    bytes_moved: int
    worker_bytes: int
    n_workers: int = 1

    def __str__(self) -> str:
        unit, scale = ("MB", 1e6) if self.bytes_moved >= 1e6 else ("kB", 1e3)
        return (
            f"{self.n_tasks:,} tasks and at most {self.bytes_moved / scale:,.0f} {unit} between "
            f"workers in a walk, workers of {self.worker_bytes / 2**20:,.0f} MiB"
        )


def dask_plan(array: DaskArray, n_transforms: int = 1, n_workers: int = 1) -> DaskPlan:
    """The plan of the walk that sums the Gram matrices of `n_transforms` pairs of a and k."""
    n_blocks, sums = len(array.blocks), gram_bytes(array, n_transforms)
    inner = tree_size(n_blocks)
    # of every column six moments and a mean climb the tree
    small_parts = 7 * 8 * array.shape[1] * tree_depth(n_blocks) if array.is_wide else 0
    moved = (n_blocks + inner - 1) * sums + small_parts
    tasks = n_blocks + inner + 1
    return DaskPlan(n_blocks, tasks, moved, worker_bytes(array, sums, 1), n_workers)


def krylov_plan(array: DaskArray, width: int, n_workers: int = 1) -> DaskPlan:
    """The plan of a walk in which `width` vectors pass through the blocks.

    Vectors of the shorter side go to or come from every block and climb the tree; those of the
    longer side travel once.
    """
    n_blocks, inner = len(array.blocks), tree_size(len(array.blocks))
    short, long = (8 * width * side for side in sorted(array.shape))
    moved = (n_blocks + inner) * short + long
    need = worker_bytes(array, short, 1)
    return DaskPlan(n_blocks, n_blocks + inner + 1, moved, need, n_workers)


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
