"""What a claim is, and how the measures decide on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from skstretch.experiments.evidence import Evidence

__all__ = ["Claim", "Finding", "Verdict", "by_share", "untestable"]


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
    >>> from skstretch.experiments.verdicts import by_share
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
