"""Cholesky factors by address and by wrapper: the same routines, the same bits."""

import threading
import time

import numpy as np
import pytest

from skstretch.core import cholesky

EACH = ("_potrf", "_potrs", "_potri")


def positive(n, dtype):
    Q = np.random.default_rng(n).standard_normal((n, 2 * n))
    return np.asfortranarray(Q @ Q.T / n + np.eye(n), dtype=dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 64, 65, 127, 128, 200, 321])
def test_factor_solution_and_inverse(n, dtype, monkeypatch):
    H = positive(n, dtype)
    X = np.random.default_rng(0).standard_normal((n, 3)).astype(dtype)
    found = []
    for by_address in (True, False):
        if not by_address:
            for name in EACH:
                assert None not in getattr(cholesky, name).values()
                monkeypatch.setattr(cholesky, name, dict.fromkeys("df"))
        L, info = cholesky.factorise(H.copy(order="F"))
        assert info == 0
        whole, one = cholesky.solve(L, X), cholesky.solve(L, X[:, 1])
        found.append((np.tril(L), whole, one, cholesky.inverse(L)))
    for ours, wrapped in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, wrapped)
    room = 50 * n * np.finfo(dtype).eps
    _, whole, one, inverse = found[0]
    assert inverse.dtype == np.float64
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(H @ inverse, np.eye(n), rtol=0, atol=room)
    np.testing.assert_allclose(H @ whole, X, rtol=0, atol=room)
    np.testing.assert_allclose(H @ one, X[:, 1], rtol=0, atol=room)


@pytest.mark.parametrize("n", [20, 200])
def test_the_minor_that_is_not_positive_is_named(n):
    H = np.asfortranarray(np.eye(n))
    H[7, 7] = -1.0
    assert cholesky.factorise(H)[1] == 8


def test_what_is_given_is_left_alone():
    L = cholesky.factorise(positive(200, "f8"))[0]
    before, x = L.copy(), np.ones(200)
    cholesky.inverse(L)
    cholesky.solve(L, x)
    np.testing.assert_array_equal(L, before)
    np.testing.assert_array_equal(x, 1.0)


def test_routines_see_only_what_they_expect():
    n = cholesky.SHARED
    with pytest.raises(TypeError, match="column order"):
        cholesky.factorise(np.eye(n)[:, ::-1])
    with pytest.raises(ValueError, match=f"{n} x {n + 1}"):
        cholesky.factorise(np.zeros((n, n + 1), order="F"))
    with pytest.raises(ValueError, match=f"not {n} high"):
        cholesky.solve(np.eye(n, order="F"), np.ones((n + 1, 1)))


@pytest.mark.parametrize("task", ["factorise", "inverse", "solve"])
def test_other_threads_run_meanwhile(task):
    """The main thread counts while another one is inside LAPACK; with the lock it could not."""
    n = 1500
    H = positive(n, "f8")
    L = H if task == "factorise" else cholesky.factorise(H)[0]
    work = {
        "factorise": lambda: cholesky.factorise(L),
        "inverse": lambda: cholesky._potri["d"] and cholesky.inverse(L),
        "solve": lambda: cholesky.solve(L, np.ones((n, 600))),
    }[task]
    other, ticks = threading.Thread(target=work), 0
    other.start()
    while other.is_alive():
        ticks += 1
        time.sleep(1e-4)
    assert ticks > 5
