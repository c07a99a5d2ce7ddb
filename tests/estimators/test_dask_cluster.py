"""Estimators on a cluster of real processes, and what happens when some of it breaks."""

import os
import pickle
import signal
import threading
import time
from contextlib import contextmanager

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.designs import Meter
from skstretch.designs.dask import passes as dask_walk
from skstretch.designs.dask import run as dask_run
from skstretch.designs.dask.array import cut, gram_bytes, worker_bytes
from skstretch.exceptions import BlockError, InterruptedPassError, LostDataError
from tests.dask_arrays import tall

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
SHAPE, WIDTH = (40, 1200), 100
N_BLOCKS = SHAPE[1] // WIDTH


@contextmanager
def cluster_of(folder, **options):
    """Real worker processes that leave nothing behind."""
    quiet = {
        "temporary-directory": str(folder),
        "distributed.comm.timeouts.connect": "30s",
        "distributed.scheduler.allowed-failures": 1,
    }
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(folder),
            silence_logs=50,
            **options,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    with cluster_of(folder, n_workers=2, memory_limit=0) as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]
        yield cluster
        pids += [worker.pid for worker in cluster.workers.values()]
    assert not [pid for pid in pids if alive(pid)]
    left = [*folder.rglob("worker-*"), *folder.rglob("scheduler-*")]
    assert not [path for path in left if path.is_dir()]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def make(pause=0.0, broken=None, fatal=None, shape=SHAPE, width=WIDTH, once=None):
    """A wide array whose blocks are made by the workers; some of them badly.

    With `once` there is no pause, and no block is broken, until there is a file of this name.
    """

    def block(block_info=None):
        number = block_info[None]["chunk-location"][1]
        now = once is None or os.path.exists(once)
        time.sleep(pause if now else 0.0)
        if number == broken and now:
            raise OSError("part-5.npy is damaged")
        if number == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        rng = np.random.default_rng(number)
        return rng.standard_normal(block_info[None]["chunk-shape"])

    widths = (width,) * (shape[1] // width)
    return da.map_blocks(block, chunks=((shape[0],), widths), dtype=float, meta=np.empty((0, 0)))


@pytest.fixture(scope="module")
def y():
    return np.random.default_rng(0).standard_normal(SHAPE[0])


@pytest.fixture(scope="module")
def here(y):
    """The fit by threads of this process."""
    with dask.config.set(scheduler="threads"):
        return StretchyRegressor().fit(make(), y)


def after(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


def test_a_current_client_gives_the_same_bits(client, here, y):
    X = make()
    for lazy in (X, X.persist()):
        model = StretchyRegressor().fit(lazy, y)
        assert np.array_equal(model.alpha_, here.alpha_)
    assert isinstance(model.predict(X), da.Array)
    np.testing.assert_allclose(model.predict(X).compute(), model.predict(X.compute()), atol=1e-12)


def test_a_client_that_is_passed_is_used(cluster, here, y):
    with distributed.Client(cluster, set_as_default=False) as other:
        before = other.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        with dask.config.set(scheduler=other):
            model = StretchyRegressor().fit(make(), y)
        after = other.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    assert after > before
    assert np.array_equal(model.alpha_, here.alpha_)


def test_search_tall_data_and_krylov(client):
    X = tall()
    y = np.asarray(X[:, 0]) + np.linspace(0, 1, len(X))
    blocks = da.from_array(X, chunks=(41, -1))
    grid = {"k_grid": (1.5, 2.0), "c_grid": (1.0, 10.0)}
    model = StretchyRegressorCV(**grid).fit(blocks, da.from_array(y, chunks=50))
    expected = StretchyRegressorCV(**grid).fit(X, y)
    np.testing.assert_allclose(model.cv_predictions_, expected.cv_predictions_, atol=1e-10)
    krylov = StretchyRegressor(solver="krylov", c=1.0).fit(blocks, y)
    direct = StretchyRegressor(c=1.0).fit(X, y)
    np.testing.assert_allclose(krylov.predict(X), direct.predict(X), rtol=0, atol=1e-7)


def test_a_block_that_raises_is_named(client, y):
    model = StretchyRegressor()
    expected = r"feature block 5 of 12 \(columns 500 to 599 of X\).*part-5.npy is damaged"
    with pytest.raises(BlockError, match=expected):
        model.fit(make(broken=5), y)
    with pytest.raises(NotFittedError):
        model.predict(np.zeros(SHAPE))


def test_a_kept_block_that_could_not_be_made_is_named(client, y):
    kept = make(broken=5).persist()
    expected = r"feature block 5 of 12 \(columns 500 to 599 of X\).*part-5.npy is damaged"
    with pytest.raises(BlockError, match=expected):
        StretchyRegressor().fit(kept, y)


def test_blocks_that_are_gone_with_their_client_are_said(cluster, here, y):
    with (
        distributed.Client(cluster, set_as_default=False) as other,
        dask.config.set(scheduler=other),
    ):
        # Dask before 2026 keeps X.persist() in this process, where the client is no default
        model = StretchyRegressor().fit(other.persist(make()), y)
        model.predict_interval(np.zeros((1, SHAPE[1])))
        assert np.array_equal(model.lazy_coef().compute(), here.coef_)
    X = np.random.default_rng(0).standard_normal((2, SHAPE[1]))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict(X), here.predict(X), rtol=0, atol=1e-12)
    vars(model._state.model).pop("jackknives")  # what the interval above has left
    for call in (lambda: model.predict_interval(X), model.lazy_coef, model.coef_std):
        with pytest.raises(LostDataError, match=r"X.persist\(\).* is gone.*predict .* still works"):
            call()
    with distributed.Client(cluster), pytest.raises(LostDataError, match="gone"):
        model.coef_std()


def revive(client):
    """Wait for workers that were killed; where a nanny brings none back, one worker is enough for
    the tests that follow, and none would be an error."""
    try:
        client.wait_for_workers(2, timeout=30)
    except TimeoutError:
        client.wait_for_workers(1, timeout=30)


def test_blocks_are_counted_while_the_cluster_works(client, y, monkeypatch, capfd):
    monkeypatch.setattr(dask_run, "POLL_SECONDS", 0.2)
    seen = []
    monkeypatch.setattr(Meter, "add", lambda self, nbytes: seen.append(nbytes))
    one = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (100.0,)}
    StretchyRegressorCV(1.0, **one, verbose=1).fit(make(pause=0.1), y)
    assert "12 blocks of Dask" in capfd.readouterr().err
    whole = 8 * SHAPE[0] * SHAPE[1]
    assert sum(seen) == pytest.approx(2 * whole, rel=1e-6)
    assert len(seen) > 4


def test_a_worker_killed_in_the_middle_changes_no_bit(cluster, client, here, y):
    first = next(iter(cluster.workers.values()))
    pid = first.pid
    timer = after(0.5, lambda: os.kill(pid, signal.SIGKILL))
    model = StretchyRegressor().fit(make(pause=0.15), y)
    timer.join()
    assert not alive(pid)
    assert np.array_equal(model.alpha_, here.alpha_)
    assert np.array_equal(model.dual_coef_, here.dual_coef_)
    revive(client)


@pytest.mark.slow
def test_the_exact_minimiser_has_the_same_bits_after_a_worker_was_killed(cluster, client, y):
    """Killed in the Newton steps: twelve blocks a pass, about ten passes."""
    model = StretchyRegressor(a=0, k=1.25, c=0.1)
    with dask.config.set(scheduler="threads"):
        true = clone(model).fit(make(), y)
    assert np.array_equal(clone(model).fit(make(), y).alpha_, true.alpha_)
    pid = next(iter(cluster.workers.values())).pid
    timer = after(1.2, lambda: os.kill(pid, signal.SIGKILL))
    model.fit(make(pause=0.1), y)
    timer.join()
    assert not alive(pid)
    assert np.array_equal(model.alpha_, true.alpha_)
    assert model.dual_gap_ <= 1e-10
    revive(client)


def at_walk(monkeypatch, number, action):
    """Do something when this pass over the data begins, counted from one."""
    own, products = dask_walk.run, []

    def counted(*args, **keywords):
        products.append(number)
        if len(products) == number:
            action()
        return own(*args, **keywords)

    monkeypatch.setattr(dask_walk, "run", counted)
    return products


def test_a_block_that_raises_in_a_newton_step_is_named(client, y, monkeypatch, tmp_path):
    """Moments come first, then a pass for every step."""
    flag, model = tmp_path / "broken", StretchyRegressor(a=0, k=1.25, c=0.1)
    products = at_walk(monkeypatch, 4, flag.touch)
    expected = r"feature block 5 of 12 \(columns 500 to 599 of X\).*part-5.npy is damaged"
    with pytest.raises(BlockError, match=expected):
        model.fit(make(broken=5, once=str(flag)), y)
    assert len(products) == 4
    with pytest.raises(NotFittedError):
        model.predict(np.zeros(SHAPE))


def test_an_interrupt_in_a_newton_step_frees_the_workers(client, y, monkeypatch, tmp_path):
    """The pass would keep two workers busy for six seconds; what has not begun is given up."""
    flag, model = tmp_path / "slow", StretchyRegressor(a=0, k=1.25, c=0.1)
    before = dict(vars(model))
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def begin():
        flag.touch()
        after(0.3, interrupt)

    products = at_walk(monkeypatch, 4, begin)
    # kept, as a debugger or a notebook keeps it: what it holds must not hold the cluster
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(make(pause=1.0, once=str(flag)), y)
    assert time.monotonic() - sent[0] < 2.0
    assert caught.value.__traceback__ is not None
    assert len(products) == 4
    assert vars(model) == before
    deadline = sent[0] + 3.0
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())
    fitted = model.fit(make(), y)  # the same workers go on
    assert fitted.dual_gap_ <= 1e-10


def test_a_client_closed_in_the_middle_is_said_and_leaves_no_model(cluster, y):
    other = distributed.Client(cluster, set_as_default=False)
    timer = after(0.7, other.close)
    model = StretchyRegressor()
    start = time.monotonic()
    with (
        dask.config.set(scheduler=other),
        pytest.raises(InterruptedPassError, match="client was closed"),
    ):
        model.fit(make(pause=0.3), y)
    timer.join()
    assert time.monotonic() - start < 15
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.predict(np.zeros(SHAPE))


def test_a_block_that_kills_its_workers_is_named_within_bounded_time(client, y):
    start = time.monotonic()
    with pytest.raises(BlockError, match=r"workers died .*feature block 5 of 12"):
        StretchyRegressor().fit(make(fatal=5), y)
    assert time.monotonic() - start < 60
    revive(client)


def tight():
    """An array whose pass over K needs far more than an idle worker has."""
    X = make(shape=(700, 8400), width=700)
    array = cut(X)
    return X, worker_bytes(array, gram_bytes(array, 6), 1)


@pytest.fixture(scope="module")
def tight_client(tmp_path_factory):
    limit = int(1.02 * tight()[1])
    folder = tmp_path_factory.mktemp("tight")
    with (
        cluster_of(folder, n_workers=1, memory_limit=limit) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_a_memory_limit_just_above_the_formula_is_enough(tight_client):
    X, need = tight()
    [worker] = tight_client.scheduler_info()["workers"].values()
    assert need < worker["memory_limit"] < 1.05 * need
    y = np.random.default_rng(0).standard_normal(700)
    with dask.config.set(scheduler=tight_client):
        # closed forms stay on the cluster; what else fits the memory here would leave it
        model = StretchyRegressorCV(1.0, a_grid=(-0.2,), c_grid=(1.0, 10.0)).fit(X, y)
    [again] = tight_client.scheduler_info()["workers"].values()
    assert again["name"] == worker["name"]
    assert again["id"] == worker["id"]
    assert np.isfinite(model.best_score_)


def test_a_memory_limit_far_below_the_formula_is_refused_at_once(tight_client):
    X = make(shape=(3000, 12_000), width=1000)
    y = np.random.default_rng(0).standard_normal(3000)
    start = time.monotonic()
    model = StretchyRegressor()
    with (
        dask.config.set(scheduler=tight_client),
        pytest.raises(MemoryError, match=r"needs [\d,]+ MiB .* and has [\d,]+ MiB"),
    ):
        model.fit(X, y)
    assert time.monotonic() - start < 10
    assert not hasattr(model, "coef_")


def test_a_cluster_that_never_had_a_worker_is_no_hang(tmp_path, monkeypatch, y):
    monkeypatch.setattr(dask_run, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(dask_run, "PATIENCE_SECONDS", 1.0)
    start = time.monotonic()
    with (
        cluster_of(tmp_path, n_workers=0) as empty,
        distributed.Client(empty, set_as_default=False) as client,
        dask.config.set(scheduler=client),
        pytest.raises(InterruptedPassError, match=r"no worker has joined.*wait_for_workers\(1\)"),
    ):
        StretchyRegressor().fit(make(), y)
    assert time.monotonic() - start < 20


def test_a_cluster_without_workers_left_is_no_hang(tight_client, monkeypatch, y):
    monkeypatch.setattr(dask_run, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(dask_run, "PATIENCE_SECONDS", 1.0)
    timer = after(0.7, lambda: tight_client.cluster.scale(0))
    with (
        dask.config.set(scheduler=tight_client),
        pytest.raises(InterruptedPassError, match="no worker left"),
    ):
        StretchyRegressor().fit(make(pause=0.3), y)
    timer.join()
