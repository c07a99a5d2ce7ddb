"""The exact minimiser under any loss: Newton's method around that of squared error.

    minimise over α, b:   λ Σ_j |α_j|^k + L(η),     η = Zα + Fb,   λ = 1/(4c),   1 < k ≤ 2

F (M×q) are columns that are never penalised, a free intercept's ones among them. At a point let
g = −∇L, H = ∇²L, v = Zᵀg. The step minimises λ Σ|α|^k + ½‖Rᵀ(z − Zα − Fb)‖² with R Rᵀ = H and
z = η + H⁻¹g: the problem of `skstretch.core.bridge`, with R in place of diag(u). With at least as
many samples as features it lives on the features: R then is a root of the D×D matrix ZᵀHZ. H only
says where to go next; what has been reached is told by L and g alone, and certified by

    gap = Σ_j [ λ|α_j|^k + λ(k−1) (|v_j|/(λk))^(r+1) − α_j v_j ] ≥ 0,

the difference of primal and dual objective wherever Fᵀg = 0, whatever the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.linalg import lapack

from skstretch.core.bridge import Point, Problem, Tolerance, by_blocks, newton, start
from skstretch.core.bridge import evaluate as evaluated
from skstretch.core.bridge_path import reached
from skstretch.core.bridge_products import (
    TINY,
    DenseProducts,
    MinimiserProducts,
    Trial,
    TrialResult,
    power,
    sandwich,
)
from skstretch.core.losses import Hessian, Loss
from skstretch.core.types import PRECISION, Array

# Curvatures below this part of the largest are taken for it: a root needs them positive.
LEAST_CURVATURE = 1e-12
# A gap that rounding leaves, as a part of the penalty: nothing is tried below it.
ROUNDED_GAP = 1e-18
# Of minima nearby: the change of coefficients, relative and to first order, up to which another's
# Gram matrix serves, the gap from which on the last one serves to the end, and the most steps.
FAR, CHORD, MOST_NEAR = 1.5, 1e-3, 12
# Numbers of a tall Z that are multiplied at a time.
TALL_NUMBERS = 2**23


@dataclass(frozen=True)
class Stopping:
    """Relative gap to be reached, whether to go on from there to what rounding leaves, and the
    most steps to take for it."""

    gap: float
    polish: bool = True
    steps: int = 100


CERTIFIED = Stopping(gap=PRECISION)
# A fold is solved for its score alone, from a neighbour: Newton's next step is below this.
FOLD = Stopping(gap=PRECISION / 100.0, polish=False)


@dataclass(frozen=True)
class Stacked:
    """Products of C independent copies of a design, coefficients and scores one after the other.

    A Gram matrix is that of each copy (C×M×M).
    """

    inner: MinimiserProducts
    n: int

    def step(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """One pass for all copies of all trials."""
        parts = [replace(t, x=x, base=b) for t in trials for x, b in self._split(t)]
        found = self.inner.step(parts)
        groups = [found[i : i + self.n] for i in range(0, len(found), self.n)]
        return [self._joined(group) for group in groups]

    def _split(self, trial: Trial) -> list[tuple[Array, Array | None]]:
        bases = [None] * self.n if trial.base is None else np.split(trial.base, self.n)
        return list(zip(np.split(trial.x, self.n), bases, strict=True))

    def _joined(self, group: Sequence[TrialResult]) -> TrialResult:
        v = [x.v for x in group if x.v is not None]
        grams = [x.gram for x in group if x.gram is not None]
        return TrialResult(
            np.concatenate([x.fitted for x in group]),
            float(sum(x.energy for x in group)),
            np.concatenate(v) if len(v) == self.n else None,
            np.stack(grams) if len(grams) == self.n else None,
        )

    def coef(self, trial: Trial, v: Array | None) -> Array:
        """φ(Zᵀx) (C·D)."""
        vs = [None] * self.n if v is None else np.split(v, self.n)
        xs = np.split(trial.x, self.n)
        each = [self.inner.coef(replace(trial, x=x), w) for x, w in zip(xs, vs, strict=True)]
        return np.concatenate(each)

    def transposed(self, X: Array) -> Array:
        """ZᵀX (C·D×n)."""
        side = np.hstack(np.split(X, self.n))
        return np.vstack(np.split(self.inner.transposed(side), self.n, axis=1))


@dataclass(frozen=True)
class Rooted(Problem):
    """A problem whose weights are L Lᵀ (M×M)."""

    root: Array = field(default_factory=lambda: np.empty((0, 0)))

    def spread(self, e: Array) -> Array:
        return np.asarray(self.root @ e)

    def gather(self, fitted: Array) -> Array:
        return self.project(self.root.T @ fitted)

    def squeeze(self, S: Array) -> Array:
        return sandwich(self.root.T @ (S @ self.root), self.null)


def times(L: Array, x: Array, transposed: bool = False) -> Array:
    """L x or Lᵀx for x (N or N×n) and a diagonal (N) or a matrix (N×N)."""
    if L.ndim == 1:
        return np.asarray((L * x.T).T)
    return (L.T if transposed else L) @ x


def product(H: Hessian, X: Array) -> Array:
    """H X (N or N×n), of coupled scores by their `blocks`, which may be given."""
    if callable(H):
        return np.asarray(H(X))
    if H.ndim == 1:
        return times(H, X)
    each = blocks(H) if H.ndim == 2 else H
    M, C = each.shape[:2]
    return np.asarray(np.einsum("mab,bmn->amn", each, X.reshape(C, M, -1)).reshape(X.shape))


def blocks(H: Array) -> Array:
    """The curvature of each sample (M×C×C) from coupled scores h (C×M); not by 1 − p, which has
    lost the digits of a sure class."""
    p = H.T / np.maximum(H.sum(axis=0), TINY)[:, None]
    out = -H.T[:, :, None] * p[:, None, :]
    each = np.arange(len(H))
    out[:, each, each] = 0.0
    out[:, each, each] = -out.sum(axis=2)
    return np.asarray(out)


def raised(H: Array) -> Array:
    """Curvatures as far above zero as roots of them need."""
    return np.asarray(np.maximum(H, LEAST_CURVATURE * H.max()))


def root_of(H: Hessian, n: int) -> Array:
    """L (N or N×N) with L Lᵀ = H, raised as far as rounding asks; of coupled scores that of their
    diag(h), since the rest of H is a projection: see `coupled`."""
    if not callable(H):
        return np.asarray(np.sqrt(raised(H)).ravel())
    whole = H(np.eye(n))
    more = 2.0 * LEAST_CURVATURE * np.trace(whole)
    for _ in range(7):
        try:
            return cast(Array, np.linalg.cholesky(whole + more * np.eye(n)))
        except np.linalg.LinAlgError:
            more = 100.0 * more
    raise ArithmeticError("the curvature of the loss is not a number")


def coupled(H: Array, F: Array) -> Array:
    """An orthonormal basis of what coupled scores h (C×M) share in each sample, and of F for them.

    With s = (h/Σh)^½ the curvature is diag(h)^½ (I − ssᵀ) diag(h)^½ for each sample. A level that
    all classes share says nothing, so F of all but one of them are enough.
    """
    h, most = raised(H), np.asarray(np.kron(np.eye(len(H))[:, 1:], F), dtype=float)
    Q = np.vstack([np.diag(s) for s in np.sqrt(h / h.sum(axis=0))])
    rest = product(h, most) / np.sqrt(h).reshape(-1, 1)
    return np.hstack([Q, reached(rest - Q @ (Q.T @ rest))]) if most.size else Q


def solved(L: Array, g: Array) -> Array:
    """L⁻¹ g (N)."""
    return g / L if L.ndim == 1 else np.asarray(lapack.dtrtrs(L, g, lower=1)[0])


@dataclass(frozen=True)
class Scores:
    """What scores are made of: Z and F (M×q), C copies of both.

    Wide: only `products` know Z. Tall: Z (M×D) is an array, or multiplies like one.
    """

    F: Array
    products: MinimiserProducts | None = None
    Z: Any = None
    n_scores: int = 1

    def free(self, b: Array) -> Array:
        """The scores F b (N) for b (C·q)."""
        return (self.F @ b.reshape(self.n_scores, -1).T).T.ravel()

    def free_back(self, X: Array) -> Array:
        """FᵀX (C·q or C·q×n) for X (N or N×n)."""
        M, q = self.F.shape
        parts = np.einsum("mq,cmn->cqn", self.F, X.reshape(self.n_scores, M, -1))
        return np.asarray(parts.reshape(self.n_scores * q, *X.shape[1:]))

    @cached_property
    def free_columns(self) -> Array:
        """F for all scores (N×C·q)."""
        return np.asarray(np.kron(np.eye(self.n_scores), self.F), dtype=float)

    def back(self, x: Array) -> Array:
        """Zᵀx (C·D) for x (N)."""
        if self.products is not None:
            return self.products.transposed(x[:, None])[:, 0]
        return np.asarray(self.Z.T @ x.reshape(self.n_scores, -1).T).T.ravel()

    def forward(self, alpha: Array) -> Array:
        """Zα (N) of a tall Z."""
        return np.asarray(self.Z @ alpha.reshape(self.n_scores, -1).T).T.ravel()

    def curvature(self, H: Hessian) -> Array:
        """ZᵀHZ (C·D×C·D) of a tall Z, without what F explains of it."""
        C, (M, D) = self.n_scores, self.Z.shape
        H = blocks(H) if not callable(H) and H.ndim == 2 else H
        whole, size = np.empty((C * D, C * D)), max(1, TALL_NUMBERS // (M * C * C))
        cross = np.empty((C * self.F.shape[1], C * D))
        for at in range(0, D, size):
            columns = self.Z @ np.eye(D)[:, at : at + size]
            for c in range(C):
                X = np.zeros((C, *columns.shape))
                X[c] = columns
                HX = product(H, X.reshape(C * M, -1))
                own = slice(c * D + at, c * D + at + columns.shape[1])
                cross[:, own] = self.free_back(HX)
                whole[:, own] = np.vstack([self.Z.T @ part for part in np.split(HX, C)])
        if len(cross):
            inner = self.free_back(product(H, self.free_columns))
            whole -= cross.T @ np.linalg.lstsq(inner, cross, rcond=None)[0]
        return 0.5 * (whole + whole.T)


@dataclass(frozen=True)
class Minimum:
    """A point of a problem: coefficients alpha (C·D) and b (C·q), Zα (N) and what follows from
    them: −gradient g (N), v = Zᵀg (C·D), the objective and the relative gap. `dual` is what the
    last step had for g (tall: for v), from which the next one starts."""

    loss: Loss
    k: float
    c: float
    alpha: Array
    b: Array
    fit: Array
    eta: Array
    g: Array
    v: Array
    objective: float
    gap: float
    dual: Array
    n_iter: int = 0

    @property
    def lam(self) -> float:
        """λ = 1/(4c)."""
        return 0.25 / self.c

    def done(self, stop: Stopping) -> bool:
        """Whether nothing is left to do; rounding is that of the penalty, which may be far below
        the objective."""
        if not stop.polish:
            return self.gap <= stop.gap
        return self.gap * self.objective <= ROUNDED_GAP * self.lam * energy(self.alpha, self.k)


def energy(alpha: Array, k: float) -> float:
    """Σ|α|^k."""
    return float(power(np.abs(alpha), k).sum())


def gap_of(alpha: Array, v: Array, k: float, lam: float) -> float:
    """The gap, a sum of terms none of which is negative."""
    x = np.abs(v) / (lam * k)
    with np.errstate(over="ignore", invalid="ignore"):
        dual = (k - 1.0) * power(x, k / (k - 1.0))
        terms = lam * (power(np.abs(alpha), k) + dual) - alpha * v
        return float(np.maximum(terms, 0.0).sum())


def at_zero(scores: Scores, loss: Loss, k: float, c: float) -> Minimum:
    """The point without features: the free columns alone."""
    N = len(scores.F) * scores.n_scores
    D = (scores.back(np.zeros(N))).size
    b = np.zeros(scores.n_scores * scores.F.shape[1])
    return evaluate(scores, loss, k, c, np.zeros(D), b, np.zeros(N))


def evaluate(
    scores: Scores, loss: Loss, k: float, c: float, alpha: Array, b: Array, fit: Array,
    dual: Array | None = None, n: int = 0,
) -> Minimum:  # fmt: skip
    """The point at α and the best b beside it."""
    b, eta = levelled(scores, loss, fit, b)
    g = -loss.gradient(eta)
    v, lam = scores.back(g), 0.25 / c
    objective = lam * energy(alpha, k) + loss.value(eta)
    gap = gap_of(alpha, v, k, lam) / max(objective, float(np.finfo(float).tiny))
    if dual is None:
        dual = v if scores.products is None else g
    return Minimum(loss, k, c, alpha, b, fit, eta, g, v, objective, gap, dual, n)


def levelled(scores: Scores, loss: Loss, fit: Array, b: Array) -> tuple[Array, Array]:
    """b of least L(fit + Fb), and the scores there: Newton's steps, damped until L falls.

    Of a loss of exponentials a part log(1 + δ)/δ of a step by δ does, however far it overshoots; a
    step back from there is by one, and no number has a logarithm beyond 750.
    """
    eta = fit + scores.free(b)
    if not b.size:
        return b, eta
    F = scores.free_columns
    value = loss.value(eta)
    for _ in range(2000):
        slope = scores.free_back(loss.gradient(eta))
        bend = scores.free_back(product(loss.hessian(eta), F))
        bend[np.diag_indices_from(bend)] += LEAST_CURVATURE * np.trace(bend)
        d = np.asarray(-np.linalg.lstsq(bend, slope, rcond=None)[0], dtype=float)
        down, far = float(slope @ d), float(np.abs(scores.free(d)).max())
        if not (down < 0.0 and far < np.inf):
            break
        t, damped = 1.0, np.log1p(far) / far
        while t > 1e-10 * damped:
            new = fit + scores.free(b + t * d)
            trial = loss.value(new)
            if trial <= value + 1e-4 * t * down:
                break
            t = min(0.5 * t, damped)
        last, value = value, trial
        if not trial < last:  # rounding: the step is taken where its slope is less
            less = np.abs(scores.free_back(loss.gradient(fit + scores.free(b + d))))
            if less.max() < np.abs(slope).max():
                b = b + d
                eta = fit + scores.free(b)
            break
        b, eta = b + t * d, new
    if scores.n_scores > 1:  # a level that all classes share says nothing
        own = b.reshape(scores.n_scores, -1)
        b = (own - own.mean(axis=0)).ravel()
        eta = fit + scores.free(b)
    return b, eta


@dataclass(frozen=True)
class Model:
    """The quadratic problem of one step, as the minimiser of squared error takes it."""

    products: MinimiserProducts
    problem: Problem
    e: Array


def modelled(scores: Scores, at: Minimum) -> Model:
    """The loss to second order at a point."""
    H = at.loss.hessian(at.eta)
    if scores.products is None:
        return tall_model(scores, at, H)
    L = root_of(H, at.eta.size)
    e = solved(L, at.g)
    target = times(L, at.fit, transposed=True) + e
    N = np.empty((e.size, 0))
    if not callable(H) and H.ndim == 2:
        N = coupled(H, scores.F)
    elif scores.F.shape[1]:
        N = reached(times(L, scores.free_columns, transposed=True))
    if L.ndim == 1:
        bare = Problem(at.k, at.c, target, L, N, whole=True)
    else:
        size = np.sqrt(np.maximum(np.sum(L**2, axis=-1), 0.0))
        bare = Rooted(at.k, at.c, target, size, N, whole=True, root=L)
    first = bare.project(solved(L, at.dual))
    return Model(scores.products, replace(bare, target=bare.project(target)), first)


def tall_model(scores: Scores, at: Minimum, H: Hessian) -> Model:
    """The same on the features: G with GᵀG = ZᵀHZ, and the target Gα + G⁻ᵀv."""
    K = scores.curvature(H)
    scale = np.sqrt(np.maximum(np.diag(K), 0.0))
    scale[scale == 0.0] = 1.0
    size, V = np.linalg.eigh(K / scale / scale[:, None])
    size = np.sqrt(np.maximum(size, LEAST_CURVATURE * size[-1]))
    G = size[:, None] * V.T * scale
    size[size == 0.0] = 1.0  # nothing is penalised
    e, first = (np.vstack([at.v, at.dual]) / scale) @ V / size
    problem = Problem(
        at.k, at.c, G @ at.alpha + e, np.ones(e.size), np.empty((e.size, 0)), whole=True
    )
    return Model(DenseProducts(G), problem, first)


def freedom(scores: Scores, at: Minimum) -> tuple[float, Array | None]:
    """Degrees of freedom at a minimum, free columns included: how much scores follow the working
    response, to first order. And Z diag(φ') Zᵀ there, of a wide Z."""
    model = modelled(scores, at)
    p, x = model.problem, model.problem.spread(model.e)
    [result] = model.products.step([Trial(p.k, p.lam, x, gram=True)])
    point = evaluated(p, model.e, result, None)
    if scores.products is None:
        return float(at.b.size + len(model.e) - point.trace_B), None
    return float(at.b.size + len(model.e) - p.null.shape[1] - point.trace_B), result.gram


def settled(
    scores: Scores,
    near: Minimum,
    gram: Array | None,
    starts: Sequence[Minimum],
    gap: float = ROUNDED_GAP,
) -> list[Minimum | None]:
    """Minima close to where the `dual` x of each problem is, to a relative `gap`, all in one pass a
    step; None where x comes no closer.

    Newton's method on x = g(η), η = Zφ(Zᵀx) + Fb, Fᵀx = 0: with S = Z diag(φ') Zᵀ and ρ = g − x
    the step is (I + HS) Δx + HF Δb = ρ. The gap is ½ρᵀSρ to second order. `gram` is S of the
    minimum `near`, which serves the first steps of those that are not far from it.
    """
    products, r, size = scores.products, 1.0 / (near.k - 1.0), np.linalg.norm(near.dual)
    out: list[Minimum | None] = [None] * len(starts)
    live: dict[int, Near] = {}
    for i, at in enumerate(starts):
        far = r * np.linalg.norm(at.dual - near.dual) > FAR * size
        live[i] = Near(at.dual, at.b, None if far else gram)
    for n in range(1, MOST_NEAR):
        if products is None or not live:
            break
        trials = [Trial(near.k, near.lam, one.x, one.asks) for one in live.values()]
        each = zip([*live.items()], trials, products.step(trials), strict=True)
        for (i, one), trial, result in each:
            closer = one.moved(scores, starts[i], result)
            if closer is not None and closer.gap > gap:
                live[i] = closer
                continue
            del live[i]
            if closer is not None or one.gap <= CERTIFIED.gap:
                given = products.coef(trial, result.v), one.b, result.fitted, one.x, n
                found = evaluate(scores, starts[i].loss, near.k, near.c, *given)
                out[i] = found if found.gap <= FOLD.gap else None
    return out


@dataclass(frozen=True)
class Near:
    """Where `settled` is with one problem: x (N), b, the last Gram matrix, the gap before this x,
    and the step that led here."""

    x: Array
    b: Array
    gram: Array | None
    gap: float = np.inf
    step: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def asks(self) -> bool:
        """Whether a Gram matrix of its own is worth its while."""
        return self.gram is None or CHORD < self.gap < np.inf

    def moved(self, scores: Scores, at: Minimum, result: TrialResult) -> Near | None:
        """The next x, given the pass at this one; a shorter step where it is no closer than the
        last; None where that does not help."""
        S, N = self.gram if result.gram is None else result.gram, self.x.size
        eta = result.fitted + scores.free(self.b)
        with np.errstate(over="ignore", invalid="ignore"):
            objective = at.lam * result.energy + at.loss.value(eta)
        if S is not None and objective < 2.0 * at.objective:
            rest = -at.loss.gradient(eta) - self.x
            gap = 0.5 * float(rest @ by_blocks(S, rest)) / objective
            if gap < 0.5 * self.gap:
                step = newton_step(at.loss.hessian(eta), S, scores.free_columns, rest, self.x)
                closer = Near(self.x + step[:N], self.b + step[N:], S, gap, step)
                return closer if np.isfinite(step).all() else None
        if CERTIFIED.gap < self.gap < np.inf:
            if result.gram is None:  # it may have led astray: back, and on with one of its own
                return Near(self.x - self.step[:N], self.b - self.step[N:], None)
            half = 0.5 * self.step
            return replace(self, x=self.x - half[:N], b=self.b - half[N:], step=half)
        return None


def newton_step(H: Hessian, S: Array, F: Array, rest: Array, x: Array) -> Array:
    """Δx and Δb (N + C·q) of `settled`.

    Of coupled scores with D = diag(h) the step is (I + DS) Δx + DFΔb + Dν = ρ with a multiplier ν
    (M), equal for all classes, of ΣΔx = 0: one system for each class, and one for ν and Δb.
    """
    N, q = F.shape
    try:
        if not callable(H) and H.ndim == 2:
            return coupled_step(H, S, F, rest, x)
        whole = np.zeros((N + q, N + q))
        whole[:N, :N] = np.eye(N) + product(H, S)
        whole[:N, N:], whole[N:, :N] = product(H, F), F.T
        return np.linalg.solve(whole, np.append(rest, -F.T @ x))
    except np.linalg.LinAlgError:
        return np.full(N + q, np.nan)


def coupled_step(H: Array, S: Array, F: Array, rest: Array, x: Array) -> Array:
    """The same of coupled scores h (C×M), where one level is left as it is."""
    (C, M), h, (N, q) = H.shape, raised(H)[:, :, None], F.shape
    n = q // C
    known = np.concatenate([rest.reshape(C, M, 1), h * np.eye(M)], axis=2)
    each = np.linalg.solve(np.eye(M) + h * S, known)
    first, through = each[:, :, 0].ravel(), each[:, :, 1:]
    some = F[:, : q - n]
    TF, TG = by_blocks(through, some), through.reshape(N, M)

    def back(X: Array) -> Array:  # the sum over classes, and Fᵀ
        return np.concatenate([X.reshape(C, M, -1).sum(axis=0), some.T @ X.reshape(N, -1)])

    free = np.linalg.solve(np.hstack([back(TG), back(TF)]), back(first + x)[:, 0])
    return np.concatenate([first - TG @ free[:M] - TF @ free[M:], free[M:], np.zeros(n)])


def minimise(
    scores: Scores, starts: Sequence[Minimum], stop: Stopping = CERTIFIED
) -> list[Minimum]:
    """Solve all problems from where they are; those of a wide Z share every pass over it."""
    best, live = list(starts), [i for i, at in enumerate(starts) if not at.done(stop)]
    left = [at.gap for at in starts]  # what a step may gain; a gap is far above it where k is low
    for _ in range(stop.steps):
        models = [modelled(scores, best[i]) for i in live]
        found = inner(models, [left[i] for i in live])
        going = []
        for i, model, point in zip(live, models, found, strict=True):
            new = moved(scores, best[i], model, point)
            if new is None or ended(best[i], new, stop):
                # of two that rounding alone tells apart the later one
                if new is not None and new.gap <= max(best[i].gap, LEAST_CURVATURE):
                    best[i] = new
                if best[i].gap > stop.gap and left[i] > 0.0:  # as exactly as can be
                    left[i] = 0.0
                    going.append(i)
                continue
            fell = best[i].objective - new.objective
            left[i] = min(new.gap, max(fell, 0.0) / max(best[i].objective, TINY))
            best[i] = new
            if not new.done(stop):
                going.append(i)
        live = going
        if not live:
            break
    return best


def ended(old: Minimum, new: Minimum, stop: Stopping) -> bool:
    """Whether the step was rounding: below the wanted gap it gained less than two digits, or
    neither the gap nor the objective fell."""
    if old.gap <= stop.gap:
        return not new.gap < 1e-2 * old.gap
    return new.gap >= old.gap and new.objective >= (1.0 - 1e-14) * old.objective


def inner(models: Sequence[Model], gaps: Sequence[float]) -> list[Point]:
    """The minimisers of the models, as exactly as what is left to gain deserves."""
    groups: dict[int, list[int]] = {}
    for i, model in enumerate(models):
        groups.setdefault(id(model.products), []).append(i)
    out: dict[int, Point] = {}
    for some in groups.values():
        gap = min(min(gaps[i] for i in some), 1.0)
        tol = Tolerance(gap=max(1e-6 * gap, 1e-20), step=max(1e-3 * gap**0.5, 1e-12), stale=np.inf)
        products = models[some[0]].products
        first = start(products, [models[i].problem for i in some], [models[i].e for i in some])
        out.update(zip(some, newton(products, first, tol), strict=True))
    return [out[i] for i in range(len(models))]


def moved(scores: Scores, at: Minimum, model: Model, point: Point) -> Minimum | None:
    """The best point on the way to the minimiser of the model, None where there is none."""
    p = point.problem
    x = p.spread(point.e)
    trial = Trial(p.k, p.lam, x)
    alpha = model.products.coef(trial, point.v)
    if scores.products is None:
        fit, dual = scores.forward(alpha), model.products.transposed(x[:, None])[:, 0]
    else:
        fit, dual = point.fitted, x
    b = at.b
    if b.size:  # the level that the model has: least squares in its metric
        H, F = at.loss.hessian(at.eta), scores.free_columns
        bend = scores.free_back(product(H, F))
        rest = at.g - product(H, (fit - at.fit)[:, None])[:, 0]
        b = b + np.linalg.lstsq(bend, scores.free_back(rest), rcond=None)[0]
    da, db, df = alpha - at.alpha, b - at.b, fit - at.fit
    dl, loss = df + scores.free(db), at.loss
    down = at.lam * (energy(alpha, at.k) - energy(at.alpha, at.k)) - float(at.g @ dl)
    t, least = 1.0, 1e-14 * at.objective
    while t > 1e-12:
        with np.errstate(over="ignore", invalid="ignore"):
            value = at.lam * energy(at.alpha + t * da, at.k) + loss.value(at.eta + t * dl)
        if value <= at.objective + 1e-4 * t * min(down, 0.0) + least:
            return evaluate(
                scores, loss, at.k, at.c, at.alpha + t * da, at.b + t * db, at.fit + t * df,
                at.dual + t * (dual - at.dual) if at.alpha.any() else dual, at.n_iter + 1,
            )  # fmt: skip
        t *= 0.5
    return None
