"""What the two classifiers share: labels in, cuts, labels and probabilities out."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skstretch.core.calibration import (
    balanced_cuts,
    favoured_cuts,
    probabilities,
    settled,
    temperature,
)
from skstretch.core.classes import class_weights, decided, signed_targets
from skstretch.core.types import Array, Index
from skstretch.designs import lazily
from skstretch.estimators.model import StretchyModel

THRESHOLDS = ("zero", "balanced", "auto")
CALIBRATIONS = ("sigmoid", "isotonic")


@dataclass(frozen=True)
class Labels:
    """Classes, their codes and targets +-1 of all samples, and weights with those of classes."""

    classes: Any
    codes: Index
    Y: Array
    sample_weights: Array
    weights: Array


def read_labels(y: Any, weights: Array, class_weight: Any) -> Labels:
    """Classes of the samples of positive weight, as regression targets."""
    check_classification_targets(y)
    # samples of weight zero are as if they were not there: their classes too
    classes = np.unique(y[weights > 0])
    if classes.size < 2:
        raise ValueError(
            f"y has one class ({classes[0]!r}): a classifier needs samples of at least two classes."
        )
    codes = np.searchsorted(classes, y).clip(max=classes.size - 1)
    combined = class_weights(class_weight, classes, codes, weights)
    return Labels(classes, codes, signed_targets(codes, classes.size), weights, combined)


def check_choices(threshold: Any, calibration: Any) -> None:
    """Refuse unknown thresholds and calibrations."""
    if threshold not in THRESHOLDS:
        raise ValueError(
            f"threshold={threshold!r} is not known: use one of {', '.join(THRESHOLDS)}."
        )
    if calibration not in CALIBRATIONS:
        raise ValueError(
            f"calibration={calibration!r} is not known: use one of {', '.join(CALIBRATIONS)}."
        )


class Classification(ClassifierMixin, StretchyModel):
    """Scores, labels and probabilities."""

    classes_: Any
    threshold: Any
    calibration: Any

    def _calibrate(self, outputs: Array, codes: Index, weights: Array) -> None:
        """Learn cut and probabilities from out-of-fold outputs (n_tested, t)."""
        outputs = settled(outputs)
        n_classes = self.classes_.size
        self._cuts = np.zeros(outputs.shape[1])
        self._factor, self._isotonic = None, None
        complete = np.isfinite(outputs).all() and np.unique(codes).size == n_classes
        if not complete:
            if self.threshold == "balanced":
                raise ValueError(
                    'threshold="balanced" needs finite out-of-fold scores of every class: use '
                    'threshold="zero", a smaller c, or another cv.'
                )
            return
        if self.threshold == "balanced":
            self._cuts = balanced_cuts(outputs, codes, weights)
        elif self.threshold == "auto":
            self._cuts = favoured_cuts(outputs, codes, n_classes, weights)
        outputs = outputs - self._cuts
        self._factor = temperature(outputs, codes, weights)
        if self.calibration == "isotonic":
            if n_classes > 2:
                raise ValueError(
                    f'calibration="isotonic" is for two classes, and y has {n_classes}: use '
                    '"sigmoid".'
                )
            self._isotonic = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            self._isotonic.fit(outputs[:, 0], codes == 1, sample_weight=weights)

    @property
    def threshold_(self) -> Any:
        """The cut of the raw scores: a number for two classes, else one per class."""
        check_is_fitted(self)
        return float(self._cuts[0]) if self._single else self._cuts

    def _cut_outputs(self, X: Any) -> Array:
        return self._outputs(X) - self._cuts.astype(self.coef_.dtype)

    def decision_function(self, X: Any) -> Array:
        """Scores less their cut: (n_samples,) for two classes, else (n_samples, n_classes)."""
        outputs = self._cut_outputs(X)
        return outputs[:, 0] if self._single else outputs

    def predict(self, X: Any) -> Any:
        """The class of every sample: positive score, or largest; lazy for a Dask array."""
        outputs = self._cut_outputs(X)
        return lazily(partial(_named, self.classes_), outputs)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n_samples, n_classes); their argmax is `predict`.

        A sigmoid of the score (for more classes a softmax with one temperature), fitted on exact
        out-of-fold scores; or an isotonic curve through one half at the cut.
        """
        outputs = self._cut_outputs(X)
        if self._factor is None:
            raise ValueError(
                "there are no finite out-of-fold scores of every class to calibrate "
                "probabilities on: use a smaller c, another cv, or fit in place of partial_fit."
            )
        return lazily(partial(_probable, self._factor, self._isotonic), outputs)


def _named(classes: Any, outputs: Array) -> Any:
    return classes[decided(outputs)]


def _probable(factor: float, isotonic: Any, outputs: Array) -> Array:
    if isotonic is None:
        return probabilities(outputs, factor)
    raw = isotonic.predict(outputs[:, 0])
    positive = np.where(outputs[:, 0] > 0, np.maximum(raw, 0.5 + 1e-9), np.minimum(raw, 0.5))
    return np.column_stack([1.0 - positive, positive])
