"""How a run was made and where it differs from the paper, said from its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from skstretch.experiments.evidence import Evidence
from skstretch.experiments.memory import lasso_bytes
from skstretch.experiments.sets import SETS
from skstretch.experiments.settings import FULL, STANDIN, Settings

__all__ = ["noise", "notes"]

PAPER = ("prostate", "diabetes", "corn", "tfidf", "gaze",
         "arcene", "dexter", "dorothea", "gisette", "madelon")  # fmt: skip
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
    rows = evidence.results
    if rows.empty:
        return []
    versions = "; ".join(f"`{text}`" for text in sorted(set(rows["versions"])))
    commits = ", ".join(f"`{text}`" for text in dict.fromkeys(rows["commit"]))
    return [
        f"{len(rows):,} measurements, with {versions}, at commit {commits} (+ marks changes that "
        "were not committed)."
    ]
