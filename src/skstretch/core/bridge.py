"""The exact minimiser of the paper's objective, on arrays.

    minimise over α (D), m:   Σ_j |α_j|^k + 2c Σ_i w_i (y_i − (Zα)_i − m)²,      1 < k ≤ 2

With λ = 1/(4c), u = √w and r = 1/(k−1) this is ½‖e‖² + λ Σ|α_j|^k, and its dual has one unknown
a sample, the weighted residual e (M). Newton's method on the dual never sees Z: a design answers
`step` (see `Walks`), one walk over the data for any number of problems (powers, strengths,
targets, folds). A fold is a problem whose weights are zero on the rows left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from skstretch.core import cholesky
from skstretch.core.bridge_walks import Gram, Trial, Walk, Walks, phi, sandwich, share_of
from skstretch.core.types import Array

# What rounding in single precision may do to the least eigenvalue of a Newton matrix, relative.
COARSE_LIMIT = 0.1
# Farther out than this a matrix from a sample of the columns leads as far as the true one.
FAR = 0.3
# rounding of single precision, and what it may do to a Newton matrix that is factorised in it
SINGLE, ROUGH = float(np.finfo(np.float32).eps), 1e-3
# What a point keeps of the one before it as long as its Newton matrix is the same.
KEPT = ("L", "extra", "rcond", "B")


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

    @property
    def r(self) -> float:
        """The exponent of φ."""
        return 1.0 / (self.k - 1.0)

    @property
    def lam(self) -> float:
        """λ = 1/(4c), the factor of the penalty when the loss is ½‖e‖²."""
        return 0.25 / self.c

    def project(self, x: Array) -> Array:
        """x − N Nᵀx for N = null; x is (M) or (M×n)."""
        return x - self.null @ (self.null.T @ x) if self.null.shape[1] else x


@dataclass(frozen=True)
class Point:
    """A problem evaluated at e (M): v, fitted Zα (M, raw), f = its weighted, projected form (M),
    energy Σ|α|^k, A = H − I (M×M), Cholesky factor L of H, rcond, number of walks so far.
    `stale` is the change of the coefficients, relative and to first order, since A was formed,
    `how` its precision, `pairs` the changes of e and F since then."""

    problem: Problem
    e: Array
    v: Array | None
    fitted: Array
    f: Array
    energy: float
    A: Array
    n_iter: int = 0
    stale: float = 0.0
    how: Gram = "fine"
    pairs: tuple[tuple[Array, Array], ...] = ()
    cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def F(self) -> Array:
        """F(e) = e + Zφ(Zᵀe) − y, the gradient of the dual objective (M)."""
        return self.e + self.f - self.problem.target

    @property
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
    def single(self) -> bool:
        """Whether L has single precision, as A has: where rounding changes no eigenvalue of H, of
        which the least is 1 and the largest at most 1 + tr A, by more than `ROUGH`."""
        return bool(self.how != "fine" and SINGLE * np.trace(self.A) < ROUGH)

    @property
    def L(self) -> Array:
        """Lower Cholesky factor of H = I + A (M×M), formed once.

        If rounding has made H indefinite the diagonal grows until it is not: any positive definite
        matrix gives a direction of descent, and the equations do not depend on it.
        """
        if "L" not in self.cache:
            extra, info = 1.0, 1
            while info:
                H: Array = np.array(self.A, dtype="f4" if self.single else "f8", order="F")
                H[np.diag_indices_from(H)] += extra
                L, info = cholesky.factorise(H)
                if info:
                    extra = max(10.0 * extra, 1e-14 * np.abs(self.A).sum(0).max())
            self.cache.update(L=L, extra=extra)
        return cast(Array, self.cache["L"])

    @property
    def rcond(self) -> float:
        """Reciprocal condition number of H in the 1-norm, estimated when it is asked for."""
        if "rcond" not in self.cache:
            L, diagonal = self.L, np.diag(self.A)
            outside = np.abs(self.A).sum(0) - np.abs(diagonal)
            norm = float(np.max(outside + np.abs(diagonal + self.cache["extra"])))
            self.cache["rcond"] = cholesky.rcond(L, norm)
        return float(self.cache["rcond"])

    @property
    def B(self) -> Array:
        """H⁻¹ outside null (M×M): the map from target to e, linearised."""
        if "B" not in self.cache:
            self.cache["B"] = sandwich(cholesky.inverse(self.L), self.problem.null)
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
        moved = float(self.step @ (self.A @ self.step))
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
        linear = self.problem.k == 2.0
        good = self.how == "fine" or (tol.stale > 1e-6 and self.how == "coarse")
        return (linear or self.stale <= tol.stale) and good

    @property
    def scale(self) -> float:
        """The size of the terms of D, against which its rounding is to be judged."""
        p = self.problem
        return float(self.e @ self.e + abs(p.target @ self.e)) + p.lam * self.energy

    def solve(self, x: Array) -> Array:
        """H⁻¹ x outside null (M or M×n)."""
        if not self.single:
            return self.problem.project(cholesky.solve(self.L, x))
        # single precision has a narrow range, and x the units of y
        unit = float(np.abs(x).max(initial=0.0)) or 1.0
        solved = cholesky.solve(self.L, (x / unit).astype(np.float32))
        return self.problem.project(unit * solved.astype(np.float64))


def evaluate(problem: Problem, e: Array, walk: Walk, old: Point | None, how: Gram) -> Point:
    """Weights, intercept and the column of ones around what the walk brought back.

    f = u∘Zα and A = diag(u) Z W Zᵀ diag(u), outside null. The column of ones is one more feature,
    with v_0 = uᵀe.
    """
    p, fitted, energy, S = problem, walk.fitted, walk.energy, walk.gram
    if p.column:
        a0, w0, q0 = (x[0] for x in phi(np.array([p.u @ e]), p.k, p.lam))
        fitted, energy = fitted + a0, energy + q0
        S = None if S is None else S + w0
    done = (old.n_iter if old else 0) + 1
    f = p.project(p.u * fitted)
    if S is not None:
        A = sandwich(S if np.all(p.u == 1.0) else S * p.u * p.u[:, None], p.null)
        return Point(p, e, walk.v, fitted, f, energy, A, done, 0.0, how)
    assert old is not None, "a first walk brings its Gram matrix"
    keep: dict[str, Any] = {x: old.cache[x] for x in KEPT if x in old.cache}
    stale = old.stale + p.r * float(np.linalg.norm(e - old.e) / np.linalg.norm(e))
    change = e - old.e, e + f - old.e - old.f
    # Rounding can spoil the last pairs: those of no curvature are left out.
    curved = change[0] @ change[1] >= 0.5 * change[0] @ change[0] > 0.0
    pairs = (*old.pairs, change)[-8:] if curved else old.pairs
    return Point(p, e, walk.v, fitted, f, energy, old.A, done, stale, old.how, pairs, keep)


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

    v, Zα, the energy and A are homogeneous in e, so the start costs no walk. With τ = sλ/λ':
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
    walks: Walks,
    problems: Sequence[Problem],
    E: Sequence[Array] | None = None,
    anywhere: bool = False,
) -> list[Point]:
    """Points to start from: s·E (by default s·y) for the best s, in one walk.

    The walk is made at a λ where no power can overflow, and `rescale` goes to the wanted one;
    `anywhere`: it stays there, since at a c that has not the units of y powers may vanish.
    """
    es = [p.target if E is None else p.project(E[i]) for i, p in enumerate(problems)]
    safe = []
    for p, e in zip(problems, es, strict=True):
        top = float(np.linalg.norm(e) * np.linalg.norm(p.u)) / p.k
        safe.append(replace(p, c=0.25 / top if top > 0 else p.c))
    points: dict[int, Point] = {}
    todo = list(range(len(es)))
    for _ in range(8):
        far: Gram = "coarse" if anywhere else "rough"
        how: list[Gram] = ["fine" if safe[i].k == 2.0 else far for i in todo]
        trials = [
            Trial(safe[i].k, safe[i].lam, safe[i].u * es[i], h)
            for i, h in zip(todo, how, strict=True)
        ]
        for i, h, walk in zip(todo, how, walks.step(trials), strict=True):
            points[i] = evaluate(safe[i], es[i], walk, None, h)
        # Features that hardly correlate with y underflow at large r: come closer.
        todo = [i for i in todo if points[i].energy == 0.0 and es[i].any()]
        if not todo:
            break
        for i in todo:
            safe[i] = replace(safe[i], c=safe[i].c * 8.0)
    wanted = [(safe[i] if anywhere else p).c for i, p in enumerate(problems)]
    return [replace(rescale(points[i], c), n_iter=1) for i, c in enumerate(wanted)]


@dataclass(frozen=True)
class Tolerance:
    """When to stop: relative gap, Newton step relative to ‖e‖ times r (never to ‖y‖: where the fit
    nearly interpolates e is far smaller, and it is what matters), `stale` (how far A may be from
    e, times r), at most `walks` evaluations."""

    gap: float
    step: float
    stale: float
    walks: int = 200


REPORTED = Tolerance(gap=1e-10, step=1e-10, stale=1e-8)
SCORING = Tolerance(gap=1e-6, step=1e-2, stale=3e-2)


# a step below this converges quadratically, if the Newton matrix is good enough
NEAR = 0.05
# what is left of `stale` for the last step
SOON = 0.3
# a step that is smaller than this beside e is rounding
ROUNDED = 1e-12


@dataclass
class _State:
    """The driver's notes on one problem: where it is, where it looks, how it fares."""

    point: Point
    how: Gram
    t: float = 1.0
    size: float = np.inf
    rate: float = np.inf
    slow: bool = False
    close: bool = False
    done: bool = False
    rough: bool = False
    aim: Array = field(default_factory=lambda: np.empty(0))

    def trial(self, tol: Tolerance) -> Trial:
        """Ask for e + t d, and for a new Newton matrix unless the old one will do."""
        q, p = self.point, self.point.problem
        self.aim = q.e + self.t * q.step
        # The matrix of the end, asked for where the step before the last is as good as there.
        soon = tol.stale < 1e-6 and self.size * self.rate <= SOON * tol.stale
        if self.close or soon:
            want = "none" if q.exact(tol) else "fine" if tol.stale < 1e-6 else self.how
        else:
            near = q.stale + self.size < 0.02 and not self.slow and q.how != "rough"
            want = "none" if near or (p.k == 2.0 and q.how == "fine") else self.how
            want = "rough" if want == "coarse" and self.size > FAR else want
        slack = q.dual + 1e-9 * q.scale - float(0.5 * self.aim @ self.aim - p.target @ self.aim)
        return Trial(p.k, p.lam, p.u * self.aim, want, max(slack, 0.0) / (p.lam * (p.k - 1.0)))


def newton(walks: Walks, points: Sequence[Point], tol: Tolerance = REPORTED) -> list[Point]:
    """Minimise D for all problems together: e ← e − t H⁻¹F(e), one walk a step for all of them.

    The walk evaluates e + d whole. If D has fallen enough, that was the next step's walk; if not,
    t follows from the two v (D) alone and the next walk evaluates e + t d.
    """
    share = share_of(walks)

    def begun(q: Point) -> _State:
        s = _State(q, "coarse" if tame(q) else "fine")
        settle(s, tol)
        return s

    def moved(found: tuple[_State, Trial, Walk]) -> None:
        advance(*found)
        settle(found[0], tol)

    states = share(begun, points)
    while active := [s for s in states if not s.done]:
        trials = [s.trial(tol) for s in active]
        share(moved, list(zip(active, trials, walks.step(trials), strict=True)))
    return [s.point for s in states]


def tame(q: Point) -> bool:
    """Whether single precision will do for Newton matrices such as this one.

    Its roundings, random and of the size of the diagonal, have a spectral norm of about √M times
    that; the least eigenvalue of H = I + A is 1, and outside null it may be far larger.
    """
    size, N = float(np.trace(q.A)) / len(q.e), q.problem.null
    rounding = 3.0 * SINGLE * size * np.sqrt(len(q.e))
    if rounding < COARSE_LIMIT:
        return True
    H = q.A + size * (N @ N.T)
    H[np.diag_indices_from(H)] += 1.0
    norm = float(np.abs(H).sum(0).max())
    L, info = cholesky.factorise(np.asfortranarray(H))
    return not info and rounding < COARSE_LIMIT * norm * cholesky.rcond(L, norm)


def advance(s: _State, trial: Trial, walk: Walk) -> None:
    """Accept the walk's point, or shorten the step.

    Near the end the decrease of D drowns in rounding, and its slope decides: D'(t) ≤ ½|D'(0)|
    (the approximate Wolfe condition of Hager and Zhang). A step that is rounding itself has no
    slope to speak of, and is taken.
    """
    q, d = s.point, s.point.step
    if np.isfinite(walk.energy):
        new = evaluate(q.problem, s.aim, walk, q, trial.gram)
        down, slope = q.F @ d, new.F @ d
        fell = new.dual <= q.dual + 1e-4 * s.t * down
        level = slope <= 0.5 * abs(down) or s.size < ROUNDED
        if fell or (level and new.dual <= q.dual + 1e-9 * q.scale):
            s.point, s.t, s.rough = new, 1.0, q.how == "rough"
            return
    s.point = replace(q, n_iter=q.n_iter + 1)
    if walk.v is None or q.v is None:
        s.t *= 0.25
    else:
        s.t = shorten(line(q, (walk.v - q.v) / s.t), s.t)


def settle(s: _State, tol: Tolerance) -> None:
    """Decide whether the problem is solved, and how good the next Newton matrix must be.

    When the step is small enough one more walk takes it, and brings the A that belongs there.
    """
    q, last = s.point, s.size
    s.size = q.size
    s.rate = s.size / last if s.t == 1.0 and last < NEAR else np.inf
    # Within reach of quadratic convergence a step that gains less than a digit means that the
    # Newton matrix is too old or too coarse, or that rounding has been reached.
    s.slow = s.t == 1.0 and last < 0.3 and s.size > 0.1 * last and not s.rough
    # Further out it is the way of Newton's method to gain little, so long as it gains.
    if s.slow and q.stale <= 0.1 * last and (last < NEAR or s.size > 0.7 * last):
        s.how = "fine"
    floor = s.slow and last < 1e-6 and s.size > 0.5 * last and q.how == "fine"
    s.close = s.size <= tol.step or floor
    s.done = s.size == 0.0 or q.n_iter >= tol.walks or s.t < 1e-15
    s.done |= q.cancels and not q.problem.whole
    # At rounding the gap is what it is: it is reported, and the caller warns.
    s.done |= s.close and q.exact(tol) and (q.gap <= tol.gap or floor or s.size < 1e-12)


def line(old: Point, dv: Array) -> Callable[[float], tuple[float, float]]:
    """t ↦ slope and curvature of D(e + t d), from v = Zᵀ(u∘e) and dv = Zᵀ(u∘d): no walk."""
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
