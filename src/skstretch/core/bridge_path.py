"""From a design and a target to fits: the space of the dual, one fit, paths along c and k.

The dual lives on the samples when D ≥ M. When D < M its space is compressed to the D directions
that Z reaches: the equations keep their form, nothing M×M is formed, and v = Zᵀe does not lose
its digits to the part of e that no feature explains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import TypeVar

import numpy as np
from scipy.linalg import lapack

from skstretch.core.bridge import (
    REPORTED,
    Point,
    Problem,
    Tolerance,
    evaluate,
    newton,
    rescale,
    start,
    stretch,
)  # fmt: skip
from skstretch.core.bridge_products import DenseProducts, MinimiserProducts, Trial, phi, share_of
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array

# Bytes that the Newton matrices of problems solved together may take.
BATCH = 2**28


@dataclass(frozen=True)
class PathRule:
    """Where a path along c begins and ends, and how it steps.

    At most `n` candidates, from `first_dof` degrees of freedom to `most_dof` of all that there
    are; log(c) is a multiple of `step` above its beginning. A candidate is of no use (its
    leave-one-out residuals are noise) below `least_diagonal` of B and `least_residual` of y. The
    path ends once `patience` candidates in a row have `worse` times the least error.
    """

    n: int
    first_dof: float
    most_dof: float
    step: float
    least_diagonal: float
    least_residual: float
    patience: int
    worse: float

    def is_over(self, errors: Array) -> bool:
        """Whether a path of such errors (candidates by targets) has left the least of every
        target behind."""
        late = errors[-self.patience :] > self.worse * np.fmin.reduce(errors)
        return len(errors) > self.patience and bool(late.all())


def units_of(Y: Array) -> Array:
    """The power of two at the size of each target (M×t), one where a target is zero.

    Divided by it a target keeps its bits, and squares and powers of it stay in range.
    """
    return np.asarray(np.ldexp(1.0, np.frexp(np.abs(Y).max(axis=0, initial=0.0))[1]))


def c_in_unit(c: float, k: float, unit: float) -> float:
    """The c that means for y/unit what c means for y: α scales with y, and |α|^k + 2c e² is to
    grow as a whole."""
    return float(c * unit ** (2.0 - k))


@dataclass(frozen=True)
class Space:
    """Where the dual lives. Wide: on the samples, outside `null` (M×p, orthonormal, found by
    `split`, without the intercept's direction). Tall: diag(u) Z, centred, is Q R with Q (M×T), and
    passes go over R (T×D'); Z (M×D) is kept for predictions. u (M): root weights. U (M×q): columns
    that are never penalised, beside a free intercept; Z is then without its part in [1, U]."""

    products: MinimiserProducts
    u: Array
    intercept: Intercept = Intercept.FREE
    null: Array | None = None
    Q: Array | None = None
    Z: Array | None = None
    U: Array | None = None

    @property
    def side(self) -> int:
        """The number of unknowns of the dual, and the side of its Newton matrices."""
        return len(self.u) if self.Q is None else self.Q.shape[1]

    @property
    def n_free(self) -> int:
        """The number of coefficients that are not penalised: the free intercept and those of U."""
        return int(self.intercept == "free") + (0 if self.U is None else self.U.shape[1])

    @cached_property
    def N(self) -> Array:
        """An orthonormal basis of what is not penalised, diag(u) [1, U] (M×(q+1))."""
        if self.U is None:
            return (self.u / np.linalg.norm(self.u))[:, None]
        return reached(self.u[:, None] * np.column_stack([np.ones_like(self.u), self.U]))

    def free_part(self, x: Array) -> tuple[Array, Array]:
        """m and γ (q) of least Σ w (x − m − Uγ)² for x (M), or one each for its columns."""
        if self.U is None:
            return (self.u**2) @ x / (self.u @ self.u), np.zeros((0, *x.shape[1:]))
        F = self.u[:, None] * np.column_stack([np.ones_like(self.u), self.U])
        found: Array = np.asarray(np.linalg.lstsq(F, (self.u * x.T).T, rcond=None)[0], dtype=float)
        return found[0], found[1:]

    def beside_root(self) -> Array:
        """Q and beside it u/‖u‖, the direction of a free intercept, and U's (M×(T+1+q))."""
        return np.column_stack([self.tall[0], self.N])

    def centre(self, x: Array) -> Array:
        """x (M or M×q) without its part in what is not penalised, if there is a free intercept; of
        a constant target nothing is left, not even rounding."""
        if self.intercept != "free":
            return x
        if self.U is not None:
            return np.asarray(x - self.N @ (self.N.T @ x))
        return x - np.multiply.outer(self.u, self.u @ x / (self.u @ self.u))

    @property
    def tall(self) -> tuple[Array, Array]:
        """Q and Z of a tall space."""
        assert self.Q is not None
        assert self.Z is not None
        return self.Q, self.Z

    def problem(self, k: float, c: float, y: Array) -> Problem:
        """The problem as Newton sees it; its target has T coordinates when tall."""
        target = self.centre(self.u * y)
        if self.Q is not None:
            T = self.Q.shape[1]
            return Problem(k, c, self.Q.T @ target, np.ones(T), np.empty((T, 0)), whole=True)
        parts = [] if self.null is None else [self.null]
        if self.intercept == "free":
            parts.append(self.N)
        N = np.hstack(parts) if parts else np.empty((len(y), 0))
        bare = Problem(k, c, target, self.u, N, self.intercept == "column", self.null is not None)
        return replace(bare, target=bare.project(target))

    def unreached(self, y: Array) -> Array:
        """The part of u∘y that neither features nor intercept reach (M)."""
        target = self.centre(self.u * y)
        if self.Q is not None:
            return np.asarray(target - self.Q @ (self.Q.T @ target))
        return np.zeros_like(target) if self.null is None else self.null @ (self.null.T @ target)

    def outside(self) -> Array:
        """The squared length of each sample's unit vector in what is not reached (M)."""
        if self.Q is not None:
            free = np.sum(self.N**2, axis=1) if self.intercept == "free" else 0.0
            return np.asarray(1.0 - free - np.einsum("ij,ij->i", self.Q, self.Q))
        return np.zeros_like(self.u) if self.null is None else np.sum(self.null**2, axis=1)

    def residual(self, point: Point, y: Array) -> Array:
        """e (M), the weighted residual u∘(y − Zα − m), Newton's last step d included."""
        e = point.e + point.step
        return self.unreached(y) + (e if self.Q is None else self.Q @ e)

    def diagonal(self, point: Point) -> Array:
        """diag B_c (M): 1 less the leverage of each sample."""
        if self.Q is None:
            return np.diag(point.B) + self.outside()
        return np.asarray(np.einsum("ij,ij->i", self.Q, self.Q @ point.B) + self.outside())

    def residual_norm(self, point: Point) -> float:
        """‖B_c‖² + Σw − M: tr((I − H)ᵀ(I − H)) for the linearised fit, weights as repetitions.

        Outside what features and intercept reach, B_c is the identity.
        """
        M = len(self.u)
        if self.Q is not None:
            rest = M - self.Q.shape[1] - self.n_free
        else:
            rest = 0 if self.null is None else self.null.shape[1]
        return float(squared_norm(point.B) + rest + self.u @ self.u - M)

    def dof(self, point: Point) -> float:
        """tr(I − B_c), the intercept included."""
        return float(len(self.u) - self.diagonal(point).sum())


def squared_norm(B: Array) -> float:
    """The sum of all squares, in the order of the memory."""
    flat = B.ravel(order="K")
    return float(flat @ flat)


def reached(A: Array) -> Array:
    """An orthonormal basis of the columns of A (M×p), those below rounding left out."""
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U[:, s > s.max(initial=0.0) * max(A.shape) * np.finfo(float).eps])


def space(
    Z: Array, u: Array, intercept: Intercept = Intercept.FREE, U: Array | None = None
) -> Space:
    """The space for a Z in memory (M×D): the samples if D ≥ M, else the directions of Z.

    Q R is the thin QR of diag(u) Z, centred for a free intercept, with the column u appended for
    a column of ones, without directions below rounding (duplicated columns). U: columns (M×q) that
    are never penalised.
    """
    if Z.shape[1] >= Z.shape[0]:
        return Space(DenseProducts(Z), u, intercept, U=U)
    A = u[:, None] * Z
    if U is not None:
        bare = Space(DenseProducts(Z[:, :0]), u, intercept, U=U)
        # twice, for what rounding leaves of a large part in U
        A = bare.centre(bare.centre(A))
    elif intercept == "free":
        A -= np.outer(u, u @ A / (u @ u))
    A = np.column_stack([A, u]) if intercept == "column" else A
    Q, R = np.linalg.qr(A)
    left, R, _ = unit_directions(R, len(A))
    return Space(DenseProducts(R), u, intercept, None, Q @ left, Z, U)


def unit_directions(R: Array, n_rows: int) -> tuple[Array, Array, Array]:
    """``(L, S, G)`` with R = L S and L = R G, L orthonormal: the directions of the columns of R
    (T×D), each in its own unit, those below rounding left out.

    So every column of S keeps its own digits, whatever the scales of the others: penalty factors
    spread them over many orders.
    """
    size = np.linalg.norm(R, axis=0)
    size[size == 0.0] = 1.0
    left, s, Vt = np.linalg.svd(R / size, full_matrices=False)
    keep = s > s.max(initial=0.0) * max(n_rows, R.shape[1]) * np.finfo(float).eps
    left, s, Vt = left[:, keep], s[keep], Vt[keep]
    return left, s[:, None] * Vt * size, (Vt.T / s) / size[:, None]


def split(s: Space) -> Space:
    """A wide space that knows the directions of the samples which no feature reaches.

    Z-scores without an intercept miss u, duplicated rows miss their difference. Where e has a
    large part there, v = Zᵀe drowns in its rounding. One pass brings K = ZZᵀ; only if K is
    singular to rounding an eigendecomposition proposes directions n, and ‖Zᵀn‖ decides, which
    resolves singular values of Z that K, their square, does not.
    """
    if s.Q is not None or s.null is not None:
        return s
    M, none = len(s.u), replace(s, null=np.empty((len(s.u), 0)))
    p = none.problem(2.0, 0.5, s.u)
    trial = Trial(2.0, p.lam, s.u * 0.0, gram=True)
    point = evaluate(p, s.u * 0.0, s.products.step([trial])[0], None)
    K = point.A + np.trace(point.A) / M * (p.null @ p.null.T)
    on = s.u > 0
    low, info = lapack.dpotrf(K[np.ix_(on, on)], lower=1)
    if not info and lapack.dpocon(low, np.abs(K).sum(0).max(), uplo="L")[0] > 1e-11:
        return none
    size, U = np.linalg.eigh(K[np.ix_(on, on)])
    N = np.zeros((M, int((size < 1e-10 * size[-1]).sum())))
    N[on] = U[:, : N.shape[1]]
    V = s.products.transposed(s.u[:, None] * N)
    if p.column:
        V = np.vstack([V, s.u @ N])
    left, turn = np.linalg.svd(V, full_matrices=False)[1:]
    return replace(s, null=N @ turn[left < 1e-13 * np.sqrt(size[-1]) * np.sqrt(M)].T)


@dataclass(frozen=True)
class Fit:
    """The minimiser: alpha (D), intercept m, e (M) = u∘(y − Zα − m), residual y − Zα − m (M),
    and what is known about it. `gap` is relative; `rcond` is that of the last Newton matrix.
    `gamma` (q): the coefficients of what is never penalised, whose part U gamma m stands for here.
    """

    k: float
    c: float
    alpha: Array
    m: float
    e: Array
    residual: Array
    gap: float
    rcond: float
    n_iter: int
    freedom: Callable[[], float]
    gamma: Array = field(default_factory=lambda: np.zeros(0))

    def times(self, unit: float) -> Fit:
        """The fit of y from that of y/unit; c stays that of y/unit."""
        new = {
            name: unit * getattr(self, name) for name in ("alpha", "m", "e", "residual", "gamma")
        }
        return replace(self, **new)

    @cached_property
    def dof(self) -> float:
        """Degrees of freedom; they take an inverse, so they are computed for those who ask."""
        return self.freedom()


def finish(s: Space, point: Point, y: Array) -> Fit:
    """Read the coefficients off a solved point: α = φ(v)."""
    p, u = point.problem, s.u
    alpha, m = s.products.coef(Trial(p.k, p.lam, p.u * point.e), point.v), 0.0
    if s.intercept == "column":
        if s.Q is None:
            m = float(phi(np.array([u @ point.e]), p.k, p.lam)[0][0])
        else:
            alpha, m = alpha[:-1], float(alpha[-1])
    predicted = point.fitted if s.Q is None else s.tall[1] @ alpha + m
    gamma = np.zeros(0)
    if s.intercept == "free":
        level, gamma = s.free_part(y - predicted)
        m = float(level)
        predicted = predicted + m + (0.0 if s.U is None else s.U @ gamma)
    e, on = s.residual(point, y), u > 0
    residual = np.where(on, e / np.where(on, u, 1.0), y - predicted)
    return Fit(
        p.k, p.c, alpha, m, e, residual, point.gap, point.rcond, point.n_iter,
        freedom=partial(s.dof, point), gamma=gamma,
    )  # fmt: skip


Item = TypeVar("Item")


def batches(items: Sequence[Item], each: int) -> list[Sequence[Item]]:
    """As many at a time as take `BATCH` bytes of so many each, at least one."""
    size = max(1, int(BATCH // each))
    return [items[at : at + size] for at in range(0, len(items), size)]


def solve_all(
    s: Space, k: float, cs: Sequence[float], Y: Array, E: Array | None = None,
    tol: Tolerance = REPORTED,
) -> tuple[Space, list[Point]]:  # fmt: skip
    """All targets Y (M×t), at a c each, from a cold start, or from the e of neighbours in c or k
    (E, one column each); and the space in which they were solved, which is split if that was
    necessary. One pass a step serves as many as fit in `BATCH` bytes of Newton matrices."""
    points: list[Point] = []
    for some in batches(range(Y.shape[1]), 24 * s.side**2):
        problems = [s.problem(k, cs[i], Y[:, i]) for i in some]
        first = start(s.products, problems, None if E is None else [E[:, i] for i in some])
        points += newton(s.products, first, tol)
    if s.null is None and s.Q is None and any(q.cancels for q in points):
        return solve_all(split(s), k, cs, Y, np.column_stack([q.e for q in points]), tol)
    return s, points


def solve(
    s: Space, k: float, c: float, y: Array, e: Array | None = None, tol: Tolerance = REPORTED
) -> tuple[Space, Point]:
    """One problem, as `solve_all` solves several."""
    s, (point,) = solve_all(s, k, [c], y[:, None], None if e is None else e[:, None], tol)
    return s, point


def derivative(s: Space, point: Point, some: slice = slice(None)) -> Array:
    """dα/dy = diag(φ'(v)) Zᵀ diag(u) B_c diag(u) (D×M, or its columns for some samples): first
    order, exact at k = 2."""
    p = point.problem
    rows = point.B[:, some] if s.Q is None else point.B @ s.Q[some].T
    out = s.products.transposed(p.u[:, None] * rows * s.u[some])
    v = s.products.transposed((p.u * point.e)[:, None])[:, 0]
    out *= phi(v, p.k, p.lam)[1][:, None]
    return out[:-1] if s.Q is not None and s.intercept == "column" else out


@dataclass(frozen=True)
class PathPoint:
    """One candidate of a path: the approximate leave-one-out residuals (M), or what else was asked
    for in their place, e to start from again, and whether the candidate may win a search."""

    k: float
    c: float
    target: int
    loo: Array
    e: Array
    dof: float
    gap: float
    rcond: float
    n_iter: int
    usable: bool


def approximate_loo(s: Space, point: Point, y: Array) -> Array:
    """e_i/(u_i (B_c)_ii) (M): one Newton step of every left-out problem; exact at k = 2.

    A sample of weight zero has the residual of the full model.
    """
    e, b, on = s.residual(point, y), s.diagonal(point), s.u > 0
    out = np.divide(e, s.u * b, out=np.zeros_like(e), where=on & (b > 0))
    return out if on.all() else np.where(on, out, finish(s, point, y).residual)


def has_loo(s: Space, point: Point, y: Array, rule: PathRule) -> bool:
    """Whether e_i/(B_c)_ii are more than noise: the fit does not interpolate."""
    whole = np.linalg.norm(s.centre(s.u * y))
    left = np.linalg.norm(s.residual(point, y))
    least = s.diagonal(point)[s.u > 0].min()
    return bool(least >= rule.least_diagonal and left >= rule.least_residual * whole)


# What is kept of a solved point of a target: by default its approximate leave-one-out residuals.
HeldOut = Callable[[Space, Point, Array, int], Array]


def path_point(
    s: Space, point: Point, y: Array, target: int, rule: PathRule, held_out: HeldOut | None = None
) -> PathPoint:
    """Score a solved point, and mark it unusable where e_i/(B_c)_ii would be noise."""
    p, usable = point.problem, has_loo(s, point, y, rule)
    loo = approximate_loo(s, point, y) if held_out is None else held_out(s, point, y, target)
    return PathPoint(
        p.k, p.c, target, loo, point.e, s.dof(point), point.gap, point.rcond, point.n_iter,
        bool(usable),
    )  # fmt: skip


def room(s: Space, point: Point) -> float:
    """The degrees of freedom at saturation, the intercept not counted: the directions of samples
    that features reach. Copies of a sample reach one, as one sample of their weight does."""
    null = 0 if s.null is None else s.null.shape[1]
    return float(min((s.u > 0).sum() - s.n_free - null, len(point.e)))


def first_c(point: Point, dof: float) -> float:
    """The c at which tr A = 2·dof for e = s·y: one to two times these degrees of freedom."""
    low, high = -700.0, 700.0
    here, size = np.log(point.problem.c), point.trace_A
    if not size > 0.0:
        return point.problem.c
    for _ in range(60):
        mid = 0.5 * (low + high)
        s, tau = stretch(point, np.exp(np.clip(here + mid, -690.0, 690.0)))
        grown = np.log(size) + point.problem.r * tau - s
        low, high = (mid, high) if grown < np.log(2.0 * dof) else (low, mid)
    return float(np.exp(np.clip(here + low, -690.0, 690.0)))


def next_ratio(s: Space, points: Sequence[Point], rule: PathRule) -> float:
    """c_next/c for even steps of logit(dof/room), `rule.n` from first to last, within [1.3, 4].

    If A grows by a factor g alone, d dof/d log g = tr(B − B²); g(c) follows from `stretch`.
    """
    total = room(s, points[0])
    share = [(s.dof(q) - s.n_free) / total for q in points]
    x = float(np.clip(np.mean(share), 1e-6, 1.0 - 1e-6))
    ends = np.clip([rule.first_dof / total, rule.most_dof], 1e-6, 1.0 - 1e-6)
    step = np.diff(np.log(ends / (1.0 - ends)))[0] / max(1, rule.n - 1)
    gain = 0.0
    for q in points:
        a, tau = stretch(q, q.problem.c * 1.01)
        B = q.B
        gain += (np.trace(B) - squared_norm(B)) * (q.problem.r * tau - a) / np.log(1.01)
    gain /= len(points) * total * x * (1.0 - x)
    ratio = np.clip(step / max(gain, 1e-9), np.log(1.3), np.log(4.0))
    # on a lattice, so that what Newton's method leaves of a solution does not move the path
    return float(np.exp(rule.step * np.round(ratio / rule.step)))


@dataclass(frozen=True)
class Path:
    """One path along c: a power, the targets (columns of Y) that walk it together, and its c where
    they are given. Targets in different units have paths of their own."""

    k: float
    targets: tuple[int, ...]
    cs: Sequence[float] | None = None

    def following(self, s: Space, group: Sequence[Point], at: int, rule: PathRule) -> float:
        """The c after the one that `group` was solved at."""
        if self.cs is not None:
            return self.cs[at + 1]
        return group[0].problem.c * next_ratio(s, group, rule)


def paths(
    s: Space, asked: Sequence[Path], Y: Array, rule: PathRule, tol: Tolerance,
    held_out: HeldOut | None = None, enough: Callable[[Sequence[PathPoint]], bool] | None = None,
) -> list[list[PathPoint]]:  # fmt: skip
    """All paths along their c, upwards, in step: one pass serves them all. Y: M×q.

    Without given c a path begins near no degrees of freedom and ends at saturation, as the
    rule says; c scales as y^(k−2) does, so the path follows the units of y. Such a path ends
    before where its candidates so far are `enough`.
    """
    s, share = split(s), share_of(s.products)
    begin = [1.0 if path.cs is None else path.cs[0] for path in asked]
    both = zip(asked, begin, strict=True)
    problems = [s.problem(path.k, c, Y[:, t]) for path, c in both for t in path.targets]
    first = iter(start(s.products, problems, anywhere=all(path.cs is None for path in asked)))
    live = {i: [*islice(first, len(path.targets))] for i, path in enumerate(asked)}
    c = {
        i: min(first_c(p, rule.first_dof) for p in live[i]) if asked[i].cs is None else begin[i]
        for i in live
    }
    path_points: list[list[PathPoint]] = [[] for _ in asked]

    def scored_point(solved: tuple[Point, int]) -> PathPoint:
        point, t = solved
        return path_point(s, point, Y[:, t], t, rule, held_out)

    at = 0
    while live:
        solved = newton(s.products, [rescale(p, c[i]) for i in live for p in live[i]], tol)
        targets = [t for i in live for t in asked[i].targets]
        scored = iter(share(scored_point, [*zip(solved, targets, strict=True)]))
        rest = iter(solved)
        live = {i: [*islice(rest, len(live[i]))] for i in live}
        for i, group in list(live.items()):
            found, path = [*islice(scored, len(group))], asked[i]
            path_points[i] += found
            last = at + 1 >= (rule.n if path.cs is None else len(path.cs))
            if path.cs is None and not last:
                last = arrived(s, group, found, rule) or (
                    enough is not None and enough(path_points[i])
                )
            if last:
                del live[i]
            else:
                c[i] = path.following(s, group, at, rule)
        at += 1
    return path_points


def arrived(
    s: Space, points: Sequence[Point], path_points: Sequence[PathPoint], rule: PathRule
) -> bool:
    """Whether an automatic path is at its end: every target saturated or no longer usable."""
    most = rule.most_dof * room(s, points[0]) + s.n_free
    return all(x.dof > most or not x.usable for x in path_points)
