"""How good a model is: out-of-fold outputs, intervals, and all that a page says of them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.model_selection import KFold

from skstretch.core.classes import decided, probabilities, temperature
from skstretch.core.crossfit import residual_width
from skstretch.core.types import Array, Index
from skstretch.estimators import StretchyRegressor
from skstretch.estimators.choice import left_out
from skstretch.estimators.summary import (
    ClassRates,
    RegressionQuality,
    class_rates,
    many_targets,
    regression_quality,
)
from skstretch.report.cells import Cells, Known, effort_of, fitted_cells, quiet
from skstretch.report.subject import Subject
from skstretch.report.surface import Surface, best_error, measure_of, nested_error, surface_of
from skstretch.style import count, near_one, number, share, thousands

# Out-of-fold scores of a classifier: ROC, confusion, reliability.

CURVE_POINTS = 60
MOST_CURVES = 8
MOST_CLASSES = 20
N_BINS = 8
Z = 1.645  # two-sided 90 %


def roc(outputs: Array, codes: Index) -> list[dict[str, Any]]:
    """A curve for the second class of two, or for each of the most frequent classes."""
    if outputs.shape[1] == 1:
        columns, positive = [0], [1]
    else:
        frequent = np.argsort(-np.bincount(codes, minlength=outputs.shape[1]), kind="stable")
        columns = positive = sorted(frequent[:MOST_CURVES].tolist())
    curves = []
    for column, label in zip(columns, positive, strict=True):
        truth = codes == label
        if truth.all() or not truth.any():
            continue
        false, true, _ = roc_curve(truth, outputs[:, column])
        kept = _thinned(false, true)
        area = float(roc_auc_score(truth, outputs[:, column]))
        curves.append({"label": label, "area": area, "x": false[kept], "y": true[kept]})
    return curves


def _thinned(x: Array, y: Array) -> Index:
    """Corners of a curve at even steps along it, both ends included."""
    if x.size <= CURVE_POINTS:
        return np.arange(x.size)
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    at = np.searchsorted(length, np.linspace(0, length[-1], CURVE_POINTS))
    return np.unique(np.clip(at, 0, x.size - 1))


def confusion(outputs: Array, codes: Index, n_classes: int) -> Any:
    """Counts of observed (rows) and predicted (columns) classes."""
    return confusion_matrix(codes, decided(outputs), labels=np.arange(n_classes))


def crossfit_probabilities(outputs: Array, codes: Index, n_classes: int, kind: str) -> Array | None:
    """Probabilities (n, n_classes) whose curve is learned from nine tenths of the other samples."""
    n = codes.size
    if n < 2 * 10:
        return None
    found = np.full((n, n_classes), np.nan)
    for train, test in KFold(10, shuffle=True, random_state=0).split(outputs):
        if np.unique(codes[train]).size < n_classes:
            return None
        ones = np.ones(train.size)
        if kind == "isotonic" and n_classes == 2:
            curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            curve.fit(outputs[train, 0], codes[train] == 1)
            positive = curve.predict(outputs[test, 0])
            found[test] = np.column_stack([1.0 - positive, positive])
        else:
            factor = temperature(outputs[train], codes[train], ones)
            found[test] = probabilities(outputs[test], factor)
    return found


def reliability(probability: Array, happened: Any) -> list[dict[str, float]]:
    """Bins of equal counts: mean probability, observed share and its 90 % Wilson interval."""
    order = np.argsort(probability, kind="stable")
    bins = np.array_split(order, min(N_BINS, max(1, order.size // 10)))
    points = []
    for rows in bins:
        low, high = wilson(float(happened[rows].mean()), rows.size)
        points.append(
            {
                "said": float(probability[rows].mean()),
                "seen": float(happened[rows].mean()),
                "low": low,
                "high": high,
                "n": float(rows.size),
            }
        )
    return points


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 90 % score interval of a share seen in n cases."""
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


@dataclass(frozen=True)
class ClassQuality(ClassRates):
    """With the area under the ROC curve, the mean one of several."""

    area: float = np.nan

    @property
    def text(self) -> str:
        area = "" if np.isnan(self.area) else f", area under the ROC curve {near_one(self.area)}"
        return f"{share(self.right)} right, balanced error rate {share(self.balanced_error)}{area}"


def class_quality(outputs: Array, codes: Index, n_classes: int) -> ClassQuality:
    """Of outputs (n, t) whose cut is at zero, over the samples that some fold has tested."""
    known = np.isfinite(outputs).all(axis=1)
    areas = [curve["area"] for curve in roc(outputs[known], codes[known])]
    rates = class_rates(outputs, codes, n_classes)
    return ClassQuality(**vars(rates), area=float(np.mean(areas)) if areas else np.nan)


# Jackknife+ intervals of samples that the model has not seen, and how often they hold.

COVERAGE = 0.9
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
N_FOLDS = 10


@dataclass(frozen=True)
class Bars:
    """Intervals at COVERAGE of shape (n, t), and the coverage seen at several levels, (t, L).

    `method` is "plus" or "residual". The second is a quantile of what it would be tested on, and
    has no levels; but for mixtures, whose quantiles are taken without the tenth that they test.
    """

    lower: Array
    upper: Array
    levels: tuple[float, ...]
    seen: Array
    method: str

    @property
    def half(self) -> float:
        """Half the width of the middle interval."""
        return float(np.nanmedian(self.upper - self.lower)) / 2

    @property
    def finite(self) -> bool:
        """Whether there are enough samples for the coverage."""
        return not (np.isinf(self.lower).any() or np.isinf(self.upper).any())


def bars_of(subject: Subject, outputs: Array | None, known: Known) -> Bars | None:
    """Bars for every sample with an out-of-fold prediction.

    Jackknife+ where the training data are at hand: ten times a tenth of the samples is bounded by
    the leave-one-out models of the others. Else, and where samples belong to groups, the quantile
    of the out-of-fold residuals on either side of the out-of-fold prediction. So too for mixtures,
    whose cells would all have to be fitted ten times.
    """
    if subject.classifies or subject.y is None or outputs is None:
        return None
    n = subject.shape[0]
    affordable = effort_of(subject).intervals_fit(min(N_FOLDS, n), len(LEVELS))
    usable = known.verified and known.outcomes is not None and not known.outcomes.grouped
    enough = usable and known.outcomes.weights.size >= N_FOLDS
    if subject.mixture and enough:
        return replace(_residual(subject, outputs), levels=LEVELS, seen=_held(subject, outputs))
    if enough and affordable:
        return _plus(subject, known)
    return _residual(subject, outputs)


def _plus(subject: Subject, known: Known) -> Bars:
    rows, Y, outcomes = np.flatnonzero(subject.state.used), subject.Y, known.outcomes
    bounds = np.full((2, len(LEVELS), *Y.shape), np.nan)
    splits = KFold(N_FOLDS, shuffle=True, random_state=0).split(rows[:, None])
    folds = [test for _, test in splits]
    with quiet():
        found = outcomes.held_out_bounds(known.own, folds, LEVELS)
        if found is None:
            found = _selected_bounds(subject, outcomes.weights, folds)
    bounds[:, :, rows] = found
    at = LEVELS.index(COVERAGE)
    inside = (found[0] <= Y[rows]) & (found[1] >= Y[rows])
    return Bars(bounds[0, at], bounds[1, at], LEVELS, inside.mean(axis=1).T, "plus")


def _selected_bounds(subject: Subject, weights: Array, folds: list[Index]) -> Array:
    """Bounds (2, levels, M, t) of a cell that keeps some features: each fit selects its own."""
    rows, given = np.flatnonzero(subject.state.used), subject.model.get_params()
    names = ("b", "quadrant", "fit_intercept", "penalty_factor", "n_jobs")
    shared = {name: given[name] for name in names}
    X, Y = subject.X[rows] if rows.size < subject.shape[0] else subject.X, subject.Y[rows]
    bounds = np.full((2, len(LEVELS), *Y.shape), np.nan)
    for test in folds:
        train = np.setdiff1d(np.arange(rows.size), test, assume_unique=True)
        model = StretchyRegressor(**subject.cell, **shared)
        model.fit(X[train], Y[train], sample_weight=weights[train])
        for i, level in enumerate(LEVELS):
            bounds[:, i, test] = model.predict_interval(X[test], level)
    return bounds


def _residual(subject: Subject, outputs: Array) -> Bars:
    residuals = (subject.Y - outputs).T
    half = np.array([residual_width(r[np.isfinite(r)], COVERAGE) for r in residuals])
    return Bars(outputs - half, outputs + half, (), np.empty((half.size, 0)), "residual")


def _held(subject: Subject, outputs: Array) -> Array:
    """The share (t, L) of residuals within the quantile of those of the other nine tenths."""
    rows = np.flatnonzero(np.isfinite(outputs).all(axis=1))
    residuals = np.abs(subject.Y - outputs)[rows]
    inside = np.empty((len(LEVELS), *residuals.shape), dtype=bool)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(residuals):
        for i, level in enumerate(LEVELS):
            half = np.array([residual_width(r, level) for r in residuals[train].T])
            inside[i, test] = residuals[test] <= half
    return np.asarray(inside.mean(axis=1).T)


# One sentence in plain words, and a few figures beside it.


Tile = tuple[str, str, str]  # figure, what it is, how to read it


def regression_verdict(
    quality: list[RegressionQuality], bars: Bars | None, subject: Subject
) -> str:
    """The error beside that of the mean, and what the intervals held."""
    if len(quality) > 1:
        return many_targets(quality, subject.outputs)
    one = quality[0]
    return one.sentence(subject.target) + (interval_sentence(bars) if one.gain > 0 else "")


def interval_sentence(bars: Bars | None) -> str:
    if bars is None or not bars.finite or not bars.levels:
        return ""
    seen = bars.seen[0, bars.levels.index(COVERAGE)]
    return (
        f" Its {share(COVERAGE, 0)} intervals reach about ±{number(bars.half)} and held "
        f"{share(seen, 0)} of the observations that they were tested on."
    )


def modest_verdict(subject: Subject) -> str:
    """What can be said without the observed values."""
    n, D = subject.shape
    kind = "A classifier" if subject.classifies else "A regression model"
    text = f"{kind} fitted on {count(n, 'sample')} of {count(D, 'feature')}."
    if subject.searched:
        text += f" Cross-validated: {best_error(subject)}."
        nested = nested_error(subject)
        text += f" Searched again without {left_out(subject.model)}: {nested}." if nested else ""
    return text


def tiles(subject: Subject, quality: Any, bars: Bars | None) -> list[Tile]:
    """Figures for the top of the page."""
    found = [*_quality_tiles(quality), *_nested_tiles(subject), *_bar_tiles(bars)]
    kept, (n, D) = int(subject.state.support.any(axis=0).sum()), subject.shape
    found.append((thousands(kept), "features in use", f"of {thousands(D)} given"))
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


def _nested_tiles(subject: Subject) -> list[Tile]:
    """The error without the luck of choosing, where the search was run again for it."""
    nested = nested_error(subject) if subject.searched else ""
    if not nested:
        return []
    measure = measure_of(subject)
    figure, _, error = nested.partition(", standard error ")
    sign = "±" if measure.lower and not subject.classifies else ""
    spread = f"{measure.name}, standard error {error}" if error else measure.name
    return [(f"{sign}{figure}", f"searched again without {left_out(subject.model)}", spread)]


def _bar_tiles(bars: Bars | None) -> list[Tile]:
    if bars is None or not bars.finite or bars.lower.shape[1] > 1:
        return []
    how = "from out-of-fold residuals"
    if bars.levels:
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
        """Out-of-fold outputs of the chosen cell or the mixture, (n, t)."""
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
        """Out-of-fold scores of a cell less their cut, which only the model has learned."""
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
        return str(quality.sentence(subject.target))
    return regression_verdict(quality, bars, subject)


def calibration(contents: Contents) -> list[list[dict[str, float]]]:
    """Points of the calibration chart: one list for each output of a regressor, else one."""
    subject, bars = contents.subject, contents.bars
    if subject.classifies:
        scores = None if subject.y is None else contents.cut(contents.cells.chosen)
        return [] if scores is None else _class_calibration(scores, subject)
    if bars is None or not bars.levels:
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
