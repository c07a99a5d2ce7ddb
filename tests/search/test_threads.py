"""Candidates in threads: in order, the same numbers to the last bit, and nothing left running."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context, get_config

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.factors import counted, counting
from skstretch.designs import threads as blocks
from skstretch.designs.threads import available_threads, ordered_map, parallel_map
from tests.search.grids import data


@pytest.fixture
def threads(monkeypatch):
    """A machine of so many cores, and systems that are worth sharing however small they are."""

    def of(n):
        monkeypatch.setattr(blocks, "available_threads", lambda: n)
        monkeypatch.setattr(blocks, "SHARED_CANDIDATE", 0)

    return of


def searched(estimator, X, y, **fitted):
    model = estimator.fit(X, y, **fitted)
    names = ("mean_test_score", "score_error", "rcond", "dof")
    found = {name: model.cv_results_[name] for name in names}
    found |= {"predictions": model.cv_predictions_, "nested": getattr(model, "nested_score_", 0.0)}
    return found | {"fit": model.predict(X), "threads": threading.active_count()}


CASES = {
    "wide": ((40, 90), {}),
    "tall": ((90, 12), {}),
    "tall, folds": ((90, 12), {"cv": 5}),
    "wide, folds": ((40, 90), {"cv": 5}),
    "some features": (
        (40, 90),
        {"n_features_to_select": [0.2, 1.0], "cv": 3, "c_grid": (1.0, 10.0)},
    ),
    "column": ((40, 90), {"fit_intercept": "column"}),
    "k = 2 first": ((40, 90), {"k_grid": (2.0, 1.5, 1.25)}),
    "one candidate": ((40, 90), {"k_grid": (1.5,), "c_grid": (10.0,), "combine": "best"}),
}


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("case", CASES)
def test_threads_change_no_bit(case, storage, threads):
    shape, settings = CASES[case]
    X, Y = data(shape, n_targets=2)
    X, weights = storage(np.where(X > 0, X, 0.0)), np.random.default_rng(1).uniform(0.5, 2, len(Y))
    estimator = StretchyRegressorCV(**{"a_grid": (-0.2,), "n_features_to_select": 1.0, **settings})
    found = []
    for n in (1, 2, 3):
        threads(n)
        found.append(searched(estimator, X, Y, sample_weight=weights))
    for other in found[1:]:
        for name, value in found[0].items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_threads_change_no_class(threads):
    X, Y = data((45, 80))
    classes = np.digitize(Y[:, 0], np.quantile(Y, [0.3, 0.7]))
    found = []
    for n in (1, 2):
        threads(n)
        found.append(searched(StretchyClassifierCV(a_grid=(-0.2,)), X, classes))
    for name, value in found[0].items():
        np.testing.assert_array_equal(found[1][name], value, err_msg=name)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_in_order_and_not_far_ahead(n_threads):
    begun = []

    def task(i):
        begun.append(i)
        return i

    found = ordered_map([lambda i=i: task(i) for i in range(20)], n_threads)
    for i in range(20):
        assert next(found) == i
        assert max(begun) <= i + n_threads + 1
    assert next(found, None) is None


def test_settings_are_those_of_the_caller():
    with config_context(working_memory=7):
        found = [*ordered_map([lambda: get_config()["working_memory"]] * 4, 2)]
    assert found == [7] * 4


def test_an_error_is_the_one_that_was_made():
    """A task that was halted by a later one does not hide its error."""
    failed = threading.Event()

    def waits():
        failed.wait(10)
        for _ in range(10_000):
            blocks.halt_point()
            threading.Event().wait(0.001)

    def fails():
        failed.set()
        raise ZeroDivisionError("this one")

    with pytest.raises(ZeroDivisionError, match="this one"):
        list(ordered_map([waits, fails, waits], 2))


def test_what_is_not_asked_for_is_not_begun():
    begun, before = [], threading.active_count()
    found = ordered_map([lambda i=i: begun.append(i) for i in range(100)], 2)
    next(found)
    found.close()
    assert len(begun) <= 4
    assert threading.active_count() == before


def test_no_further_ahead_than_allowed():
    begun = []
    found = ordered_map([lambda i=i: begun.append(i) for i in range(40)], 2, ahead=7)
    for i in range(40):
        next(found)
        assert max(begun) <= i + 8
    assert next(found, None) is None


def test_each_item_has_one_thread_and_settings_of_its_own(monkeypatch):
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    together = threading.Barrier(3)

    def work(item):
        with config_context(working_memory=item):
            together.wait(10)
            return item, threading.get_ident(), get_config()["working_memory"]

    found = parallel_map(work, [5, 6, 7])
    assert [(item, memory) for item, _, memory in found] == [(5, 5), (6, 6), (7, 7)]
    assert len({thread for _, thread, _ in found}) == 3


def test_what_threads_do_is_counted_by_the_caller():
    with counting() as outer:
        assert [*ordered_map([lambda: counted("task")] * 5, 2)] == [None] * 5
    assert outer.counts["task"] == 5


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_an_error_in_any_thread_stops_the_others(fails, monkeypatch):
    """It is the one that is raised; and the caller can be halted again afterwards by nobody."""
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    begun, before = threading.Barrier(3), threading.active_count()

    def work(item):
        begun.wait(10)
        if item == fails:
            raise ZeroDivisionError(f"item {item}")
        for _ in range(10_000):
            blocks.halt_point()
            threading.Event().wait(0.001)
        raise AssertionError("not halted")

    with pytest.raises(ZeroDivisionError, match=f"item {fails}"):
        parallel_map(work, [0, 1, 2])
    blocks.halt_point()
    assert threading.active_count() == before


def test_tasks_are_spread_over_threads_in_their_order(monkeypatch):
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    assert parallel_map(lambda n: n * n, range(50)) == [n * n for n in range(50)]
    assert parallel_map(lambda n: n, []) == []


def test_a_task_has_one_thread(monkeypatch):
    outer = blocks._outer_threads.set(3)
    try:
        assert set(parallel_map(lambda _: available_threads(), range(9))) == {1}
    finally:
        blocks._outer_threads.reset(outer)


def test_an_error_in_a_task_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(blocks, "available_threads", lambda: 3)
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda n: 1 // (n - 7), range(20))
