"""What the exact minimiser asks of a design: one walk over Z for any number of problems.

With x = |Zᵀ(u∘e)|/(λk) a walk brings back Zφ(v), the energy Σ x^(r+1) and the Gram matrix
Z diag(φ'(v)) Zᵀ. `DenseWalks` does so for a Z in memory; sparse, blocked and Dask designs bring
their own (see `Walks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np

from skstretch.core.types import Array, Index

# How good a Gram matrix is: "rough" is of a sample of the columns, "coarse" in single precision.
Gram = Literal["none", "rough", "coarse", "fine"]

# A power below this is zero: it changes no sum, and denormal numbers slow every product down.
NEGLIGIBLE, TINY = 1e-150, 1e-290
# Columns whose share of the Newton matrix is below these leave it (never the equations).
PRUNE = {"rough": 1e-4, "coarse": 1e-4, "fine": 1e-15}
# Columns of a rough matrix for each of its rows.
ROUGH_COLUMNS = 12
# Rows of a square matrix that are worked on at a time, and stay in the cache.
SOME_ROWS = 64
# Numbers that a walk multiplies from which on two threads take less time than one.
SHARED_NUMBERS = 2**20


@dataclass(frozen=True)
class Trial:
    """What one problem asks of a walk: x = u∘e (M), how good a Gram matrix, the energy beyond
    which the answer will be refused anyway, whether v is wanted; `bare`: Zφ(v) and nothing else
    (the energy is then told as zero)."""

    k: float
    lam: float
    x: Array
    gram: Gram = "none"
    ceiling: float = np.inf
    keep: bool = True
    bare: bool = False


@dataclass(frozen=True)
class Walk:
    """What a walk answers: Z φ(v) (M) for v = Zᵀx, the energy Σ (|v|/(λk))^(r+1), v itself (D; a
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


def in_turn(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """One after the other."""
    return [work(item) for item in items]


def share_of(walks: Walks, bulk: bool = False) -> Share:
    """How tasks that walk are worked off: in threads where the design has said so.

    Those in `bulk`, many left-out samples in one task, are worth threads on smaller data.
    """
    share: Share = getattr(walks, "share", in_turn)
    return getattr(walks, "bulk", share) if bulk else share


class Walks(Protocol):
    """The products that a design supplies. It knows neither weights nor intercepts nor folds.

    Where several threads may ask at once, `share` is how tasks are given to them (`share_of`).
    """

    def step(self, trials: Sequence[Trial]) -> list[Walk]:
        """Answer all trials in one walk over Z."""

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


def images(walks: Walks, k: float, lam: float, X: Array) -> Array:
    """Zφ(ZᵀX) (M×n) for X (M×n), in one walk: by the walks' own `images` where they have it."""
    own = getattr(walks, "images", None)
    if own is not None:
        return np.asarray(own(k, lam, X))
    trials = [Trial(k, lam, x, keep=False, bare=True) for x in X.T]
    return np.column_stack([walk.fitted for walk in walks.step(trials)])


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


def thinned(share: Array, count: float, phase: float = 0.5) -> tuple[Index, Array]:
    """About `count` of the columns, as likely as their shares are large, and how many times each
    counts: those of more than a fair share are taken once, so that no column counts for much.

    Every (1/count)-th of the running total is met by one column: what is taken does not depend on
    chance, and neighbours, who are often alike, stand for each other.
    """
    fair, known = share.sum() / count, -1
    for _ in range(20):
        large = share > fair
        if not known < large.sum() < count:
            break
        known = int(large.sum())
        fair = share[~large].sum() / (count - known)
    return sampled(share, fair, phase)[:2]


def sampled(share: Array, fair: float, phase: float) -> tuple[Index, Array, float]:
    """The columns that a running total of min(1, share/fair) meets, how many times each counts,
    and the phase with which the next columns go on."""
    chance = np.minimum(1.0, share / fair) if fair > 0.0 else np.ones_like(share)
    total = phase + np.cumsum(chance)
    whole = np.floor(total)
    keep = np.flatnonzero(np.diff(whole, prepend=0.0) > 0.0)
    last = float(total[-1] - whole[-1]) if share.size else phase
    return keep, 1.0 / chance[keep], last


class DenseWalks:
    """Walks over a Z (M×D) in memory. A column-major Z is used as it is, anything else is copied
    once; beyond it a walk needs two blocks of columns, and v where it is kept."""

    def __init__(self, Z: Array, block: int | None = None, share: Share = in_turn) -> None:
        self.share, self.bulk = share, share
        self.T = np.asarray(Z, order="F").T
        self.block = block or max(256, 2**20 // max(1, Z.shape[0]))
        self.size = np.einsum("ij,ij->i", self.T, self.T)

    def step(self, trials: Sequence[Trial]) -> list[Walk]:
        """Answer all trials: per block of columns one product for v, one for Zφ(v)."""
        D = self.T.shape[0]
        V = {i: np.empty(D) for i, t in enumerate(trials) if t.keep}
        slope = {i: np.empty(D) for i, t in enumerate(trials) if t.gram != "none"}
        middle = D // self._halves(D * len(trials))
        spans = [slice(0, middle), slice(middle, D)] if middle < D else [slice(0, D)]
        sums = self.share(lambda j: self._sums(trials, j, V, slope), spans)
        with np.errstate(over="ignore", invalid="ignore"):
            fitted = np.sum([part[0] for part in sums], axis=0)
            energy = np.sum([part[1] for part in sums], axis=0)
        # what is above its ceiling is refused
        energy[~(energy <= [t.ceiling for t in trials])] = np.inf
        wanted = [i for i in slope if np.isfinite(energy[i])]
        found = self._grams([(slope[i], trials[i].gram) for i in wanted])
        grams = dict(zip(wanted, found, strict=True))
        return [
            Walk(fitted[i], float(energy[i]), V.get(i), grams.get(i)) for i in range(len(trials))
        ]

    def _halves(self, n_columns: int) -> int:
        """In how many parts so many columns are worked off, whatever the number of threads."""
        large = self.share is not in_turn and n_columns * self.T.shape[1] >= SHARED_NUMBERS
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
            for i, x in V.items():
                x[b] = v[i]
            for g, k, lam in groups:
                if trials[g.start].bare:
                    v[g] = phi_alone(v[g], k, lam)
                    continue
                v[g], w, q = phi(v[g], k, lam)
                energy[g] += q.sum(1)
                for i in range(g.start, g.stop):
                    if i in slope:
                        slope[i][b] = w[i - g.start]
            with np.errstate(over="ignore", invalid="ignore"):
                fitted += v @ self.T[b]
        return fitted, energy

    def gram(self, slope: Array, how: Gram) -> Array:
        """Z diag(slope) Zᵀ (M×M) from the columns that matter."""
        return self._grams([(slope, how)])[0]

    def _grams(self, wanted: Sequence[tuple[Array, Gram]]) -> list[Array]:
        """Several such matrices, each from one or two sums over some columns."""
        tasks, parts = [], []
        for slope, how in wanted:
            keep, slope = self._that_matter(slope, how)
            halves = np.array_split(keep, self._halves(keep.size * self.T.shape[1] // 16))
            tasks += [(half, slope, how) for half in halves]
            parts.append(len(halves))
        made = iter(self.share(lambda task: self._gram_of(*task), tasks))
        out = []
        for count in parts:
            total = next(made)
            for _ in range(count - 1):
                total += next(made)
            out.append(total)
        return out

    def _that_matter(self, slope: Array, how: Gram) -> tuple[Index, Array]:
        """The columns of a Gram matrix, and their weights (D)."""
        share, most = slope * self.size, ROUGH_COLUMNS * self.T.shape[1]
        keep = np.flatnonzero(share > PRUNE[how] * share.max(initial=0.0))
        if how == "rough" and keep.size > most:
            some, times = thinned(share[keep], most)
            keep = keep[some]
            slope = np.array(slope)
            slope[keep] *= times
        return keep, slope

    def _gram_of(self, keep: Index, slope: Array, how: Gram) -> Array:
        """Z diag(slope) Zᵀ (M×M) over some columns."""
        M, dtype = self.T.shape[1], np.float64 if how == "fine" else np.float32
        out = np.zeros((M, M))
        # Powers of two leave the digits alone and keep single precision within its range.
        unit = 2.0 ** np.round(np.log2(slope.max(initial=0.0))) if keep.size else 1.0
        # Blocks that stay in the cache, in the same place of the memory.
        block = min(max(512, 2**18 // M), max(1, keep.size))
        gathered, scaled = (np.empty((block, M), kind) for kind in (self.T.dtype, dtype))
        for at in range(0, keep.size, block):
            j = keep[at : at + block]
            rows = self.T[j[0] : j[-1] + 1]
            if len(rows) > j.size:
                rows = np.take(self.T, j, axis=0, out=gathered[: j.size], mode="clip")
            A = scaled[: j.size]
            np.multiply(rows, np.sqrt(slope[j] / unit)[:, None], out=A, casting="same_kind")
            # numpy makes a symmetric product of it, and lets other threads run
            out += A.T @ A
        out *= unit
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
