"""One LU factorisation, many uses: solve, invert, judge."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from stretchy.core.types import Array


def power_of_two(values: Array) -> Array:
    """The powers of two next to positive values; 1 for zero. Scaling by them rounds nothing."""
    safe = np.where((values > 0) & np.isfinite(values), values, 1.0)
    return np.exp2(np.minimum(np.round(np.log2(safe)), 1023.0))


class SingularSystemError(np.linalg.LinAlgError, ValueError):
    """The system has no unique solution in floating point."""


@dataclass(frozen=True)
class Factor:
    """LU factors of a square matrix A, equilibrated by powers of two.

    ``A = diag(rows) S diag(columns)``, and `lu`, `pivots` factor S. `rcond` estimates the
    reciprocal condition number of S in the 1-norm.
    """

    lu: Array
    pivots: Array
    rows: Array
    columns: Array
    rcond: float

    def solve(self, B: Array) -> Array:
        """``A^-1 B`` for B of shape (n, t)."""
        self._must_be_regular()
        X, _ = lapack.dgetrs(self.lu, self.pivots, B / self.rows[:, None])
        return np.asarray(X / self.columns[:, None])

    @cached_property
    def inverse(self) -> Array:
        """``A^-1``, formed once."""
        self._must_be_regular()
        work, _ = lapack.dgetri_lwork(self.lu.shape[0])
        inverse, _ = lapack.dgetri(self.lu, self.pivots, lwork=int(work.real))
        inverse /= self.columns[:, None]
        inverse /= self.rows
        return np.asarray(inverse)

    def _must_be_regular(self) -> None:
        if self.rcond == 0.0:
            raise SingularSystemError(
                "the system is singular in floating point: samples or features coincide, or "
                "there is nothing to tell them apart. A finite c (say 1e8) regularises it; where c "
                "is finite, use a smaller c, a larger k or a smaller |a|."
            )


def _equilibrate(A: Array) -> tuple[Array, Array, Array]:
    """Divide rows and columns of A by powers of two near their peaks; returns the two and |A|.

    The side whose peaks differ more goes first: rounding errors in a huge column would otherwise
    set the scale of rows that have nothing else there.
    """
    size = np.abs(A)
    rows, columns = (power_of_two(size.max(axis=axis, initial=0.0)) for axis in (1, 0))
    if np.ptp(np.log2(rows)) >= np.ptp(np.log2(columns)):
        size /= rows[:, None]
        columns = power_of_two(size.max(axis=0, initial=0.0))
        size /= columns
    else:
        size /= columns
        rows = power_of_two(size.max(axis=1, initial=0.0))
        size /= rows[:, None]
    A /= rows[:, None]
    A /= columns
    return rows, columns, size


def factorise(A: Array, borders: int = 0) -> Factor:
    """Factor a square matrix (overwritten); an exactly singular one has ``rcond = 0``.

    The last `borders` rows are scaled down, so that they become pivots only where no other row
    will do: under a strong penalty the unknowns above them are small, and would take over the
    absolute rounding errors of the borders.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows, columns, size = _equilibrate(A)
        if borders:
            A[-borders:] /= 4.0
            size[-borders:] /= 4.0
            rows[-borders:] *= 4.0
        norm = size.sum(axis=0).max(initial=0.0)
    if not np.isfinite(norm):
        raise FloatingPointError(
            "the system has entries beyond the range of float64: "
            "use a smaller |a|, a larger k, or rescale the features."
        )
    lu, pivots, info = lapack.dgetrf(np.asfortranarray(A), overwrite_a=True)
    rcond = 0.0 if info > 0 else float(lapack.dgecon(lu, norm)[0])
    return Factor(lu, pivots, rows, columns, rcond)
