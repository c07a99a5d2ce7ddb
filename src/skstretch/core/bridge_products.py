"""What the exact minimiser asks of a design: one pass over Z for any number of problems.

With x = |Zᵀ(u∘e)|/(λk) a pass brings back Zφ(v), the energy Σ x^(r+1) and the Gram matrix
Z diag(φ'(v)) Zᵀ. `DenseProducts` does so for a Z in memory; sparse, blocked and Dask designs bring
their own (see `Passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from skstretch.core.types import Array, Index

# A power below this is zero: it changes no sum, and denormal numbers slow every product down.
NEGLIGIBLE, TINY = 1e-150, 1e-290
# Columns whose share of the Newton matrix is below this leave it (never the equations): rounding.
PRUNE = 1e-15
# Rows of a square matrix that are worked on at a time, and stay in the cache.
SOME_ROWS = 64
# Numbers that a pass multiplies from which on two threads take less time than one.
SHARED_NUMBERS = 2**20


@dataclass(frozen=True)
class Trial:
    """What one problem asks of a pass: v = Zᵀx for x = u∘e (M), whether a Gram matrix is wanted,
    the energy beyond which the answer will be refused anyway, whether v is to be kept; `bare`:
    Zφ(v) and nothing else (the energy is then given as zero). With a `base` (D), v = base + Zᵀx."""

    k: float
    lam: float
    x: Array
    gram: bool = False
    ceiling: float = np.inf
    keep: bool = True
    bare: bool = False
    base: Array | None = None


@dataclass(frozen=True)
class TrialResult:
    """What a pass answers: Z φ(v) (M) for v = Zᵀx, the energy Σ (|v|/(λk))^(r+1), v itself (D; a
    design may refuse to keep it) and Z diag(φ'(v)) Zᵀ (M×M) if they were asked for. Above the
    ceiling the energy may be inf, and then only v counts."""

    fitted: Array
    energy: float
    v: Array | None = None
    gram: Array | None = None


Item = TypeVar("Item")
Result = TypeVar("Result")


class Share(Protocol):
    """How a list of tasks that do not need each other is worked off, in any order."""

    def __call__(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """``[work(item) for item in items]``."""


def serial_map(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """One after the other."""
    return [work(item) for item in items]


def share_of(products: MinimiserProducts, bulk: bool = False) -> Share:
    """How tasks that pass are worked off: in threads where the design has said so.

    Those in `bulk`, many left-out samples in one task, are worth threads on smaller data.
    """
    share: Share = getattr(products, "share", serial_map)
    return getattr(products, "bulk", share) if bulk else share


class MinimiserProducts(Protocol):
    """The products that a design supplies. It knows neither weights nor intercepts nor folds.

    Where several threads may ask at once, `share` is how tasks are given to them (`share_of`).
    """

    def step(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """Answer all trials in one pass over Z."""

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """φ(Zᵀx) (D); v is what `step` returned for this trial."""

    def transposed(self, X: Array) -> Array:
        """ZᵀX (D×n) for X (M×n)."""


def power(x: Array, n: float) -> Array:
    """x**n for x ≥ 0 (inf where it overflows, 0 below NEGLIGIBLE); whole n by multiplication.

    k = 1.05 gives n = 19 up to rounding: five products instead of a logarithm and an exponential.
    """
    whole = round(n)
    with np.errstate(over="ignore", under="ignore"):
        if whole == 0 or whole > 128 or abs(n - whole) > 1e-12 * n:
            out: Array = np.power(x, n)
        else:
            while whole % 2 == 0:
                x, whole = x * x, whole // 2
            out, base = x.copy(), x
            while whole := whole // 2:
                base = base * base
                if whole % 2:
                    out *= base
    if n > 1.0:
        clear(out)
    return out


def clear(x: Array) -> None:
    """Set to zero, in place, what is negligible (x ≥ 0), where anything is too small to be fast."""
    if x.min(initial=1.0) < TINY:
        x[x < NEGLIGIBLE] = 0.0


def phi(v: Array, k: float, lam: float) -> tuple[Array, Array, Array]:
    """φ(v) = sgn(v) x^r with x = |v|/(λk), its slope r x^(r−1)/(λk), and x^(r+1); v's shape."""
    r = 1.0 / (k - 1.0)
    x = np.abs(v)
    x /= lam * k
    p = power(x, r - 1.0)
    with np.errstate(over="ignore", under="ignore"):
        size = p * x
        x *= size
        p *= r / (lam * k)
    return np.copysign(size, v, out=size), p, x


def phi_alone(v: Array, k: float, lam: float) -> Array:
    """φ(v) without its slope and its energy; v's shape."""
    return signed_power(v / (lam * k), 1.0 / (k - 1.0))


def signed_power(x: Array, n: float) -> Array:
    """sgn(x) |x|^n in a fresh array (inf where it overflows), n ≥ 1: in few passes over x where
    |x|^n is a product of squares, or of cube roots."""
    size, whole = np.abs(x), round(n)
    if n > 1.0 and size.min(initial=1.0) < TINY ** (1.0 / n):
        x = np.where(size < NEGLIGIBLE ** (1.0 / n), 0.0, x)
        size = np.abs(x)
    with np.errstate(over="ignore", under="ignore"):
        if whole <= 128 and whole % 2 == 0 and abs(n - whole) <= 1e-12 * n:
            return even_power(x, size, whole)
        out = np.cbrt(size) * size if abs(3.0 * n - 4.0) <= 1e-12 else power(size, n)
    return np.copysign(out, x, out=out)


def even_power(x: Array, size: Array, n: int) -> Array:
    """x |x|^(n−1), written over size = |x|, by squares."""
    size *= x
    base, left = x, n // 2 - 1
    if left:
        base = x * x
    while left:
        if left % 2:
            size *= base
        left //= 2
        if left:
            base *= base
    return size


def images(products: MinimiserProducts, k: float, lam: float, X: Array) -> Array:
    """Zφ(ZᵀX) (M×n) for X (M×n), in one pass: by the passes' own `images` where they have it."""
    own = getattr(products, "images", None)
    if own is not None:
        return np.asarray(own(k, lam, X))
    trials = [Trial(k, lam, x, keep=False, bare=True) for x in X.T]
    return np.column_stack([result.fitted for result in products.step(trials)])


def sandwich(A: Array, N: Array) -> Array:
    """(I − NNᵀ) A (I − NNᵀ) (M×M) for symmetric A, which is overwritten, and orthonormal N (M×p).

    A − hNᵀ − Nhᵀ with h = AN − ½N NᵀAN, some rows at a time: a new array of this size costs more
    than what is done to it.
    """
    if not N.shape[1]:
        return A
    AN = A @ N
    half = AN - 0.5 * N @ (N.T @ AN)
    if len(A) <= 2 * SOME_ROWS:
        part = half @ N.T
        A -= part
        A -= part.T
        return A
    left, right = np.hstack([half, N]), np.hstack([N, half]).T.copy()
    rows = A if A.flags.c_contiguous else A.T  # symmetric: these are in the order of the memory
    for at in range(0, len(A), SOME_ROWS):
        rows[at : at + SOME_ROWS] -= left[at : at + SOME_ROWS] @ right
    return A


def runs(trials: Sequence[Trial]) -> list[tuple[slice, float, float]]:
    """Neighbouring trials with the same k and λ that ask for the same, whose φ is one call."""
    out: list[tuple[slice, float, float]] = []
    last = None
    for i, t in enumerate(trials):
        if last == (t.k, t.lam, t.bare):
            out[-1] = (slice(out[-1][0].start, i + 1), t.k, t.lam)
        else:
            out.append((slice(i, i + 1), t.k, t.lam))
        last = t.k, t.lam, t.bare
    return out


def add_bases(v: Array, trials: Sequence[Trial], columns: slice) -> None:
    """Add to v (n×b), in place, the base that trials bring for these columns."""
    for i, trial in enumerate(trials):
        if trial.base is not None:
            v[i] += trial.base[columns]


class DenseProducts:
    """Passes over a Z (M×D) in memory. A column-major Z is used as it is, anything else is copied
    once; beyond it a pass needs two blocks of columns, and v where it is kept."""

    def __init__(self, Z: Array, block: int | None = None, share: Share = serial_map) -> None:
        self.share, self.bulk = share, share
        self.T = np.asarray(Z, order="F").T
        self.block = block or max(256, 2**20 // max(1, Z.shape[0]))
        self.size = np.einsum("ij,ij->i", self.T, self.T)

    def step(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """Answer all trials: per block of columns one product for v, one for Zφ(v)."""
        D = self.T.shape[0]
        V = {i: np.empty(D) for i, t in enumerate(trials) if t.keep}
        slope = {i: np.empty(D) for i, t in enumerate(trials) if t.gram}
        middle = D // self._halves(D * len(trials))
        spans = [slice(0, middle), slice(middle, D)] if middle < D else [slice(0, D)]
        sums = self.share(lambda j: self._sums(trials, j, V, slope), spans)
        with np.errstate(over="ignore", invalid="ignore"):
            fitted = np.sum([part[0] for part in sums], axis=0)
            energy = np.sum([part[1] for part in sums], axis=0)
        # what is above its ceiling is refused
        energy[~(energy <= [t.ceiling for t in trials])] = np.inf
        wanted = [i for i in slope if np.isfinite(energy[i])]
        found = self._grams([slope[i] for i in wanted])
        grams = dict(zip(wanted, found, strict=True))
        return [
            TrialResult(fitted[i], float(energy[i]), V.get(i), grams.get(i))
            for i in range(len(trials))
        ]

    def _halves(self, n_columns: int) -> int:
        """In how many parts so many columns are worked off, whatever the number of threads."""
        large = self.share is not serial_map and n_columns * self.T.shape[1] >= SHARED_NUMBERS
        return 2 if large else 1

    def _sums(
        self,
        trials: Sequence[Trial],
        span: slice,
        V: dict[int, Array],
        slope: dict[int, Array],
    ) -> tuple[Array, Array]:
        """Zφ(v) (n×M) and the energies (n) over consecutive columns; v and slopes as asked for."""
        X, n = np.array([t.x for t in trials]), len(trials)
        fitted, energy = np.zeros(X.shape), np.zeros(n)
        # Blocks that stay in the cache between the two products.
        block, groups = max(64, min(self.block, 2**17 // n)), runs(trials)
        for at in range(span.start, span.stop, block):
            b = slice(at, min(at + block, span.stop))
            v = X @ self.T[b].T
            add_bases(v, trials, b)
            for i, x in V.items():
                x[b] = v[i]
            for g, k, lam in groups:
                if trials[g.start].bare:
                    v[g] = phi_alone(v[g], k, lam)
                    continue
                v[g], w, q = phi(v[g], k, lam)
                with np.errstate(over="ignore"):
                    energy[g] += q.sum(1)
                for i in range(g.start, g.stop):
                    if i in slope:
                        slope[i][b] = w[i - g.start]
            with np.errstate(over="ignore", invalid="ignore"):
                fitted += v @ self.T[b]
        return fitted, energy

    def _grams(self, slopes: Sequence[Array]) -> list[Array]:
        """Z diag(slope) Zᵀ (M×M) for several slopes (D), each from one or two sums over the
        columns that matter."""
        tasks, parts = [], []
        for slope in slopes:
            share = slope * self.size
            keep = np.flatnonzero(share > PRUNE * share.max(initial=0.0))
            halves = np.array_split(keep, self._halves(keep.size * self.T.shape[1] // 16))
            tasks += [(half, slope) for half in halves]
            parts.append(len(halves))
        made = iter(self.share(lambda task: self._gram_of(*task), tasks))
        out = []
        for count in parts:
            total = next(made)
            for _ in range(count - 1):
                total += next(made)
            out.append(total)
        return out

    def _gram_of(self, keep: Index, slope: Array) -> Array:
        """Z diag(slope) Zᵀ (M×M) over some columns."""
        M = self.T.shape[1]
        out = np.zeros((M, M))
        # Blocks that stay in the cache, in the same place of the memory.
        block = min(max(512, 2**18 // M), max(1, keep.size))
        gathered, scaled = np.empty((block, M), self.T.dtype), np.empty((block, M))
        for at in range(0, keep.size, block):
            j = keep[at : at + block]
            rows = self.T[j[0] : j[-1] + 1]
            if len(rows) > j.size:
                rows = np.take(self.T, j, axis=0, out=gathered[: j.size], mode="clip")
            A = scaled[: j.size]
            np.multiply(rows, np.sqrt(slope[j])[:, None], out=A)
            # numpy makes a symmetric product of it, and lets other threads run
            out += A.T @ A
        return out

    def images(self, k: float, lam: float, X: Array) -> Array:
        """Zφ(ZᵀX) (M×n)."""
        (D, M), n = self.T.shape, X.shape[1]
        x, out = np.ascontiguousarray(X.T) / (lam * k), np.zeros((n, M))
        block = max(64, min(self.block, 2**17 // n))
        for at in range(0, D, block):
            T = self.T[at : at + block]
            with np.errstate(over="ignore", invalid="ignore"):
                out += signed_power(x @ T.T, 1.0 / (k - 1.0)) @ T
        return out.T

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """φ(Zᵀx) (D)."""
        return phi(self.T @ trial.x if v is None else v, trial.k, trial.lam)[0]

    def transposed(self, X: Array) -> Array:
        """ZᵀX (D×n)."""
        return self.T @ X
