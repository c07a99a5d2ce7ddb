"""What the rounding of a Gram matrix does to coefficients: drawn, not bounded.

A condition number bounds the error for the worst of all matrices and targets, and is often five
digits off. Perturbations E of the size of rounding, drawn at random, move the solution x of
``(K + lam) x = y`` by ``(K + lam)^-1 E x``, which a factorisation tells at once.
"""

import numpy as np

from skstretch.core.types import Array

# perturbations in all, unless there are more targets
PROBES = 4


def drawn_products(sizes: Array, unknowns: Array, more: Array | float = 0.0) -> Array:
    """``E x`` for each column x of the unknowns (n, t) and a few E, (n, m); those of a column stand
    side by side.

    An entry ``sum_d p_id q_jd`` is off by about ``eps s_i s_j``, with the roots s of the diagonal.
    So entry i of ``E x`` is a normal number times ``eps s_i sqrt(sum_j s_j^2 x_j^2)``. `more` (t,)
    is what a right-hand side of sums adds under the root, squared.
    """
    times = max(1, PROBES // unknowns.shape[1])
    spread = np.sqrt(np.square(sizes) @ np.square(unknowns) + np.square(more))
    shape = unknowns.shape[0], times * unknowns.shape[1]
    drawn = np.random.default_rng(0).standard_normal(shape)
    return np.asarray(np.finfo(float).eps * sizes[:, None] * np.repeat(spread, times) * drawn)


def largest_move(moves: Array, coef: Array) -> float:
    """The largest of the moves (D, m) of coefficients (D, t), relative to the largest of these."""
    size, times = np.abs(coef).max(axis=0, initial=0.0), moves.shape[1] // coef.shape[1]
    far = np.abs(moves).max(axis=0, initial=0.0).reshape(-1, times).max(axis=1)
    return float(np.max(far[size > 0.0] / size[size > 0.0], initial=0.0))
