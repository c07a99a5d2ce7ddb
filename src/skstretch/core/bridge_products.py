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
# Numbers that a pass multiplies from which on two threads take less time than one.
SHARED_NUMBERS = 2**20


@dataclass(frozen=True)
class Trial:
    """What one problem asks of a pass: v = Zᵀx for x = u∘e (M), whether a Gram matrix is wanted,
    the energy beyond which the answer will be refused anyway, whether v is to be kept. With a
    `base` (D), v = base + Zᵀx."""

    k: float
    lam: float
    x: Array
    gram: bool = False
    ceiling: float = np.inf
    keep: bool = True
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


def signed_power(x: Array, n: float) -> Array:
    """sgn(x) |x|^n in a fresh array (inf where it overflows), n ≥ 1."""
    return np.copysign(power(np.abs(x), n), x)


def images(products: MinimiserProducts, k: float, lam: float, X: Array) -> Array:
    """Zφ(ZᵀX) (M×n) for X (M×n), in one pass: by the passes' own `images` where they have it."""
    own = getattr(products, "images", None)
    if own is not None:
        return np.asarray(own(k, lam, X))
    trials = [Trial(k, lam, x, keep=False) for x in X.T]
    return np.column_stack([result.fitted for result in products.step(trials)])


def sandwich(A: Array, N: Array) -> Array:
    """(I − NNᵀ) A (I − NNᵀ) (M×M) for symmetric A, which is overwritten, and orthonormal N (M×p).

    A − hNᵀ − Nhᵀ with h = AN − ½N NᵀAN.
    """
    if N.shape[1]:
        AN = A @ N
        part = (AN - 0.5 * N @ (N.T @ AN)) @ N.T
        A -= part
        A -= part.T
    return A


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
        block = max(64, min(self.block, 2**17 // n))
        for at in range(span.start, span.stop, block):
            b = slice(at, min(at + block, span.stop))
            v = X @ self.T[b].T
            for i, t in enumerate(trials):
                if t.base is not None:
                    v[i] += t.base[b]
                if i in V:
                    V[i][b] = v[i]
                v[i], w, q = phi(v[i], t.k, t.lam)
                with np.errstate(over="ignore"):
                    energy[i] += q.sum()
                if i in slope:
                    slope[i][b] = w
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
