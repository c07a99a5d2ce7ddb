"""The page: claims, tables and figures of a run, written from its two files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from reproduction.claims import judge_all
from reproduction.claims.stopping import stopping_section
from reproduction.claims.verdicts import Claim, Finding, Verdict
from reproduction.evidence import CLASSIFICATION, REGRESSION, Evidence
from reproduction.figures import draw_all
from reproduction.files import read_curves, read_results, read_settings, replacing
from reproduction.sets import SETS, lasso_bytes
from reproduction.settings import DESCENT, FULL, STANDIN, Settings
from reproduction.tables import (
    DAGGER,
    best_errors,
    markdown,
    mean_errors,
    mean_times,
    standin_section,
    table_1,
    table_2,
    table_3,
    trials_table,
)

PAPER = REGRESSION + CLASSIFICATION
QUICKLY = (
    "**A quick run**: fewer trials and smaller grids than the paper's. It shows that everything "
    "works; verdicts need the full run."
)
METHOD = (
    "Each trial splits a set into two halves at random (stratified for classes); a model learns "
    "from one and is tested on the other, both ways. A trial's seed is its number.",
    'SR: `StretchyRegressor(fit_intercept="column", a=-0.2)` with k, c and density as given; '
    "classes are ±1, cut at zero; nothing is tuned. CPU is the process time of one fit with one "
    "BLAS thread; `results.csv` has wall time beside it.",
    "New z-scores are held within the training range and one range-width on each side of it; the "
    "paper's formula is not, so predictions of samples far outside differ from it.",
    "The closed form is taken as the paper prints it. It minimises the paper's objective neither "
    "freely nor among the combinations of stretched features that it is restricted to: the proof "
    "of Theorem 3 treats K = P Qᵀ as symmetric, which it is at k = 2 alone "
    "(`tests/core/test_closed_status.py`).",
    "LASSO: glmnet, made to solve MATLAB's problem (its λ sequence, its standardisation, its "
    "elastic-net scale, which unlike glmnet's does not depend on the deviation of y). "
    "`NumLambda` = 1 is the least λ at which all coefficients are zero, so LASSO1 predicts the "
    'mean: that is why it is far behind everywhere. LASSO2 and LASSO100 record "the lowest mean '
    "squared error\", read here as that of the training data, as MATLAB's `lasso` returns it; "
    "rows of the piece `oracle` hold the other reading, the lowest on the test half.",
    "The random projection network takes the eight features with the largest dot product with "
    "the target in the training half, and `RandomNetwork` with its defaults.",
)


def notes(evidence: Evidence, settings: Settings = FULL) -> str:
    """A list in Markdown."""
    searched = ", ".join(map(str, settings.searched_counts))
    search = (
        f"LASSOCV searches `NumLambda` in {{{searched}}} by {settings.search_folds}-fold "
        "cross-validation inside the training half; the paper does not say how many folds it took."
    )
    kind = [] if replace(settings, trials=FULL.trials) == FULL else [QUICKLY]
    cuts, origin = _cuts(evidence, settings), _origin(evidence)
    lines = [*kind, *METHOD, search, *cuts, *_absent(evidence), *_too_large(evidence), *origin]
    return "\n".join(f"- {line}" for line in lines)


def noise(evidence: Evidence) -> str:
    """The noise of Table 1, and how it was found; empty where the table was not computed."""
    levels = [
        next(iter(evidence.points("table1", "noise", name).values()), None)
        for name in ("implied sigma", "lowest", "highest")
    ]
    if None in levels:
        return ""
    sigma, lowest, highest = cast(list[float], levels)
    within = f"every σ between {lowest:.4f} and {highest:.4f}" if lowest <= highest else "no σ"
    return (
        "The paper does not state its noise. The coefficients are linear in the targets, α = A y, "
        "so that noise of deviation σ gives α_j the deviation σ‖A_j‖: each printed deviation of "
        "0.01 or more, divided by ‖A_j‖, is an estimate of σ. Their geometric mean, every column "
        f"with one vote, is σ = {sigma:.4f}; for {within} all of them lie where ten draws put "
        "95 % of their deviations."
    )


def _cuts(evidence: Evidence, settings: Settings) -> list[str]:
    """Methods with fewer trials than the others on the same set: by plan, or not finished."""
    rows = evidence.results[evidence.results["piece"].isin(["study", "projection"])]
    rows = rows[~rows["dataset"].str.endswith(STANDIN)]
    trials = rows.groupby(["dataset", "method"])["trial"].nunique()
    planned: list[str] = []
    unfinished: list[str] = []
    for name in (name for name in SETS if name in set(rows["dataset"])):
        for method, n in trials[name].items():
            if n < trials[name].max():
                words = f"{SETS[name].title} {method} {n} of {trials[name].max()}"
                meant = n >= settings.trials_of(name, str(method))
                (planned if meant else unfinished).append(words)
    said = []
    if planned:
        said.append(f"Fewer trials by plan, because of their time: {'; '.join(planned)}.")
    if unfinished:
        said.append(f"Not finished when this page was written: {'; '.join(unfinished)}.")
    if planned or unfinished:
        said.append(
            "Claims that compare errors pairwise do so on the trials that both methods have; the "
            "levels beside them, times, ranks, figures and tables show all trials."
        )
    large = [SETS[n].title for n in SETS if SETS[n].large and n in set(rows["dataset"])]
    if large:
        said.append(
            f"On {', '.join(large)} SR ran the settings that the paper shows (all densities at "
            "c = 1e2, all k without regularisation, all c at k = 1.25), on the other sets all "
            "combinations of its grid."
        )
    return said


def _absent(evidence: Evidence) -> list[str]:
    there = set(evidence.results["dataset"])
    missing = [SETS[name].title for name in PAPER if name not in there]
    said = [f"Not measured: {', '.join(missing)}."] if missing else []
    standins = [SETS[name].title for name in SETS if SETS[name].standin and name in there]
    if standins:
        said.append(
            f"Generated, not measured, and no evidence for any claim: {', '.join(standins)}; "
            "they have tables of their own."
        )
    return said


def _too_large(evidence: Evidence) -> list[str]:
    """Real sets with SR and without LASSO, where glmnet would need more memory than most have."""
    rows = evidence.results
    said = []
    for name in PAPER:
        methods = set(rows.loc[rows["dataset"] == name, "method"])
        need = lasso_bytes(name) / 1e9
        if "SR" in methods and "LASSO100" not in methods and need > 16:
            said.append(
                f"No LASSO on {SETS[name].title}: glmnet holds dense features as float64 several "
                f"times over, about {need:.0f} GB for a half."
            )
    return said


def _origin(evidence: Evidence) -> list[str]:
    rows = evidence.results[evidence.results["piece"] != DESCENT]  # which has its own line
    if rows.empty:
        return []
    versions = "; ".join(f"`{text}`" for text in sorted(set(rows["versions"])))
    commits = ", ".join(f"`{text}`" for text in dict.fromkeys(rows["commit"]))
    return [
        f"{len(rows):,} measurements, with {versions}, at commit {commits} (+ marks changes that "
        "were not committed)."
    ]


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
    written, failures = draw_all(figures, results, curves, out / FOLDER)
    for path in written.values():
        say(f"wrote {path}")
    drawn = [name for name in CAPTIONS if (out / FOLDER / f"{name}.png").exists()]
    with replacing(out / PAGE) as file:
        file.write(page_text(evidence, drawn, read_settings(out) or FULL).encode())
    say(f"wrote {out / PAGE}")
    return list(failures.values())


def page_text(evidence: Evidence, drawn: Sequence[str], settings: Settings = FULL) -> str:
    """The page for these tables, with links to the figures that were drawn."""
    judged = judge_all(evidence)
    parts = [
        "# The paper, reproduced",
        "*Deterministic Stretchy Regression* by Kar-Ann Toh, Lei Sun and Zhiping Lin: its claims "
        "beside what this library measures. Written by `python -m reproduction` from `results.csv` "
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
        *stopping_section(evidence),
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
