"""What the claims on error share: when errors are comparable, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable

from skstretch.experiments.evidence import Evidence
from skstretch.experiments.sets import SETS
from skstretch.experiments.verdicts import Finding, untestable

__all__ = ["NEAR", "POINTS", "absent", "as_good", "shown"]

NEAR = 1.1  # regression errors within 10 % of each other are comparable
POINTS = 0.02  # so are balanced error rates within two points


def shown(dataset: str, error: float) -> str:
    """An error as the page prints it: a rate in per cent, others with three digits."""
    return f"{100 * error:.1f} %" if SETS[dataset].measure == "ber" else f"{error:.3g}"


def as_good(dataset: str, error: float, reference: float) -> bool:
    """Whether an error is no worse than comparable with the reference."""
    if SETS[dataset].measure == "ber":
        return error <= reference + POINTS
    return error <= NEAR * reference


def absent(dataset: str) -> Callable[[Evidence], Finding]:
    """The judge of a claim on a set that is not here."""

    def judge(evidence: Evidence) -> Finding:
        return untestable(
            f"{SETS[dataset].title} was not run: it does not come with the others. Its loader "
            f"reads it where it is (`--datasets {dataset}`); a generated stand-in is no evidence."
        )

    return judge
