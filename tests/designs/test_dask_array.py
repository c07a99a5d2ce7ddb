"""Which Dask arrays are taken, how they are cut, and what a pass over them costs."""

import math
import pickle
import re
import subprocess
import sys
import time

import dask.array as da
import numpy as np
import pytest

from skstretch.designs import dask_plan, is_dask, tidy
from skstretch.designs.dask.array import (
    FAN_IN,
    cut,
    tree,
    worker_bytes,
)
from skstretch.designs.dask.design import MomentsAndGrams
from skstretch.designs.dask.passes import pass_graph
from skstretch.designs.local import merged
from tests.dask_arrays import as_dask, tall, wide


def test_dask_is_not_imported_for_arrays_in_memory():
    code = (
        "import sys, numpy as np; from skstretch import StretchyRegressor\n"
        "StretchyRegressor().fit(np.random.rand(9, 20), np.arange(9.0))\n"
        "print('dask' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_wide_arrays_are_cut_by_features_and_tall_ones_by_rows():
    X = cut(as_dask(wide(), (-1, 64)))
    assert is_dask(X)
    assert X.is_wide
    assert [block.shape for block in X.blocks] == [(30, 64)] * 3 + [(30, 8)]
    X = tidy(as_dask(tall(), (50, -1)))
    assert not X.is_wide
    assert [block.shape for block in X.blocks] == [(50, 9), (50, 9), (20, 9)]


@pytest.mark.parametrize(
    ("X", "chunks", "call"),
    [
        (wide(), (10, 64), "X.rechunk({0: -1, 1: 'auto'})"),
        (tall(), (50, 4), "X.rechunk({0: 'auto', 1: -1})"),
    ],
)
def test_a_split_along_the_short_side_is_refused_with_the_call_that_helps(X, chunks, call):
    array = as_dask(X, chunks)
    with pytest.raises(ValueError, match=re.escape(call)):
        cut(array)
    good = eval(call, {"X": array})
    np.testing.assert_array_equal(good.compute(), X)
    assert cut(good).shape == X.shape


def test_unknown_chunk_sizes_name_the_call_that_finds_them():
    X = da.from_array(tall(), chunks=(50, -1))
    X = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match=r"X\.compute_chunk_sizes\(\)"):
        cut(X)
    assert cut(X.compute_chunk_sizes()).shape[1] == 9


def test_other_collections_are_refused():
    from dask.delayed import delayed

    with pytest.raises(TypeError, match=r"to_dask_array\(lengths=True\)"):
        cut(delayed(np.zeros)((3, 4)))


def test_the_tree_merges_neighbours_in_order():
    for count in (1, 2, 7, 8, 9, 64, 65, 200, 513):
        tasks, root = tree("sum", [("block", i) for i in range(count)], list)
        assert len({name for name, _ in tasks}) == math.ceil(round(math.log(count, FAN_IN), 9))
        assert all(len(parts) <= FAN_IN for _, parts in tasks.values())

        def leaves(key, tasks=tasks):
            return [key] if key not in tasks else [i for k in tasks[key][1] for i in leaves(k)]

        assert leaves(root) == [("block", i) for i in range(count)]


def graph_of(n_blocks, width=5):
    X = as_dask(np.zeros((10, n_blocks * width)), (-1, width))
    work = MomentsAndGrams([], np.ones(10), False)
    array = cut(X)
    numbers = range(n_blocks)
    return array, pass_graph(array, work, [None] * n_blocks, numbers, merged)


def test_tasks_grow_linearly_with_the_blocks_and_the_plan_knows_them():
    for n_blocks in (10, 100, 200, 400):
        array, outputs = graph_of(n_blocks)
        graph = outputs[0].dask.to_dict()
        ours = [key for key in graph if "skstretch" in str(key)]
        assert len(ours) == dask_plan(array).n_tasks
        assert len(ours) <= n_blocks * (1 + 1 / (FAN_IN - 1)) + 3


def test_the_graph_of_200_blocks_is_built_in_less_than_a_second():
    graph_of(10)  # imports Dask
    start = time.perf_counter()
    graph_of(200)
    assert time.perf_counter() - start < 1.0


def test_the_graph_holds_no_data():
    X = wide(shape=(200, 3000))
    make = da.map_blocks(
        lambda block_info=None: np.zeros(block_info[None]["chunk-shape"]),
        chunks=((200,), (500,) * 6), dtype=float, meta=np.empty((0, 0)),
    )  # fmt: skip
    array = cut(make)
    work = MomentsAndGrams([], np.ones(200), False)
    outputs = pass_graph(array, work, [None] * 6, range(6), merged)
    import cloudpickle

    assert len(cloudpickle.dumps(outputs[0].dask.to_dict())) < 0.01 * X.nbytes


def test_the_plan_counts_tasks_traffic_and_memory():
    array = cut(as_dask(wide(shape=(100, 10_000)), (-1, 500)))
    plan = dask_plan(array, n_transforms=6)
    each = 6 * 8 * 100**2
    assert plan.n_blocks == 20
    assert plan.bytes_moved == (20 + 4 - 1) * each + 2 * 7 * 8 * 10_000
    chunk, sub = 8 * 100 * 500, (4 + 6) * 8 * 100 * 500
    expected = (250 * 2**20 + 2 * chunk + sub + each + 9 * each) / 0.8
    assert plan.worker_bytes == worker_bytes(array, each, 1) == int(expected)
    assert str(plan).startswith("25 tasks and at most 12 MB between workers in a pass, workers of ")


def test_a_pickled_array_leaves_the_optimised_graph_behind():
    array = cut(as_dask(wide(), (-1, 64)))
    assert len(array.parts) == len(array.blocks)
    again = pickle.loads(pickle.dumps(array))
    assert "parts" not in vars(again)
    assert again.shape == array.shape
