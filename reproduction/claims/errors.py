"""Claims on prediction error: regression, the effect of k and c, and classification."""

from __future__ import annotations

import math
from collections.abc import Callable

from reproduction.claims.verdicts import (
    NEAR,
    Claim,
    Finding,
    Verdict,
    absent,
    as_good,
    by_share,
    shown,
    untestable,
)
from reproduction.evidence import SEARCHING, SR, Evidence
from reproduction.sets import SETS
from reproduction.settings import FULL


def _comparable(dataset: str) -> Callable[[Evidence], Finding]:
    """Best SR1.0 within 10 % of the best of each searching LASSO, on the same folds."""

    def judge(evidence: Evidence) -> Finding:
        title = SETS[dataset].title
        if not evidence.has(dataset, (SR, "LASSO1", "LASSO100")):
            return untestable(f"no results on {title} here.")
        there = [name for name in SEARCHING if evidence.has(dataset, (name,))]
        ratio = {
            name: evidence.best(dataset, SR, like=name) / evidence.best(dataset, name)
            for name in ("LASSO1", *there)
        }
        held = [1 / NEAR <= ratio[name] <= NEAR for name in there]
        held.append(ratio["LASSO1"] < 1 / NEAR)
        levels = {name: evidence.best(dataset, name) for name in (SR, *there, "LASSO1")}
        words = ", ".join(f"{name} {shown(dataset, error)}" for name, error in levels.items())
        why = _who_wins(title, {name: ratio[name] for name in there})
        return Finding(f"best {words}", by_share(held), why)

    return judge


def _who_wins(title: str, ratio: dict[str, float]) -> str:
    """Where the errors are not comparable, in words; a ratio is SR over LASSO."""
    better = [f"{name} (by a factor of {r:.2g})" for name, r in ratio.items() if r > NEAR]
    worse = [f"{name} (by {1 / r:.2g})" for name, r in ratio.items() if r < 1 / NEAR]
    said = [f"On {title} SR is behind {' and '.join(better)}"] if better else []
    said += [f"SR is ahead of {' and '.join(worse)}"] if worse else []
    return ("; ".join(said) + ".") if said else ""


def _good_from(task: str, least: float) -> Callable[[Evidence], Finding]:
    """Errors at every k from `least` on against that at k = 2."""

    def judge(evidence: Evidence) -> Finding:
        held, words, worse = [], [], []
        for dataset in evidence.sets(task):
            errors = evidence.along(dataset, SR)
            if 2.0 not in errors or len(errors) < 2:
                continue
            tried = {k: error for k, error in errors.items() if least <= k < 2}
            good = {k: as_good(dataset, error, errors[2.0]) for k, error in tried.items()}
            held += list(good.values())
            worse += [f"{SETS[dataset].title} at k = {k:g}" for k, well in good.items() if not well]
            worst = max(tried, key=lambda k: tried[k])
            words.append(
                f"{SETS[dataset].title}: k = 2 {shown(dataset, errors[2.0])}, "
                f"else at worst {shown(dataset, tried[worst])} (k = {worst:g})"
            )
        if not held:
            return untestable(f"no {task} set has been run.")
        return Finding("; ".join(words), by_share(held), _behind(worse))

    return judge


def _behind(names: list[str]) -> str:
    return f"Not so: {', '.join(names)}." if names else ""


def _insensitive(evidence: Evidence) -> Finding:
    held, words, moved = [], [], []
    for dataset in evidence.sets("regression") + evidence.sets("classification"):
        errors = {c: e for c, e in evidence.against_c(dataset).items() if c <= 1e4}
        if len(errors) < 2:
            continue
        low, high = min(errors.values()), max(errors.values())
        held.append(as_good(dataset, high, low))
        moved += [] if held[-1] else [SETS[dataset].title]
        words.append(f"{SETS[dataset].title} {shown(dataset, low)} to {shown(dataset, high)}")
    if not held:
        return untestable("no set has been run at several c.")
    return Finding("; ".join(words), by_share(held), _behind(moved))


def _rising(dataset: str, least: float) -> Callable[[Evidence], Finding]:
    """Comparable with LASSO100 from `least` on, and not below."""

    def judge(evidence: Evidence) -> Finding:
        if not evidence.has(dataset, (SR, "LASSO100")):
            return absent(dataset)(evidence)
        reference = evidence.best(dataset, "LASSO100")
        errors = evidence.along(dataset, SR)
        held = [(error <= NEAR * reference) == (k >= least) for k, error in errors.items()]
        listed = ", ".join(f"k = {k:g} {e:.3g}" for k, e in errors.items())
        return Finding(f"{listed}; LASSO100 {reference:.3g}", by_share(held))

    return judge


def _scattered(evidence: Evidence) -> Finding:
    if not evidence.has("tfidf", (SR, "LASSO100")):
        return absent("tfidf")(evidence)
    errors = evidence.rows[evidence.rows["dataset"] == "tfidf"]
    spread = {
        name: float(part.groupby("place")["error"].std().median())
        for name, part in errors.groupby("name")
        if name in (SR, "LASSO100")
    }
    held = spread[SR] > 2 * spread["LASSO100"]
    words = f"deviation: SR1.0 {spread[SR]:.3g}, LASSO100 {spread['LASSO100']:.3g}"
    return Finding(words, Verdict.REPRODUCED if held else Verdict.NOT)


_COMPARABLE = (
    "best mean error of SR1.0 over k within 10 % of the best of LASSO2, LASSO100 and LASSOCV over "
    "mixing values, on the folds that both have, and LASSO1 more than 10 % worse"
)
_P = FULL.shown_power
ACCURACY_CLAIMS = (
    Claim("Prostate: comparable MSE", "Fig. 9 (a)", "comparable with LASSO except LASSO1",
          _COMPARABLE, _comparable("prostate")),
    Claim("Diabetes: comparable MSE", "Fig. 9 (c)", "comparable with LASSO except LASSO1",
          _COMPARABLE, _comparable("diabetes")),
    Claim("Corn: comparable √MSE", "Fig. 9 (e)", "comparable performance of SR and LASSO",
          _COMPARABLE, _comparable("corn")),
    Claim("TFIDF: large deviations", "Fig. 9 (g)",
          "large standard deviations of SR for most k, LASSO stable",
          "median deviation of SR1.0 more than twice that of LASSO100", _scattered),
    Claim("Gaze: comparable for k ≥ 1.5", "Fig. 9 (i)", "comparable with LASSO only for k ≥ 1.5",
          "error within 10 % of the best LASSO100 exactly where k ≥ 1.5", _rising("gaze", 1.5)),
    Claim("Regression: good for k ≥ 1.25", "Summary", "good accuracy at k ≥ 1.25",
          "SR1.0 at every such k at most 10 % above k = 2", _good_from("regression", 1.25)),
    Claim("Classification: good for k ≥ 1.1", "Summary", "good accuracy at k ≥ 1.1",
          "SR1.0 at every such k at most two points of BER above k = 2",
          _good_from("classification", 1.1)),
    Claim("Insensitive to c", "Fig. 11", "errors relatively insensitive to c within [10, 1e4]",
          f"SR1.0 at k = {_P:g}: worst c at most 10 % (two points of BER) above the best",
          _insensitive),
)  # fmt: skip
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
