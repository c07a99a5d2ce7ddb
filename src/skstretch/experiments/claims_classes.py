"""Claims on the balanced error rate of the classification sets."""

from __future__ import annotations

import math
from collections.abc import Callable

from skstretch.experiments.claims_common import absent, shown
from skstretch.experiments.evidence import SEARCHING, SR, Evidence
from skstretch.experiments.sets import SETS
from skstretch.experiments.verdicts import Claim, Finding, by_share, untestable

__all__ = ["CLASS_CLAIMS"]

DENSE = ("SR1.0", "SR0.5", "SR0.1")
SPARSEST = "SR0.01"


def _lower(evidence: Evidence, dataset: str, first: str, second: str) -> tuple[bool, bool]:
    """Whether the first method errs less, on the folds that both have.

    In the mean over all k or mixing values, and each at its best one.
    """
    mean, other_mean = (
        evidence.level(dataset, name, like=like)
        for name, like in ((first, second), (second, first))
    )
    best, other_best = (
        evidence.best(dataset, name, like=like) for name, like in ((first, second), (second, first))
    )
    return mean < other_mean, best < other_best


def _levels(evidence: Evidence, dataset: str, names: tuple[str, ...]) -> dict[str, float]:
    """Mean errors of the methods that were measured."""
    levels = {name: evidence.level(dataset, name) for name in names}
    return {name: error for name, error in levels.items() if not math.isnan(error)}


def _listed(dataset: str, levels: dict[str, float]) -> str:
    listed = ", ".join(f"{name} {shown(dataset, error)}" for name, error in levels.items())
    return f"mean BER: {listed}"


def _counted(won: list[tuple[bool, bool]]) -> str:
    mean, best = (sum(each) for each in zip(*won, strict=True))
    return f"better in {mean} of {len(won)} pairs in the mean, in {best} at the best settings"


def _better_than_lasso(dataset: str) -> Callable[[Evidence], Finding]:
    """Mean BER over k of SR1.0, SR0.5, SR0.1 below each LASSO's over mixing; SR0.01 not."""

    def judge(evidence: Evidence) -> Finding:
        if not evidence.has(dataset, (*DENSE, SPARSEST, "LASSO1", "LASSO2", "LASSO100")):
            return untestable(f"no results on {SETS[dataset].title} here.")
        others = _levels(evidence, dataset, ("LASSO1", *SEARCHING))
        pairs = [(dense, name) for dense in DENSE for name in others]
        won = [_lower(evidence, dataset, *pair) for pair in pairs]
        words = _counted(won)
        held = [each for pair in won for each in pair]
        last = [_lower(evidence, dataset, SPARSEST, name) for name in others]
        held.append(not all(mean for mean, _ in last))
        levels = _levels(evidence, dataset, (*DENSE, SPARSEST)) | others
        oracle = evidence.oracle(dataset, "LASSO100")
        why = "" if math.isnan(oracle) else (
            f"With the penalty of least test error, which no user knows, LASSO100 has "
            f"{shown(dataset, oracle)}."
        )  # fmt: skip
        return Finding(f"{_listed(dataset, levels)}; {words}", by_share(held), why)

    return judge


def _sparsest_wins(evidence: Evidence) -> Finding:
    dataset = "dorothea"
    if not evidence.has(dataset, (*DENSE, SPARSEST, "LASSO1", "LASSO2", "LASSO100")):
        return untestable("no results on Dorothea here.")
    levels = _levels(evidence, dataset, (SPARSEST, *DENSE, "LASSO1", *SEARCHING))
    rivals = [name for name in levels if name != SPARSEST]
    won = [_lower(evidence, dataset, SPARSEST, name) for name in rivals]
    best = {name: evidence.best(dataset, name) for name in levels}
    nearest = min(rivals, key=lambda name: best[name])
    why = (
        f"At their best settings SR0.01 has {shown(dataset, best[SPARSEST])}, {nearest} "
        f"{shown(dataset, best[nearest])}."
    )
    words = f"{_listed(dataset, levels)}; {_counted(won)}"
    return Finding(words, by_share([each for pair in won for each in pair]), why)


def _gisette(evidence: Evidence) -> Finding:
    if not evidence.has("gisette", (*DENSE, SPARSEST, "LASSO1", "LASSO100")):
        return absent("gisette")(evidence)
    levels = _levels(evidence, "gisette", (*DENSE, SPARSEST, "LASSO1", *SEARCHING))
    held = [
        min(levels, key=lambda name: levels[name]) == "SR0.1",
        max(levels, key=lambda name: levels[name]) == SR,
    ]
    return Finding(_listed("gisette", levels), by_share(held))


def _near_chance(evidence: Evidence) -> Finding:
    levels = _levels(evidence, "madelon", (*DENSE, SPARSEST, *SEARCHING))
    if SR not in levels:
        return untestable("no results on Madelon here.")
    held = [0.4 <= error <= 0.5 for error in levels.values()]
    return Finding(_listed("madelon", levels), by_share(held))


def _projection_wins(evidence: Evidence) -> Finding:
    errors, names = evidence.projection(), (*DENSE, SPARSEST)
    plain = [evidence.level("madelon", name) for name in names]
    plain = [error for error in plain if not math.isnan(error)]
    if not errors or not plain:
        return untestable("the projection study has not been run (piece madelon).")
    linear = sum(plain) / len(plain)
    largest_k = max(k for _, k in errors)
    by_size = {size: error for (size, k), error in errors.items() if k == largest_k}
    gains = {size: linear - error for size, error in by_size.items()}
    sizes = ", ".join(f"{size} {100 * e:.1f} %" for size, e in sorted(by_size.items()))
    words = f"linear SR {100 * linear:.1f} %; network at k = {largest_k:g} by size: {sizes}"
    small = min((e for (_, k), e in errors.items() if k < 1.5), default=math.nan)
    why = f"Below k = 1.5 the network's best is {100 * small:.1f} %." if small == small else ""
    return Finding(words, by_share([gain > 0.2 for gain in gains.values()]), why)


_BETTER = (
    "BER of SR1.0, SR0.5 and SR0.1 below that of each LASSO, in the mean over k and mixing values "
    "and at the best of each, on the folds that both have; that of SR0.01 not"
)

CLASS_CLAIMS = (
    Claim("Arcene: better than LASSO", "Fig. 10 (a)",
          "SR1.0, SR0.5 and SR0.1 outperform LASSO, SR0.01 does not", _BETTER,
          _better_than_lasso("arcene")),
    Claim("Dexter: better than LASSO", "Fig. 10 (c)",
          "the trend of Arcene; lowest performance for SR0.01", _BETTER,
          _better_than_lasso("dexter")),
    Claim("Dorothea: SR0.01 best", "Fig. 10 (e)", "SR0.01 gives the best BER",
          "BER of SR0.01 below that of every other SR and LASSO, in the mean over k and mixing "
          "values and at the best of each", _sparsest_wins),
    Claim("Gisette: SR0.1 best, SR1.0 worst", "Fig. 10 (g)", "SR0.1 best, SR1.0 worst",
          "mean BER over k lowest for SR0.1 and highest for SR1.0", _gisette),
    Claim("Madelon: about 45 % BER", "Fig. 10 (i)", "far from satisfactory, around 45 % BER",
          "mean BER of every SR and searching LASSO between 40 % and 50 %", _near_chance),
    Claim("Madelon: projection network", "Fig. 10 (i)",
          "eight features, projected to 500 … 20,000: better by over 20 points",
          "mean BER of the network at k = 2 more than 20 points below the mean of linear SR, for "
          "every size", _projection_wins),
)  # fmt: skip
