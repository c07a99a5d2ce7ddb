"""Out-of-fold scores of a classifier: ROC, confusion, reliability."""

from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.model_selection import KFold

from skstretch.core.calibration import probabilities, temperature
from skstretch.core.classes import decided
from skstretch.core.types import Array, Index

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
