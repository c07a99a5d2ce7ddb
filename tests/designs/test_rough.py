"""Newton matrices from a sample of the columns, and tasks in threads."""

import numpy as np
import pytest
from scipy.linalg import eigh

from skstretch.core.bridge_path import solve, space
from skstretch.core.bridge_walks import ROUGH_COLUMNS, DenseWalks, Trial, thinned
from skstretch.designs import blocks
from skstretch.designs.blocks import available_threads, spread
from tests.designs.test_walks import pair

TAILS = {"even": 0.0, "uneven": 1.0, "few large ones": 3.0}


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("count", [10, 100, 500])
def test_a_sample_has_the_share_of_all_columns(tail, count):
    rng = np.random.default_rng(0)
    share = np.exp(TAILS[tail] * rng.standard_normal(1000))
    keep, times = thinned(share, count)
    assert abs(len(keep) - count) <= 1
    assert np.all(times >= 1.0 - 1e-12)
    # no column stands for more than a fair share of the others, or for itself alone
    fair = (share[keep] * times)[times > 1.0 + 1e-12]
    assert np.ptp(fair) <= 1e-9 * fair.max(initial=1.0)
    assert np.isclose(share[keep] @ times, share.sum(), rtol=2.0 / count)


@pytest.mark.parametrize("storage", ["C", "map", "zarr", "dask"])
@pytest.mark.parametrize("k", [1.05, 1.25, 1.75])
def test_a_rough_matrix_is_near_the_true_one(storage, k, tmp_path):
    design, Z = pair(storage, (20, 3000), tmp_path)
    walks = design.walks(once=storage == "map")
    x = np.random.default_rng(1).standard_normal(20)
    lam = np.abs(Z.T @ x).max() / 1.5
    rough, fine = (walks.step([Trial(k, lam, x, how)])[0].gram for how in ("rough", "fine"))
    assert np.isclose(np.trace(rough), np.trace(fine), rtol=0.05)
    unit = 0.1 * np.trace(fine) / 20 * np.eye(20)
    ratios = eigh(rough + unit, fine + unit, eigvals_only=True)
    assert ratios[0] > 0.3
    assert ratios[-1] < 3.0
    if storage == "C":
        assert not np.allclose(rough, fine, rtol=1e-3), "nothing was left out"


def test_a_rough_matrix_of_few_columns_has_all_of_them():
    Z = np.random.default_rng(0).standard_normal((10, 10 * ROUGH_COLUMNS))
    rough, fine = DenseWalks(Z).step(
        [Trial(1.5, 3.0, np.ones(10), how) for how in ("rough", "fine")]
    )
    np.testing.assert_allclose(rough.gram, fine.gram, rtol=1e-3, atol=1e-3 * np.trace(fine.gram))


class Asked(DenseWalks):
    """Walks that remember which matrices they were asked for."""

    def step(self, trials):
        self.asked = [*getattr(self, "asked", []), *(trial.gram for trial in trials)]
        return super().step(trials)


@pytest.mark.parametrize("c", [1e-3, 1e-1, 10.0, 1e5])
@pytest.mark.parametrize("k", [1.1, 1.25, 1.75])
def test_one_fit_makes_one_whole_matrix_in_double_precision(k, c):
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((30, 2000))
    Z -= Z.mean(0)
    y = Z[:, :5].sum(axis=1) + rng.standard_normal(30)
    where = space(Z, np.ones(30))
    object.__setattr__(where, "walks", Asked(Z))
    point = solve(where, k, c, y)[1]
    asked = where.walks.asked
    assert asked.count("fine") == 1
    assert asked[0] == "rough"
    assert asked.count("coarse") <= 2
    assert point.how == "fine"
    assert point.gap <= 1e-10
    assert len(asked) == point.n_iter


def test_tasks_are_spread_over_threads_in_their_order(monkeypatch):
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    assert spread(lambda n: n * n, range(50)) == [n * n for n in range(50)]
    assert spread(lambda n: n, []) == []


def test_a_task_has_one_thread(monkeypatch):
    outer = blocks._outer_threads.set(3)
    try:
        assert set(spread(lambda _: available_threads(), range(9))) == {1}
    finally:
        blocks._outer_threads.reset(outer)


def test_an_error_in_a_task_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    with pytest.raises(ZeroDivisionError):
        spread(lambda n: 1 // (n - 7), range(20))
