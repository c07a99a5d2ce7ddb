"""The results of a search as a dict of arrays, like scikit-learn's ``cv_results_``."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from skstretch.search.cells import Cell, Outcome
from skstretch.search.rule import Verdict
from skstretch.search.scoring import Scored


def results_table(
    cells: Sequence[Cell],
    outcomes: Sequence[Outcome],
    scores: Sequence[Scored],
    verdict: Verdict,
) -> dict[str, Any]:
    """One row a cell; unusable cells have a NaN score and say why."""
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
        "dof": np.array([outcome.dof for outcome in outcomes]),
        "n_features": np.array([outcome.n_features for outcome in outcomes]),
        "rcond": np.array([outcome.rcond for outcome in outcomes]),
        "usable": usable,
        "reason": np.array([outcome.reason for outcome in outcomes]),
        "within_1se": verdict.within,
    }
