"""A randomised preconditioner: a few products with K tell what K does where it does most."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from skstretch.core.types import Array

# random directions that are tried at a time
BLOCK = 20
# a block that holds nothing larger than this many times the rest is the last one
OUTSTANDING = 10.0


@dataclass(frozen=True)
class Sketch:
    """An approximate inverse of ``K + shift I``, exact on the span of U.

    With orthonormal U (n, l) and ``Z = K U``,
    ``M = (Z + shift U) U' + level (I - U U')``: what K does to U, and outside of it one number,
    the mean eigenvalue that is left there. K need not be symmetric.
    """

    U: Array
    Z: Array
    shift: float
    level: float
    small: tuple[Array, Array]

    def solve(self, V: Array) -> Array:
        """``M^-1 V = U c + (V - (Z + shift U) c) / level``, ``(U'Z + shift I) c = U'V``."""
        c = lu_solve(self.small, self.U.T @ V, check_finite=False)
        inside = self.U @ c
        return np.asarray(inside + (V - self.Z @ c - self.shift * inside) / self.level)


def sketch(
    product: Callable[[Array], Array], n: int, limit: int, shift: float, seed: int = 0
) -> Sketch:
    """Sketch K (n x n) by blocks of random directions, until one finds nothing that stands out.

    Every block takes two products: with the directions, and with what they span. At most `limit`
    directions in all.
    """
    rng, tiny = np.random.default_rng(seed), np.finfo(np.float64).tiny
    U, Z = np.zeros((n, 0)), np.zeros((n, 0))
    while True:
        directions = rng.standard_normal((n, min(BLOCK, limit - U.shape[1])))
        seen = product(directions)
        new = seen.copy()
        for _ in range(2):  # once is not orthogonal to rounding
            new -= U @ (U.T @ new)
        new = np.linalg.qr(new)[0]
        U, Z = np.hstack([U, new]), np.hstack([Z, product(new)])
        found = float(np.linalg.norm(new.T @ Z[:, -new.shape[1] :], 2))
        level = shift + _mean_outside(U, Z, directions, seen)
        if shift + found <= OUTSTANDING * level or U.shape[1] >= limit:
            break
    T = U.T @ Z
    level = max(level, float(np.finfo(np.float64).eps * np.linalg.norm(T, 2)), float(tiny))
    T.flat[:: T.shape[0] + 1] += shift
    return Sketch(U, Z, shift, level, lu_factor(T, check_finite=False))


def _mean_outside(U: Array, Z: Array, directions: Array, seen: Array) -> float:
    """The mean of ``g'Kg / g'g`` over what directions have outside of U; `seen` is K of them."""
    inside = U.T @ directions
    g = directions - U @ inside
    mean = float(np.vdot(g, seen - Z @ inside) / max(float(np.vdot(g, g)), 1e-300))
    return max(0.0, mean)
