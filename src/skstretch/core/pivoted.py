"""The accurate solutions: rows sorted by size, then QR with column pivoting.

Where K is ill-conditioned only because Q is (features of very different size, k near 1), the
formula loses digits that the problem still has. A QR factorisation of Q that is accurate row by
row (sorted rows, pivoted columns) keeps them. Slower than the Gram matrix, and Q in memory.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from skstretch.core.factors import Factor, SingularSystemError, factorise, power_of_two
from skstretch.core.types import Array

# multiples of eps that a few dozen Householder steps leave where the exact answer is zero
ROUNDING = 10.0


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


def column_blur(A: Array, U: Array, R: Array) -> Array:
    """How many times eps each column of U may be off, given ``A[:, pivots] = U R``.

    With rows sorted by their largest entries ``a_0 >= a_1 >= ...``, row i is known to ``eps a_i``.
    Column l of U is the direction of what is left of the rows from l on, of size ``|R_ll|``.
    Rounding in row i turns it by ``eps a_i sqrt(1 - U_il^2) / |R_ll|``; and where ``|R_ll|`` is a
    few ``eps a_l``, nothing but rounding is left.
    """
    peaks, left, eps = np.abs(A).max(axis=1, initial=0.0), np.abs(R.diagonal()), np.finfo(float).eps
    order = np.argsort(-peaks, kind="stable")
    peaks, across = peaks[order], np.square(U[order])
    np.sqrt(np.maximum(np.subtract(1.0, across, out=across), 0.0, out=across), out=across)
    across *= peaks[:, None]
    across[: left.size] = np.tril(across[: left.size])
    with np.errstate(over="ignore"):
        blur = across.max(axis=0) / left
    lost = left <= ROUNDING * eps * peaks[: left.size]
    return np.where(lost, 1.0 / eps, np.maximum(blur, 1.0))


def reciprocal(spread: Array, X: Array, B: Array) -> float:
    """``1 / max_t |spread_t| / |X_t|`` over the targets t that are not zero.

    `spread` is componentwise, so this number does not depend on how rows are scaled, which here
    differs by hundreds of orders of magnitude; a norm-wise estimate would cry wolf.
    """
    size = np.abs(X).max(axis=0, initial=0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = np.linalg.norm(spread / size, axis=0) / np.linalg.norm(X / size, axis=0)
    worst = float(np.max(ratio[B.any(axis=0)], initial=1.0))
    return 1.0 / worst if np.isfinite(worst) else 0.0


@dataclass(frozen=True)
class WidePivoted:
    """``alpha = U z``, ``B z = y``, ``B = P U + Lam (R Pi')^-1``, from ``Q' = U R Pi'``.

    Rows of P and Q may be scaled, as long as `Lam` maps the scaled dual coefficients
    ``beta = (R Pi')^-1 z`` to the residuals in the scale of the rows of P.
    """

    U: Array
    to_beta: Array
    factor: Factor
    products: Array
    penalties: Array
    blur: Array

    def solve(self, Y: Array) -> tuple[Array, Array, float]:
        """``(alpha, beta, rcond)`` for targets Y in the scale of the rows of P.

        Rounding moves z by up to ``|B^-1| (|P||U||z| + |Lam (R Pi')^-1||z| + |y|)`` eps. The blur
        turns the columns of U, and alpha with them; a wrong length of a column of R does not
        matter, since the element of z makes up for it.
        """
        z = self.factor.solve(Y)
        with np.errstate(over="ignore", invalid="ignore"):
            blurred = self.blur[:, None] * np.abs(z)
            moved = self.products @ blurred + self.penalties @ np.abs(z) + np.abs(Y)
            spread = np.abs(self.factor.inverse) @ moved + blurred
        return self.U @ z, self.to_beta @ z, reciprocal(spread, z, Y)


def wide_pivoted(P: Array, Q: Array, Lam: Array) -> WidePivoted:
    """Factor ``Q' = U R Pi'`` (M <= D) and the small system in z."""
    size = power_of_two(np.abs(Q).max(axis=1, initial=0.0))
    scaled = (Q / size[:, None]).T
    U, R, pivots = sorted_pivoted_qr(scaled)
    to_beta = unpivoted_inverse(R, pivots) / size[:, None]
    penalties = Lam @ to_beta
    factor, products = factorise(P @ U + penalties), np.abs(P) @ np.abs(U)
    blur = column_blur(scaled, U, R)
    return WidePivoted(U, to_beta, factor, products, np.abs(penalties), blur)


@dataclass(frozen=True)
class TallPivoted:
    """``(V'P + lam S^-T Pi') alpha = V'y``, from ``Q = V S Pi'`` (M >= D)."""

    P: Array
    V: Array
    unstretch: Array
    peaks: Array
    shrink: Array
    factor: Factor

    def solve(self, Y: Array) -> tuple[Array, float]:
        """``(alpha, rcond)`` for targets Y of shape (M, t).

        Rounding moves alpha by up to ``|B^-1| ((|V'||P| + |shrink|) |alpha| + |V'y|)`` eps; and
        by ``A^-1 dQ' e``, ``A^-1 = B^-1 S^-T Pi'``, since row i of Q is known to eps times its
        largest entry.
        """
        B = self.V.T @ Y
        alpha = self.factor.solve(B)
        size, inverse = np.abs(alpha), self.factor.inverse
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.abs(self.V).T @ (np.abs(self.P) @ size) + np.abs(self.shrink) @ size
            sensitivity = np.abs(inverse @ self.unstretch.T).sum(axis=1)
            spread = np.abs(inverse) @ (products + np.abs(B))
            spread += np.outer(sensitivity, self.peaks @ np.abs(Y - self.P @ alpha))
        return alpha, reciprocal(spread, alpha, B)

    @property
    def shrunk(self) -> float:
        """``lam tr((V'P + lam S^-T Pi')^-1 S^-T Pi')``: what the penalty takes from the dof."""
        return float(np.sum(self.factor.inverse * self.shrink.T))


def tall_pivoted(P: Array, Q: Array, lam: Array) -> TallPivoted:
    """Factor Q (M >= D) and the system in alpha; `lam` (D,) in the scale of Q's columns."""
    size = power_of_two(np.abs(Q).max(axis=0, initial=0.0))
    scaled = Q / size
    V, S, pivots = sorted_pivoted_qr(scaled)
    unstretch = unpivoted_inverse(S, pivots)
    shrink = unstretch.T * (lam / size)
    peaks = np.abs(scaled).max(axis=1, initial=0.0)
    return TallPivoted(P, V, unstretch, peaks, shrink, factorise(V.T @ P + shrink))
