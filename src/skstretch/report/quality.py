"""How good out-of-fold outputs are: of one cell, and beside answering without the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score, roc_curve
from sklearn.model_selection import KFold

from skstretch.core.classes import decided, probabilities, temperature
from skstretch.core.crossfit import residual_width
from skstretch.core.types import Array, Index
from skstretch.estimators import StretchyRegressor
from skstretch.report.cells import Known, effort_of, quiet
from skstretch.report.subject import Subject
from skstretch.style import near_one, number, share

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
class RegressionQuality:
    """Root mean square errors of a cell, and of answering the mean of the other samples."""

    error: float
    baseline: float

    @property
    def gain(self) -> float:
        """The share of the baseline's error that is gone."""
        return 1.0 - self.error / self.baseline if self.baseline > 0 else 0.0

    @property
    def r2(self) -> float:
        return 1.0 - (self.error / self.baseline) ** 2 if self.baseline > 0 else np.nan

    @property
    def text(self) -> str:
        return f"typical error {number(self.error)}, out-of-fold R² {near_one(self.r2)}"


def regression_quality(observed: Array, predicted: Array) -> RegressionQuality:
    """Over the samples that some fold has tested."""
    known = np.isfinite(predicted)
    y = observed[known]
    error = float(np.sqrt(np.mean((y - predicted[known]) ** 2)))
    others = (observed.sum() - y) / max(1, observed.size - 1)
    return RegressionQuality(error, float(np.sqrt(np.mean((y - others) ** 2))))


@dataclass(frozen=True)
class ClassQuality:
    """Shares of samples, and the area under the ROC curve (the mean one of several)."""

    right: float
    balanced_error: float
    area: float
    baseline: float
    n_classes: int

    @property
    def text(self) -> str:
        area = "" if np.isnan(self.area) else f", area under the ROC curve {near_one(self.area)}"
        return f"{share(self.right)} right, balanced error rate {share(self.balanced_error)}{area}"


def class_quality(outputs: Array, codes: Index, n_classes: int) -> ClassQuality:
    """Of outputs (n, t) whose cut is at zero, over the samples that some fold has tested."""
    known = np.isfinite(outputs).all(axis=1)
    outputs, codes = outputs[known], codes[known]
    labels = decided(outputs)
    areas = [curve["area"] for curve in roc(outputs, codes)]
    return ClassQuality(
        float(np.mean(labels == codes)),
        1.0 - float(balanced_accuracy_score(codes, labels)),
        float(np.mean(areas)) if areas else np.nan,
        float(np.bincount(codes).max() / codes.size),
        n_classes,
    )


# Jackknife+ intervals of samples that the model has not seen, and how often they hold.


COVERAGE = 0.9


LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


N_FOLDS = 10


@dataclass(frozen=True)
class Bars:
    """Intervals at COVERAGE of shape (n, t), and the coverage seen at several levels, (t, L).

    `method` is "plus" or "residual"; the second is a quantile of what it would be tested on, and
    has no levels.
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
    of the out-of-fold residuals on either side of the out-of-fold prediction.
    """
    if subject.classifies or subject.y is None or outputs is None:
        return None
    n = subject.shape[0]
    affordable = effort_of(subject).intervals_fit(min(N_FOLDS, n), len(LEVELS))
    usable = known.verified and known.outcomes is not None and not known.outcomes.grouped
    if usable and affordable and known.outcomes.weights.size >= N_FOLDS:
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
    shared = {name: given[name] for name in ("b", "quadrant", "fit_intercept", "n_jobs")}
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
