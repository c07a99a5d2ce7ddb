"""The page: claims, tables and figures of a run, written from its two files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from skstretch.experiments.claims import judge_all
from skstretch.experiments.curves import read_curves
from skstretch.experiments.dataset_tables import DAGGER, table_2, table_3
from skstretch.experiments.evidence import Evidence
from skstretch.experiments.figures import FIGURES
from skstretch.experiments.ledger import read_results
from skstretch.experiments.notes import noise, notes
from skstretch.experiments.settings import FULL, Settings, read_settings
from skstretch.experiments.standin_tables import standin_section
from skstretch.experiments.tables import (
    best_errors,
    markdown,
    mean_errors,
    mean_times,
    table_1,
    trials_table,
)
from skstretch.experiments.verdicts import Claim, Finding, Verdict
from skstretch.io import files as atomic

__all__ = ["page_text", "write_page"]

PAGE, FOLDER = "reproduction.md", "figures"
CAPTIONS = {
    "fig1": "Fig. 1: the smoothed absolute value",
    "fig2": "Fig. 2: contours of the p-norm, the k-measure and its power",
    "fig3": "Fig. 3: two features of Madelon before and after the transform",
    "fig4": "Fig. 4: curves learned from the five points",
    "fig5": "Fig. 5: 20 points, order 3",
    "fig6": "Fig. 6: 20 points, order 28",
    "fig7": "Fig. 7: sorted coefficients, regression",
    "fig8": "Fig. 8: sorted coefficients, classification",
    "fig9": "Fig. 9: error and time, regression",
    "fig10": "Fig. 10: error and time, classification",
    "fig11": "Fig. 11: error against c",
    "fig12": "Fig. 12: Nemenyi's critical differences",
    "projection": "Madelon through a random projection network (part of Fig. 10)",
}


def write_page(out: Path, figures: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Draw the figures and write the page; returns what could not be drawn, in words."""
    results, curves = read_results(out / "results.csv"), read_curves(out / "curves.csv")
    evidence = Evidence(results, curves)
    failures = []
    for name in figures:
        try:
            say(f"wrote {FIGURES[name](results, curves, out / FOLDER)}")
        except ValueError as error:
            failures.append(str(error))
    drawn = [name for name in CAPTIONS if (out / FOLDER / f"{name}.png").exists()]
    with atomic.replacing(out / PAGE) as file:
        file.write(page_text(evidence, drawn, read_settings(out) or FULL).encode())
    say(f"wrote {out / PAGE}")
    return failures


def page_text(evidence: Evidence, drawn: Sequence[str], settings: Settings = FULL) -> str:
    """The page for these tables, with links to the figures that were drawn."""
    judged = judge_all(evidence)
    parts = [
        "# The paper, reproduced",
        "*Deterministic Stretchy Regression* by Kar-Ann Toh, Lei Sun and Zhiping Lin: its claims "
        "beside what this library measures. Written by `skstretch reproduce` from `results.csv` "
        "and `curves.csv`: every number of ours is computed from these two files.",
        "## Claims",
        _tally(judged),
        _claims_table(judged),
        "## How it was measured",
        notes(evidence, settings),
        "Finished trials of two folds:",
        trials_table(evidence),
        "## Errors",
        "MSE (√MSE for Corn, BER for classes): mean ± deviation over trials at the k or mixing "
        "value that is best on the test halves. SR at c = 100 unless marked.",
        best_errors(evidence),
        "The same, mean over all k or mixing values:",
        mean_errors(evidence),
        "## Training time",
        "CPU seconds, mean over all k or mixing values.",
        mean_times(evidence),
        "## Table 1",
        "Noiseless / mean of ten noisy draws (deviation), ours above the paper's. "
        + noise(evidence),
        table_1(evidence),
        "## Tables 2 and 3",
        "Counted in the arrays that the loaders gave, training and validation parts together. "
        f"{DAGGER} is the registry's number: the set was not loaded, its copy does not tell the "
        "parts apart, or (test) the labels were never published.",
        table_2(evidence),
        table_3(evidence),
        *standin_section(evidence),
        *(["## Figures"] if drawn else []),
        *(f"![{CAPTIONS[name]}]({FOLDER}/{name}.png)\n\n{CAPTIONS[name]}" for name in drawn),
        "## Rules of the verdicts",
        markdown(["claim", "what has to hold"], [[c.name, c.rule] for c, _ in judged]),
    ]
    return "\n\n".join(parts) + "\n"


def _tally(judged: Sequence[tuple[Claim, Finding]]) -> str:
    count = Counter(finding.verdict for _, finding in judged)
    counted = ", ".join(f"{count[verdict]} {verdict.value}" for verdict in Verdict)
    return (
        f"Of {len(judged)} claims: {counted}. The rule behind each verdict is at the end; where it "
        "has several conditions, all of them make *reproduced* and at least half of them *partly*, "
        "unless it says otherwise."
    )


def _claims_table(judged: Sequence[tuple[Claim, Finding]]) -> str:
    rows = [
        [claim.name, f"{claim.paper} ({claim.where})", finding.ours,
         f"**{finding.verdict.value}**", finding.why]
        for claim, finding in judged
    ]  # fmt: skip
    return markdown(["claim", "the paper", "here", "verdict", "why"], rows)
