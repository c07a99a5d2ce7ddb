"""Exact cross-validation of the exact minimiser: leave-one-out and folds.

Leaving samples out constrains their e to zero. One Newton step from the full fit is the
approximation of `approximate_loo`; here the steps go on until the left-out problem is solved.
"Exact" means: equal to literal refits, given the z-scores of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skstretch.core.bridge import REPORTED, Point, Problem, Tolerance, newton, start
from skstretch.core.bridge_path import (
    BATCH,
    Space,
    approximate_loo,
    batches,
    finish,
    reached,
    solve,
    space,
)
from skstretch.core.bridge_products import DenseProducts, Trial, images, phi, share_of
from skstretch.core.crossfit import Fold
from skstretch.core.types import PRECISION, Array, Index, Mask

# What a left-out problem may still be off by when it counts as solved.
CLOSE = PRECISION / 5.0
# A step of this many times its own length leads nowhere.
WILD = 1e3
# Chord iterations at most: late ones serve few samples, and cost far less than a refit of these.
MOST_ITERATIONS = 80
# Parts in which samples are left out, and samples of a part at least.
PARTS, LEAST_PART = 4, 64


@dataclass(frozen=True)
class LeftOut:
    """Exact leave-one-out residuals y_i − ŷ_i^(−i) (M), chord iterations, samples refitted; where
    asked for the e of every left-out problem (T×n, for the n samples with weight), from which
    `left_out_coef` makes its coefficients; degrees of freedom and rcond of the fit, and its gap or
    that of a refit, whichever is larger."""

    residual: Array
    n_iter: int
    refitted: int
    e: Array | None = None
    dof: float = np.nan
    rcond: float = np.nan
    gap: float = 0.0


def columns(s: Space, point: Point, S: Index) -> Array:
    """B_c[:, S] (M×|S|): how e answers to a change of the left-out targets."""
    if s.Q is None:
        return point.B[:, S] + (0.0 if s.null is None else s.null @ s.null[S].T)
    out = s.Q @ (point.B @ s.Q[S].T - s.Q[S].T)
    out[S, np.arange(len(S))] += 1.0
    return np.asarray(out - s.N @ s.N[S].T if s.intercept == "free" else out)


@dataclass(frozen=True)
class SharedNewton:
    """What all left-out problems share: the Newton matrix of the full fit.

    Sample i is left out by e_i = 0 with multiplier μ_i, its weighted residual. In the dual's
    coordinates, with q_i (T) those of the (projected) unit vector, ρ_i its squared length outside
    the space and o_i the unreached part of y:

        F_i = e' + Zφ(Zᵀe') − y' + μ_i q_i = 0,      g_i = ρ_i μ_i − q_iᵀe' − o_i = 0

    q (T×n), Bq = H⁻¹q (T×n), b (n) = ρ_i + q_iᵀH⁻¹q_i = (B_c)_ii, for the n samples with weight.
    """

    space: Space
    point: Point
    q: Array
    Bq: Array
    rho: Array
    o: Array
    b: Array

    def fitted(self, E: Array) -> Array:
        """Zφ(ZᵀE) as the equations have it, all columns of E (T×n) in one pass."""
        p, s = self.point.problem, self.space
        out = images(s.products, p.k, p.lam, p.u[:, None] * E)
        if p.column:
            out += phi(p.u @ E, p.k, p.lam)[0]
        out *= p.u[:, None]
        return p.project(out)

    def first(self, mu: Array, j: Index) -> Array:
        """One Newton step from the full fit, (T+1)×|j|: exact at k = 2."""
        e = self.point.e + self.point.step
        return np.vstack([e[:, None] - self.Bq[:, j] * mu, mu])

    def step(self, X: Array, j: Index) -> Array:
        """The linearised pair solved with the full fit's H, for the samples j: (T+1)×|j|.

        X holds e' (T) and below it μ. δμ = −(g + qᵀH⁻¹F)/b,  δe' = −H⁻¹F − H⁻¹q δμ: two products
        of M²D for all samples.
        """
        E, mu, q = X[:-1], X[-1], self.q[:, j]
        F = E + self.fitted(E) - self.point.problem.target[:, None] + q * mu
        g = self.rho[j] * mu - np.einsum("ij,ij->j", q, E) - self.o[j]
        BF = self.point.B @ F
        dmu = -(g + np.einsum("ij,ij->j", q, BF)) / self.b[j]
        # Rounding must not build up along directions that the equations do not see.
        return np.vstack([-self.point.problem.project(BF + self.Bq[:, j] * dmu), dmu])


def shared_newton(s: Space, point: Point, y: Array) -> SharedNewton:
    """The shared part, for a solved point."""
    on = s.u > 0
    q = s.Q[on].T if s.Q is not None else point.problem.project(np.eye(len(s.u)))[:, on]
    Bq = point.B @ q if s.Q is not None else point.B[:, on]
    outside, o, b = s.outside()[on], s.unreached(y)[on], s.diagonal(point)[on]
    return SharedNewton(s, point, q, Bq, outside, o, b)


class AndersonMixing:
    """Anderson's mixing of fixed-point steps, column by column: x (N×n) and its step f (N×n).

    From the last `depth` differences dx, df the next step is f − (dx + df) γ with the γ that
    minimises ‖f − df γ‖: what GMRES would make of the same products.
    """

    def __init__(self, depth: int = 6) -> None:
        self.depth = depth
        self.dx: list[Array] = []
        self.df: list[Array] = []
        self.last: tuple[Array, Array] | None = None

    def __call__(self, x: Array, f: Array) -> Array:
        if self.last is not None:
            self.dx = [*self.dx[1 - self.depth :], x - self.last[0]]
            self.df = [*self.df[1 - self.depth :], f - self.last[1]]
        self.last = x, f
        if not self.df:
            return f
        df = np.stack(self.df)
        G = np.einsum("aij,bij->jab", df, df)
        rhs = np.einsum("aij,ij->ja", df, f)
        ridge = 1e-14 * np.trace(G, axis1=1, axis2=2) + np.finfo(float).tiny
        G[:, np.arange(len(df)), np.arange(len(df))] += ridge[:, None]
        gamma = np.linalg.solve(G, rhs[..., None])[..., 0]
        return np.asarray(f - np.einsum("aij,ja->ij", np.stack(self.dx) + df, gamma))

    def keep(self, stay: Mask, forget: Mask) -> None:
        """Drop the columns that are done, and the past of those that it has misled."""
        for past in (self.dx, self.df):
            for n, a in enumerate(past):
                past[n] = a[:, stay] * ~forget[stay]
        if self.last is not None:
            self.last = self.last[0][:, stay], self.last[1][:, stay]


@dataclass(frozen=True)
class Start:
    """A problem to be solved for the target y (M), and the e of a neighbour to start from."""

    k: float
    c: float
    y: Array
    e: Array


def solved_without_each(s: Space, starts: Sequence[Start]) -> list[LeftOut]:
    """Exact leave-one-out of problems that are solved first: one pass a step serves as many as
    fit in `BATCH` bytes of matrices, and threads share their samples."""
    out: list[LeftOut] = []
    for some in batches(starts, 64 * s.side**2):
        problems = [s.problem(one.k, one.c, one.y) for one in some]
        points = newton(s.products, start(s.products, problems, [one.e for one in some]), REPORTED)
        if any(point.cancels and not point.problem.whole for point in points):
            alone = [solve(s, one.k, one.c, one.y, one.e) for one in some]
            out += [leave_one_out(*found, one.y) for found, one in zip(alone, some, strict=True)]
        else:
            both = [(point, one.y) for point, one in zip(points, some, strict=True)]
            out += without_each(s, both)
    return out


def solved_without_folds(s: Space, starts: Sequence[Start], folds: Sequence[Fold]) -> list[LeftOut]:
    """The same without each fold: residuals of the tested samples, fold after fold."""
    out: list[LeftOut] = []
    for one in starts:
        where, point = solve(s, one.k, one.c, one.y, one.e)
        residual, gap = out_of_fold(where, point, one.y, folds)
        facts = where.dof(point), point.rcond, max(point.gap, gap)
        out.append(LeftOut(residual, 0, len(folds), None, *facts))
    return out


def out_of_fold(
    s: Space, point: Point, y: Array, folds: Sequence[Fold], tol: Tolerance = REPORTED
) -> tuple[Array, float]:
    """Residuals of the tested samples, fold after fold, by the models without each fold, and the
    largest of their gaps. A bootstrap, which repeats samples, is solved from the beginning."""
    plain = [fold.held for fold in folds if not fold.repeated.size]
    known, found = iter(refits(s, point, y, plain, tol)), list[Refit]()
    for fold in folds:
        if not fold.repeated.size:
            found.append(next(known))
            continue
        where = reweighted(s, np.sqrt(fold.weights(s.u**2)))
        where, other = solve(where, point.problem.k, point.problem.c, y, tol=tol)
        residual = finish(where, other, y).residual[fold.held]
        found.append(Refit(residual, other.e, other.gap))
    parts = [one.residual[fold.positions] for one, fold in zip(found, folds, strict=True)]
    return np.concatenate(parts), max(one.gap for one in found)


def reweighted(s: Space, u: Array) -> Space:
    """The space of the same features with other root weights u (M)."""
    if s.Q is None:
        return replace(s, u=u, null=None)
    return space(s.tall[1], u, s.intercept, s.U)


def leave_one_out(s: Space, point: Point, y: Array, states: bool = False) -> LeftOut:
    """Exact leave-one-out residuals of a solved point: chord iterations for all samples together,
    refits for those that do not come to rest."""
    return without_each(s, [(point, y)], states)[0]


def without_each(
    s: Space,
    solved: Sequence[tuple[Point, Array]],
    states: bool = False,
) -> list[LeftOut]:
    """Exact leave-one-out of several points and their targets, whose samples threads share."""
    share = share_of(s.products, bulk=True)
    loo_states = share(lambda one: LeaveOneOutState.of(s, *one), solved)
    tasks = [(one, j) for one in loo_states for j in parts_of_samples(one.mu.size, s.side)]
    found = iter(share(lambda task: task[0].solved(task[1]), tasks))
    return [one.ended(y, found, states) for one, (_, y) in zip(loo_states, solved, strict=True)]


@dataclass(frozen=True)
class LeaveOneOutState:
    """Leave-one-out of one point, begun: its approximate residuals (M), and for the n samples with
    weight their place `on` (n) and multipliers mu (n)."""

    shared_newton: SharedNewton
    near: Array
    on: Index
    mu: Array

    @classmethod
    def of(cls, s: Space, point: Point, y: Array) -> LeaveOneOutState:
        on = np.flatnonzero(s.u > 0)
        near = approximate_loo(s, point, y)
        return cls(shared_newton(s, point, y), near, on, near[on] * s.u[on])

    def solved(self, j: Index) -> tuple[Index, Array, int]:
        """e' and below it μ of some samples ((T+1)×|j|), with their number of iterations."""
        if self.shared_newton.point.problem.k == 2.0:
            return j, self.shared_newton.first(self.mu[j], j), 0
        unit = float(np.sqrt(np.mean(self.mu**2)))
        return j, *iterate(self.shared_newton, self.mu[j], j, unit)

    def ended(self, y: Array, found: Iterator[tuple[Index, Array, int]], states: bool) -> LeftOut:
        """The residuals, once all samples are found; those that are lost are refitted."""
        s, point, n = self.shared_newton.space, self.shared_newton.point, self.on.size
        mu, held, done = np.empty(n), np.empty((len(point.e), n if states else 0)), 0
        while n:
            j, X, iterations = next(found)
            mu[j], done, n = X[-1], max(done, iterations), n - j.size
            if states:
                held[:, j] = X[:-1]
        lost, out = np.flatnonzero(np.isnan(mu)), self.near.copy()
        out[self.on] = mu / s.u[self.on]
        again = refits(s, point, y, [self.on[[i]] for i in lost]) if lost.size else []
        for i, one in zip(lost, again, strict=True):
            out[self.on[i]] = one.residual[0]
            if states:
                held[:, i] = one.e
        kept, gap = held if states else None, max([point.gap, *(one.gap for one in again)])
        return LeftOut(out, done, lost.size, kept, s.dof(point), point.rcond, gap)


def parts_of_samples(n: int, side: int) -> list[Index]:
    """The samples as parts of about one size that may be worked off side by side, each of what
    fits in `BATCH` bytes."""
    most = max(1, int(BATCH // (200 * side)))
    count = max(1, min(PARTS, n // LEAST_PART), -(-n // most))
    return [part for part in np.array_split(np.arange(n), count) if part.size]


def left_out_coef(point: Point, s: Space, E: Array) -> tuple[Array, Array | None]:
    """φ(ZᵀE) (D×n) for the e of left-out problems (T×n), and the coefficients (n) of the column
    of ones where there is one."""
    p = point.problem
    alpha = phi(s.products.transposed(p.u[:, None] * E), p.k, p.lam)[0]
    if p.column:
        return alpha, phi(p.u @ E, p.k, p.lam)[0]
    if s.intercept == "column":
        return alpha[:-1], alpha[-1]
    return alpha, None


def iterate(shared: SharedNewton, mu: Array, live: Index, unit: float) -> tuple[Array, int]:
    """e' and below it μ of the samples `live` from the approximate μ, nan where they do not come
    to rest, and the number of iterations; unit is the size of μ. Sums may overflow in samples
    about to be given up."""
    X = shared.first(mu, live)
    if unit == 0.0:
        return X, 0  # nothing is left to explain, with or without these samples
    # μ is weighted so that the mixing heeds e as much as it heeds μ.
    weight = np.ones((len(X), 1))
    weight[-1] = np.linalg.norm(X[:-1], axis=0).mean() / unit
    out, place, mix = np.full(X.shape, np.nan), np.arange(len(mu)), AndersonMixing()
    last, done = np.full(len(mu), np.inf), 0
    while live.size and done < MOST_ITERATIONS:
        with np.errstate(over="ignore", invalid="ignore"):
            d = shared.step(X, live)
            size, length = (np.linalg.norm(x[:-1], axis=0) for x in (d, X))
            # e' is zero where one sample is left: nothing to compare with, so it is given up
            size = np.divide(size, length, out=np.full(len(size), WILD), where=length > 0)
            size = np.maximum(size, np.abs(d[-1]) / unit)
        done += 1
        # If steps shrink at this rate (with a margin, for mixing makes it uneven), this is what is
        # left after the step.
        rate = np.clip(np.where(np.isfinite(last), 3.0 * size / last, 1.0), 0.0, 0.98)
        rest = size * rate / (1.0 - rate) <= CLOSE
        stay = ~rest & (size < WILD)
        out[:, place[rest]] = X[:, rest] + d[:, rest]
        mix.keep(stay, size > last)
        X, d, last = X[:, stay], d[:, stay], size[stay]
        X = X + mix(X * weight, d * weight) / weight
        live, place = live[stay], place[stay]
    return out, done


@dataclass(frozen=True)
class Refit:
    """Without a fold S: residuals y − ŷ (|S|) on it, e (T) and the gap of the model."""

    residual: Array
    e: Array
    gap: float


def approximate_folds(s: Space, point: Point, y: Array, folds: Sequence[Index]) -> list[Array]:
    """y − ŷ (|S|) on each fold S by one Newton step of the problem without it, B_SS⁻¹e_S / u_S:
    `approximate_loo` of several samples, exact at k = 2."""
    e = s.residual(point, y)
    return [multipliers(columns(s, point, S)[S], e[S]) / s.u[S] for S in folds]


def multipliers(B: Array, e: Array) -> Array:
    """The weighted residuals of samples that are left out: B_SS μ = e_S."""
    return np.asarray(np.linalg.lstsq(B, e, rcond=None)[0])


def refits(
    s: Space, point: Point, y: Array, folds: Sequence[Index], tol: Tolerance = REPORTED
) -> list[Refit]:
    """Each fold S by the model fitted without it, started from the full fit.

    The problem of a fold is the full one with weights zero on S, so the pass that solves it also
    predicts S; all folds share passes.
    """
    e = s.residual(point, y)
    starts = [started(s, point, e, S) for S in folds]
    if s.Q is not None:
        tall = tall_folds(s, y)
        return [tall.without(point.problem, S, x, tol) for S, x in zip(folds, starts, strict=True)]
    out: list[Refit] = []
    for some in batches([*zip(folds, starts, strict=True)], 24 * s.side**2):
        out += refit_many(s, point, y, some, tol)
    return out


def started(s: Space, point: Point, e: Array, S: Index) -> Array:
    """Where the problem without S starts: e − B_c[:, S] (B_SS)⁻¹ e_S, which is zero on S.

    Large folds of a tall space start from e itself: nothing M×|S| is formed, and the directions
    know of few samples each.
    """
    x = e.copy()
    if s.Q is None or len(S) <= s.Q.shape[1]:
        C = columns(s, point, S)
        x -= C @ multipliers(C[S], e[S])
    x[S] = 0.0
    return x


def without(s: Space, S: Index) -> Space:
    """The wide space with the weights of a fold at zero. Directions that the remaining samples
    miss are those of the full space that vanish on the fold."""
    u = s.u.copy()
    u[S] = 0.0
    N = s.null
    if N is not None and N.shape[1]:
        size, turn = np.linalg.svd(N[S], full_matrices=True)[1:]
        N = N @ turn[int((size > 1e-10).sum()) :].T
        N[S] = 0.0
    return replace(s, u=u, null=N)


def refit_many(
    s: Space, point: Point, y: Array, folds: Sequence[tuple[Index, Array]], tol: Tolerance
) -> list[Refit]:
    """Folds of a wide design and where they start: they differ in their weights alone."""
    p, parts = point.problem, [without(s, S) for S, _ in folds]
    problems = [part.problem(p.k, p.c, y) for part in parts]
    points = newton(s.products, start(s.products, problems, [e for _, e in folds]), tol)
    return [
        Refit(finish(part, found, y).residual[S], np.where(part.u > 0, found.e, 0.0), found.gap)
        for part, found, (S, _) in zip(parts, points, folds, strict=True)
    ]


@dataclass(frozen=True)
class TallFolds:
    """A tall space with what is not penalised in its basis: diag(u) Z = Q R, Q (M×T'), and sums
    from which every fold follows: b = Qᵀ(u∘y) (T'), and for the basis N of a free intercept (and
    of U), which stands last in Q, NZ = Nᵀ diag(u) Z."""

    space: Space
    y: Array
    Q: Array
    R: Array
    b: Array
    NZ: Array

    def without(self, p: Problem, S: Index, e: Array, tol: Tolerance) -> Refit:
        """y − ŷ on S by the model of the other rows, and its e in the space's coordinates.

        The inner products of those rows are I − Q_SᵀQ_S = L Lᵀ, so LᵀR and L⁺(b − Q_Sᵀ(u∘y)_S) are
        their design and target; directions that only S reached (leverage 1) are gone. A free
        intercept takes out the coordinates of N, Lᵀ's last columns.
        """
        s, Q = self.space, self.Q[S]
        size, V = np.linalg.eigh(np.eye(Q.shape[1]) - Q.T @ Q)
        root, V = np.sqrt(size[size > 1e-12]), V[:, size > 1e-12]
        L, target = V * root, V.T @ (self.b - Q.T @ (s.u[S] * self.y[S])) / root
        N = reached(L[s.side :].T) if s.intercept == "free" else np.empty((len(root), 0))
        bare = Problem(p.k, p.c, target, np.ones(len(root)), N, whole=True)
        bare = replace(bare, target=bare.project(target))
        products = DenseProducts(bare.project(L.T @ self.R))
        found = newton(products, start(products, [bare], [L.T @ (self.Q.T @ e)]), tol)[0]
        alpha = products.coef(Trial(p.k, p.lam, found.e), found.v)
        return Refit(self._residual(S, alpha), (L @ found.e)[: s.side], found.gap)

    def _residual(self, S: Index, alpha: Array) -> Array:
        """y − ŷ on S, given the coefficients of the features (and of the column of ones).

        With n the rows of N in S, the coordinates g of what is not penalised solve
        (I − nᵀn) g = Nᵀ(u∘(y − Zα)) without S.
        """
        s, y, Z = self.space, self.y[S], self.space.tall[1][S]
        if s.intercept != "free":
            return np.asarray(y - Z @ alpha[: Z.shape[1]] - alpha[Z.shape[1] :].sum())
        n, rest = s.N[S], y - Z @ alpha
        right = self.b[s.side :] - self.NZ @ alpha - n.T @ (s.u[S] * rest)
        g = np.linalg.lstsq(np.eye(n.shape[1]) - n.T @ n, right, rcond=None)[0]
        m, gamma = s.free_part(np.divide(s.N @ g, s.u, out=np.zeros_like(s.u), where=s.u > 0))
        return np.asarray(rest - m - (0.0 if s.U is None else s.U[S] @ gamma))


def tall_folds(s: Space, y: Array) -> TallFolds:
    """What the folds of a tall space share."""
    Q, Z = s.tall
    R, NZ = s.products.transposed(np.eye(s.side)).T, np.empty((0, 0))
    if s.intercept == "free":
        # diag(u) Z = Q R + N (NZ), and NZ goes with the intercept: rows of zeros stand for it.
        Q, NZ = s.beside_root(), (s.N * s.u[:, None]).T @ Z
        R = np.vstack([R, np.zeros((Q.shape[1] - len(R), R.shape[1]))])
    return TallFolds(s, y, Q, R, Q.T @ (s.u * y), NZ)
