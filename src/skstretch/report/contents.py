"""From a subject to all that its page shows: texts for the template, data for the charts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.report.cells import Cells, fitted_cells
from skstretch.report.quality import (
    COVERAGE,
    Bars,
    ClassQuality,
    RegressionQuality,
    bars_of,
    class_quality,
    crossfit_probabilities,
    regression_quality,
    reliability,
    wilson,
)
from skstretch.report.subject import Subject
from skstretch.report.surface import Surface, best_error, surface_of
from skstretch.report.words import count
from skstretch.style import near_one, number, share

# One sentence in plain words, and a few figures beside it.


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
    kept, (n, D) = int(subject.state.support.any(axis=0).sum()), subject.shape
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


MOST_POINTS = 500


@dataclass(frozen=True)
class Contents:
    """Everything that was worked out for a page."""

    subject: Subject
    surface: Surface | None
    cells: Cells
    bars: Bars | None
    quality: Any  # list of RegressionQuality, ClassQuality, or None without y
    sentence: str

    @property
    def outputs(self) -> Array | None:
        """Out-of-fold outputs of the chosen cell, (n, t)."""
        return self.cells.fitted[self.cells.chosen].outputs

    @cached_property
    def shown(self) -> Index:
        """Samples that are drawn: at most MOST_POINTS, even over the observed values."""
        Y = self.subject.Y
        if Y.shape[0] <= MOST_POINTS:
            return np.arange(Y.shape[0])
        order = np.argsort(Y[:, 0], kind="stable")
        places = np.linspace(0, Y.shape[0] - 1, MOST_POINTS).astype(int)
        return np.sort(order[places])

    def cut(self, row: int) -> Array | None:
        """Out-of-fold scores of a cell less their cut, which only the chosen one has learned."""
        outputs = self.cells.fitted[row].outputs
        if outputs is None or row != self.cells.chosen:
            return outputs
        return outputs - np.atleast_1d(self.subject.model.threshold_)


def contents_of(subject: Subject) -> Contents:
    """Work out everything."""
    surface = surface_of(subject) if subject.searched else None
    cells = fitted_cells(subject, surface)
    outputs = cells.fitted[cells.chosen].outputs
    bars = bars_of(subject, outputs, cells.known)
    draft = Contents(subject, surface, cells, bars, None, "")
    quality = _quality(draft)
    return Contents(subject, surface, cells, bars, quality, _sentence(subject, quality, bars))


def _quality(contents: Contents) -> Any:
    subject, outputs = contents.subject, contents.outputs
    if subject.y is None or outputs is None:
        return None
    if subject.classifies:
        scores = contents.cut(contents.cells.chosen)
        assert scores is not None
        return class_quality(scores, subject.codes, subject.model.classes_.size)
    return [regression_quality(*pair) for pair in zip(subject.Y.T, outputs.T, strict=True)]


def _sentence(subject: Subject, quality: Any, bars: Bars | None) -> str:
    if quality is None:
        return modest_verdict(subject)
    if subject.classifies:
        return class_verdict(quality, subject)
    return regression_verdict(quality, bars, subject)


def calibration(contents: Contents) -> list[list[dict[str, float]]]:
    """Points of the calibration chart: one list for each output of a regressor, else one."""
    subject, bars = contents.subject, contents.bars
    if subject.classifies:
        scores = None if subject.y is None else contents.cut(contents.cells.chosen)
        return [] if scores is None else _class_calibration(scores, subject)
    if bars is None or bars.method != "plus":
        return []
    n = subject.shape[0]
    curves = []
    for seen in bars.seen:
        points = []
        for level, value in zip(bars.levels, seen.tolist(), strict=True):
            low, high = wilson(value, n)
            points.append({"said": level, "seen": value, "low": low, "high": high, "n": float(n)})
        curves.append(points)
    return curves


def _class_calibration(scores: Array, subject: Subject) -> list[list[dict[str, float]]]:
    known = np.isfinite(scores).all(axis=1)
    scores, codes = scores[known], subject.codes[known]
    size, kind = subject.model.classes_.size, subject.model.calibration
    probability = crossfit_probabilities(scores, codes, size, kind)
    if probability is None:
        return []
    if size == 2:
        return [reliability(probability[:, 1], codes == 1)]
    winner = probability.argmax(axis=1)
    return [reliability(probability.max(axis=1), codes == winner)]
