"""What a claim is, how the measures decide on it, and when errors are comparable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reproduction.evidence import Evidence
from reproduction.sets import SETS


class Verdict(StrEnum):
    """The four answers."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"
    UNTESTABLE = "not testable here"


@dataclass(frozen=True)
class Finding:
    """What was measured, the verdict that the rule gives, and why."""

    ours: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    name : str
    where : str
        Section, table or figure of the paper.
    paper : str
        The paper's figures or words.
    rule : str
        What has to hold; the code of `judge` in words.
    judge : callable
        Takes the evidence and returns the finding.
    """

    name: str
    where: str
    paper: str
    rule: str
    judge: Callable[[Evidence], Finding]


def by_share(held: Sequence[bool], enough: float = 0.5) -> Verdict:
    """Reproduced where all hold, partly where at least `enough` of them do, else not.

    Examples
    --------
    >>> from reproduction.claims.verdicts import by_share
    >>> by_share([True, True]).value, by_share([True, False]).value, by_share([False]).value
    ('reproduced', 'partly', 'not')
    """
    if not held:
        return Verdict.UNTESTABLE
    share = sum(held) / len(held)
    if share == 1:
        return Verdict.REPRODUCED
    return Verdict.PARTLY if share >= enough else Verdict.NOT


def untestable(reason: str) -> Finding:
    """Nothing was measured that could decide."""
    return Finding("–", Verdict.UNTESTABLE, reason)


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
