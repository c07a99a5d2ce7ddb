"""How good out-of-fold outputs are: of one cell, and beside answering without the features."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from skstretch.core.classes import decided
from skstretch.core.types import Array, Index
from skstretch.report.classes import roc
from skstretch.report.words import near_one, number, share


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
