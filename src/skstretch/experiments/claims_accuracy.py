"""Claims on prediction error: regression, and the effect of k and c."""

from __future__ import annotations

from collections.abc import Callable

from skstretch.experiments.claims_common import NEAR, absent, as_good, shown
from skstretch.experiments.evidence import SEARCHING, SR, Evidence
from skstretch.experiments.sets import SETS
from skstretch.experiments.settings import FULL
from skstretch.experiments.verdicts import Claim, Finding, Verdict, by_share, untestable

__all__ = ["ACCURACY_CLAIMS"]


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
