"""Claims on compression: coefficients as k falls to 1."""

from __future__ import annotations

import math
from collections.abc import Callable

from skstretch.experiments.evidence import Evidence
from skstretch.experiments.sets import SETS
from skstretch.experiments.verdicts import Claim, Finding, by_share, untestable

__all__ = ["COMPRESSION_CLAIMS"]


def _compressed(kind: str, sparse: bool) -> Callable[[Evidence], Finding]:
    """Whether the strong share at the least k is less than half of that at k = 2."""

    def judge(evidence: Evidence) -> Finding:
        held, strong, carrying = [], [], []
        for panel in evidence.panels("compression"):
            dataset, _, found = panel.partition(": ")
            low, high = _ends(evidence.points("compression", panel, "strong share"))
            if found != kind or SETS[dataset].standin or math.isnan(low):
                continue
            title = SETS[dataset].title
            held.append((low < high / 2) == sparse)
            strong.append(f"{title} {100 * low:.3g} % against {100 * high:.3g} %")
            low, high = _ends(evidence.points("compression", panel, "participation"))
            carrying.append(f"{title} {100 * low:.2g} % against {100 * high:.2g} %")
        if not held:
            return untestable(f"no {kind} set has been fitted (fig7, fig8).")
        ours = "coefficients that reach a tenth of the largest, least k against k = 2: "
        why = f"‖α‖₁²/(D‖α‖₂²), a measure of all coefficients: {'; '.join(carrying)}."
        return Finding(ours + "; ".join(strong), by_share(held), why)

    return judge


def _ends(points: dict[float, float]) -> tuple[float, float]:
    """Values at the least and at the largest k, NaN with fewer than two."""
    if len(points) < 2:
        return math.nan, math.nan
    return points[min(points)], points[max(points)]


COMPRESSION_CLAIMS = (
    Claim(
        "Sparse when under-determined", "Fig. 7 and 8",
        "coefficients of Corn, Arcene, Dexter and Dorothea differ widely; compression grows as "
        "k → 1",
        "the share of coefficients that reach a tenth of the largest is, at the least k, less than "
        "half of that at k = 2, for every set with more features than samples",
        _compressed("under-determined", True),
    ),
    Claim(
        "Not sparse when over-determined", "Fig. 7 and 8",
        "no sparse estimation on Prostate, Diabetes and Madelon",
        "the same share at the least k is at least half of that at k = 2",
        _compressed("over-determined", False),
    ),
)  # fmt: skip
