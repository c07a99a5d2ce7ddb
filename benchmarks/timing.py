"""Measured times: the best of a few runs, of our code and of the bare work behind it."""

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack


def best_time(work: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of a few runs, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bare_search_time(n_samples: int, n_features: int, n_powers: int, n_penalties: int) -> float:
    """Seconds of nothing but the BLAS and LAPACK calls that an exact dense search needs.

    One product for every power (a symmetric one at k = 2); LU and two triangular inverses for
    every cell, one eigendecomposition for all cells at k = 2.
    """
    rng = np.random.default_rng(0)
    P = rng.standard_normal((n_samples, n_features))
    Q = rng.standard_normal((n_samples, n_features))
    product = best_time(lambda: P @ Q.T)
    symmetric = best_time(lambda: P @ P.T)
    return (n_powers - 1) * product + symmetric + bare_lapack_time(n_samples, n_powers, n_penalties)


def bare_lapack_time(n_samples: int, n_powers: int, n_penalties: int) -> float:
    """Seconds of LU and two triangular inverses for every cell, one eigendecomposition at k = 2."""
    Q = np.random.default_rng(0).standard_normal((n_samples, 2 * n_samples))
    K = np.asfortranarray(Q @ Q.T / n_samples + np.eye(n_samples))
    lu, _, _ = lapack.dgetrf(K)
    factor = best_time(lambda: lapack.dgetrf(K))
    lower = best_time(lambda: lapack.dtrtri(lu, lower=1, unitdiag=1))
    upper = best_time(lambda: lapack.dtrtri(lu, lower=0))
    eigen = best_time(lambda: np.linalg.eigh(K), 2)
    cells = (n_powers - 1) * n_penalties * (factor + lower + upper)
    return cells + eigen
