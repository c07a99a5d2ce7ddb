"""From a subject to all that its page shows: texts for the template, data for the charts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.report import classes, verdict
from skstretch.report.cells import Cells, effort_of, fitted_cells
from skstretch.report.intervals import Bars, bars_of
from skstretch.report.quality import class_quality, regression_quality
from skstretch.report.subject import Subject
from skstretch.report.surface import Surface, surface_of

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
    bars = bars_of(subject, outputs, effort_of(subject), cells.verified)
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
        return verdict.modest_verdict(subject)
    if subject.classifies:
        return verdict.class_verdict(quality, subject)
    return verdict.regression_verdict(quality, bars, subject)


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
            low, high = classes.wilson(value, n)
            points.append({"said": level, "seen": value, "low": low, "high": high, "n": float(n)})
        curves.append(points)
    return curves


def _class_calibration(scores: Array, subject: Subject) -> list[list[dict[str, float]]]:
    known = np.isfinite(scores).all(axis=1)
    scores, codes = scores[known], subject.codes[known]
    size, kind = subject.model.classes_.size, subject.model.calibration
    probability = classes.crossfit_probabilities(scores, codes, size, kind)
    if probability is None:
        return []
    if size == 2:
        return [classes.reliability(probability[:, 1], codes == 1)]
    winner = probability.argmax(axis=1)
    return [classes.reliability(probability.max(axis=1), codes == winner)]
