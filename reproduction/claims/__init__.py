"""All claims of the paper, judged by the tables of a run."""

from __future__ import annotations

from reproduction.claims.errors import ACCURACY_CLAIMS, CLASS_CLAIMS
from reproduction.claims.examples import COMPRESSION_CLAIMS, SYNTHETIC_CLAIMS
from reproduction.claims.times import RANK_CLAIMS, SPEED_CLAIMS
from reproduction.claims.verdicts import Claim, Finding
from reproduction.evidence import Evidence

CLAIMS = (
    *SYNTHETIC_CLAIMS,
    *COMPRESSION_CLAIMS,
    *ACCURACY_CLAIMS,
    *CLASS_CLAIMS,
    *SPEED_CLAIMS,
    *RANK_CLAIMS,
)


def judge_all(evidence: Evidence) -> list[tuple[Claim, Finding]]:
    """Every claim with its finding, in the order of the paper."""
    return [(claim, claim.judge(evidence)) for claim in CLAIMS]
