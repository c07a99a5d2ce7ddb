"""Which cell wins: the rule that compares scores, and their table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from skstretch.core.crossfit import paired_error
from skstretch.core.types import Array, Mask
from skstretch.search.cells import Cell, Outcome
from skstretch.search.scoring import Scored

RULES = ("mix", "guarded", "best", "1se")
# the guarded rule: cells nearer than this many standard errors are told apart by smooth losses ...
NEAR = 0.25
# ... and another a must beat the linear limit by this many
GUARD = 2.0


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
    best = best_of(candidates, cells, scores)
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


def best_of(among: Sequence[int], cells: Sequence[Cell], scores: Sequence[Scored]) -> int:
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
        best = best_of(among, cells, scores)
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
    chosen: Scored,
    weights: Array,
    groups: npt.NDArray[np.generic] | None,
) -> dict[str, Array]:
    """Columns of ``cv_results_``: how much more each cell loses than the chosen model, paired.

    The mean over samples of the difference of losses, and its standard error; NaN where a cell has
    none. Negative means are cells that lose less.
    """
    own = chosen.losses
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
    recipes = [cell.recipe for cell in cells]
    return {
        **({"param_recipe": np.array(recipes)} if any(recipes) else {}),
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
