"""Candidates at a = 0 and k < 2: paths of exact minimisers along c, all powers and targets
together.

Samples are left out approximately on the way, by one Newton step from each fit (large folds are
solved, to a coarse tolerance), and exactly where a candidate asks for it. Every target is solved in
a unit of its own size, in which powers and squares of it are numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skstretch.core.bridge import REPORTED, Point
from skstretch.core.bridge_left_out import (
    LeftOut,
    Start,
    approximate_folds,
    out_of_fold,
    solved_without_each,
    solved_without_folds,
)
from skstretch.core.bridge_path import (
    Path,
    PathPoint,
    Space,
    approximate_loo,
    batches,
    c_in_unit,
    finish,
    paths,
    split,
    units_of,
)
from skstretch.core.crossfit import Fold
from skstretch.core.factors import counted
from skstretch.core.stretch import Intercept
from skstretch.core.types import PRECISION, Array, Index
from skstretch.designs import Design
from skstretch.search.candidates import (
    OTHERS,
    Candidate,
    Minimisers,
    Outcome,
    Problem,
    Unknowns,
    failed,
)
from skstretch.solve.choose import (
    PATH,
    SCORING,
    Spec,
    approximates_folds,
    unusable,
)
from skstretch.solve.newton import where_of

# relative accuracy of out-of-fold residuals that are solved for
ACCURACY = 100.0 * PRECISION
ENDLESS = "c=inf leaves no penalty whose power k < 2 could matter"
NOISE = "interpolates: its out-of-fold residuals are rounding"


def minimised_candidates(
    design: Design,
    ks: Sequence[float],
    cs: Sequence[float] | None,
    problem: Problem,
) -> Iterator[tuple[Candidate, Outcome]]:
    """Every candidate of a = 0 and the powers ks below 2; without cs the paths are automatic.

    Targets of a regression have automatic paths of their own, those of classes have one together.
    """
    scorer, finite = FoldScorer(design, problem), sorted({c for c in cs or () if c < np.inf})
    for some in [[k] for k in ks] if design.is_scaled else [ks]:
        where = split(where_of(design, problem.weights, problem.intercept, some[0]))
        asked = [path for k in some for path in scorer.paths(k, None if cs is None else finite)]
        found: list[list[PathPoint]] = []
        for batch in batches(asked, 24 * len(asked[0].targets) * where.side**2):
            if cs is None or finite:
                found += paths(where, batch, scorer.Y, PATH, SCORING, scorer, scorer.passed)
            else:
                found += [[] for _ in batch]
        counted("Newton step", sum(point.n_iter for points in found for point in points))
        for k in some:
            own = [points for path, points in zip(asked, found, strict=True) if path.k == k]
            yield from scorer.candidates(where, k, own, cs)


def minimised_without(
    k: float, cs: Sequence[float], design: Design, problem: Problem, fold: Fold
) -> tuple[list[Array], list[float]]:
    """Residuals (tested, t) of a fold at every c by the exact minimisers of the other samples, each
    solved from its neighbour, and their conditions; NaN where there is none that converges."""
    training, finite = fold.weights(problem.weights), sorted({c for c in cs if c < np.inf})
    scorer = FoldScorer(design, replace(problem, weights=training))
    where = split(where_of(design, training, problem.intercept, k))

    def tested(s: Space, point: Point, y: Array, target: int) -> Array:
        missed = unusable(gap=point.gap, promised_gap=REPORTED.gap)
        residual = finish(s, point, y).residual[fold.tested]
        return np.full(residual.shape, np.nan) if missed else scorer.units[target] * residual

    asked = scorer.paths(k, finite) if finite else []
    found = zip(*paths(where, asked, scorer.Y, PATH, REPORTED, tested), strict=True)
    at = dict(zip(finite, found, strict=True))
    nothing = np.full((fold.tested.size, problem.n_targets), np.nan)
    residuals = [np.column_stack([x.loo for x in at[c]]) if c in at else nothing for c in cs]
    return residuals, [min(x.rcond for x in at[c]) if c in at else np.nan for c in cs]


@dataclass(frozen=True)
class Exact:
    """How a candidate comes to exact out-of-fold residuals: its points of every target, solved
    more closely than on their path, and the problems without each sample, or each of the folds.
    `Y` and `units` are targets in their units."""

    where: Space
    group: Sequence[PathPoint]
    Y: Array
    units: Array
    folds: Sequence[Fold] | None

    def of(self, targets: Index) -> "Exact | None":
        """The points of some targets."""
        group = [x for x in self.group if x.target in targets]
        return replace(self, group=group) if group else None

    def solve_many(self, parts: "Sequence[Exact]", outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes of candidates; those of one space share passes and threads."""
        found: dict[int, list[LeftOut]] = {}
        for same in {id(part.where): part.where for part in parts}.values():
            some = [(i, part) for i, part in enumerate(parts) if part.where is same]
            starts = [Start(x.k, x.c, p.Y[:, x.target], x.e) for _, p in some for x in p.group]
            if self.folds is None:
                left_out = iter(solved_without_each(same, starts))
            else:
                left_out = iter(solved_without_folds(same, starts, self.folds))
            found |= {i: [next(left_out) for _ in part.group] for i, part in some}
        return [
            part.entered(one, found[i])
            for i, (part, one) in enumerate(zip(parts, outcomes, strict=True))
        ]

    def entered(self, outcome: Outcome, found: Sequence[LeftOut]) -> Outcome:
        """The outcome with exact residuals of these targets."""
        targets = [x.target for x in self.group]
        residuals, dofs = outcome.residuals.copy(), [*outcome.dofs]
        reasons, refine = [*outcome.reasons], outcome.refine
        assert isinstance(refine, Exact)
        rest = [x for x in refine.group if x.target not in targets]
        for j, one in zip(targets, found, strict=True):
            residuals[:, j], dofs[j] = self.units[j] * one.residual, one.dof
            finite = np.isfinite(one.residual).all()
            missed = unusable(gap=one.gap, promised_gap=REPORTED.gap)
            reasons[j] = reasons[j] or missed or ("" if finite else NOISE)
        return replace(
            outcome,
            loo="approximate" if rest else "exact",
            refine=replace(refine, group=rest) if rest else None,
            dof=float(np.nanmean(dofs)),
            dofs=tuple(dofs),
            rcond=min(one.rcond for one in found),
            residuals=residuals,
            reasons=tuple(reasons),
        )


@dataclass
class FoldScorer:
    """What a search keeps of each solved point, on its way along the paths."""

    design: Design
    problem: Problem

    @cached_property
    def units(self) -> Array:
        """Of the targets."""
        return units_of(self.problem.Y)

    @cached_property
    def Y(self) -> Array:
        """Targets in their units."""
        return np.asarray(self.problem.Y / self.units)

    def paths(self, k: float, cs: Sequence[float] | None) -> list[Path]:
        """The paths of one power, in the units of the targets."""
        targets = range(len(self.units))
        if cs is None and self.problem.classes:
            return [Path(k, tuple(targets))]
        if cs is None:
            return [Path(k, (j,)) for j in targets]
        return [Path(k, (j,), [c_in_unit(c, k, self.units[j]) for c in cs]) for j in targets]

    def __call__(self, s: Space, point: Point, y: Array, target: int) -> Array:
        """Out-of-fold residuals of a point (n_tested,)."""
        folds = self.problem.folds.folds
        if folds is None:
            return approximate_loo(s, point, y)
        weights = s.u**2
        largest = max(weights[fold.changed].sum() for fold in folds)
        if not approximates_folds(largest, weights.sum()):
            return out_of_fold(s, point, y, folds, SCORING)[0]
        found = approximate_folds(s, point, y, [fold.held for fold in folds])
        return np.concatenate([r[f.positions] for r, f in zip(found, folds, strict=True)])

    def passed(self, path: Sequence[PathPoint]) -> bool:
        """Whether a path has left the least out-of-fold error of every target behind."""
        t, weights = len({x.target for x in path}), self.problem.weights[self.problem.folds.tested]
        with np.errstate(over="ignore"):
            errors = np.array([weights @ np.square(one.loo) for one in path]).reshape(-1, t)
        return PATH.is_over(errors)

    def candidates(
        self,
        where: Space,
        k: float,
        found: Sequence[Sequence[PathPoint]],
        cs: Sequence[float] | None,
    ) -> Iterator[tuple[Candidate, Outcome]]:
        """The candidates of one power from the points of its paths, in the order of the grid."""
        if cs is None:
            for points in found:
                size = len({x.target for x in points})
                for at in range(0, len(points), size):
                    group = points[at : at + size]
                    j = group[0].target
                    c = c_in_unit(group[0].c, k, 1.0 / self.units[j])
                    alone = None if size == len(self.units) else j
                    strength = self.strength(group)
                    yield (
                        Candidate(0.0, k, c, strength, 1.0, target=alone),
                        self.outcome(where, group, c),
                    )
            return
        groups = dict(
            zip(sorted({c for c in cs if c < np.inf}), zip(*found, strict=True), strict=True)
        )
        for c in cs:
            group = groups.get(c, ())
            whole = failed(self.problem, self.design, ENDLESS)
            whole = self.outcome(where, group, c) if group else whole
            yield Candidate(0.0, k, c, self.strength(group), 1.0), whole

    def strength(self, group: Sequence[PathPoint]) -> float:
        """The penalty relative to the scale of the data, ``1/(c k) / (D^(k/2) sd^(2-k))``: at
        k = 2 that of ridge regression, and free of the units of the targets at every k."""
        w, found = self.problem.weights, []
        for x in group:
            y = self.Y[:, x.target]
            centred = y - w @ y / w.sum() if self.problem.intercept is not Intercept.NONE else y
            variance = float(w @ centred**2 / w.sum())
            scale = self.design.shape[1] ** (x.k / 2) * variance ** (1 - x.k / 2)
            # targets that do not vary have no scale
            found.append(-np.log(x.c * x.k) - np.log(scale or 1.0))
        return float(np.exp(np.mean(found))) if found else 0.0

    def outcome(self, where: Space, group: Sequence[PathPoint], c: float) -> Outcome:
        """The outcome of some targets at one (k, c); others have none."""
        n, t = self.problem.folds.tested.size, len(self.units)
        targets = [x.target for x in group]
        residuals, dofs = np.full((n, t), np.nan), np.full(t, np.nan)
        reasons = [OTHERS] * t
        for x in group:
            j = x.target
            usable = x.usable and np.isfinite(x.loo).all()
            missed = unusable(gap=x.gap, promised_gap=SCORING.gap)
            residuals[:, j], dofs[j] = self.units[j] * x.loo, x.dof
            reasons[j] = missed or ("" if usable else NOISE)
        spec = Spec(group[0].k, c, self.problem.intercept, linear=True)
        e = np.column_stack([self.units[x.target] * x.e for x in group])
        alone = None if len(group) == t else targets[0]
        unknowns = Unknowns(Minimisers(spec, e, self.problem.Y[:, targets]), target=alone)
        return Outcome(
            residuals,
            min(x.rcond for x in group),
            float(np.mean(dofs[targets])),
            float(self.design.shape[1]),
            reasons=tuple(reasons),
            unknowns=(unknowns,),
            error=ACCURACY * np.abs(np.nan_to_num(residuals)).max(axis=0, initial=0.0),
            dofs=tuple(dofs.tolist()),
            loo="approximate",
            refine=Exact(where, group, self.Y, self.units, self.problem.folds.folds),
        )
