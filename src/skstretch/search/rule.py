"""Which cell wins: the best, a guarded best, or the simplest within one standard error."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skstretch.core.paired import paired_error
from skstretch.core.types import Array, Mask
from skstretch.search.cells import Cell, Outcome
from skstretch.search.scoring import Scored

RULES = ("guarded", "best", "1se")
# the guarded rule: cells nearer than this many standard errors are told apart by smooth losses ...
NEAR = 0.25
# ... and another a must beat the linear limit by this many
GUARD = 2.0


@dataclass(frozen=True)
class Verdict:
    """The chosen cell, the best one, and the cells within one standard error of it."""

    chosen: int
    best: int
    within: Mask


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
    keys = [
        (scored.score, scored.tie) if ok else (-np.inf, -np.inf)
        for scored, ok in zip(scores, usable, strict=True)
    ]
    best = max(range(len(cells)), key=lambda i: keys[i])
    within = np.zeros(len(cells), dtype=bool)
    for i in np.flatnonzero(usable).tolist():
        worse, error = paired_error(scores[i].losses - scores[best].losses, weights, groups)
        within[i] = worse <= error
    within[best] = True
    if rule == "best":
        return Verdict(best, best, within)
    if rule == "guarded":
        return Verdict(_guarded(cells, scores, keys, usable, weights, groups), best, within)

    def simplicity(i: int) -> tuple[bool, float, float, float]:
        return cells[i].a != 0, outcomes[i].n_features, outcomes[i].dof, -scores[i].score

    return Verdict(min(np.flatnonzero(within).tolist(), key=simplicity), best, within)


def _guarded(
    cells: Sequence[Cell],
    scores: Sequence[Scored],
    keys: Sequence[tuple[float, float]],
    usable: Mask,
    weights: Array,
    groups: npt.NDArray[np.generic] | None,
) -> int:
    def smooth(i: int) -> Array:
        loss = scores[i].smooth
        return scores[i].losses if loss is None else loss

    def picked(among: list[int]) -> int:
        best = max(among, key=lambda i: keys[i])
        if scores[best].smooth is None:
            return best
        near = []
        for i in among:
            worse, error = paired_error(scores[i].losses - scores[best].losses, weights, groups)
            if worse <= NEAR * error:
                near.append(i)
        return min(near, key=lambda i: float(weights @ smooth(i)))

    candidates = np.flatnonzero(usable).tolist()
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
