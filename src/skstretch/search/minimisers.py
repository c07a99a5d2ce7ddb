"""Candidates at a = 0 and k < 2: paths of exact minimisers along c, all powers and targets
together.

Leave one out is approximate on the way (one Newton step from each fit) and exact where a candidate
asks for it; folds are solved, each from the fit of all samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skstretch.core import bridge_path
from skstretch.core.bridge import Point
from skstretch.core.bridge_left_out import (
    LeftOut,
    Start,
    refits,
    solved_without_each,
)
from skstretch.core.bridge_path import BATCH, Space, approximate_loo, paths, solve, split
from skstretch.core.factors import counted
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array
from skstretch.designs import Design
from skstretch.search.candidates import Candidate, Minimisers, Outcome, Problem, Unknowns, failed
from skstretch.solve.choose import PATH_LENGTH, PATIENCE, WORSE
from skstretch.solve.newton import where_of
from skstretch.solve.spec import Spec

# relative accuracy of out-of-fold residuals that are solved for
ACCURACY = 1e-8
NOISE = "interpolates: its out-of-fold residuals are rounding"


def minimised_candidates(
    design: Design,
    ks: Sequence[float],
    cs: Sequence[float] | None,
    problem: Problem,
) -> Iterator[tuple[Candidate, Outcome]]:
    """Every candidate of a = 0 and the powers ks below 2; without cs the paths are automatic."""
    scorer = FoldScorer(design, problem)
    finite = None if cs is None else sorted({c for c in cs if c < np.inf})
    for some in [[k] for k in ks] if design.is_scaled else [ks]:
        where = split(where_of(design, problem.weights, problem.intercept, some[0]))
        for batch in _batches(some, where, problem.Y.shape[1]):
            found: list[list[bridge_path.PathPoint]] = [[] for _ in batch]
            if finite is None or finite:
                given = None if finite is None else [finite] * len(batch)
                found = paths(
                    where,
                    batch,
                    problem.Y,
                    PATH_LENGTH,
                    given,
                    held_out=scorer,
                    enough=scorer.passed,
                )
            for k, path in zip(batch, found, strict=True):
                counted("Newton step", sum(candidate.n_iter for candidate in path))
                yield from _along(k, path, cs, scorer, where)


def _batches(ks: Sequence[float], where: Space, t: int) -> list[Sequence[float]]:
    """Powers whose Newton matrices fit in memory together."""
    side = len(where.u) if where.Q is None else where.Q.shape[1]
    size = max(1, int(BATCH // (24 * t * side**2)))
    return [ks[at : at + size] for at in range(0, len(ks), size)]


def _along(
    k: float,
    path: Sequence[bridge_path.PathPoint],
    cs: Sequence[float] | None,
    scorer: "FoldScorer",
    where: Space,
) -> Iterator[tuple[Candidate, Outcome]]:
    """The candidates of one power: all targets of a c, in the order of the grid."""
    t = scorer.problem.Y.shape[1]
    groups = {path[at].c: path[at : at + t] for at in range(0, len(path), t)}
    for c in groups if cs is None else cs:
        whole = scorer.endless() if c not in groups else scorer.outcome(where, groups[c])
        yield Candidate(0.0, k, c, scorer.strength(k, c), 1.0), whole


@dataclass(frozen=True)
class Exact:
    """How a candidate comes to exact leave-one-out residuals: its points of every target, solved
    more closely than on their path, and the problems without each sample."""

    where: Space
    group: Sequence[bridge_path.PathPoint]
    Y: Array
    outcome: Outcome

    def solve_many(self, parts: "Sequence[Exact]") -> list[Outcome]:
        """The outcomes of candidates; those of one space share passes and threads."""
        found: dict[int, list[LeftOut]] = {}
        for same in {id(part.where): part.where for part in parts}.values():
            some = [(i, part) for i, part in enumerate(parts) if part.where is same]
            starts = [Start(x.k, x.c, y, x.e) for _, p in some for x, y in p.each()]
            left_out = iter(solved_without_each(same, starts))
            found |= {i: [next(left_out) for _ in part.group] for i, part in some}
        return [part.with_residuals(found[i]) for i, part in enumerate(parts)]

    def each(self) -> Iterator[tuple[bridge_path.PathPoint, Array]]:
        """Its points and their targets."""
        return zip(self.group, self.Y.T, strict=True)

    def with_residuals(self, found: Sequence[LeftOut]) -> Outcome:
        """The outcome with exact residuals."""
        residuals = np.column_stack([one.residual for one in found])
        reason = self.outcome.reason if np.isfinite(residuals).all() else NOISE
        dofs = tuple(one.dof for one in found)
        exact = replace(self.outcome, loo="exact", refine=None)
        exact = replace(exact, dof=float(np.mean(dofs)), dofs=dofs)
        rcond = min(one.rcond for one in found)
        return replace(exact, rcond=rcond, residuals=residuals, reason=reason)


@dataclass
class FoldScorer:
    """What a search keeps of each solved point, on its way along the paths.

    `solved` has the degrees of freedom and the condition of every (k, c, target) that was solved
    more closely than its path.
    """

    design: Design
    problem: Problem
    solved: dict[tuple[float, float, int], tuple[float, float]] = field(default_factory=dict)

    def __call__(self, s: Space, point: Point, y: Array, target: int) -> Array:
        """Out-of-fold residuals of a point (n_tested,)."""
        folds = self.problem.folds.folds
        if folds is None:
            return approximate_loo(s, point, y)
        held, p = [fold.held for fold in folds], point.problem
        s, point = solve(s, p.k, p.c, y, point.e)
        self.solved[p.k, p.c, target] = s.dof(point), point.rcond
        found = refits(s, point, y, held)
        return np.concatenate([r[f.positions] for r, f in zip(found, folds, strict=True)])

    def passed(self, path: Sequence[bridge_path.PathPoint]) -> bool:
        """Whether a path has left the least out-of-fold error of every target behind."""
        t, weights = self.problem.Y.shape[1], self.problem.weights[self.problem.folds.tested]
        with np.errstate(over="ignore"):
            errors = np.array([weights @ np.square(one.loo) for one in path]).reshape(-1, t)
        worse = errors[-PATIENCE:] > WORSE * np.fmin.reduce(errors)
        return len(errors) > PATIENCE and bool(worse.all())

    def _spec(self, k: float, c: float) -> Spec:
        return Spec(k, c, self.problem.intercept, linear=True)

    def strength(self, k: float, c: float) -> float:
        """The penalty relative to the scale of the data, ``1/(c k) / (D^(k/2) sd^(2-k))``: at
        k = 2 that of ridge regression, and free of the units of the targets at every k."""
        w, Y = self.problem.weights, self.problem.Y
        centred = Y - w @ Y / w.sum() if self.problem.intercept is not Intercept.NONE else Y
        variance = float(np.mean(w @ centred**2) / w.sum())
        scale = self.design.shape[1] ** (k / 2) * variance ** (1 - k / 2)
        return 1.0 / (c * k) / (scale or 1.0)  # targets that do not vary have no scale

    def outcome(self, where: Space, group: Sequence[bridge_path.PathPoint]) -> Outcome:
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
        out = replace(out, loo="approximate")
        return replace(out, refine=Exact(where, group, self.problem.Y, out))

    def endless(self) -> Outcome:
        """c = inf: there is no minimiser without regularisation."""
        n_tested, t = self.problem.folds.tested.size, self.problem.Y.shape[1]
        reason = "c=inf leaves no penalty whose power k < 2 could matter"
        return failed(n_tested, t, float(self.design.shape[1]), reason)
