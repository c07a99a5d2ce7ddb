"""Cells in threads: in order, the same numbers to the last bit, and nothing left running."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context, get_config

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core import inplace
from skstretch.core.factors import factorise
from skstretch.core.lazy import cached_property
from skstretch.designs import blocks
from skstretch.designs.blocks import in_turn
from tests.search.grids import data


@pytest.fixture
def threads(monkeypatch):
    """A machine of so many cores, and systems that are worth sharing however small they are."""

    def of(n):
        monkeypatch.setattr(blocks, "available_threads", lambda: n)
        monkeypatch.setattr(blocks, "SHARED_CELL", 0)

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
    "some features": ((40, 90), {"density_grid": (0.2, 1.0), "cv": 3, "c_grid": (1.0, 10.0)}),
    "column": ((40, 90), {"fit_intercept": "column"}),
    "k = 2 first": ((40, 90), {"k_grid": (2.0, 1.5, 1.25)}),
    "one cell": ((40, 90), {"k_grid": (1.5,), "c_grid": (10.0,), "rule": "best"}),
}


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("case", CASES)
def test_threads_change_no_bit(case, storage, threads):
    shape, settings = CASES[case]
    X, Y = data(shape, n_targets=2)
    X, weights = storage(np.where(X > 0, X, 0.0)), np.random.default_rng(1).uniform(0.5, 2, len(Y))
    estimator = StretchyRegressorCV(**{"a_grid": (-0.2,), "density_grid": (1.0,), **settings})
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

    found = in_turn([lambda i=i: task(i) for i in range(20)], n_threads)
    for i in range(20):
        assert next(found) == i
        assert max(begun) <= i + n_threads + 1
    assert next(found, None) is None


def test_early_work_is_begun_first():
    begun, ready = [], threading.Event()

    def early():
        begun.append("early")
        ready.set()

    def task():
        assert ready.wait(10)
        begun.append("task")

    assert [*in_turn([task, task], 2, [early])] == [None, None]
    assert begun == ["early", "task", "task"]


def test_settings_are_those_of_the_caller():
    with config_context(working_memory=7):
        found = [*in_turn([lambda: get_config()["working_memory"]] * 4, 2)]
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
        list(in_turn([waits, fails, waits], 2))


def test_what_is_not_asked_for_is_not_begun():
    begun, before = [], threading.active_count()
    found = in_turn([lambda i=i: begun.append(i) for i in range(100)], 2)
    next(found)
    found.close()
    assert len(begun) <= 4
    assert threading.active_count() == before


@pytest.mark.parametrize("n", [1, 9, 130, 700])
def test_inverses_with_and_without_the_lock(n, monkeypatch):
    """The routines that are called by address are those that scipy wraps."""
    assert inplace._trtri is not None
    assert inplace._getri is not None
    A = np.random.default_rng(n).standard_normal((n, n))
    ours = factorise(A.copy())
    inverse, packed = ours.inverse, inplace.invert_triangles(ours.lu.copy(order="F"))
    monkeypatch.setattr(inplace, "_trtri", None)
    monkeypatch.setattr(inplace, "_getri", None)
    np.testing.assert_array_equal(factorise(A.copy()).inverse, inverse)
    np.testing.assert_array_equal(inplace.invert_triangles(ours.lu.copy(order="F")), packed)
    np.testing.assert_allclose(inverse, np.linalg.inv(A), rtol=0, atol=1e-9 * np.abs(inverse).max())


def test_routines_see_only_what_they_expect():
    with pytest.raises(TypeError, match="column order"):
        inplace.invert_triangles(np.eye(3)[:, ::-1])
    with pytest.raises(TypeError, match="float64"):
        inplace.invert_triangles(np.eye(3, dtype=np.float32, order="F"))
    with pytest.raises(ValueError, match="2 x 3"):
        inplace.invert_triangles(np.zeros((2, 3), order="F"))
    assert inplace._routine("dtrtri", "void (long *)") is None
    assert inplace._routine("no such routine", "void (int *)") is None


@pytest.mark.parametrize("together", [1, 3, 50])
@pytest.mark.parametrize("ahead", [0, 7])
def test_hands_of_several_tasks(together, ahead):
    """In their order, however many go together; no further ahead than was allowed."""
    begun = []

    def task(i):
        begun.append(i)
        return i

    found = in_turn([lambda i=i: task(i) for i in range(20)], 2, together=together, ahead=ahead)
    for i in range(20):
        assert next(found) == i
        assert max(begun) < together * (i // together + max(2, ahead) + 2)
    assert next(found, None) is None


def test_threads_include_the_caller():
    def work(item):
        assert blocks.available_threads() == 1
        with config_context(working_memory=item):
            return item, threading.get_ident(), get_config()["working_memory"]

    with blocks.calm_blas(0):
        found = blocks.in_threads(work, [5, 6, 7])
    assert [(item, memory) for item, _, memory in found] == [(5, 5), (6, 6), (7, 7)]
    assert found[0][1] == threading.get_ident()
    assert {thread for _, thread, _ in found[1:]}.isdisjoint({threading.get_ident()})


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_an_error_in_any_thread_stops_the_others(fails):
    """It is the one that is raised; and the caller can be halted again afterwards by nobody."""
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
        blocks.in_threads(work, [0, 1, 2])
    blocks.halt_point()
    assert threading.active_count() == before


def test_attributes_are_computed_side_by_side():
    """Objects of one class do not wait for each other: before Python 3.12 those of functools do."""
    both = threading.Barrier(2)

    class Slow:
        @cached_property
        def value(self):
            """Computed."""
            both.wait(10)
            return object()

    def asked(one):
        assert one.value is one.value
        return one.value

    found = blocks.in_threads(asked, [Slow(), Slow()])
    assert found[0] is not found[1]
    assert Slow.value.__doc__ == "Computed."
    assert isinstance(Slow.value, cached_property)
