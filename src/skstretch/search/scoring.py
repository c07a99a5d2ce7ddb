"""Scores of out-of-fold outputs.

A score judges a candidate; the losses of single samples behind it tell how sure a difference is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from skstretch.core.classes import (
    balanced_log_losses,
    balanced_weights,
    decided,
    probabilities,
)
from skstretch.core.losses import deviances, rates
from skstretch.core.survival import concordance_losses
from skstretch.core.types import Array, Index, Mask
from skstretch.search.candidates import Outcome


@dataclass(frozen=True)
class Scored:
    """Greater is better; `losses` of shape (n_tested,) are weighted by the sample weights.

    `tie`, minus a mean square, decides between equal scores. Rounding
    leaves score and tie uncertain by `error` and `tie_error`.
    """

    score: float
    losses: Array
    tie: float
    error: float = 0.0
    tie_error: float = 0.0

    def times(self, factor: float) -> "Scored":
        """Losses and scores times a factor."""
        if factor == 1.0:
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            return Scored(
                factor * self.score,
                factor * self.losses,
                factor * self.tie,
                factor * self.error,
                factor * self.tie_error,
            )


def unscored(n_tested: int) -> Scored:
    """What stands for the score of a candidate that is not usable."""
    return Scored(np.nan, np.full(n_tested, np.nan), np.nan)


class Scoring:
    """From out-of-fold outputs (n_tested, t) to a score."""

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        """The score, and how far it may be off where every output may be off by `rounding`."""
        raise NotImplementedError

    def of(self, targets: Index, unit: float) -> "Scoring":
        """The scoring of some targets of a regression, of outputs divided by a unit."""
        raise NotImplementedError("classes are scored together")


def scored(scoring: Scoring, outcome: Outcome, true: Array) -> Scored:
    """The score of a candidate and what rounding leaves open of it; `true` are the tested
    targets."""
    if not outcome.usable:
        return unscored(len(true))
    rounding = float(outcome.error.max(initial=0.0))
    found = scoring(true - outcome.residuals, rounding)
    return replace(found, tie_error=_square_blur(-found.tie, rounding))


def _square_blur(mean_square: float, error: float) -> float:
    """``2 e sqrt(m) + e^2``: how far a mean of squares m may be off where each root is off by e."""
    return 2.0 * error * float(np.sqrt(max(0.0, mean_square))) + error**2


def _undecided(outputs: Array, error: float) -> Mask:
    """Samples whose class may change where every output may be off by `error`."""
    if outputs.shape[1] == 1:
        return np.asarray(np.abs(outputs[:, 0]) <= error)
    second, first = np.partition(outputs, -2, axis=1)[:, -2:].T
    return np.asarray(first - second <= 2.0 * error)


@dataclass(frozen=True)
class SquaredError(Scoring):
    """Minus the weighted mean squared error, averaged over targets."""

    Y: Array
    weights: Array

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        with np.errstate(over="ignore"):
            losses = np.square(self.Y - outputs).mean(axis=1)
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(-error, losses, -error, _square_blur(error, rounding))

    def of(self, targets: Index, unit: float) -> "SquaredError":
        return replace(self, Y=self.Y[:, targets] / unit)


@dataclass(frozen=True)
class BalancedAccuracy(Scoring):
    """The mean share of every class that is told; ties are broken by the squared error of the
    scores."""

    codes: Index
    n_classes: int
    Y: Array
    weights: Array

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        losses = (decided(outputs) != self.codes) * balance
        squared = np.square(self.Y - outputs).mean(axis=1) * balance
        each = losses, squared, _undecided(outputs, rounding) * balance
        error, tie, open_ = (float(self.weights @ v / self.weights.sum()) for v in each)
        return Scored(1.0 - error, losses, -tie, open_)


@dataclass(frozen=True)
class LogLoss(Scoring):
    """Minus the balanced log loss of the probabilities that the scores give.

    ``softmax(A outputs)`` with the factor A of greatest likelihood: what calibration makes of them.
    Where every output does by one, it changes by 2 A at most.
    """

    codes: Index
    n_classes: int
    Y: Array
    weights: Array

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        found = balanced_log_losses(outputs[None], self.codes, self.weights[None])
        losses, factor = found[0][0], float(found[1][0])
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        squared = np.square(self.Y - outputs).mean(axis=1) * balance
        error, tie = (float(self.weights @ v / self.weights.sum()) for v in (losses, squared))
        return Scored(-error, losses, -tie, 2.0 * factor * rounding)


@dataclass(frozen=True)
class PoissonDeviance(Scoring):
    """Minus the mean deviance of the rates that the scores stand for."""

    y: Array
    weights: Array

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        losses = deviances(self.y, rates(outputs[:, 0]))
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(-error, losses, -error)


@dataclass(frozen=True)
class Concordance(Scoring):
    """Harrell's concordance of risk scores."""

    event: Mask
    time: Array
    weights: Array

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        losses = concordance_losses(self.event, self.time, outputs[:, 0], self.weights)
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(1.0 - error, losses, -error)


@dataclass(frozen=True)
class ScorerScore(Scoring):
    """Any scikit-learn scorer, shown the out-of-fold outputs as if a model had predicted them.

    What rounding may change is the largest change over three patterns of signs: an estimate,
    scorers being any.
    """

    scorer: Callable[..., float]
    precomputed: Callable[[Array], BaseEstimator]
    y: Any
    weights: Array | None
    inner: Scoring
    name: str

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        inner, score, sides = self.inner(outputs), self._ask(outputs), np.ones(outputs.size)
        sides[::2] = -1.0
        patterns = (1.0, -1.0, sides.reshape(outputs.shape)) if rounding else ()
        changes = (abs(self._ask(outputs + rounding * signs) - score) for signs in patterns)
        return Scored(score, inner.losses, inner.tie, max(changes, default=0.0))

    def of(self, targets: Index, unit: float) -> "ScorerScore":
        own = self.inner.of(targets, 1.0)
        y = self.y.reshape(len(self.y), -1)[:, targets]
        return replace(self, y=y[:, 0] if len(targets) == 1 else y, inner=own)

    def _ask(self, outputs: Array) -> float:
        precomputed, X = self.precomputed(outputs), np.zeros((outputs.shape[0], 1))
        keywords = {} if self.weights is None else {"sample_weight": self.weights}
        try:
            return float(self.scorer(precomputed, X, self.y, **keywords))
        except AttributeError as error:
            methods = "predict", "decision_function", "predict_proba"
            known = [m for m in methods if hasattr(precomputed, m)]
            why = way = ""
            if known == ["predict", "decision_function"]:
                why = " (probabilities are fitted after the search)"
                way = ', or loss="log" and calibration="auto", whose probabilities are known'
            raise ValueError(
                f"scoring={self.name!r} asks for more than {' and '.join(known)}, which is what is "
                f"known of out-of-fold samples{why}. Use a scorer of those{way}."
            ) from error
        except TypeError as error:
            if not keywords or "sample_weight" not in str(error):
                raise
            raise TypeError(
                f"scoring={self.name!r} takes no sample_weight ({error}), and fit was given one. "
                "Use a scorer that does, or fit without weights."
            ) from error


@dataclass(frozen=True)
class ZeroOne(Scoring):
    """Minus the weighted error rate."""

    codes: Index
    Y: Array
    weights: Array

    def __call__(self, outputs: Array, rounding: float = 0.0) -> Scored:
        losses = (decided(outputs) != self.codes).astype(float)
        squared = np.square(self.Y - outputs).mean(axis=1)
        error, tie = (float(self.weights @ v / self.weights.sum()) for v in (losses, squared))
        return Scored(-error, losses, -tie)


class PrecomputedRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose predictions are already known."""

    def __init__(self, outputs: Any = None):
        self.outputs = outputs

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        return self.outputs[:, 0] if self.outputs.shape[1] == 1 else self.outputs


class PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are already known."""

    def __init__(self, outputs: Any = None, classes: Any = None):
        self.outputs = outputs
        self.classes = classes

    @property
    def classes_(self) -> Any:
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Any:
        return self.outputs[:, 0] if self.outputs.shape[1] == 1 else self.outputs

    def predict(self, X: Any) -> Any:
        return self.classes[decided(self.outputs)]


class PrecomputedProbabilities(PrecomputedClassifier):
    """One whose scores are log-odds: their softmax, with biases, are its probabilities."""

    def __init__(self, outputs: Any = None, classes: Any = None, biases: Any = 0.0):
        super().__init__(outputs, classes)
        self.biases = biases

    def predict_proba(self, X: Any) -> Any:
        return probabilities(self.outputs, 1.0, self.biases)


def scorer_named(scoring: Any) -> tuple[Callable[..., float], str]:
    """A scorer and its name from what users pass as ``scoring``."""
    if callable(scoring):
        return scoring, getattr(scoring, "__name__", repr(scoring))
    return get_scorer(scoring), str(scoring)
