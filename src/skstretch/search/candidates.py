"""Candidates of the grid: where they stand, what they share, what each gives, and what is kept of
it for whoever wants to look at other candidates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from skstretch.core.bridge import Tolerance, newton, start
from skstretch.core.bridge_path import batches, c_in_unit, finish, split, units_of
from skstretch.core.crossfit import Fold
from skstretch.core.dual import DualSolution
from skstretch.core.gram import Frame
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index
from skstretch.designs.protocol import Design
from skstretch.solve.choose import Spec
from skstretch.solve.left_out import held_out_bounds
from skstretch.solve.newton import coefficients, where_of

# how closely coefficients of exact minimisers are solved for whoever looks at other candidates
SHOWN = Tolerance(gap=1e-10, step=1e-8, stale=np.inf)
# bytes of out-of-fold outputs and unknowns that a fitted search may hold on to
MOST_BYTES = 48 << 20
# bytes of coefficients that are made at a time
BATCH_BYTES = 64 << 20
# roundings of size eps that a sum of products leaves
ROUNDINGS = 4.0
OTHERS = "a candidate of another target"


@dataclass(frozen=True)
class Candidate:
    """One point of the grid; `strength` is the relative strength of its penalty.

    Where data are prepared in several ways, `recipe` names the one that the candidate saw. Of
    several targets one of a regression may have candidates that are its own: then `target` is its
    place.
    """

    a: float
    k: float
    c: float
    strength: float
    density: float
    recipe: str = ""
    target: int | None = None


@dataclass(frozen=True)
class Folds:
    """Leave one out (`folds` is None), or a list of folds over the samples in use.

    `tested` names the tested sample of every out-of-fold prediction, fold after fold.
    """

    folds: Sequence[Fold] | None
    tested: Index

    @property
    def held(self) -> list[Index] | None:
        """The samples that every fold is not trained on; None for leave one out."""
        return None if self.folds is None else [fold.held for fold in self.folds]

    def mean(self, values: Array, n_samples: int) -> Array:
        """Average predictions (or losses) of each sample over its folds; NaN where it has none."""
        sums = np.zeros((n_samples, *values.shape[1:]))
        np.add.at(sums, self.tested, values)
        counts = np.bincount(self.tested, minlength=n_samples).astype(float)
        counts[counts == 0] = np.nan
        return sums / counts.reshape(-1, *([1] * (values.ndim - 1)))


def leave_one_out(n_samples: int) -> Folds:
    """Every sample on its own."""
    return Folds(None, np.arange(n_samples))


def folds_from_splits(splits: Iterable[tuple[Any, Any]], used: Index, n_samples: int) -> Folds:
    """Folds over the samples `used` (those of positive weight) from (train, test) pairs.

    What is not trained on is held out, whether it is tested or not, and a sample that is listed
    several times (a bootstrap) is fitted as so many repetitions; so any splitter is exact.
    """
    place = np.full(n_samples, -1)
    place[used] = np.arange(used.size)
    folds = []
    for train, test in splits:
        train, times = np.asarray(train), np.zeros(n_samples)
        np.add.at(times, train, 1.0)
        training = times > 0
        test = np.asarray(test)
        if test.dtype == bool:
            test = np.flatnonzero(test)
        overlap = np.flatnonzero(training[test])
        if overlap.size:
            raise ValueError(
                f"sample {test[overlap[0]]} is in the training and the test part of one split."
            )
        if not training[used].any():
            raise ValueError("a split has no training sample of positive weight.")
        held = place[np.flatnonzero(~training)]
        tested = place[test]
        repeated = used[times[used] > 1]
        folds.append(Fold(held[held >= 0], tested[tested >= 0], place[repeated], times[repeated]))
    if not folds:
        raise ValueError(
            "cv gives no split; a generator can be used once: pass a list of its splits."
        )
    return Folds(folds, np.concatenate([fold.tested for fold in folds]))


@dataclass(frozen=True)
class Problem:
    """Targets, weights, intercept and folds: what all candidates share; `classes` where Y is
    +-1."""

    Y: Array
    weights: Array
    intercept: Intercept
    folds: Folds
    classes: bool = False
    # whether penalties are made by the search, so that it must know which of them it can judge
    automatic: bool = False
    # the mean weight of an effective sample, which automatic penalties grow with
    unit: float = 1.0

    @property
    def doubts(self) -> bool:
        """Whether candidates are asked of how many independent numbers their residuals are made."""
        return self.automatic and self.folds.folds is None

    @property
    def n_targets(self) -> int:
        return int(self.Y.shape[1])

    @property
    def apart(self) -> "list[tuple[int | None, Problem]]":
        """The problems that choose on their own: each target of several of a regression, with its
        place; else this one."""
        if self.classes or self.n_targets == 1:
            return [(None, self)]
        return [(j, replace(self, Y=self.Y[:, [j]])) for j in range(self.n_targets)]


@dataclass(frozen=True)
class Minimisers:
    """Points e (T, t) of the dual of exact minimisers of Y, as closely as a search solves them."""

    spec: Spec
    e: Array
    Y: Array

    @staticmethod
    def solve_many(parts: "Sequence[Minimisers]", design: Design, weights: Array) -> list[Array]:
        """Coefficients (D, t) of each of one k, by a few more steps: one pass a step for all."""
        spec = parts[0].spec
        where = split(where_of(design, weights, spec.intercept, spec.k))
        todo = [
            (c_in_unit(part.spec.c, spec.k, unit), y / unit, e / unit, unit)
            for part in parts
            for y, e, unit in zip(part.Y.T, part.e.T, units_of(part.Y), strict=True)
        ]
        found = []
        for some in batches(todo, 24 * len(todo[0][2]) ** 2):
            problems = [where.problem(spec.k, c, y) for c, y, *_ in some]
            starts = start(where.products, problems, [e for _, _, e, _ in some])
            points = newton(where.products, starts, SHOWN)
            for point, (_, y, _, unit) in zip(points, some, strict=True):
                one = finish(where, point, y)
                alpha, gamma = unit * one.alpha[:, None], unit * one.gamma[:, None]
                found.append(coefficients(design, spec.k, alpha, gamma))
        counts = np.cumsum([part.e.shape[1] for part in parts])[:-1]
        return np.split(np.hstack(found), counts, axis=1)


@dataclass(frozen=True)
class Unknowns:
    """What was solved for, from which coefficients are a product away.

    Attributes
    ----------
    solved : DualSolution, Minimisers, or array of shape (D, t)
        Dual coefficients, from which ``alpha = Q' beta``; points of the dual of exact minimisers;
        or the coefficients themselves.
    frame : Frame or None
        Of the dual coefficients.
    columns : index array or None
        The columns of the design that it keeps.
    target : int or None
        The target that keeps them; None for all.
    """

    solved: DualSolution | Minimisers | Array
    frame: Frame | None = None
    columns: Index | None = None
    target: int | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes that it holds on to, but for the frame, which candidates share."""
        own = self.solved.beta if isinstance(self.solved, DualSolution) else self.solved
        own = own.e if isinstance(own, Minimisers) else own
        return own.nbytes + (0 if self.columns is None else self.columns.nbytes)

    @property
    def is_shared(self) -> bool:
        """Whether candidates of the same (a, k) have the same frame, or are solved in the same
        space."""
        if isinstance(self.solved, Minimisers):
            return self.columns is None
        return self.frame is not None and self.frame.log_rows is None and self.columns is None

    @staticmethod
    def solve_many(parts: "Sequence[Unknowns]", design: Design, weights: Array) -> list[Array]:
        """Coefficients (D, t) of candidates that share a pass over the columns of a design."""
        minimisers = [part.solved for part in parts if isinstance(part.solved, Minimisers)]
        if minimisers:
            return Minimisers.solve_many(minimisers, design, weights)
        found = [part.solved for part in parts if isinstance(part.solved, DualSolution)]
        if not found:
            return [part.solved for part in parts if isinstance(part.solved, np.ndarray)]
        frame = parts[0].frame
        assert frame is not None
        beta = np.hstack([solution.beta for solution in found])
        total = np.concatenate([solution.total for solution in found])
        coef = np.vstack([alpha for _, alpha in design.coefficients(frame, beta, total, weights)])
        return np.split(coef, len(parts), axis=1)


class Refine(Protocol):
    """What makes exact outcomes of approximate ones."""

    def of(self, targets: Index) -> "Refine | None":
        """What is left to be made exact of some targets; None where that is nothing."""

    def solve_many(self, parts: Sequence[Any], outcomes: "Sequence[Outcome]") -> "list[Outcome]":
        """The exact outcomes of several such parts, this one among them."""


@dataclass(frozen=True)
class Outcome:
    """What one candidate gave.

    Attributes
    ----------
    residuals : array of shape (n_tested, t)
        Out-of-fold residuals.
    loo : {"exact", "approximate", "held out"}
        Whether residuals are those of literal refits, or those of one Newton step from the fit, or
        those of iterated refits without a part of the samples.
    refine : Refine or None
        Makes an exact outcome of an approximate one, several at a time.
    reasons : tuple of str
        Why it must not be used for each target; empty where it may.
    error : array of shape (t,)
        A bound on what rounding does to residuals of each target: they are known to this.
    finish : callable or None
        Makes the fit of the candidate from what is already known; None where it must be fitted.
    columns : index array or None
        The columns of the design that it keeps; None for all.
    unknowns : tuple of Unknowns
        What the coefficients of all samples are made of, pass by pass.
    dofs : tuple of float
        The degrees of freedom of every target, where they differ; `dof` is their mean.
    """

    residuals: Array
    rcond: float
    dof: float
    n_features: float
    reasons: tuple[str, ...] = ("",)
    finish: Callable[[], Fit] | None = None
    unknowns: tuple[Unknowns, ...] = ()
    error: Array = field(default_factory=lambda: np.zeros(1))
    loo: str = "exact"
    refine: Refine | None = None
    dofs: tuple[float, ...] = ()
    columns: Index | None = None

    @property
    def usable(self) -> bool:
        """Whether it may be used, for one of its targets at least."""
        return "" in self.reasons

    @property
    def served(self) -> Index:
        """The targets that it may be used for."""
        return np.flatnonzero([not reason for reason in self.reasons])

    @property
    def trouble(self) -> str:
        """Why it must not be used, for the first target of which this is so."""
        return next((reason for reason in self.reasons if reason), "")

    def of(self, targets: Index) -> "Outcome":
        """What it is for some targets alone."""
        if targets.size == self.residuals.shape[1]:
            return self
        dof = float(np.mean(np.array(self.dofs)[targets])) if self.dofs else self.dof
        return replace(
            self,
            residuals=self.residuals[:, targets],
            dof=dof,
            reasons=tuple(self.reasons[j] for j in targets),
            error=np.broadcast_to(self.error, (self.residuals.shape[1],))[targets],
        )

    def times(self, factor: float) -> "Outcome":
        """The same of targets in another unit."""
        if factor == 1.0:
            return self
        return replace(self, residuals=self.residuals * factor, error=self.error * factor)

    def among(self, target: int, n_targets: int) -> "Outcome":
        """The outcome of one target as one of several, of which the others have none."""
        if n_targets == 1:
            return self
        residuals = np.full((len(self.residuals), n_targets), np.nan)
        residuals[:, target] = self.residuals[:, 0]
        reasons = [OTHERS] * n_targets
        reasons[target] = self.trouble
        unknowns = tuple(replace(each, target=target) for each in self.unknowns)
        dofs, error = np.full(n_targets, np.nan), np.zeros(n_targets)
        dofs[target], error[target] = self.dof, self.error.max(initial=0.0)
        return replace(
            self,
            residuals=residuals,
            unknowns=unknowns,
            error=error,
            reasons=tuple(reasons),
            dofs=tuple(dofs.tolist()),
        )

    def moved(self, tested: Index, order: Index) -> "Outcome":
        """The outcome of folds that test every sample once, as `tested` says, in another order."""
        place = np.empty(tested.size, dtype=np.intp)
        place[tested] = np.arange(tested.size)
        return replace(self, residuals=self.residuals[place[order]])

    def is_open(self, targets: Index) -> bool:
        """Whether residuals of some targets are approximate."""
        return self.refine is not None and self.refine.of(targets) is not None

    @staticmethod
    def exactly(outcomes: "Sequence[Outcome]", targets: Index) -> "list[Outcome]":
        """Open outcomes with exact residuals of some targets: one pass a step serves them all."""
        parts = [each.refine.of(targets) for each in outcomes if each.refine is not None]
        return parts[0].solve_many(parts, outcomes) if parts and parts[0] is not None else []


def relative_error(rcond: float) -> float:
    """What a few roundings do to a solution of this condition, relative to its size.

    A condition is an estimate: the next power of ten, so that copies of samples, or another
    storage, do not decide between candidates that differ by such errors.
    """
    if not rcond > 0.0:
        return np.inf
    return float(10.0 ** np.ceil(np.log10(ROUNDINGS * np.finfo(np.float64).eps / rcond)))


def target_size(Y: Array) -> Array:
    """How far targets lie from their means, at most: the size of what is predicted, (t,)."""
    return np.asarray(np.abs(Y - Y.mean(axis=0)).max(axis=0, initial=0.0))


def failed(problem: Problem, design: Design, reason: str) -> Outcome:
    """The outcome of a candidate that could not be solved."""
    nothing = np.full((problem.folds.tested.size, problem.n_targets), np.nan)
    return Outcome(nothing, 0.0, np.nan, float(design.shape[1]), (reason,) * problem.n_targets)


@dataclass(frozen=True)
class View:
    """The design at one a, and the columns of X that it uses."""

    design: Design
    quadrant: Quadrant
    columns: Index


@dataclass(frozen=True)
class Outcomes:
    """Every candidate with its out-of-fold outputs and what its coefficients are made of.

    Attributes
    ----------
    outputs : array of shape (n_cells, M, t)
        The mean over the folds that tested a sample; NaN where none did, or the candidate is
        unusable.
    unknowns : list
        For each candidate what was solved for, one entry a pass; empty where there is nothing.
    views : dict
        For every a the design, its quadrant, and the columns of X that take part.
    Y, weights, intercept : what all candidates were fitted to, (M, t) and (M,)
    sample_weights : array of shape (M,)
        Weights without those of classes.
    grouped : bool
        Whether samples belong together, so that single ones are no independent units.
    X : what the views see, as it was checked
    """

    candidates: Sequence[Candidate]
    outputs: Array
    unknowns: Sequence[Sequence[Unknowns]]
    views: Mapping[float, View]
    Y: Array
    weights: Array
    intercept: Intercept
    grouped: bool
    sample_weights: Array
    X: Any = None

    def slopes(self, rows: Sequence[int], n_features: int) -> Iterator[tuple[int, Array]]:
        """``(row, coef_ (t, n_features))`` of some candidates, by products alone.

        Candidates of one (a, k) share a pass over the data: ``alpha = Q' [beta_1, beta_2, ...]``.
        """
        for batch in self._batches(rows, n_features):
            view = self.views[self.candidates[batch[0]].a]
            for row, coef in zip(batch, self._coefficients(batch, view), strict=True):
                whole = np.zeros((self.Y.shape[1], n_features))
                whole[:, view.columns] = coef
                yield row, view.quadrant.slope(whole)

    def _batches(self, rows: Sequence[int], n_features: int) -> Iterator[list[int]]:
        """Candidates whose coefficients one pass makes."""
        shared: dict[tuple[float, float], list[int]] = {}
        for row in rows:
            parts = self.unknowns[row]
            if len(parts) == 1 and parts[0].is_shared:
                shared.setdefault((self.candidates[row].a, self.candidates[row].k), []).append(row)
            else:
                yield [row]
        size = max(1, BATCH_BYTES // (8 * n_features * self.Y.shape[1]))
        for found in shared.values():
            for at in range(0, len(found), size):
                yield found[at : at + size]

    def _coefficients(self, rows: list[int], view: View) -> Iterator[Array]:
        """Coefficients (t, columns of the design) of the candidates of a batch."""
        design, t = view.design, self.Y.shape[1]
        if len(rows) > 1:
            parts = [self.unknowns[row][0] for row in rows]
            found = [[one] for one in Unknowns.solve_many(parts, design, self.weights)]
        else:
            alone = [
                (part, design if part.columns is None else design.take(part.columns))
                for part in self.unknowns[rows[0]]
            ]
            found = [[Unknowns.solve_many([one], own, self.weights)[0] for one, own in alone]]
        for row, coefs in zip(rows, found, strict=True):
            coef = np.zeros((t, design.shape[1]))
            for part, own in zip(self.unknowns[row], coefs, strict=True):
                kept = np.arange(design.shape[1]) if part.columns is None else part.columns
                targets = np.arange(t) if part.target is None else np.array([part.target])
                coef[np.ix_(targets, kept)] = own.T
            yield coef

    def held_out_bounds(
        self, row: int, folds: Sequence[Index], levels: Sequence[float]
    ) -> Array | None:
        """Jackknife+ bounds of every fold by the candidate without it, (2, levels, M, t).

        None where the candidate keeps some of the features: which ones must be chosen without the
        fold.
        """
        candidate = self.candidates[row]
        if any(part.columns is not None for part in self.unknowns[row]):
            return None
        design = self.views[candidate.a].design
        spec = Spec(candidate.k, candidate.c, self.intercept, "auto", design.unit, candidate.a == 0)
        return held_out_bounds(design, self.Y, self.weights, spec, folds, levels)


def kept_outcomes(
    candidates: Sequence[Candidate],
    results: Sequence[Outcome],
    problem: Problem,
    views: Mapping[float, View],
    grouped: bool,
    sample_weights: Array,
    X: Any,
) -> Outcomes | None:
    """What is worth keeping of a finished search; None where it would take too much memory, or
    where what is made of it takes inverses that the search has done without."""
    n, t = problem.Y.shape
    if any(outcome.loo == "held out" for outcome in results):
        return None
    held = sum(part.n_bytes for outcome in results for part in outcome.unknowns)
    if 8 * len(candidates) * n * t + held > MOST_BYTES:
        return None
    outputs = np.full((len(candidates), n, t), np.nan)
    true = problem.Y[problem.folds.tested]
    for row, outcome in enumerate(results):
        own = outcome.served
        outputs[row][:, own] = problem.folds.mean(true[:, own] - outcome.residuals[:, own], n)
    unknowns = [outcome.unknowns if outcome.usable else () for outcome in results]
    data = problem.Y, problem.weights, problem.intercept
    return Outcomes(candidates, outputs, unknowns, views, *data, grouped, sample_weights, X)
