"""Which cell wins: the best, or the simplest within one paired standard error of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stretchy.core.paired import paired_error
from stretchy.core.types import Array, Mask
from stretchy.search.cells import Cell, Outcome
from stretchy.search.scoring import Scored

RULES = ("best", "1se")


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

    The one-standard-error rule prefers the linear limit a = 0, then few features, then few
    degrees of freedom, then the score.
    """
    usable = np.array([outcome.usable for outcome in outcomes])
    if not usable.any():
        raise ValueError(
            "no cell of the grid is usable: " + outcomes[0].reason + ". Try smaller values of c "
            "(stronger regularisation) or larger k."
        )
    keys = [
        (scored.score, scored.tie) if ok and np.isfinite(scored.score) else (-np.inf, -np.inf)
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

    def simplicity(i: int) -> tuple[bool, float, float, float]:
        return cells[i].a != 0, outcomes[i].n_features, outcomes[i].dof, -scores[i].score

    return Verdict(min(np.flatnonzero(within).tolist(), key=simplicity), best, within)
