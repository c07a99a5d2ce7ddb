"""Which candidate wins: the rule that compares scores, and their table.

Mixing: weights of the best candidates of all families, from what they lose out of fold.

A family is one (a, k, density); its best c stands for it. Choosing one candidate of many on few
samples is a gamble, and their mean is not. The weights of families are

``w_f ~ q_f exp(-tau n L_f)``,

L the log loss of classes, or half the logarithm of the mean squared error of a regression, which is
a log loss too but for a constant. On few samples they are near the fair shares q, on many they
leave out families that are plainly worse.

Fair shares of a regression are equal at every fork: curved, straight on all features or on few;
then ridge or k < 2. So ridge counts no less for the many powers and numbers of features that are
tried beside it. Families of classes have equal shares, which did better there (docs/rules.md).

Residuals of the closed form at a != 0 flatter it on few samples: the transform to z-scores has seen
the samples that are left out, and the exponential enlarges what that is worth. Its errors count
``1 + handicap / n`` times.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from skstretch.core.bridge_path import units_of
from skstretch.core.crossfit import paired_error
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index, Mask
from skstretch.search.candidates import OTHERS, Candidate, Outcome, Problem
from skstretch.search.scoring import LogLoss, Scored, Scoring, SquaredError, scored, unscored
from skstretch.solve.choose import (
    APPROXIMATE_LOSS,
    HANDICAP,
    LEAST_WEIGHT,
    TAU,
    TAU_CLASSES,
)

RULES = ("average", "best", "1se")


@dataclass(frozen=True)
class Verdict:
    """The chosen candidate, the best one, and the candidates within one standard error of it.

    `tied` are the candidates whose scores are those of the chosen one as far as rounding tells.
    """

    chosen: int
    best: int
    within: Mask
    tied: Mask


def judge(
    candidates: Sequence[Candidate],
    outcomes: Sequence[Outcome],
    scores: Sequence[Scored],
    weights: Array,
    groups: npt.NDArray[np.generic] | None,
    rule: str,
) -> Verdict:
    """Choose among the usable candidates.

    The one-standard-error rule prefers
    the linear limit, then few features, then few degrees of freedom, then the score.
    """
    usable = np.array([outcome.usable for outcome in outcomes])
    if not usable.any():
        raise ValueError(
            "no candidate of the grid is usable: "
            + next(outcome.trouble for outcome in outcomes if outcome.trouble != OTHERS)
            + ". Try smaller values of c "
            "(stronger regularisation) or larger k."
        )
    usable &= np.isfinite([scored.score for scored in scores])
    if not usable.any():
        raise ValueError(
            "scoring gives no finite score for any usable candidate of the grid. Use another "
            "scoring, or a cv whose test parts it can score."
        )
    eligible = np.flatnonzero(usable).tolist()
    best = best_of(eligible, candidates, scores)
    within = np.zeros(len(candidates), dtype=bool)
    for i in eligible:
        worse, error = paired_error(scores[i].losses - scores[best].losses, weights, groups)
        within[i] = worse <= error
    within[best] = True
    chosen = best
    if rule == "1se":

        def simplicity(i: int) -> tuple[bool, float, float, float]:
            return candidates[i].a != 0, outcomes[i].n_features, outcomes[i].dof, -scores[i].score

        chosen = min(np.flatnonzero(within).tolist(), key=simplicity)
    tied = np.zeros(len(candidates), dtype=bool)
    for i in eligible:
        open_ = scores[i].error + scores[chosen].error
        tied[i] = abs(scores[i].score - scores[chosen].score) <= open_
    return Verdict(chosen, best, within, tied)


def best_of(among: Sequence[int], candidates: Sequence[Candidate], scores: Sequence[Scored]) -> int:
    """The candidate of the best score; of equal ones that of the best tie, then the stronger
    penalty.

    A score counts less what rounding may have added to it, so that no candidate wins by less than
    its error. Scores that differ by less than the error of the best are equal, unless they are less
    certain.
    """
    known = {i: scores[i] for i in among}
    sure = {i: (s.score - s.error, s.tie - s.tie_error) for i, s in known.items()}
    top = max(among, key=lambda i: sure[i])
    best = scores[top]
    equal = [
        i
        for i, s in known.items()
        if s.score >= best.score - best.error
        and s.tie >= best.tie - best.tie_error
        and s.error <= 2.0 * best.error
    ]
    return max(equal, key=lambda i: np.nan_to_num(candidates[i].strength, nan=-np.inf))


# of the degrees of freedom that there are: nearer to all or to none, more of c changes nothing
SATURATED = 0.01


def parameters(candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Columns of ``cv_results_`` that tell candidates apart."""
    names = ("recipe", "target", "a", "k", "c", "strength", "density")
    recipes, targets, a, k, c, strengths, densities = (
        [getattr(candidate, name) for candidate in candidates] for name in names
    )
    found: dict[str, Any] = {"param_recipe": np.array(recipes)} if any(recipes) else {}
    if set(targets) != {None}:
        found["target"] = np.array([-1 if j is None else j for j in targets])
    # counts and shares, each as it was asked for
    several = len({type(density) for density in densities}) > 1
    rows = zip(a, k, c, densities, strict=True)
    return found | {
        "param_a": np.array(a),
        "param_k": np.array(k),
        "param_c": np.array(c),
        "param_s": np.array(strengths),
        "param_density": np.array(densities, dtype=object if several else None),
        "params": [dict(zip(("a", "k", "c", "density"), row, strict=True)) for row in rows],
    }


# rows of the table of candidates, each with its weight for every target (t,)
Mix = dict[int, Array]


def size_of(candidate: Candidate) -> tuple[Any, bool]:
    """How many features a candidate keeps: 1 is one of them, 1.0 is all."""
    return candidate.density, isinstance(candidate.density, int)


def family_of(candidate: Candidate) -> tuple[Any, ...]:
    """What candidates of one family share; a count of features is not a share of them."""
    return (
        candidate.a,
        candidate.k,
        *size_of(candidate),
        candidate.recipe,
    )


def best_of_families(
    candidates: Sequence[Candidate], outcomes: Sequence[Outcome], scores: Sequence[Scored]
) -> list[int]:
    """The best usable candidate of every family, in the order of the grid."""
    families: dict[Any, list[int]] = {}
    for i, candidate in enumerate(candidates):
        if outcomes[i].usable and np.isfinite(scores[i].score):
            families.setdefault(family_of(candidate), []).append(i)
    return [best_of(among, candidates, scores) for among in families.values()]


def squared_errors(residuals: Array, weights: Array, bent: Array, n_samples: float) -> Array:
    """Mean squared residuals (F,) of families (F, n, t), those `bent` (F,) at a != 0 with a
    handicap, in a unit in which squares are numbers.

    Several targets are averaged. Samples that repeated folds test several times count once among
    the `n_samples`.
    """
    size = float(np.abs(residuals).max(initial=0.0))
    squares = np.square(residuals / (size if 0.0 < size < np.inf else 1.0)).mean(axis=2)
    return np.asarray(squares @ weights / weights.sum() * (1.0 + HANDICAP * bent / n_samples))


def fair_shares(candidates: Sequence[Candidate]) -> Array:
    """What families count before anything is known of them (F,)."""
    forks = [
        ((c.a != 0.0, isinstance(c.density, int) or c.density < 1.0), c.k == 2.0)
        for c in candidates
    ]
    kinds = [kind for kind, _ in set(forks)]
    shares = [1.0 / (len({*kinds}) * kinds.count(fork[0]) * forks.count(fork)) for fork in forks]
    return np.array(shares)


def regression_weights(errors: Array, n_samples: float, fair: Array | float = 1.0) -> Array:
    """Weights (F,) from the mean squared errors of families over n samples."""
    if errors.min() <= 0.0:  # families that predict without error share everything
        return np.asarray((errors <= 0.0) / np.sum(errors <= 0.0))
    return trimmed(tempered(0.5 * TAU * n_samples * np.log(errors), fair))


def class_weights(losses: Array, n_samples: float) -> Array:
    """Weights (F,) from the log losses of families over n samples; all count alike before."""
    return trimmed(tempered(TAU_CLASSES * n_samples * losses))


def tempered(losses: Array, fair: Array | float = 1.0) -> Array:
    """``p_f ~ q_f exp(-L_f)`` (F,)."""
    shares = fair * np.exp(losses.min() - losses)
    return np.asarray(shares / shares.sum())


def trimmed(weights: Array) -> Array:
    """Weights without those that are too small to matter."""
    kept = np.where(weights >= min(LEAST_WEIGHT, float(weights.max())), weights, 0.0)
    return np.asarray(kept / kept.sum())


@dataclass
class CandidateTable:
    """The candidates of a search with their outcomes and scores, and the samples that compare them.

    Targets of a regression choose and mix on their own, by the scoring of each alone; classes do
    so together.

    Attributes
    ----------
    scoring : Scoring
        What is told of every candidate.
    loss : Scoring
        What the best candidates of families are chosen by: that of the scoring, or one that is made
        for classes.
    weights, units : arrays of shape (M,)
        Of the samples of the problem; units that errors share, or None.
    by_loss : bool
        Whether one candidate is chosen by the losses too.
    one_size : bool
        Whether candidates of an average have one number of features, that of the best.
    scores : list of Scored
        Over the targets that a candidate serves.
    alone : list of lists of Scored
        For every candidate its loss for each target of a regression, in a unit of its own in which
        squares are numbers; for classes the one of all.
    """

    problem: Problem
    scoring: Scoring
    loss: Scoring
    weights: Array
    units: Any
    by_loss: bool = False
    one_size: bool = False
    candidates: list[Candidate] = field(default_factory=list)
    results: list[Outcome] = field(default_factory=list)
    scores: list[Scored] = field(default_factory=list)
    alone: list[list[Scored]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = np.isin(np.arange(len(self.weights)), self.problem.folds.tested)
        targets = np.arange(self.problem.n_targets)
        self.parts = [targets] if self.problem.classes else [np.array([j]) for j in targets]
        own = isinstance(self.loss, SquaredError)
        self.sizes = units_of(self.problem.Y) if own else np.ones(targets.size)
        self.own = [] if self.problem.classes else [self._scoring_of(part) for part in self.parts]

    def _scoring_of(self, part: Index) -> Scoring:
        """The scoring of some targets, in their unit."""
        return self.loss.of(part, float(self.sizes[part].max()))

    @property
    def true(self) -> Array:
        """Targets of the tested samples, fold after fold, (n_tested, t)."""
        return self.problem.Y[self.problem.folds.tested]

    def enter(self, candidate: Candidate, outcome: Outcome) -> None:
        """One more candidate."""
        score, alone = self._scored(outcome)
        self.candidates.append(candidate)
        self.results.append(outcome)
        self.scores.append(score)
        self.alone.append(alone)

    def _scored(self, outcome: Outcome) -> tuple[Scored, list[Scored]]:
        """The score of the targets that an outcome serves, and its losses as `alone` has them."""
        if self.problem.classes:
            score, by_loss = scored(self.scoring, outcome, self.true), self.loss is not self.scoring
            return score, [scored(self.loss, outcome, self.true) if by_loss else score]
        alone = [
            scored(own, outcome.of(part).times(1.0 / size), self.true[:, part] / size)
            for own, part, size in zip(self.own, self.parts, self.sizes, strict=True)
        ]
        served = outcome.served
        if not served.size:
            return unscored(len(self.true)), alone
        if served.size == 1:
            return alone[served[0]].times(self.sizes[served[0]] ** 2), alone
        own, true = outcome.of(served), self.true[:, served]
        return scored(self.scoring.of(served, 1.0), own, true), alone

    def heaviest(self, mix: Mix) -> Verdict:
        """The verdict that names the candidate of the largest weight."""
        found = [self._judge("best", number) for number in range(len(self.parts))]
        return self._named(found, mix)

    def _named(self, found: Sequence[Verdict], mix: Mix) -> Verdict:
        """The verdict of all targets, which names the candidate that weighs most."""
        chosen = max(mix, key=lambda row: float(mix[row].sum()))
        within = np.any([verdict.within for verdict in found], axis=0)
        tied = np.any([verdict.tied for verdict in found], axis=0)
        return Verdict(chosen, found[0].best, within, tied)

    def chosen(self, rule: str) -> tuple[Verdict, Mix]:
        """The verdict of a rule of one candidate, and the candidate of every target."""
        found, t = [self._settled(rule, n) for n in range(len(self.parts))], self.problem.n_targets
        mix: Mix = {}
        for part, verdict in zip(self.parts, found, strict=True):
            mix.setdefault(verdict.chosen, np.zeros(t))[part] = 1.0
        mix = dict(sorted(mix.items()))
        return (found[0] if len(found) == 1 else self._named(found, mix)), mix

    def _settled(self, rule: str, number: int) -> Verdict:
        """The verdict of a rule, once every value that is told of it is exact."""
        while True:
            verdict = self._judge(rule, number)
            leaders = best_of_families(self.candidates, *self._told(number))
            if not self._refine([verdict.chosen, verdict.best, *leaders], number):
                return verdict

    def _part(self, number: int) -> tuple[list[Outcome], list[Scored]]:
        """Outcomes and losses of one target alone; of classes those of all."""
        part, losses = self.parts[number], [each[number] for each in self.alone]
        if len(self.parts) == 1:
            return self.results, losses
        return [each.of(part) for each in self.results], losses

    def _told(self, number: int) -> tuple[list[Outcome], list[Scored]]:
        """Outcomes, and the scores by which one candidate is chosen."""
        found, losses = self._part(number)
        return found, losses if self.by_loss or not self.problem.classes else self.scores

    def _judge(self, rule: str, number: int = 0) -> Verdict:
        found, scores = self._told(number)
        return judge(self.candidates, found, self.by_samples(scores), *self._units, rule)

    def mixed(self) -> Mix:
        """The mixture of the best candidates of all families, from their exact values."""
        mix: Mix = {}
        for number, part in enumerate(self.parts):
            self._judge("best", number)  # says so where no candidate is usable
            rows = self._leaders(number)
            while self._refine(self._compared(rows), number):
                rows = self._leaders(number)
            rows = self._of_one_size(rows, number) if self.one_size else rows
            for row, weight in zip(rows, self._shares(rows, part), strict=True):
                if weight > 0.0:
                    mix.setdefault(row, np.zeros(self.problem.n_targets))[part] = weight
        return dict(sorted(mix.items()))

    def _compared(self, rows: Sequence[int]) -> Sequence[int]:
        """Those of the best candidates that are made exact: of classes such as would have a share
        of the average if their losses were less by what approximations may hide."""
        if not isinstance(self.loss, LogLoss):
            return rows
        losses = np.array([-self.alone[row][0].score for row in rows])
        hidden = APPROXIMATE_LOSS * np.log(self.loss.n_classes)
        n = float(self.weights[self.seen].sum())
        shares = np.exp(TAU_CLASSES * n * np.minimum(0.0, losses.min() - losses + hidden))
        return [row for row, share in zip(rows, shares, strict=True) if share >= LEAST_WEIGHT]

    def _leaders(self, number: int) -> list[int]:
        """The best candidates of all families for one target, or for classes."""
        return best_of_families(self.candidates, *self._part(number))

    def _of_one_size(self, rows: Sequence[int], number: int) -> list[int]:
        """Those with as many features as the best has."""
        size = size_of(self.candidates[best_of(rows, self.candidates, self._part(number)[1])])
        return [row for row in rows if size_of(self.candidates[row]) == size]

    def _shares(self, rows: Sequence[int], part: Index) -> Array:
        """Weights of candidates for some targets."""
        # folds that are repeated do not make more samples
        n = float(self.weights[self.seen].sum())
        if self.problem.classes:
            return class_weights(np.array([-self.alone[i][0].score for i in rows]), n)
        fair = fair_shares([self.candidates[i] for i in rows])
        bent = np.array([float(self.candidates[i].a != 0.0) for i in rows])
        own = np.stack([self.results[i].residuals[:, part] for i in rows])
        return regression_weights(squared_errors(own, self._tested, bent, n), n, fair)

    def outputs(self, mix: Mix) -> Array:
        """Out-of-fold outputs of a mixture, (n_tested, t)."""
        outputs = self.true.copy()
        for row, weight in mix.items():
            own = np.flatnonzero(weight)
            outputs[:, own] -= weight[own] * self.results[row].residuals[:, own]
        return outputs

    def table(self, verdict: Verdict, own: Scored) -> dict[str, Any]:
        """One row a candidate, as in scikit-learn's ``cv_results_``; unusable ones have no score.

        ``loss_above_chosen`` is how much more a candidate loses than the model, whose losses by
        sample are `own`: the mean over samples of the difference, and its standard error.
        """
        candidates, outcomes = self.candidates, self.results
        usable = np.array([outcome.usable for outcome in outcomes])
        score, error = (
            np.where(usable, [getattr(each, name) for each in self.scores], np.nan)
            for name in ("score", "error")
        )
        order = np.argsort(-np.where(usable, score, -np.inf), kind="stable")
        rank = np.empty(len(candidates), dtype=int)
        rank[order] = np.arange(1, len(candidates) + 1)
        # equal scores share the best rank among them
        for first, second in pairwise(order.tolist()):
            if score[first] == score[second]:
                rank[second] = rank[first]
        compared, units = self.by_samples(self.scores), self._units
        above = [paired_error(each.losses - own.losses, *units) for each in compared]
        return parameters(candidates) | {
            "mean_test_score": score,
            "rank_test_score": rank,
            "score_error": error,
            "dof": np.array([outcome.dof for outcome in outcomes]),
            "n_features": np.array([outcome.n_features for outcome in outcomes]),
            "rcond": np.array([outcome.rcond for outcome in outcomes]),
            "usable": usable,
            "loo": np.array([outcome.loo for outcome in outcomes]),
            "reason": np.array(["" if each.usable else each.trouble for each in outcomes]),
            "within_1se": verdict.within,
            "loss_above_chosen": np.array([worse for worse, _ in above]),
            "loss_above_chosen_se": np.array([error for _, error in above]),
        }

    def error(self, paired: Scored) -> float:
        """The standard error of the score with these losses by sample where every score is a mean
        loss, else NaN.

        ``score = -mean`` (an error) or ``1 - mean`` (an accuracy) of the losses behind it.
        """
        weights, scores = self._tested, [each for each in self.scores if np.isfinite(each.score)]
        sums = [each.score + weights @ each.losses / weights.sum() for each in scores]
        known = any(np.allclose(sums, level, rtol=0, atol=1e-9) for level in (0.0, 1.0))
        return paired_error(paired.losses, *self._units)[1] if known else np.nan

    def edge(self, verdict: Verdict, table: dict[str, Any], n_columns: int) -> str | None:
        """``"larger"`` or ``"smaller"`` where a c beyond the grid may be better than the chosen
        one, of a model of so many columns.

        That is where the chosen c is the last of its (a, k, density), the loss still falls towards
        it by more than one paired standard error and more than rounding, and the degrees of freedom
        are not at that limit (without or with all coefficients) to which the grid would be
        extended.
        """
        chosen, candidates = verdict.chosen, self.candidates
        family = family_of(candidates[chosen])
        row = [i for i, candidate in enumerate(candidates) if family_of(candidate) == family]
        row.sort(key=lambda i: candidates[i].c)
        place = row.index(chosen)
        near = row[1 if place == 0 else place - 1] if len(row) > 1 else chosen
        last = place in (0, len(row) - 1)
        if not last or np.isinf(candidates[chosen].c) or verdict.tied[near]:
            return None
        falls = table["loss_above_chosen"][near] > table["loss_above_chosen_se"][near]
        least = float(self.problem.intercept is Intercept.FREE)
        most = float(min(len(self.weights), n_columns + least))
        used = (self.results[chosen].dof - least) / max(most - least, np.finfo(float).tiny)
        spent = used < SATURATED if place == 0 else used > 1.0 - SATURATED
        return None if not falls or spent else ("smaller" if place == 0 else "larger")

    def by_samples(self, scores: Sequence[Scored]) -> list[Scored]:
        """The same of several."""
        if np.array_equal(self.problem.folds.tested, np.arange(self.seen.size)):
            return [*scores]
        return [self.by_sample(score) for score in scores]

    def by_sample(self, score: Scored) -> Scored:
        """Losses averaged over the folds of each sample that was tested."""
        mean, n, seen = self.problem.folds.mean, self.seen.size, self.seen
        return replace(score, losses=mean(score.losses, n)[seen])

    @property
    def _tested(self) -> Array:
        """Weights of the tested samples, fold after fold."""
        return self.weights[self.problem.folds.tested]

    @property
    def _units(self) -> tuple[Array, Any]:
        """Weights and units of the samples that were tested."""
        return self.weights[self.seen], None if self.units is None else self.units[self.seen]

    def _refine(self, rows: Iterable[int], number: int) -> bool:
        """Make some candidates exact for one target; whether any was not."""
        part = self.parts[number]
        inexact = [row for row in sorted({*rows}) if self.results[row].is_open(part)]
        exact = Outcome.exactly([self.results[row] for row in inexact], part)
        for row, outcome in zip(inexact, exact, strict=True):
            self.results[row] = outcome
            self.scores[row], self.alone[row] = self._scored(outcome)
        return bool(inexact)
