"""One sentence in plain words, and a few figures beside it."""

from typing import Any

import numpy as np

from skstretch.report.intervals import COVERAGE, Bars
from skstretch.report.measure import best_error
from skstretch.report.quality import ClassQuality, RegressionQuality
from skstretch.report.subject import Subject
from skstretch.report.words import count, near_one, number, share

Tile = tuple[str, str, str]  # figure, what it is, how to read it


def regression_verdict(
    quality: list[RegressionQuality], bars: Bars | None, subject: Subject
) -> str:
    """The error beside that of the mean, and what the intervals held."""
    if len(quality) > 1:
        return _verdict_of_many(quality, subject)
    one = quality[0]
    if one.gain <= 0:
        return (
            f"This model does not predict {subject.target}: on samples that it has not seen its "
            f"typical error is ±{number(one.error)}, and always answering the mean gives "
            f"±{number(one.baseline)}."
        )
    text = (
        f"Predicts {subject.target} with a typical error of ±{number(one.error)} on samples that "
        f"it has not seen, {share(one.gain, 0)} less than always answering the mean "
        f"(±{number(one.baseline)})."
    )
    return text + interval_sentence(bars)


def interval_sentence(bars: Bars | None) -> str:
    if bars is None or not bars.finite or bars.method != "plus":
        return ""
    seen = bars.seen[0, bars.levels.index(COVERAGE)]
    return (
        f" Its {share(COVERAGE, 0)} intervals reach about ±{number(bars.half)} and held "
        f"{share(seen, 0)} of the observations that they were tested on."
    )


def _verdict_of_many(quality: list[RegressionQuality], subject: Subject) -> str:
    gains = np.array([q.gain for q in quality])
    best, worst = int(np.argmax(gains)), int(np.argmin(gains))
    return (
        f"Predicts {len(gains)} targets at once. On samples that it has not seen the typical error "
        f"is {share(gains[best], 0)} less than that of always answering the mean for "
        f"{subject.outputs[best]}, the best, and {share(gains[worst], 0)} less for "
        f"{subject.outputs[worst]}, the worst."
    )


def class_verdict(quality: ClassQuality, subject: Subject) -> str:
    """The share of right answers beside that of the most frequent class."""
    what = "" if subject.target == "the target" else f" of {subject.target}"
    text = (
        f"Tells the {quality.n_classes} classes{what} apart: {share(quality.right)} of samples "
        f"that it has not seen are put into the right one"
    )
    if quality.right <= quality.baseline and quality.balanced_error >= 0.5:
        text = text.replace("Tells", "Does not tell", 1)
    return (
        f"{text} (always answering the most frequent class: {share(quality.baseline)}); the "
        f"balanced error rate is {share(quality.balanced_error)}."
    )


def modest_verdict(subject: Subject) -> str:
    """What can be said without the observed values."""
    n, D = subject.shape
    kind = "A classifier" if subject.classifies else "A regression model"
    text = f"{kind} fitted on {count(n, 'sample')} of {count(D, 'feature')}."
    if subject.searched:
        text += f" Cross-validated: {best_error(subject)}."
    return text


def tiles(subject: Subject, quality: Any, bars: Bars | None) -> list[Tile]:
    """Figures for the top of the page."""
    found = [*_quality_tiles(quality), *_bar_tiles(bars)]
    kept, (n, D) = int(subject.parts.support.any(axis=0).sum()), subject.shape
    found.append((f"{kept:,}".replace(",", "\u202f"), "features in use", f"of {D:,} given"))
    dof = np.max(np.atleast_1d(subject.model.dof_))
    found.append((number(dof), "degrees of freedom", f"spent on {count(n, 'sample')}"))
    return found


def _quality_tiles(quality: Any) -> list[Tile]:
    if isinstance(quality, ClassQuality):
        area = [(near_one(quality.area), "area under ROC", "0.5 is guessing, 1 is perfect")]
        return [
            (share(quality.right), "right", f"most frequent class: {share(quality.baseline)}"),
            (share(quality.balanced_error), "balanced error rate", "mean error of the classes"),
            *([] if np.isnan(quality.area) else area),
        ]
    if not quality or len(quality) > 1:
        return []
    one = quality[0]
    return [
        (f"±{number(one.error)}", "typical error", f"answering the mean: ±{number(one.baseline)}"),
        (near_one(one.r2), "out-of-fold R²", "0 is the mean, 1 is perfect"),
    ]


def _bar_tiles(bars: Bars | None) -> list[Tile]:
    if bars is None or not bars.finite or bars.lower.shape[1] > 1:
        return []
    how = "from out-of-fold residuals"
    if bars.method == "plus":
        how = f"held {share(bars.seen[0, bars.levels.index(COVERAGE)], 0)} of observations"
    return [(f"±{number(bars.half)}", f"{share(COVERAGE, 0)} interval", how)]
