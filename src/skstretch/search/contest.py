"""The contest of all cells: scores, the verdict of a rule, and what is told of it.

A verdict names one cell; a mixture has the best cells of all families.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skstretch.core.crossfit import paired_error
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.search.cells import Cell, Outcome, Problem
from skstretch.search.mix import (
    LEAST_WEIGHT,
    TAU_CLASSES,
    Mix,
    best_of_families,
    class_weights,
    regression_weights,
    residual_moments,
)
from skstretch.search.nested import Nested
from skstretch.search.rule import (
    Verdict,
    compared,
    helpful_edge,
    judge,
    results_table,
    standard_error,
)
from skstretch.search.scoring import LogLoss, Scored, Scoring, SquaredError, scored

# classes from which the best cell of a family is made exact only where it may take part in the
# model: every class has Newton matrices of its own
MANY_CLASSES = 6
# by how much, as a part of log(classes), an approximate log loss may lie above the exact one: up to
# 0.11 on wide data with k near 1
OFF = 0.15


@dataclass
class Contest:
    """The cells of a search with their outcomes and scores, and the samples that compare them.

    Attributes
    ----------
    scoring : Scoring
        What is told of every cell.
    loss : Scoring
        What the best cells of families are chosen by: that of the scoring, or one that is made for
        classes.
    weights, units : arrays of shape (M,)
        Of the samples of the problem; units that errors share, or None.
    scores, paired : list of Scored
        By test of a sample, and by sample that was tested.
    losses : list of Scored
        By the loss.
    """

    problem: Problem
    scoring: Scoring
    loss: Scoring
    weights: Array
    units: Any
    cells: list[Cell] = field(default_factory=list)
    results: list[Outcome] = field(default_factory=list)
    scores: list[Scored] = field(default_factory=list)
    paired: list[Scored] = field(default_factory=list)
    losses: list[Scored] = field(default_factory=list)
    nested: Nested | None = None

    def __post_init__(self) -> None:
        self.seen = np.isin(np.arange(len(self.weights)), self.problem.folds.tested)

    @property
    def true(self) -> Array:
        """Targets of the tested samples, fold after fold, (n_tested, t)."""
        return self.problem.Y[self.problem.folds.tested]

    def leave_out(self, parts: Sequence[Index]) -> None:
        """Choices are repeated without parts of the samples in place of single samples, if any."""
        if self.nested is not None and parts:
            outer = np.sort(np.concatenate(parts))
            self.problem = self.nested.problem = replace(self.problem, parts=parts, outer=outer)

    def enter(self, cell: Cell, outcome: Outcome) -> None:
        """One more cell."""
        if self.nested is not None:
            self.nested.enter(cell, outcome)
        outcome = replace(outcome, pairs=None)  # an inverse is as large as K: let it go
        score = scored(self.scoring, outcome, self.true)
        self.cells.append(cell)
        self.results.append(outcome)
        self.scores.append(score)
        self.paired.append(self.by_sample(score))
        self.losses.append(self._lost(outcome, score))

    def _lost(self, outcome: Outcome, score: Scored) -> Scored:
        return score if self.loss is self.scoring else scored(self.loss, outcome, self.true)

    def heaviest(self, mix: Mix) -> Verdict:
        """The verdict that names the cell of the largest weight."""
        return replace(self._judge("best"), chosen=max(mix, key=lambda row: float(mix[row].sum())))

    def judged(self, rule: str) -> Verdict:
        """The verdict of a rule, once every value that is told of it is exact."""
        verdict = self._judge(rule)
        leaders = best_of_families(self.cells, self.results, self.scores)
        while self._refine([verdict.chosen, verdict.best, *leaders]):
            verdict = self._judge(rule)
            leaders = best_of_families(self.cells, self.results, self.scores)
        return verdict

    def chosen(self, rule: str) -> tuple[Verdict, Mix]:
        """The verdict of a rule of one cell, and the cell of every target.

        Targets of a regression choose on their own, as they mix: then the verdict names the cell
        of most targets. Classes, and any other scoring, choose together.
        """
        verdict, t = self.judged(rule), self.problem.Y.shape[1]
        if t == 1 or not isinstance(self.scoring, SquaredError):
            return verdict, {verdict.chosen: np.ones(t)}
        mix: Mix = {}
        for j in range(t):
            mix.setdefault(self._chosen_alone(rule, j), np.zeros(t))[j] = 1.0
        mix = dict(sorted(mix.items()))
        return (self.heaviest(mix) if len(mix) > 1 else self._named(mix, verdict)), mix

    def _named(self, mix: Mix, verdict: Verdict) -> Verdict:
        """The verdict of all targets, where each has chosen the same cell."""
        return replace(verdict, chosen=next(iter(mix)))

    def _chosen_alone(self, rule: str, target: int) -> int:
        """The cell of one target, once what is compared is exact."""
        part = np.array([target])
        while True:
            found, own = [each.of(part) for each in self.results], self._alone(part)
            verdict = judge(self.cells, found, own, *self._units, rule)
            leaders = best_of_families(self.cells, found, own)
            if not self._refine([verdict.chosen, verdict.best, *leaders]):
                return verdict.chosen

    def _alone(self, part: Index) -> list[Scored]:
        """Squared errors of some targets of every cell, by sample that was tested."""
        true = self.true[:, part]
        loss = SquaredError(true, self._tested)
        return [self.by_sample(scored(loss, each.of(part), true)) for each in self.results]

    def mixed(self) -> Mix:
        """The mixture of the best cells of all families, from their exact values.

        Targets of a regression choose and mix on their own; classes, and any other scoring, do so
        together.
        """
        self._judge("best")  # says so where no cell is usable
        t = self.problem.Y.shape[1]
        alone = isinstance(self.loss, SquaredError)
        parts = [np.array([j]) for j in range(t)] if alone else [np.arange(t)]
        leaders = [self._leaders(part) for part in parts]
        while self._refine(row for rows in leaders for row in self._counted(rows)):
            leaders = [self._leaders(part) for part in parts]
        mix: Mix = {}
        for part, rows in zip(parts, leaders, strict=True):
            for row, weight in zip(rows, self._shares(rows, part), strict=True):
                if weight > 0.0:
                    mix.setdefault(row, np.zeros(t))[part] = weight
        return dict(sorted(mix.items()))

    def _counted(self, rows: Sequence[int]) -> Sequence[int]:
        """Those of the best cells that are made exact: all, or of many classes those that would
        have a share of the mixture if their losses were less by what approximations may hide."""
        if not (isinstance(self.loss, LogLoss) and self.loss.n_classes >= MANY_CLASSES):
            return rows
        losses = np.array([-self.losses[row].score for row in rows])
        off = OFF * np.log(self.loss.n_classes)
        n = float(self.weights[self.seen].sum())
        shares = np.exp(TAU_CLASSES * n * np.minimum(0.0, losses.min() - losses + off))
        return [row for row, share in zip(rows, shares, strict=True) if share >= LEAST_WEIGHT]

    def _leaders(self, part: Index) -> list[int]:
        """The best cells of all families for some targets."""
        losses = self.losses
        if part.size < self.problem.Y.shape[1]:
            true = self.true[:, part]
            loss = SquaredError(true, self._tested)
            losses = [scored(loss, outcome.of(part), true) for outcome in self.results]
        return best_of_families(self.cells, self.results, losses)

    def _shares(self, rows: Sequence[int], part: Index) -> Array:
        """Weights of cells for some targets."""
        # folds that are repeated do not make more samples
        n = float(self.weights[self.seen].sum())
        if self.problem.classes:
            return class_weights(np.array([-self.losses[i].score for i in rows]), n)
        bent = np.array([float(self.cells[i].a != 0.0) for i in rows])
        own = np.stack([self.results[i].residuals[:, part] for i in rows])
        return regression_weights(residual_moments(own, self._tested, bent, n), n)

    def outputs(self, mix: Mix) -> Array:
        """Out-of-fold outputs of a mixture, (n_tested, t)."""
        parts = (weight * self.results[row].residuals for row, weight in mix.items())
        return np.asarray(self.true - sum(parts))

    def nested_score(
        self, outputs: Array, again: tuple[Index, Array] | None = None
    ) -> tuple[float, float]:
        """The score of samples predicted by searches without them, and its standard error.

        `outputs` are the out-of-fold ones of the model, from which blocks tell; `again` are samples
        and their outputs by searches that were run without them.
        """
        if again is None:
            return self._nested_by_blocks(outputs)
        samples, predicted = again
        known = np.full(self.problem.Y.shape, np.nan)
        known[samples] = predicted
        tested = self.problem.folds.tested
        if not np.isin(tested, samples).all():
            return np.nan, np.nan  # without some folds none is left to search by
        honest = self.scoring(known[tested])
        return honest.score, self.error(self.by_sample(honest))

    def _nested_by_blocks(self, outputs: Array) -> tuple[float, float]:
        """The nested score from what is known of searches without single samples."""
        if self.nested is None:
            return np.nan, np.nan
        some, plain = self.nested.outer, self.scoring(outputs).losses
        outputs = outputs.copy()
        outputs[some] = self.nested.outputs(self.results)
        honest = self.scoring(outputs).losses[some]
        units = None if self.units is None else self.units[some]
        if some.size == len(plain):
            mean, error = paired_error(honest, self.weights, units)
            return -mean, error
        whole = paired_error(plain, self.weights, self.units)
        flattery = paired_error(honest - plain[some], self.weights[some], units)
        return -(whole[0] + flattery[0]), float(np.hypot(whole[1], flattery[1]))

    def table(self, verdict: Verdict, own: Scored) -> dict[str, Any]:
        """Everything about every cell, beside the losses of the model by sample."""
        table = results_table(self.cells, self.results, self.scores, verdict)
        return table | compared(self.paired, own, *self._units)

    def error(self, paired: Scored) -> float:
        """The standard error of a score."""
        return standard_error(self.scores, paired, self._tested, *self._units)

    def edge(self, verdict: Verdict, table: dict[str, Any], n_columns: int) -> str | None:
        """Which way the grid of c may end too early for the chosen model, of so many columns."""
        free = float(self.problem.intercept is Intercept.FREE)
        limits = free, float(min(len(self.weights), n_columns + free))
        return helpful_edge(self.cells, self.results, table, verdict, limits)

    def by_sample(self, score: Scored) -> Scored:
        """Losses averaged over the folds of each sample that was tested."""
        mean, n, seen = self.problem.folds.mean, self.seen.size, self.seen
        smooth = None if score.smooth is None else mean(score.smooth, n)[seen]
        return replace(score, losses=mean(score.losses, n)[seen], smooth=smooth)

    @property
    def _tested(self) -> Array:
        """Weights of the tested samples, fold after fold."""
        return self.weights[self.problem.folds.tested]

    @property
    def _units(self) -> tuple[Array, Any]:
        """Weights and units of the samples that were tested."""
        return self.weights[self.seen], None if self.units is None else self.units[self.seen]

    def _judge(self, rule: str) -> Verdict:
        return judge(self.cells, self.results, self.paired, *self._units, rule)

    def _refine(self, rows: Iterable[int]) -> bool:
        """Make some cells exact; whether any was not."""
        inexact = sorted({row for row in rows if self.results[row].refine is not None})
        exact = Outcome.exactly([self.results[row] for row in inexact])
        for row, outcome in zip(inexact, exact, strict=True):
            self.results[row] = outcome
            self.scores[row] = scored(self.scoring, self.results[row], self.true)
            self.paired[row] = self.by_sample(self.scores[row])
            self.losses[row] = self._lost(self.results[row], self.scores[row])
        return bool(inexact)
