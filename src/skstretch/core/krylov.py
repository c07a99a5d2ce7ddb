"""Linear systems seen only through products: block GMRES for several right-hand sides.

The preconditioner is a randomised sketch: a few products with K tell what K does where it does
most.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve, qr, solve_triangular

from skstretch.core.types import Array

Product = Callable[[Array], Array]
Report = Callable[[int, float], None]

# what is left of a direction by projection below this is rounding
EXHAUSTED = 1e-14
# a direction of which less than this is left by projection loses digits of its right angle
CANCELLED = 1e-2
# a cycle that leaves more than this share of the residual has met the limit of rounding
STALLED = 0.5
# steps between restarts, as far as there is room for the bases
CYCLE = 200
# right-hand sides that share a space: more of them would spend their time on its directions
GROUP = 32
# random directions that are tried at a time
BLOCK = 20
# a block that holds nothing larger than this many times the rest is the last one
OUTSTANDING = 10.0


class Cycle:
    """An orthonormal basis V of what B, A B, A^2 B, ... span, for all columns of B together.

    ``A V_j = V_{j+1} H_j``, so the combination of V_j that A brings closest to a column of B solves
    a small least-squares problem, kept triangular by one orthogonal block a step. Every column of
    B is solved in the space of all, which takes fewer steps than one space for each; directions
    that columns have in common are held once.

    Parameters
    ----------
    B : array of shape (n, t)
    length : int
        The steps that there is room for.
    """

    def __init__(self, B: Array, length: int) -> None:
        (n, t), self.length, self.steps = B.shape, length, 0
        first, R = _orthonormal(B, float(np.linalg.norm(B, axis=0).max(initial=0.0)))
        self.start, self.stop = 0, first.shape[1]
        # one direction a row; pages that are never reached are never taken
        self.basis = np.zeros((self.stop * (length + 1), n))
        self.basis[: self.stop] = first.T
        self.H = np.zeros((self.stop * length, self.stop * length))  # turned: upper triangular
        self.turns: list[tuple[slice, Array]] = []
        self.rhs = np.zeros((self.stop * (length + 1), t))
        self.rhs[: self.stop] = R
        self.left = np.linalg.norm(R, axis=0)

    @property
    def last(self) -> Array:
        """The newest directions, (n, b): what A is to be applied to."""
        return self.basis[self.start : self.stop].T

    def extend(self, AV: Array) -> None:
        """Take ``A last`` in; `left` becomes the residual norms that are within reach."""
        V, size = self.basis[: self.stop], float(np.linalg.norm(AV, axis=0).max(initial=0.0))
        h = V @ AV
        new, R = _orthonormal(AV - V.T @ h, size)
        if np.abs(R).max(axis=1, initial=0.0).min(initial=size) < CANCELLED * size:
            # what is left of much is not orthogonal to rounding: once more
            more = V @ new
            new, again = np.linalg.qr(new - V.T @ more)
            h, R = h + more @ R, again @ R
        self.basis[self.stop : self.stop + new.shape[1]] = new.T
        self._turn(np.vstack([h, R]))
        self.steps += 1

    def _turn(self, h: Array) -> None:
        """Make the newest columns of H triangular, and tell what is left of the targets."""
        for rows, T in self.turns:
            h[rows] = T.T @ h[rows]
        rows = slice(self.start, len(h))
        T, R = np.linalg.qr(h[rows], mode="complete")
        h[rows] = R
        self.turns.append((rows, T))
        self.rhs[rows] = T.T @ self.rhs[rows]
        self.H[: self.stop, self.start : self.stop] = h[: self.stop]
        self.start, self.stop = self.stop, len(h)
        self.left = np.linalg.norm(self.rhs[self.start : self.stop], axis=0)

    def combination(self) -> Array:
        """``V c`` of every target with the least residual, (n, t)."""
        H, rhs = self.H[: self.start, : self.start], self.rhs[: self.start]
        if not H.diagonal().all():  # A takes some direction to nothing
            return np.asarray(self.basis[: self.start].T @ np.linalg.lstsq(H, rhs, rcond=None)[0])
        return np.asarray(self.basis[: self.start].T @ solve_triangular(H, rhs))


def _orthonormal(B: Array, size: float) -> tuple[Array, Array]:
    """``(Q, R)`` with ``B = Q R`` but for rounding, which is what is small beside `size`."""
    Q, R, order = qr(B, mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(R.diagonal()) > EXHAUSTED * size))
    out = np.empty((rank, B.shape[1]))
    out[:, order] = R[:rank]
    return np.ascontiguousarray(Q[:, :rank]), out


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
        groups = np.array_split(rest, -(-rest.size // GROUP))
        cycles = [Cycle(R[:, some], min(restart, max_iter - n_iter)) for some in groups]
        far = list(zip(cycles, groups, strict=True))
        while far:
            widths = np.cumsum([cycle.last.shape[1] for cycle, _ in far])
            ahead = product(precondition(np.hstack([cycle.last for cycle, _ in far])))
            for (cycle, _), AV in zip(far, np.split(ahead, widths[:-1], axis=1), strict=True):
                cycle.extend(AV)
            n_iter += 1
            if report is not None:
                report(n_iter, max(float(cycle.left.max()) for cycle in cycles))
            far = [(c, g) for c, g in far if c.steps < c.length and (c.left > goals[g]).any()]
        tried = X.copy()
        tried[:, rest] += precondition(np.hstack([cycle.combination() for cycle in cycles]))
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
