"""LU factors: solutions, inverses and their diagonal against numpy's, in either memory order."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import lapack

from skstretch.core.factors import factorise
from skstretch.exceptions import SingularSystemError


def matrix(n, seed=0):
    """Rows that need swapping, and a condition number of at most 1e5."""
    return np.random.default_rng(seed).standard_normal((n, n))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("n", [1, 7, 64, 65, 530])
def test_inverse_and_trace(n, graded, order):
    """Rows and columns may span ten orders of magnitude: ``(R B C)^-1 = C^-1 B^-1 R^-1``."""
    B = matrix(n)
    inverse = np.linalg.inv(B)
    rows, columns = 10.0 ** np.random.default_rng(1).uniform(-5, 5, (2, n)) ** int(graded)
    factor = factorise(np.array(rows[:, None] * B * columns, order=order))
    size = 1e-10 * np.abs(inverse).max()
    found = columns[:, None] * factor.inverse * rows
    np.testing.assert_allclose(found, inverse, rtol=0, atol=size)
    scale = np.arange(1.0, n + 1) * columns * rows
    trace = float(np.arange(1.0, n + 1) @ inverse.diagonal())
    assert factor.trace(scale) == pytest.approx(trace, rel=1e-9, abs=n**2 * size)
    X = columns[:, None] * factor.solve(rows[:, None] * np.eye(n)[:, :1])
    np.testing.assert_allclose(X[:, 0], inverse[:, 0], rtol=0, atol=size)


def test_column_order_is_factored_in_place():
    A = np.asfortranarray(matrix(50))
    assert np.shares_memory(factorise(A).lu, A)


def test_singular_has_no_inverse():
    factor = factorise(np.ones((3, 3)))
    assert factor.rcond == 0.0
    with pytest.raises(SingularSystemError):
        _ = factor.inverse


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_entries_out_of_range(bad):
    A = np.eye(4)
    A[2, 1] = bad
    with pytest.raises(FloatingPointError, match="range of float64"):
        factorise(A)


def test_threads_share_a_factorisation():
    """Scipy's solver writes into the pivots that it is given while it works."""
    A, B = matrix(400), matrix(400, seed=1)[:, :3]
    factor = factorise(A.copy())
    wanted = factor.solve(B), factor.solve_transposed(B)

    def solve(_):
        return factor.solve(B), factor.solve_transposed(B)

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(solve, range(200)):
            np.testing.assert_array_equal(found, wanted)


def test_pivots_that_scipy_writes_into_are_private(monkeypatch):
    """What is passed to scipy is a copy, so that no thread can see pivots that count from one."""
    factor, seen = factorise(matrix(30)), []

    def watched(name):
        own = getattr(lapack, name)

        def call(lu, pivots, *args, **keywords):
            seen.append((name, np.shares_memory(pivots, factor.pivots)))
            return own(lu, pivots, *args, **keywords)

        return call

    for name in ("dgetrs", "dgetri"):
        monkeypatch.setattr(lapack, name, watched(name))
    factor.solve(np.eye(30))
    factor.solve_transposed(np.eye(30))
    _ = factor.inverse
    assert seen == [("dgetrs", False), ("dgetrs", False), ("dgetri", False)]
