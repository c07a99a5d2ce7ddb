"""One LU factorisation, many uses: solve, invert, judge; and how many there were."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np
from scipy.linalg import lapack

from skstretch.core.types import Array
from skstretch.exceptions import SingularSystemError


def power_of_two(values: Array) -> Array:
    """The powers of two next to positive values; 1 for zero. Scaling by them rounds nothing."""
    safe = np.where((values > 0) & np.isfinite(values), values, 1.0)
    return np.exp2(np.minimum(np.round(np.log2(safe)), 1023.0))


@dataclass
class Tally:
    """How often what was done, by its name, in all threads."""

    counts: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def add(self, what: str, times: int = 1) -> None:
        with self._lock:
            self.counts[what] += times


# of whoever counts; threads that work for it take it over (`ordered_map` in `designs.threads`)
tally: ContextVar[Tally | None] = ContextVar("tally", default=None)


@contextmanager
def counting() -> Iterator[Tally]:
    """Count what is done from here on; what was counted outside goes on from its own."""
    outer, own = tally.get(), Tally()
    token = tally.set(own)
    try:
        yield own
    finally:
        tally.reset(token)
        if outer is not None:
            for what, times in own.counts.items():
                outer.add(what, times)


def counted(what: str, times: int = 1) -> None:
    """Something was done, for those who count."""
    counter = tally.get()
    if counter is not None:
        counter.add(what, times)


class SingularMatrixError(SingularSystemError, np.linalg.LinAlgError):
    """What is raised for a matrix that cannot be factorised: also an error of numpy."""


@dataclass(frozen=True)
class Factor:
    """LU factors of a square matrix A, equilibrated by powers of two.

    ``A = diag(rows) S diag(columns)``, and `lu`, `pivots` factor S. `rcond` estimates the
    reciprocal condition number of S in the 1-norm, and `norm` is that of S.
    """

    lu: Array
    pivots: Array
    rows: Array
    columns: Array
    rcond: float
    norm: float

    def solve(self, B: Array) -> Array:
        """``A^-1 B`` for B of shape (n, t)."""
        self._must_be_regular()
        # scipy counts pivots from one while it works, in place: threads that share them do not
        X, _ = lapack.dgetrs(self.lu, self.pivots.copy(), B / self.rows[:, None])
        return np.asarray(X / self.columns[:, None])

    def solve_transposed(self, B: Array) -> Array:
        """``A^-T B`` for B of shape (n, t)."""
        self._must_be_regular()
        X, _ = lapack.dgetrs(self.lu, self.pivots.copy(), B / self.columns[:, None], trans=1)
        return np.asarray(X / self.rows[:, None])

    @cached_property
    def inverse(self) -> Array:
        """``A^-1``, formed once."""
        self._must_be_regular()
        work = int(lapack.dgetri_lwork(self.lu.shape[0])[0].real)
        inverse, _ = lapack.dgetri(self.lu, self.pivots.copy(), lwork=work)
        inverse /= self.columns[:, None]
        inverse /= self.rows
        return np.asarray(inverse)

    def trace(self, scale: Array) -> float:
        """``sum_i scale_i (A^-1)_ii`` over the first rows."""
        return float(scale @ self.inverse.diagonal()[: scale.size])

    def _must_be_regular(self) -> None:
        if self.rcond == 0.0:
            raise SingularMatrixError(
                "the system is singular in floating point: samples or features coincide, or "
                "there is nothing to tell them apart. A finite c (say 1e8) regularises it; where c "
                "is finite, use a smaller c, a larger k or a smaller |a|."
            )


def peaks(A: Array, axis: int) -> Array:
    """``max |A|`` along an axis, without another matrix."""
    high, low = A.max(axis=axis, initial=0.0), A.min(axis=axis, initial=0.0)
    return np.asarray(np.maximum(high, -low))


def _equilibrate(A: Array) -> tuple[Array, Array]:
    """Divide rows and columns of A by powers of two near their peaks; returns these.

    The side whose peaks differ more goes first: rounding errors in a huge column would otherwise
    set the scale of rows that have nothing else there.
    """
    rows, columns = (power_of_two(peaks(A, axis)) for axis in (1, 0))
    if np.ptp(np.log2(rows)) >= np.ptp(np.log2(columns)):
        A /= rows[:, None]
        columns = power_of_two(peaks(A, 0))
        A /= columns
    else:
        A /= columns
        rows = power_of_two(peaks(A, 1))
        A /= rows[:, None]
    return rows, columns


def factorise(A: Array, borders: int = 0) -> Factor:
    """Factor a square matrix; an exactly singular one has ``rcond = 0``.

    A matrix in column order is overwritten, others are copied.

    The last `borders` rows are scaled down, so that they become pivots only where no other row
    will do: under a strong penalty the unknowns above them are small, and would take over the
    absolute rounding errors of the borders.
    """
    A = np.asfortranarray(A)
    with np.errstate(over="ignore", invalid="ignore"):
        rows, columns = _equilibrate(A)
        if borders:
            A[-borders:] /= 4.0
            rows[-borders:] *= 4.0
        norm = lapack.dlange("1", A) if A.size else 0.0
    if not np.isfinite(norm):
        raise FloatingPointError(
            "the system has entries beyond the range of float64: "
            "use a smaller |a|, a larger k, or rescale the features."
        )
    counted("LU factorisation")
    lu, pivots, info = lapack.dgetrf(A, overwrite_a=True)
    rcond = 0.0 if info > 0 else float(lapack.dgecon(lu, norm)[0])
    return Factor(lu, pivots, rows, columns, rcond, float(norm))


# What rounding of a Gram matrix does to coefficients, drawn and not bounded. A condition number
# bounds the error for the worst of all matrices and targets, and is often five digits off.
# Perturbations E of the size of rounding, drawn at random, move the solution x of (K + lam) x = y
# by (K + lam)^-1 E x, which a factorisation tells at once.


def drawn_products(sizes: Array, unknowns: Array, more: Array | float = 0.0) -> Array:
    """``E x`` for each column x of the unknowns (n, t) and a few E, (n, m), four in all unless
    there are more columns; those of a column stand side by side.

    An entry ``sum_d p_id q_jd`` is off by about ``eps s_i s_j``, with the roots s of the diagonal.
    So entry i of ``E x`` is a normal number times ``eps s_i sqrt(sum_j s_j^2 x_j^2)``. `more` (t,)
    is what a right-hand side of sums adds under the root, squared.
    """
    times = max(1, 4 // unknowns.shape[1])
    spread = np.sqrt(np.square(sizes) @ np.square(unknowns) + np.square(more))
    shape = unknowns.shape[0], times * unknowns.shape[1]
    drawn = np.random.default_rng(0).standard_normal(shape)
    return np.asarray(np.finfo(float).eps * sizes[:, None] * np.repeat(spread, times) * drawn)


def largest_move(moves: Array, coef: Array) -> float:
    """The largest of the moves (D, m) of coefficients (D, t), relative to the largest of these."""
    size, times = np.abs(coef).max(axis=0, initial=0.0), moves.shape[1] // coef.shape[1]
    far = np.abs(moves).max(axis=0, initial=0.0).reshape(-1, times).max(axis=1)
    return float(np.max(far[size > 0.0] / size[size > 0.0], initial=0.0))
