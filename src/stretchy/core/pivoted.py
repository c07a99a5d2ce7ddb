"""The accurate solutions: rows sorted by size, then QR with column pivoting.

Where K is ill-conditioned only because Q is (features of very different size, k near 1), the
formula loses digits that the problem still has. A QR factorisation of Q that is accurate row by
row (sorted rows, pivoted columns) keeps them. Slower than the Gram matrix, and Q in memory.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from stretchy.core.factors import Factor, SingularSystemError, factorise, power_of_two
from stretchy.core.types import Array


def sorted_pivoted_qr(A: Array) -> tuple[Array, Array, Array]:
    """``A[:, pivots] = U R`` with the rows of A sorted by size on the way; (U, R, pivots)."""
    order = np.argsort(-np.abs(A).max(axis=1, initial=0.0), kind="stable")
    sorted_U, R, pivots = qr(A[order], mode="economic", pivoting=True, check_finite=False)
    U = np.empty_like(sorted_U)
    U[order] = sorted_U
    if np.any(R.diagonal() == 0):
        raise SingularSystemError(
            "the stretched features do not have full rank in floating point: samples or features "
            "coincide. A finite c (say 1e8) regularises them, unless the rank is exactly deficient."
        )
    return U, R, pivots


def unpivoted_inverse(R: Array, pivots: Array) -> Array:
    """``(R Pi')^-1`` for the R and pivots of a pivoted QR."""
    inverse = np.empty_like(R)
    inverse[pivots] = solve_triangular(R, np.eye(R.shape[0]), check_finite=False)
    return inverse


@dataclass(frozen=True)
class Judged:
    """A solution, and the reciprocal of its componentwise condition number."""

    X: Array
    rcond: float


def judged_solve(matrix: Array, factor: Factor, B: Array) -> Judged:
    """Solve ``matrix X = B`` and judge X by ``| |A^-1| (|A||X| + |B|) | / |X|``.

    This number does not depend on how rows are scaled, which here differs by hundreds of orders
    of magnitude; a norm-wise estimate would cry wolf.
    """
    X = factor.solve(B)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.abs(factor.inverse) @ (np.abs(matrix) @ np.abs(X) + np.abs(B))
        ratio = np.linalg.norm(spread, axis=0) / np.linalg.norm(X, axis=0)
    worst = float(np.max(ratio[np.linalg.norm(B, axis=0) > 0], initial=1.0))
    return Judged(X, 1.0 / worst if np.isfinite(worst) else 0.0)


@dataclass(frozen=True)
class WidePivoted:
    """``alpha = U z``, ``B z = y``, ``B = P U + Lam (R Pi')^-1``, from ``Q' = U R Pi'``.

    Rows of P and Q may be scaled, as long as `Lam` maps the scaled dual coefficients
    ``beta = (R Pi')^-1 z`` to the residuals in the scale of the rows of P.
    """

    U: Array
    to_beta: Array
    matrix: Array
    factor: Factor

    def solve(self, Y: Array) -> tuple[Array, Array, float]:
        """``(alpha, beta, rcond)`` for targets Y in the scale of the rows of P."""
        z = judged_solve(self.matrix, self.factor, Y)
        return self.U @ z.X, self.to_beta @ z.X, z.rcond


def wide_pivoted(P: Array, Q: Array, Lam: Array) -> WidePivoted:
    """Factor ``Q' = U R Pi'`` (M <= D) and the small system in z."""
    size = power_of_two(np.abs(Q).max(axis=1, initial=0.0))
    U, R, pivots = sorted_pivoted_qr((Q / size[:, None]).T)
    to_beta = unpivoted_inverse(R, pivots) / size[:, None]
    matrix = P @ U + Lam @ to_beta
    return WidePivoted(U, to_beta, matrix, factorise(matrix.copy()))


@dataclass(frozen=True)
class TallPivoted:
    """``(V'P + lam S^-T Pi') alpha = V'y``, from ``Q = V S Pi'`` (M >= D)."""

    V: Array
    shrink: Array
    matrix: Array
    factor: Factor

    def solve(self, Y: Array) -> tuple[Array, float]:
        """``(alpha, rcond)`` for targets Y of shape (M, t)."""
        judged = judged_solve(self.matrix, self.factor, self.V.T @ Y)
        return judged.X, judged.rcond

    @property
    def shrunk(self) -> float:
        """``lam tr((V'P + lam S^-T Pi')^-1 S^-T Pi')``: what the penalty takes from the dof."""
        return float(np.sum(self.factor.inverse * self.shrink.T))


def tall_pivoted(P: Array, Q: Array, lam: Array) -> TallPivoted:
    """Factor Q (M >= D) and the system in alpha; `lam` (D,) in the scale of Q's columns."""
    size = power_of_two(np.abs(Q).max(axis=0, initial=0.0))
    V, S, pivots = sorted_pivoted_qr(Q / size)
    shrink = unpivoted_inverse(S, pivots).T * (lam / size)
    matrix = V.T @ P + shrink
    return TallPivoted(V, shrink, matrix, factorise(matrix.copy()))
