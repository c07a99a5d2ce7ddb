"""All claims of the paper, judged by the tables of a run."""

from __future__ import annotations

from skstretch.experiments.claims_accuracy import ACCURACY_CLAIMS
from skstretch.experiments.claims_classes import CLASS_CLAIMS
from skstretch.experiments.claims_compression import COMPRESSION_CLAIMS
from skstretch.experiments.claims_speed import RANK_CLAIMS, SPEED_CLAIMS
from skstretch.experiments.claims_synthetic import SYNTHETIC_CLAIMS
from skstretch.experiments.evidence import Evidence
from skstretch.experiments.verdicts import Claim, Finding

__all__ = ["CLAIMS", "judge_all"]

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
