"""Cells at a = 0 and k < 2: paths of exact minimisers along c, all powers and targets together.

Leave one out is approximate on the way (one Newton step from each fit) and exact where a cell asks
for it; folds are solved, each from the fit of all samples.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from skstretch.core import bridge_path
from skstretch.core.bridge import Point
from skstretch.core.bridge_loo import (
    LeftOut,
    Start,
    left_out_coef,
    refits,
    refitted,
    solved_without_each,
)
from skstretch.core.bridge_parts import Parts
from skstretch.core.bridge_path import BATCH, Space, approximate_loo, finish, paths, solve, split
from skstretch.core.crossfit import Fold, pair_residuals
from skstretch.core.factors import counted
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import Design, kept_columns, n_choosable, same_space
from skstretch.search.cells import Cell, Minimisers, Outcome, Problem, Unknowns, failed
from skstretch.search.parts import STRIDE, Without
from skstretch.solve.newton import coefficients, minimise, where_of
from skstretch.solve.spec import Spec

# values of c on an automatic path, at most
PATH_LENGTH = 20
# an automatic path ends where so many cells in a row have so much more than the least error
PATIENCE, WORSE = 3, 1.1
# relative accuracy of out-of-fold residuals that are solved for
ACCURACY = 1e-8
NOISE = "interpolates: its out-of-fold residuals are rounding"


@dataclass(frozen=True)
class Selection:
    """The densities of a grid, and the number of features that each keeps."""

    densities: Sequence[float]
    counts: Sequence[int]

    def below(self, n_features: int) -> list[int]:
        """The counts that keep fewer than all features, in increasing order."""
        return sorted({count for count in self.counts if count < n_features})


def minimised_cells(
    design: Design,
    ks: Sequence[float],
    cs: Sequence[float] | None,
    problem: Problem,
    selection: Selection,
) -> Iterator[tuple[Cell, Outcome]]:
    """Every cell of a = 0 and the powers ks below 2; without cs the paths are automatic."""
    stride = STRIDE if cs is None else 1
    visit = Visit(design, problem, selection.below(n_choosable(design)), stride)
    finite = None if cs is None else sorted({c for c in cs if c < np.inf})
    for some in same_space(design, ks):
        where = split(where_of(design, problem.weights, problem.intercept, some[0]))
        for batch in _batches(some, where, problem.Y.shape[1]):
            found: list[list[bridge_path.Cell]] = [[] for _ in batch]
            if finite is None or finite:
                given = None if finite is None else [finite] * len(batch)
                found = paths(
                    where, batch, problem.Y, PATH_LENGTH, given, held_out=visit, enough=visit.passed
                )
            for k, path in zip(batch, found, strict=True):
                counted("Newton step", sum(cell.n_iter for cell in path))
                yield from _along(k, path, cs, visit, where, selection)


def _batches(ks: Sequence[float], where: Space, t: int) -> list[Sequence[float]]:
    """Powers whose Newton matrices fit in memory together."""
    side = len(where.u) if where.Q is None else where.Q.shape[1]
    size = max(1, int(BATCH // (24 * t * side**2)))
    return [ks[at : at + size] for at in range(0, len(ks), size)]


def _along(
    k: float,
    path: Sequence[bridge_path.Cell],
    cs: Sequence[float] | None,
    visit: "Visit",
    where: Space,
    selection: Selection,
) -> Iterator[tuple[Cell, Outcome]]:
    """The cells of one power: all targets of a c, at every density, in the order of the grid."""
    t, D = visit.problem.Y.shape[1], n_choosable(visit.design)
    groups = {path[at].c: path[at : at + t] for at in range(0, len(path), t)}
    for c in groups if cs is None else cs:
        whole = visit.endless(D) if c not in groups else visit.outcome(where, groups[c])
        for density, count in zip(selection.densities, selection.counts, strict=True):
            cell = Cell(0.0, k, c, visit.strength(k, c), density)
            yield cell, visit.second(whole, k, c, count) if count < D else whole


@dataclass(frozen=True)
class Second:
    """The second passes of one target at one count: of all folds, and of all samples."""

    residuals: Array
    rcond: float
    dof: float
    unknowns: Unknowns


@dataclass(frozen=True)
class Near:
    """What tells the residuals of pairs of samples to first order, of one target.

    `rows` of B_c (m, M) need no more digits than the approximation has.
    """

    rows: npt.NDArray[np.float32]
    diagonal: Array
    e: Array
    u: Array

    def pairs(self, some: Index) -> Array:
        """Residuals of all samples without one of these, (m, M)."""
        rows = self.rows.astype(np.float64)
        found = pair_residuals(rows, rows, self.diagonal, self.e[:, None], some)
        return np.asarray(found[:, :, 0] / self.u)


@dataclass(frozen=True)
class Exact:
    """How a cell comes to exact leave-one-out residuals: its points of every target, solved more
    closely than on their path, and the problems without each sample."""

    where: Space
    group: Sequence[bridge_path.Cell]
    Y: Array
    outcome: Outcome

    def together(self, parts: "Sequence[Exact]") -> list[Outcome]:
        """The outcomes of cells; those of one space share walks and threads."""
        found: dict[int, list[LeftOut]] = {}
        for same in {id(part.where): part.where for part in parts}.values():
            some = [(i, part) for i, part in enumerate(parts) if part.where is same]
            starts = [Start(x.k, x.c, y, x.e) for _, p in some for x, y in p.each()]
            left_out = iter(solved_without_each(same, starts))
            found |= {i: [next(left_out) for _ in part.group] for i, part in some}
        return [part.told(found[i]) for i, part in enumerate(parts)]

    def each(self) -> Iterator[tuple[bridge_path.Cell, Array]]:
        """Its points and their targets."""
        return zip(self.group, self.Y.T, strict=True)

    def told(self, found: Sequence[LeftOut]) -> Outcome:
        """The outcome with exact residuals."""
        residuals = np.column_stack([one.residual for one in found])
        reason = self.outcome.reason if np.isfinite(residuals).all() else NOISE
        dofs = tuple(one.dof for one in found)
        exact = replace(self.outcome, loo="exact", refine=None, pairs=None)
        exact = replace(exact, dof=float(np.mean(dofs)), dofs=dofs)
        rcond = min(one.rcond for one in found)
        return replace(exact, rcond=rcond, residuals=residuals, reason=reason)


@dataclass
class Visit:
    """What a search keeps of each solved point, on its way along the paths.

    `kept` has the second passes of every (k, c, target, count), `solved` the degrees of freedom and
    the condition of every (k, c, target) that was solved more closely than its path, `again` the
    residuals without parts of the samples, at every `stride`-th of the `visits` of a path.
    """

    design: Design
    problem: Problem
    counts: Sequence[int]
    stride: int = 1
    kept: dict[tuple[float, float, int, int], Second] = field(default_factory=dict)
    solved: dict[tuple[float, float, int], tuple[float, float]] = field(default_factory=dict)
    near: dict[tuple[float, float, int], Near] = field(default_factory=dict)
    again: dict[tuple[float, float, int], Array] = field(default_factory=dict)
    spaces: list[Parts] = field(default_factory=list)
    visits: dict[tuple[float, int], int] = field(default_factory=dict)

    def __call__(self, s: Space, point: Point, y: Array, target: int) -> Array:
        """Out-of-fold residuals of a point (n_tested,)."""
        folds = self.problem.folds.folds
        if folds is None:
            if self.problem.parts:
                self._again(s, point, y, target)
            elif self.problem.outer.size:
                rows = s.rows(point, self.problem.outer).astype(np.float32)
                p, e = point.problem, s.residual(point, y)
                self.near[p.k, p.c, target] = Near(rows, s.diagonal(point), e, s.u)
            return approximate_loo(s, point, y)
        held, p = [fold.held for fold in folds], point.problem
        s, point = solve(s, p.k, p.c, y, point.e)
        self.solved[p.k, p.c, target] = s.dof(point), point.rcond
        if not self.counts:
            found = refits(s, point, y, held)
        else:
            both = refitted(s, point, y, held)
            found = [r for r, _ in both]
            parts = left_out_coef(point, s, np.column_stack([e for _, e in both]))[0]
            # which of the penalised are strong: those that are not are kept anyway
            parts = np.column_stack([finish(s, point, y).alpha, parts])
            coefs = coefficients(self.design, p.k, parts, np.zeros((1, 1))).T
            self._select(coefs[0], coefs[1:], self._spec(p.k, p.c), target)
        return np.concatenate([r[f.positions] for r, f in zip(found, folds, strict=True)])

    def _again(self, s: Space, point: Point, y: Array, target: int) -> None:
        """Without each part: what the other samples lose by leave one out."""
        p = point.problem
        number = self.visits.get((p.k, target), 0)
        self.visits[p.k, target] = number + 1
        if number % self.stride == 0:
            if not self.spaces or self.spaces[-1].space is not s:
                self.spaces.append(Parts(s, self.problem.parts))
            self.again[p.k, p.c, target] = self.spaces[-1].residuals(point, y)

    def passed(self, path: Sequence[bridge_path.Cell]) -> bool:
        """Whether a path has left the least out-of-fold error of every target behind."""
        t, weights = self.problem.Y.shape[1], self.problem.weights[self.problem.folds.tested]
        with np.errstate(over="ignore"):
            errors = np.array([weights @ np.square(one.loo) for one in path]).reshape(-1, t)
        worse = errors[-PATIENCE:] > WORSE * np.fmin.reduce(errors)
        return len(errors) > PATIENCE and bool(worse.all())

    def _spec(self, k: float, c: float) -> Spec:
        return Spec(k, c, self.problem.intercept, linear=True)

    def _select(self, whole: Array, by_fold: Array, spec: Spec, target: int) -> None:
        """Second passes: every fold fits its own strongest features."""
        Y, w, folds = self.problem.Y[:, [target]], self.problem.weights, self.problem.folds.folds
        for count in self.counts:
            columns = kept_columns(self.design, whole, count)
            solved = minimise(self.design.take(columns), Y, w, spec)
            first = solved.minima[0]
            parts = [
                self._second(kept_columns(self.design, coef, count), fold, Y, spec)
                for coef, fold in zip(by_fold, folds or (), strict=True)
            ]
            found = Unknowns(solved.fit(0).coef, None, columns, target)
            second = Second(np.concatenate(parts), first.rcond, first.dof, found)
            self.kept[spec.k, spec.c, target, count] = second

    def _second(self, columns: Index, fold: Fold, Y: Array, spec: Spec) -> Array:
        """Residuals of the tested samples of one fold on some columns."""
        trained = np.setdiff1d(np.arange(len(Y)), fold.held, assume_unique=True)
        kept, w = self.design.take(columns), self.problem.weights[trained]
        found = minimise(kept.take_rows(trained), Y[trained], w, spec).fit(0)
        outputs = kept.take_rows(fold.tested).dot(found.coef) + found.level
        return np.asarray((Y[fold.tested] - outputs)[:, 0])

    def strength(self, k: float, c: float) -> float:
        """The penalty relative to the scale of the data, ``1/(c k) / (D^(k/2) sd^(2-k))``: at
        k = 2 that of ridge regression, and free of the units of the targets at every k."""
        w, Y = self.problem.weights, self.problem.Y
        centred = Y - w @ Y / w.sum() if self.problem.intercept is not Intercept.NONE else Y
        variance = float(np.mean(w @ centred**2) / w.sum())
        scale = self.design.shape[1] ** (k / 2) * variance ** (1 - k / 2)
        return 1.0 / (c * k) / (scale or 1.0)  # targets that do not vary have no scale

    def outcome(self, where: Space, group: Sequence[bridge_path.Cell]) -> Outcome:
        """The outcome of all targets at one (k, c)."""
        residuals = np.column_stack([one.loo for one in group])
        usable = all(one.usable for one in group) and np.isfinite(residuals).all()
        spec = self._spec(group[0].k, group[0].c)
        facts = [self.solved.get((x.k, x.c, x.target), (x.dof, x.rcond)) for x in group]
        e = np.column_stack([one.e for one in group])
        known = Unknowns(Minimisers(spec, e, self.problem.Y))
        out = Outcome(
            residuals,
            min(rcond for _, rcond in facts),
            float(np.mean([dof for dof, _ in facts])),
            float(self.design.shape[1]),
            "" if usable else NOISE,
            unknowns=(known,),
            error=ACCURACY * float(np.abs(residuals).max(initial=0.0)),
            dofs=tuple(dof for dof, _ in facts),
        )
        if self.problem.folds.folds is not None:
            return out
        out = replace(out, loo="approximate", pairs=self._pairs(group))
        return replace(out, refine=Exact(where, group, self.problem.Y, out))

    def _pairs(self, group: Sequence[bridge_path.Cell]) -> Callable[[Index], Array] | None:
        """Residuals without parts, where they are known, or of pairs, to first order."""
        if not self.problem.outer.size:
            return None
        if self.problem.parts:
            keys = [(one.k, one.c, one.target) for one in group]
            if keys[0] not in self.again:
                return None
            found = np.stack([self.again.pop(key) for key in keys], axis=2)
            return Without(self.problem.parts, found)
        near = [self.near.pop((one.k, one.c, one.target)) for one in group]
        return lambda some: np.stack([one.pairs(some) for one in near], axis=2)

    def second(self, whole: Outcome, k: float, c: float, count: int) -> Outcome:
        """The outcome of the second passes of all targets."""
        targets = range(self.problem.Y.shape[1])
        if not whole.usable:
            return replace(whole, n_features=float(count), unknowns=())
        found = [self.kept[k, c, target, count] for target in targets]
        residuals = np.column_stack([one.residuals for one in found])
        return Outcome(
            residuals,
            min(one.rcond for one in found),
            float(np.mean([one.dof for one in found])),
            float(count),
            whole.reason if np.isfinite(residuals).all() else NOISE,
            unknowns=tuple(one.unknowns for one in found),
            dofs=tuple(one.dof for one in found),
            error=ACCURACY * float(np.abs(residuals).max(initial=0.0)),
        )

    def endless(self, n_features: int) -> Outcome:
        """c = inf: there is no minimiser without regularisation."""
        n_tested, t = self.problem.folds.tested.size, self.problem.Y.shape[1]
        reason = "c=inf leaves no penalty whose power k < 2 could matter"
        return failed(n_tested, t, float(n_features), reason)
