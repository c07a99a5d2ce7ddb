"""The exact minimiser of the paper's objective, on arrays.

    minimise over α (D), m:   Σ_j |α_j|^k + 2c Σ_i w_i (y_i − (Zα)_i − m)²,      1 < k ≤ 2

With λ = 1/(4c), u = √w and r = 1/(k−1) this is ½‖e‖² + λ Σ|α_j|^k, and its dual has one unknown
a sample, the weighted residual e (M). Newton's method on the dual never sees Z: a design answers
`step` (see `Passes`), one pass over the data for any number of problems (powers, strengths,
targets, folds). A fold is a problem whose weights are zero on the rows left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.linalg import lapack

from skstretch.core.bridge_products import (
    MinimiserProducts,
    Trial,
    TrialResult,
    phi,
    sandwich,
    share_of,
)
from skstretch.core.types import PRECISION, Array

# What a point keeps of the one before it as long as its Newton matrix is the same.
KEPT = ("L", "extra", "rcond", "B", "parts")


@dataclass(frozen=True)
class Problem:
    """One minimisation: power k, strength c, root weights u (M), target (M) and null (M×p).

    null is an orthonormal basis of directions that no feature reaches: u/‖u‖ for a free intercept,
    and what else `split` has found (then `whole` says that it is all there is). target is u∘y
    without its part in null; e, f and A live outside null too. `column`: the paper's column of
    ones, one more penalised feature.
    """

    k: float
    c: float
    target: Array
    u: Array
    null: Array
    column: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not 1.0 < self.k <= 2.0:
            raise ValueError(
                f"k = {self.k}: the exact minimiser needs 1 < k ≤ 2; take k in (1, 2]."
            )
        if not 0.0 < self.c < np.inf:
            raise ValueError(f"c = {self.c}: the strength must be positive and finite.")

    @cached_property
    def r(self) -> float:
        """The exponent of φ."""
        return 1.0 / (self.k - 1.0)

    @cached_property
    def lam(self) -> float:
        """λ = 1/(4c), the factor of the penalty when the loss is ½‖e‖²."""
        return 0.25 / self.c

    def project(self, x: Array) -> Array:
        """x − N Nᵀx for N = null; x is (M) or (M×n)."""
        return x - self.null @ (self.null.T @ x) if self.null.shape[1] else x

    def spread(self, e: Array) -> Array:
        """R e, of which Zᵀ is taken: u∘e, unless another root of the weights stands there."""
        return self.u * e

    def gather(self, fitted: Array) -> Array:
        """Rᵀ Zα from Zα, outside null."""
        return self.project(self.u * fitted)

    def squeeze(self, S: Array) -> Array:
        """Rᵀ S R (M×M) for S = Z W Zᵀ, outside null; of several S (C×M×M) as it is."""
        if S.ndim == 3:
            u = self.u.reshape(len(S), -1)
            return S * u[:, :, None] * u[:, None, :]
        return sandwich(S if np.all(self.u == 1.0) else S * self.u * self.u[:, None], self.null)


@dataclass(frozen=True)
class Point:
    """A problem evaluated at e (M): v, fitted Zα (M, raw), f = its weighted, projected form (M),
    energy Σ|α|^k, A = H − I (M×M, or blocks C×M×M that `null` couples), Cholesky factor L of H,
    rcond, number of passes so far.
    `stale` is the change of the coefficients, relative and to first order, since A was formed,
    `pairs` the changes of e and F since then."""

    problem: Problem
    e: Array
    v: Array | None
    fitted: Array
    f: Array
    energy: float
    A: Array
    n_iter: int = 0
    stale: float = 0.0
    pairs: tuple[tuple[Array, Array], ...] = ()
    cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def F(self) -> Array:
        """F(e) = e + Zφ(Zᵀe) − y, the gradient of the dual objective (M)."""
        return self.e + self.f - self.problem.target

    @cached_property
    def dual(self) -> float:
        """D(e) = ½‖e‖² − yᵀe + λ(k−1) Σ (|v_j|/(λk))^(r+1)."""
        p = self.problem
        return float(0.5 * self.e @ self.e - p.target @ self.e) + p.lam * (p.k - 1) * self.energy

    @property
    def gap(self) -> float:
        """Primal − dual objective, relative to the primal one.

        With α = φ(v), Σ v_j α_j = λk·energy, and the difference is exactly ½‖F‖²: no cancellation.
        """
        F, p = self.F, self.problem
        rest = p.target - self.f
        primal = 0.5 * rest @ rest + p.lam * self.energy
        return float(0.5 * F @ F) / max(float(primal), float(np.finfo(float).tiny))

    @property
    def L(self) -> Array:
        """Lower Cholesky factor of H = I + A (M×M), formed once."""
        if "L" not in self.cache:
            L, extra = factor(self.A, 1.0)
            self.cache.update(L=L, extra=extra)
        return cast(Array, self.cache["L"])

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """Of blocks A, E = (I + A)⁻¹ (C×M×M), EN (C·M×p) and the inverse of a Cholesky factor of
        NᵀEN for N = null: H⁻¹ outside null is E − EN (NᵀEN)⁻¹ NᵀE."""
        if "parts" not in self.cache:
            N = self.problem.null
            E = np.stack([inverse(factor(block, 1.0)[0]) for block in self.A])
            EN = by_blocks(E, N)
            root = lapack.dtrtri(factor(N.T @ EN, 0.0)[0], lower=1)[0]
            self.cache["parts"] = E, EN, np.tril(root)
        return cast(tuple[Array, Array, Array], self.cache["parts"])

    @property
    def trace_A(self) -> float:
        """tr A, outside null."""
        if self.A.ndim == 2:
            return float(np.trace(self.A))
        N = self.problem.null
        return float(np.trace(self.A, axis1=1, axis2=2).sum() - np.sum(N * by_blocks(self.A, N)))

    @property
    def trace_B(self) -> float:
        """tr H⁻¹, outside null."""
        if self.A.ndim == 2:
            return float(np.trace(self.B))
        E, EN, root = self.parts
        return float(np.trace(E, axis1=1, axis2=2).sum() - np.sum((EN @ root.T) ** 2))

    @property
    def rcond(self) -> float:
        """Reciprocal condition number of H in the 1-norm, estimated when it is asked for."""
        if "rcond" not in self.cache:
            L, diagonal = self.L, np.diag(self.A)
            outside = np.abs(self.A).sum(0) - np.abs(diagonal)
            norm = float(np.max(outside + np.abs(diagonal + self.cache["extra"])))
            self.cache["rcond"] = lapack.dpocon(L, norm, uplo="L")[0]
        return float(self.cache["rcond"])

    @property
    def B(self) -> Array:
        """H⁻¹ outside null (M×M): the map from target to e, linearised."""
        if "B" not in self.cache:
            self.cache["B"] = sandwich(inverse(self.L), self.problem.null)
        return cast(Array, self.cache["B"])

    @property
    def step(self) -> Array:
        """The Newton step d = −H⁻¹F(e) (M), with what `pairs` tell about the H of today.

        They correct H⁻¹ as BFGS does, to which it is the first guess (two-loop recursion): no
        product with Z, and a direction of descent, since D is convex.
        """
        if "d" not in self.cache:
            d, kept = -self.F, []
            for s, g in reversed(self.pairs):
                a = (s @ d) / (s @ g)
                kept.append(a)
                d = d - a * g
            d = self.solve(d)
            for (s, g), a in zip(self.pairs, reversed(kept), strict=True):
                d = d + (a - (g @ d) / (s @ g)) * s
            self.cache["d"] = d
        return cast(Array, self.cache["d"])

    @property
    def size(self) -> float:
        """r times the relative error of e or of v, whichever is larger, to first order: what the
        step changes of the coefficients. v counts as Σ w_j (z_jᵀd)² / Σ w_j v_j², w = φ'(v)."""
        e, p = np.linalg.norm(self.e), self.problem
        if e == 0.0:
            return 0.0
        whole = p.r * p.lam * p.k * self.energy
        moved = float(self.step @ by_blocks(self.A, self.step))
        v = np.sqrt(max(moved, 0.0) / whole) if whole > 0.0 else 0.0
        return float(p.r * max(np.linalg.norm(self.step) / e, v))

    @property
    def cancels(self) -> bool:
        """Whether v = Zᵀe has lost digits that φ needs: e is nearly orthogonal to all features."""
        p = self.problem
        largest = p.lam * p.k * self.energy ** (1.0 / (p.r + 1.0))
        return bool(0.0 < largest < 1e-4 * p.r * np.linalg.norm(self.e) * np.linalg.norm(p.u))

    def exact(self, tol: Tolerance) -> bool:
        """Whether A belongs to this e as closely as asked."""
        return self.problem.k == 2.0 or self.stale <= tol.stale

    @property
    def scale(self) -> float:
        """The size of the terms of D, against which its rounding is to be judged."""
        p = self.problem
        return float(self.e @ self.e + abs(p.target @ self.e)) + p.lam * self.energy

    def solve(self, x: Array) -> Array:
        """H⁻¹ x outside null (M or M×n)."""
        if self.A.ndim == 2:
            return self.problem.project(lapack.dpotrs(self.L, x, lower=1)[0])
        E, EN, root = self.parts
        return self.problem.project(by_blocks(E, x) - EN @ (root.T @ (root @ (EN.T @ x))))


def factor(A: Array, extra: float) -> tuple[Array, float]:
    """Lower Cholesky factor of A + εI (M×M), and ε: the `extra` that is asked for.

    If rounding has made that indefinite ε grows until it is not: any positive definite matrix gives
    a direction of descent, and the equations do not depend on it.
    """
    info = 1
    while info:
        H: Array = np.array(A, order="F")
        H[np.diag_indices_from(H)] += extra
        L, info = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
        if info:
            extra = max(10.0 * extra, 1e-14 * np.abs(A).sum(0).max())
    return L, extra


def inverse(L: Array) -> Array:
    """(LLᵀ)⁻¹ (M×M)."""
    low = lapack.dpotri(L, lower=1)[0]
    return np.asarray(np.tril(low) + np.tril(low, -1).T)


def by_blocks(S: Array, x: Array) -> Array:
    """S x for S (M×M), or for the blocks of a diagonal (C×M×M); x is (C·M) or (C·M×n)."""
    if S.ndim == 2:
        return S @ x
    return np.asarray((S @ x.reshape(len(S), S.shape[1], -1)).reshape(x.shape))


def evaluate(problem: Problem, e: Array, result: TrialResult, old: Point | None) -> Point:
    """Weights, intercept and the column of ones around what the pass brought back.

    f = u∘Zα and A = diag(u) Z W Zᵀ diag(u), outside null. The column of ones is one more feature,
    with v_0 = uᵀe.
    """
    p, fitted, energy, S = problem, result.fitted, result.energy, result.gram
    if p.column:
        a0, w0, q0 = (x[0] for x in phi(np.array([p.u @ e]), p.k, p.lam))
        fitted, energy = fitted + a0, energy + q0
        S = None if S is None else S + w0
    done = (old.n_iter if old else 0) + 1
    f = p.gather(fitted)
    if S is not None:
        return Point(p, e, result.v, fitted, f, energy, p.squeeze(S), done)
    assert old is not None, "a first pass brings its Gram matrix"
    keep: dict[str, Any] = {x: old.cache[x] for x in KEPT if x in old.cache}
    stale = old.stale + p.r * float(np.linalg.norm(e - old.e) / np.linalg.norm(e))
    change = e - old.e, e + f - old.e - old.f
    # Rounding can spoil the last pairs: those of no curvature are left out.
    curved = change[0] @ change[1] >= 0.5 * change[0] @ change[0] > 0.0
    pairs = (*old.pairs, change)[-8:] if curved else old.pairs
    return Point(p, e, result.v, fitted, f, energy, old.A, done, stale, pairs, keep)


def stretch(point: Point, c: float) -> tuple[float, float]:
    """log s and log(sλ/λ') for the s that minimises D(s e) at another c.

    s‖e‖² + s^r λ'k energy (λ/λ')^(r+1) = yᵀe, solved for log s by Newton (convex, increasing).
    """
    p = replace(point.problem, c=c)
    ratio, r = np.log(point.problem.lam / p.lam), p.r
    ee, ye = point.e @ point.e, p.target @ point.e
    if ee == 0.0 or ye <= 0.0:
        return 0.0, ratio
    top, one = np.log(ye), np.log(ee)
    s = top - one
    if point.energy > 0.0:
        many = np.log(p.lam * p.k * point.energy) + (r + 1.0) * ratio
        s = min(s, (top - many) / r)
        for _ in range(50):
            both = np.logaddexp(one + s, many + r * s)
            share = np.exp(one + s - both)
            move = (both - top) / (share + r * (1.0 - share))
            s -= move
            if abs(move) < 1e-14:
                break
    return float(s), float(s + ratio)


def rescale(point: Point, c: float) -> Point:
    """The neighbour's e as a start for another c: s·e with the s that minimises D(s e).

    v, Zα, the energy and A are homogeneous in e, so the start costs no pass. With τ = sλ/λ':
    α' = τ^r α, energy' = τ^(r+1) energy, A' = τ^(r−1) (λ/λ') A.
    """
    s, tau = stretch(point, c)
    if point.energy == 0.0:
        tau = 0.0  # what would grow is zero
    r, grow, scale = point.problem.r, np.exp(point.problem.r * tau), np.exp(s)
    return replace(
        point, problem=replace(point.problem, c=c), e=point.e * scale, f=point.f * grow,
        v=None if point.v is None else point.v * scale, fitted=point.fitted * grow,
        energy=point.energy * np.exp((r + 1) * tau), A=point.A * np.exp(r * tau - s),
        n_iter=0, stale=point.stale + abs(r * tau), pairs=(), cache={},
    )  # fmt: skip


def start(
    products: MinimiserProducts,
    problems: Sequence[Problem],
    E: Sequence[Array] | None = None,
    anywhere: bool = False,
) -> list[Point]:
    """Points to start from: s·E (by default s·y) for the best s, in one pass.

    The pass is made at λk = ‖e‖‖u‖, which is above every |v_j| of z-scores, and `rescale` goes to
    the wanted λ; `anywhere`: it stays there, since at a c that has not the units of y powers may
    vanish. Columns of other lengths may overflow or vanish there, and powers of an e that is nearly
    orthogonal to all of them: the pass is repeated.
    """
    es = [p.target if E is None else p.project(E[i]) for i, p in enumerate(problems)]
    tops = [
        float(np.linalg.norm(e) * np.linalg.norm(p.u)) for p, e in zip(problems, es, strict=True)
    ]
    points: dict[int, Point] = {}
    todo = list(range(len(es)))
    for _ in range(20):
        safe = {i: at_unit(problems[i], tops[i]) for i in todo}
        # below this ceiling the matrix does not overflow either
        trials = [Trial(p.k, p.lam, p.spread(es[i]), True, 1e100) for i, p in safe.items()]
        found = dict(zip(todo, products.step(trials), strict=True))
        for i, result in found.items():
            if np.isfinite(result.energy):
                points[i] = evaluate(safe[i], es[i], result, None)
        # far below 1 terms of the energy are negligible that matter in another unit
        lost = {i for i in todo if i not in points or points[i].energy < 1e-100}
        todo = [i for i in todo if i in lost and es[i].any()]
        for i in todo:
            tops[i] = other_unit(problems[i], es[i], found[i], tops[i])
        todo = [i for i in todo if tops[i] > 0.0]
        if not todo:
            break
    wanted = [(points[i].problem if anywhere else p).c for i, p in enumerate(problems)]
    return [replace(rescale(points[i], c), n_iter=1) for i, c in enumerate(wanted)]


def at_unit(problem: Problem, top: float) -> Problem:
    """The problem at λk = top, where |v_j| = top gives a power of one; as it is if top is zero."""
    return replace(problem, c=0.25 * problem.k / top) if 0.0 < top < np.inf else problem


def other_unit(problem: Problem, e: Array, result: TrialResult, top: float) -> float:
    """A unit for v in place of one at which all powers vanish or some overflow: the largest |v_j|
    where v is known. Else powers up to x^51 (k ≥ 1.02) hold x from 1e-3 to 1e6: steps shorter than
    that do not jump over what is looked for."""
    if result.v is not None:
        ones = abs(float(problem.u @ e)) if problem.column else 0.0
        return max(ones, float(np.abs(result.v).max(initial=0.0)))
    return top * (1e4 if np.isinf(result.energy) else 0.1)


@dataclass(frozen=True)
class Tolerance:
    """When to stop: relative gap, Newton step relative to ‖e‖ times r (never to ‖y‖: where the fit
    nearly interpolates e is far smaller, and it is what matters), `stale` (how far A may be from
    e, times r), at most `passes` evaluations."""

    gap: float
    step: float
    stale: float
    products: int = 200


REPORTED = Tolerance(gap=PRECISION, step=PRECISION / 10.0, stale=100.0 * PRECISION)
# for coefficients alone: no Newton matrix is formed at the end
COEFFICIENTS = replace(REPORTED, stale=np.inf)


# a step below this converges quadratically, if the Newton matrix is good enough
NEAR = 0.05
# a step that is smaller than this beside e is rounding; so is one below the second whose gain D
# cannot tell
ROUNDED, HARDLY = 1e-12, 1e-6


@dataclass
class _State:
    """The driver's notes on one problem: where it is, where it looks, how it fares."""

    point: Point
    t: float = 1.0
    size: float = np.inf
    wrong: float = np.inf
    rate: float = np.inf
    slow: bool = False
    fresh: bool = True
    close: bool = False
    done: bool = False
    aim: Array = field(default_factory=lambda: np.empty(0))

    def trial(self, tol: Tolerance) -> Trial:
        """Ask for e + t d, and for a new Newton matrix unless the old one will do."""
        q, p = self.point, self.point.problem
        self.aim, self.fresh = q.e + self.t * q.step, p.k == 2.0 or not q.pairs
        # The matrix of the end, asked for where the step before the last is as good as there.
        soon = tol.stale < 1e-6 and self.size * self.rate <= tol.stale
        if self.close or soon:
            want = self.slow or not q.exact(tol)
        else:
            want = self.slow or self.t < 1.0 or q.stale + self.size >= 0.02
        want = bool(want) and p.k < 2.0
        slack = q.dual + 1e-9 * q.scale - float(0.5 * self.aim @ self.aim - p.target @ self.aim)
        ceiling = max(slack, 0.0) / (p.lam * (p.k - 1.0))
        if self.size > NEAR or q.v is None:
            return Trial(p.k, p.lam, p.spread(self.aim), want, ceiling)
        # Near the end v moves by Zᵀ(u∘td): of e as a whole, nearly orthogonal to features of hardly
        # any penalty, Zᵀ(u∘e) would round away the digits that tell their coefficients.
        return Trial(p.k, p.lam, p.spread(self.t * q.step), want, ceiling, base=q.v)


def newton(
    products: MinimiserProducts, points: Sequence[Point], tol: Tolerance = REPORTED
) -> list[Point]:
    """Minimise D for all problems together: e ← e − t H⁻¹F(e), one pass a step for all of them.

    The pass evaluates e + d whole. If D has fallen enough, that was the next step's pass; if not,
    t follows from the two v (D) alone and the next pass evaluates e + t d.
    """
    share = share_of(products)

    def started_state(q: Point) -> _State:
        s = _State(q)
        settle(s, tol)
        return s

    def moved(found: tuple[_State, TrialResult]) -> None:
        advance(*found)
        settle(found[0], tol)

    states = share(started_state, points)
    while active := [s for s in states if not s.done]:
        trials = [s.trial(tol) for s in active]
        share(moved, list(zip(active, products.step(trials), strict=True)))
    return [s.point for s in states]


def advance(s: _State, result: TrialResult) -> None:
    """Accept the pass's point, or shorten the step.

    Near the end the decrease of D drowns in rounding, and its slope decides: D'(t) ≤ ½|D'(0)|
    (the approximate Wolfe condition of Hager and Zhang). A step that is rounding itself has no
    slope to speak of, and is taken: refused, it would be tried again and again.
    """
    q, d = s.point, s.point.step
    if np.isfinite(result.energy):
        new = evaluate(q.problem, s.aim, result, q)
        down, slope = q.F @ d, new.F @ d
        fell = new.dual <= q.dual + 1e-4 * s.t * down
        untold = s.size < HARDLY and abs(down) <= np.finfo(np.float64).eps * q.scale
        level = slope <= 0.5 * abs(down) or s.size < ROUNDED or untold
        if fell or (level and new.dual <= q.dual + 1e-9 * q.scale):
            s.point, s.t = new, 1.0
            return
    s.point = replace(q, n_iter=q.n_iter + 1)
    if result.v is None or q.v is None:
        s.t *= 0.25
    else:
        s.t = shorten(line(q, (result.v - q.v) / s.t), s.t)


def settle(s: _State, tol: Tolerance) -> None:
    """Decide whether the problem is solved, and how good the next Newton matrix must be.

    When the step is small enough one more pass takes it, and brings the A that belongs there.
    """
    q, last, before = s.point, s.size, s.wrong
    s.size, s.wrong = q.size, float(q.F @ q.F)
    s.rate = s.size / last if s.t == 1.0 and last < NEAR else np.inf
    # Within reach of quadratic convergence a step that gains less than a digit means that the
    # Newton matrix is too old, or that rounding has been reached.
    s.slow = s.t == 1.0 and last < 0.3 and s.size > 0.1 * last
    # Features of hardly any penalty have no part in the size of a step, but F sees them.
    stuck = s.size > 0.5 * last and s.wrong > 0.5 * before
    floor = s.slow and s.fresh and last < HARDLY and stuck
    s.close = s.size <= tol.step or floor
    # a step (nan: of an overflow) that is nothing beside e ends it too
    s.done = q.n_iter >= tol.products or not s.t * s.size >= 1e-15
    s.done |= q.cancels and not q.problem.whole
    # At rounding the gap is what it is: it is reported, and the caller warns.
    s.done |= s.close and q.exact(tol) and (q.gap <= tol.gap or floor)


def line(old: Point, dv: Array) -> Callable[[float], tuple[float, float]]:
    """t ↦ slope and curvature of D(e + t d), from v = Zᵀ(u∘e) and dv = Zᵀ(u∘d): no pass."""
    p, d = old.problem, old.step
    ed, dd, yd = old.e @ d, d @ d, p.target @ d
    assert old.v is not None
    v0 = old.v
    if p.column:
        dv, v0 = np.append(dv, p.u @ d), np.append(v0, p.u @ old.e)

    def at(t: float) -> tuple[float, float]:
        a, w, _ = phi(v0 + t * dv, p.k, p.lam)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(ed + t * dd - yd + a @ dv), float(dd + (w * dv) @ dv)

    return at


def shorten(at: Callable[[float], tuple[float, float]], t: float) -> float:
    """The minimiser in (0, t) of a convex function whose slope at t is positive (or inf), to a
    tenth of the slope at 0: Newton on the slope, and a cut of the bracket where Newton crawls, as
    it does on the steep side of a high power."""
    low, high, goal = 0.0, t, 0.1 * abs(at(0.0)[0])
    x = 0.5 * t
    for _ in range(60):
        g, h = at(x)
        if abs(g) <= goal:
            break
        if g < 0.0:
            low = x
        else:
            high = x
        cut = np.sqrt(max(low, 1e-2 * high) * high)
        x = x - g / h if np.isfinite(g) and 0.0 < h < np.inf else cut
        if not low < x < high or (g > 0.0 and x > cut):
            x = cut
    return x
