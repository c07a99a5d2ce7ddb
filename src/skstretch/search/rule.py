"""Which cell wins: scores of out-of-fold outputs, the rule that compares them, and their table.

A score judges a cell; the losses of single samples behind it tell how sure a difference is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from skstretch.core.classes import balanced_weights, decided
from skstretch.core.crossfit import paired_error
from skstretch.core.types import Array, Index, Mask
from skstretch.search.cells import Cell, Outcome

RULES = ("guarded", "best", "1se")
# the guarded rule: cells nearer than this many standard errors are told apart by smooth losses ...
NEAR = 0.25
# ... and another a must beat the linear limit by this many
GUARD = 2.0


@dataclass(frozen=True)
class Scored:
    """Greater is better; `losses` of shape (n_tested,) are weighted by the sample weights.

    `smooth` are losses that tell cells apart where error counts are too coarse; None where the
    losses do so themselves. `tie`, minus a mean square, decides between equal scores. Rounding
    leaves score and tie uncertain by `error` and `tie_error`.
    """

    score: float
    losses: Array
    tie: float
    smooth: Array | None = None
    error: float = 0.0
    tie_error: float = 0.0


def unscored(n_tested: int) -> Scored:
    """What stands for the score of a cell that is not usable."""
    return Scored(np.nan, np.full(n_tested, np.nan), np.nan)


class Scoring(Protocol):
    """From out-of-fold outputs (n_tested, t) to a score."""

    @property
    def name(self) -> str: ...

    @property
    def loss_name(self) -> str: ...

    def __call__(self, outputs: Array) -> Scored: ...

    def blur(self, outputs: Array, error: float) -> float:
        """How far the score may be off where every output may be off by `error`."""
        ...


def scored(scoring: Scoring, outcome: Outcome, true: Array) -> Scored:
    """The score of a cell and what rounding leaves open of it; `true` are the tested targets."""
    if not outcome.usable:
        return unscored(len(true))
    outputs = true - outcome.residuals
    found = scoring(outputs)
    return replace(
        found,
        error=scoring.blur(outputs, outcome.error),
        tie_error=_square_blur(-found.tie, outcome.error),
    )


def _square_blur(mean_square: float, error: float) -> float:
    """``2 e sqrt(m) + e^2``: how far a mean of squares m may be off where each root is off by e."""
    return 2.0 * error * float(np.sqrt(max(0.0, mean_square))) + error**2


def _undecided(outputs: Array, error: float) -> Mask:
    """Samples whose class may change where every output may be off by `error`."""
    if outputs.shape[1] == 1:
        return np.asarray(np.abs(outputs[:, 0]) <= error)
    second, first = np.partition(outputs, -2, axis=1)[:, -2:].T
    return np.asarray(first - second <= 2.0 * error)


@dataclass(frozen=True)
class SquaredError:
    """Minus the weighted mean squared error, averaged over targets."""

    Y: Array
    weights: Array
    name: str = "neg_mean_squared_error"
    loss_name: str = "squared error"

    def __call__(self, outputs: Array) -> Scored:
        with np.errstate(over="ignore"):
            losses = np.square(self.Y - outputs).mean(axis=1)
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(-error, losses, -error)

    def blur(self, outputs: Array, error: float) -> float:
        return _square_blur(-self(outputs).score, error)


@dataclass(frozen=True)
class BalancedError:
    """Minus the balanced error rate; ties are broken by the squared error of the scores."""

    codes: Index
    n_classes: int
    Y: Array
    weights: Array
    name: str = "neg_balanced_error_rate"
    loss_name: str = "balanced 0/1 loss"

    def __call__(self, outputs: Array) -> Scored:
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        losses = (decided(outputs) != self.codes) * balance
        squared = np.square(self.Y - outputs).mean(axis=1) * balance
        error, tie = (float(self.weights @ v / self.weights.sum()) for v in (losses, squared))
        return Scored(-error, losses, -tie, squared)

    def blur(self, outputs: Array, error: float) -> float:
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        open_ = _undecided(outputs, error) * balance
        return float(self.weights @ open_ / self.weights.sum())


@dataclass(frozen=True)
class ScorerScore:
    """Any scikit-learn scorer, shown the out-of-fold outputs as if a model had predicted them."""

    scorer: Callable[..., float]
    foretold: Callable[[Array], BaseEstimator]
    y: Any
    weights: Array | None
    inner: Scoring
    name: str

    @property
    def loss_name(self) -> str:
        return "0/1 loss" if isinstance(self.inner, ZeroOne) else self.inner.loss_name

    def __call__(self, outputs: Array) -> Scored:
        inner = self.inner(outputs)
        return Scored(self._ask(outputs), inner.losses, inner.tie)

    def blur(self, outputs: Array, error: float) -> float:
        """The largest change over three patterns of signs: an estimate, scorers being any."""
        score, sides = self._ask(outputs), np.where(np.arange(outputs.size) % 2, 1.0, -1.0)
        patterns = (1.0, -1.0, sides.reshape(outputs.shape))
        return max(abs(self._ask(outputs + error * signs) - score) for signs in patterns)

    def _ask(self, outputs: Array) -> float:
        foretold, X = self.foretold(outputs), np.zeros((outputs.shape[0], 1))
        keywords = {} if self.weights is None else {"sample_weight": self.weights}
        try:
            return float(self.scorer(foretold, X, self.y, **keywords))
        except AttributeError as error:
            known = [m for m in ("predict", "decision_function") if hasattr(foretold, m)]
            raise ValueError(
                f"scoring={self.name!r} asks for more than {' and '.join(known)}, which is what is "
                "known of out-of-fold samples (probabilities are fitted after the search). Use a "
                "scorer of those."
            ) from error
        except TypeError as error:
            if not keywords or "sample_weight" not in str(error):
                raise
            raise TypeError(
                f"scoring={self.name!r} takes no sample_weight ({error}), and fit was given one. "
                "Use a scorer that does, or fit without weights."
            ) from error


@dataclass(frozen=True)
class ZeroOne:
    """Minus the weighted error rate."""

    codes: Index
    Y: Array
    weights: Array
    name: str = "accuracy"
    loss_name: str = "0/1 loss"

    def __call__(self, outputs: Array) -> Scored:
        losses = (decided(outputs) != self.codes).astype(float)
        squared = np.square(self.Y - outputs).mean(axis=1)
        total = self.weights.sum()
        return Scored(
            -float(self.weights @ losses / total), losses, -float(self.weights @ squared / total)
        )

    def blur(self, outputs: Array, error: float) -> float:
        return float(self.weights @ _undecided(outputs, error) / self.weights.sum())


class ForetoldRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose predictions are already known."""

    def __init__(self, outputs: Any = None):
        self.outputs = outputs

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        return self.outputs[:, 0] if self.outputs.shape[1] == 1 else self.outputs


class ForetoldClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are already known."""

    def __init__(self, outputs: Any = None, classes: Any = None):
        self.outputs = outputs
        self.classes = classes

    @property
    def classes_(self) -> Any:
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Any:
        return self.outputs[:, 0] if self.outputs.shape[1] == 1 else self.outputs

    def predict(self, X: Any) -> Any:
        return self.classes[decided(self.outputs)]


def scorer_named(scoring: Any) -> tuple[Callable[..., float], str]:
    """A scorer and its name from what users pass as ``scoring``."""
    if callable(scoring):
        return scoring, getattr(scoring, "__name__", repr(scoring))
    return get_scorer(scoring), str(scoring)


@dataclass(frozen=True)
class Verdict:
    """The chosen cell, the best one, and the cells within one standard error of it.

    `tied` are the cells whose scores are those of the chosen one as far as rounding tells.
    """

    chosen: int
    best: int
    within: Mask
    tied: Mask


def judge(
    cells: Sequence[Cell],
    outcomes: Sequence[Outcome],
    scores: Sequence[Scored],
    weights: Array,
    groups: npt.NDArray[np.generic] | None,
    rule: str,
) -> Verdict:
    """Choose among the usable cells.

    The guarded rule takes the best cell of the linear limit a = 0 unless the best of all beats it
    by more than two paired standard errors; error counts, which are coarse, are refined by the
    squared error among cells that they hardly tell apart. The one-standard-error rule prefers the
    linear limit, then few features, then few degrees of freedom, then the score.
    """
    usable = np.array([outcome.usable for outcome in outcomes])
    if not usable.any():
        raise ValueError(
            "no cell of the grid is usable: " + outcomes[0].reason + ". Try smaller values of c "
            "(stronger regularisation) or larger k."
        )
    usable &= np.isfinite([scored.score for scored in scores])
    if not usable.any():
        raise ValueError(
            "scoring gives no finite score for any usable cell of the grid. Use another scoring, "
            "or a cv whose test parts it can score."
        )
    candidates = np.flatnonzero(usable).tolist()
    best = _best(candidates, cells, scores)
    within = np.zeros(len(cells), dtype=bool)
    for i in candidates:
        worse, error = paired_error(scores[i].losses - scores[best].losses, weights, groups)
        within[i] = worse <= error
    within[best] = True
    chosen = best
    if rule == "guarded":
        chosen = _guarded(candidates, cells, scores, weights, groups)
    elif rule == "1se":

        def simplicity(i: int) -> tuple[bool, float, float, float]:
            return cells[i].a != 0, outcomes[i].n_features, outcomes[i].dof, -scores[i].score

        chosen = min(np.flatnonzero(within).tolist(), key=simplicity)
    tied = np.zeros(len(cells), dtype=bool)
    for i in candidates:
        open_ = scores[i].error + scores[chosen].error
        tied[i] = abs(scores[i].score - scores[chosen].score) <= open_
    return Verdict(chosen, best, within, tied)


def _best(among: Sequence[int], cells: Sequence[Cell], scores: Sequence[Scored]) -> int:
    """The cell of the best score; of equal ones that of the best tie, then the stronger penalty.

    A score counts less what rounding may have added to it, so that no cell wins by less than its
    error. Scores that differ by less than the error of the best are equal, unless they are less
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
    return max(equal, key=lambda i: np.nan_to_num(cells[i].strength, nan=-np.inf))


def _guarded(
    candidates: Sequence[int],
    cells: Sequence[Cell],
    scores: Sequence[Scored],
    weights: Array,
    groups: npt.NDArray[np.generic] | None,
) -> int:
    """The best cell of a = 0, unless the best of all beats it by two paired standard errors."""

    def smooth(i: int) -> Array:
        loss = scores[i].smooth
        return scores[i].losses if loss is None else loss

    def picked(among: Sequence[int]) -> int:
        best = _best(among, cells, scores)
        if scores[best].smooth is None:
            return best
        near = []
        for i in among:
            worse, error = paired_error(scores[i].losses - scores[best].losses, weights, groups)
            if worse <= NEAR * error:
                near.append(i)
        return min(near, key=lambda i: float(weights @ smooth(i)))

    linear = [i for i in candidates if cells[i].a == 0]
    winner = picked(candidates)
    if not linear:
        return winner
    safe = picked(linear)
    for loss in (smooth(safe) - smooth(winner), scores[safe].losses - scores[winner].losses):
        worse, error = paired_error(loss, weights, groups)
        if worse > GUARD * error:
            return winner
    return safe


def standard_error(
    scores: Sequence[Scored],
    chosen: Scored,
    weights: Array,
    seen: Array,
    groups: npt.NDArray[np.generic] | None,
) -> float:
    """The standard error of the chosen score where every score is a mean loss, else NaN.

    ``score = -mean`` (an error) or ``1 - mean`` (an accuracy) of the losses behind it, which
    have the weights `weights`; those of the chosen cell by sample have the weights `seen`.
    """
    sums = [
        score.score + weights @ score.losses / weights.sum()
        for score in scores
        if np.isfinite(score.score)
    ]
    known = any(np.allclose(sums, level, rtol=0, atol=1e-9) for level in (0.0, 1.0))
    return paired_error(chosen.losses, seen, groups)[1] if known else np.nan


def compared(
    scores: Sequence[Scored],
    chosen: int,
    weights: Array,
    groups: npt.NDArray[np.generic] | None,
) -> dict[str, Array]:
    """Columns of ``cv_results_``: how much more each cell loses than the chosen one, paired.

    The mean over samples of the difference of losses, and its standard error; NaN where a cell has
    none. Negative means are cells that lose less.
    """
    own = scores[chosen].losses
    pairs = [paired_error(scored.losses - own, weights, groups) for scored in scores]
    worse, error = np.array(pairs).T
    return {"loss_above_chosen": worse, "loss_above_chosen_se": error}


# of the degrees of freedom that there are: nearer to all or to none, more of c changes nothing
SATURATED = 0.01


def helpful_edge(
    cells: Sequence[Cell],
    outcomes: Sequence[Outcome],
    results: dict[str, Array],
    verdict: Verdict,
    limits: tuple[float, float],
) -> str | None:
    """``"larger"`` or ``"smaller"`` where a c beyond the grid may be better than the chosen one.

    That is where the chosen c is the last of its (a, k, density), the loss still falls towards it
    by more than one paired standard error and more than rounding, and the degrees of freedom are
    not at the one of their `limits` (without and with all coefficients) to which the grid would be
    extended.
    """
    chosen = verdict.chosen
    here = cells[chosen]
    row = [
        i
        for i, cell in enumerate(cells)
        if (cell.a, cell.k, cell.density) == (here.a, here.k, here.density)
    ]
    row.sort(key=lambda i: cells[i].c)
    place = row.index(chosen)
    near = row[1 if place == 0 else place - 1] if len(row) > 1 else chosen
    if place not in (0, len(row) - 1) or np.isinf(here.c) or verdict.tied[near]:
        return None
    falls = results["loss_above_chosen"][near] > results["loss_above_chosen_se"][near]
    least, most = limits
    used = (outcomes[chosen].dof - least) / max(most - least, np.finfo(float).tiny)
    spent = used < SATURATED if place == 0 else used > 1.0 - SATURATED
    return None if not falls or spent else ("smaller" if place == 0 else "larger")


# The results of a search as a dict of arrays, like scikit-learn's ``cv_results_``.


def results_table(
    cells: Sequence[Cell],
    outcomes: Sequence[Outcome],
    scores: Sequence[Scored],
    verdict: Verdict,
) -> dict[str, Any]:
    """One row a cell, as in scikit-learn's ``cv_results_``; unusable cells have no score."""
    usable = np.array([outcome.usable for outcome in outcomes])
    score = np.array(
        [s.score if o.usable else np.nan for s, o in zip(scores, outcomes, strict=True)]
    )
    order = np.argsort(-np.where(usable, score, -np.inf), kind="stable")
    rank = np.empty(len(cells), dtype=int)
    rank[order] = np.arange(1, len(cells) + 1)
    # equal scores share the best rank among them
    for first, second in pairwise(order.tolist()):
        if score[first] == score[second]:
            rank[second] = rank[first]
    return {
        "param_a": np.array([cell.a for cell in cells]),
        "param_k": np.array([cell.k for cell in cells]),
        "param_c": np.array([cell.c for cell in cells]),
        "param_s": np.array([cell.strength for cell in cells]),
        "param_density": np.array([cell.density for cell in cells], dtype=object)
        if len({type(cell.density) for cell in cells}) > 1
        else np.array([cell.density for cell in cells]),
        "params": [
            {"a": cell.a, "k": cell.k, "c": cell.c, "density": cell.density} for cell in cells
        ],
        "mean_test_score": score,
        "rank_test_score": rank,
        "score_error": np.array(
            [s.error if o.usable else np.nan for s, o in zip(scores, outcomes, strict=True)]
        ),
        "dof": np.array([outcome.dof for outcome in outcomes]),
        "n_features": np.array([outcome.n_features for outcome in outcomes]),
        "rcond": np.array([outcome.rcond for outcome in outcomes]),
        "usable": usable,
        "loo": np.array([outcome.loo for outcome in outcomes]),
        "reason": np.array([outcome.reason for outcome in outcomes]),
        "within_1se": verdict.within,
    }
