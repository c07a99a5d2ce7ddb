"""One cycle of GMRES: Krylov bases of several right-hand sides that grow in step."""

import numpy as np

from skstretch.core.types import Array

# what is left of a direction by projection below this is rounding
EXHAUSTED = 1e-14


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
