"""Linear systems seen only through products: GMRES for several right-hand sides in step.

The preconditioner is a randomised sketch: a few products with K tell what K does where it does
most.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from skstretch.core.types import Array

Product = Callable[[Array], Array]
Report = Callable[[int, float], None]

# what is left of a direction by projection below this is rounding
EXHAUSTED = 1e-14
# a cycle that leaves more than this share of the residual has met the limit of rounding
STALLED = 0.5
# random directions that are tried at a time
BLOCK = 20
# a block that holds nothing larger than this many times the rest is the last one
OUTSTANDING = 10.0


class Cycle:
    """For every column b of B an orthonormal basis of ``b, A b, A^2 b, ...`` and ``H = V'AV``.

    ``A V_j = V_{j+1} H_j``, so the combination of V_j that A brings closest to b solves a small
    least-squares problem, kept triangular by one rotation a step.

    Parameters
    ----------
    B : array of shape (n, t)
    length : int
        The steps that there is room for.
    """

    def __init__(self, B: Array, length: int) -> None:
        (n, t), self.length, self.steps = B.shape, length, 0
        self.left = np.linalg.norm(B, axis=0)
        self.bases = np.zeros((t, length + 1, n))
        self.bases[:, 0] = (B / np.where(self.left > 0, self.left, 1.0)).T
        self.H = np.zeros((t, length, length))  # rotated: upper triangular
        self.rotations = np.zeros((2, t, length))
        self.rhs = np.zeros((t, length + 1))
        self.rhs[:, 0] = self.left

    @property
    def last(self) -> Array:
        """The newest direction of every basis, (n, t): what A is to be applied to."""
        return self.bases[:, self.steps].T

    def extend(self, AV: Array) -> None:
        """Take ``A last`` in; `left` becomes the residual norms that are within reach."""
        j, w = self.steps, AV.T.copy()
        size = np.linalg.norm(w, axis=1)
        V = self.bases[:, : j + 1]
        h = np.zeros((w.shape[0], j + 1))
        for _ in range(2):  # once is not orthogonal to rounding
            part = (V @ w[:, :, None])[:, :, 0]
            w -= (part[:, None, :] @ V)[:, 0]
            h += part
        norm = np.linalg.norm(w, axis=1)
        norm[norm <= EXHAUSTED * size] = 0.0
        self.bases[:, j + 1] = w / np.where(norm > 0, norm, np.inf)[:, None]
        self._rotate(h, norm)
        self.steps += 1

    def _rotate(self, h: Array, below: Array) -> None:
        j, (c, s) = self.steps, self.rotations
        for i in range(j):
            above = h[:, i].copy()
            h[:, i] = c[:, i] * above + s[:, i] * h[:, i + 1]
            h[:, i + 1] = -s[:, i] * above + c[:, i] * h[:, i + 1]
        size = np.hypot(h[:, j], below)
        safe = np.where(size > 0, size, 1.0)
        c[:, j], s[:, j] = np.where(size > 0, h[:, j] / safe, 1.0), below / safe
        self.H[:, : j + 1, j] = h
        self.H[:, j, j] = size
        self.rhs[:, j + 1] = -s[:, j] * self.rhs[:, j]
        self.rhs[:, j] *= c[:, j]
        self.left = np.abs(self.rhs[:, j + 1])

    def combination(self) -> Array:
        """``V c`` of every basis with the least residual, (n, t)."""
        j = self.steps
        out = np.empty((self.bases.shape[2], self.bases.shape[0]))
        for i, (H, rhs, V) in enumerate(zip(self.H, self.rhs, self.bases, strict=True)):
            # a basis that was complete before the others has only zeros after
            used = int(np.count_nonzero(H.diagonal()[:j]))
            out[:, i] = np.linalg.solve(np.triu(H[:used, :used]), rhs[:used]) @ V[:used]
        return out


@dataclass(frozen=True)
class Iterated:
    """Solutions X (n, t) of ``A X = B``, the residual ``R = B - A X`` and the steps it took."""

    X: Array
    R: Array
    n_iter: int


def gmres(
    product: Product,
    precondition: Product,
    B: Array,
    goals: Array,
    restart: int,
    max_iter: int,
    report: Report | None = None,
) -> Iterated:
    """Solve ``A X = B`` for all columns of B (n, t), every product serving all columns.

    Right-preconditioned, so that the residual that falls is that of the system itself. A column
    is done when its residual is at most its entry of `goals` (t,); the method ends when all are,
    after `max_iter` steps, or when a cycle hardly helps any more. `report` is told the number of
    every step and the largest residual.
    """
    X, R = np.zeros_like(B), B
    residuals = np.linalg.norm(R, axis=0)
    n_iter, helps = 0, True
    while helps and n_iter < max_iter and (residuals > goals).any():
        rest = np.flatnonzero(residuals > goals)
        cycle = Cycle(R[:, rest], min(restart, max_iter - n_iter))
        while cycle.steps < cycle.length and (cycle.left > goals[rest]).any():
            cycle.extend(product(precondition(cycle.last)))
            n_iter += 1
            if report is not None:
                report(n_iter, float(cycle.left.max()))
        tried = X.copy()
        tried[:, rest] += precondition(cycle.combination())
        remaining = B - product(tried)
        norms = np.linalg.norm(remaining, axis=0)
        helps = bool((norms[rest] <= STALLED * residuals[rest]).any())
        better = norms < residuals  # rounding can make a step worse than none
        X, R = np.where(better, tried, X), np.where(better, remaining, R)
        residuals = np.where(better, norms, residuals)
    return Iterated(X, R, n_iter)


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
