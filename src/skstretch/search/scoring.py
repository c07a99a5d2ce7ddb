"""Scores of out-of-fold outputs.

A score judges a candidate; the losses of single samples behind it tell how sure a difference is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from skstretch.core.classes import balanced_log_losses, balanced_weights, decided
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
    # how much the score may change where every output does by one, if that is known
    steepness: float | None = None

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


class Scoring(Protocol):
    """From out-of-fold outputs (n_tested, t) to a score."""

    @property
    def name(self) -> str: ...

    def __call__(self, outputs: Array) -> Scored: ...

    def blur(self, outputs: Array, error: float) -> float:
        """How far the score may be off where every output may be off by `error`."""
        ...

    def of(self, targets: Index, unit: float) -> "Scoring":
        """The scoring of some targets of a regression, of outputs divided by a unit."""
        ...


def scored(scoring: Scoring, outcome: Outcome, true: Array) -> Scored:
    """The score of a candidate and what rounding leaves open of it; `true` are the tested
    targets."""
    if not outcome.usable:
        return unscored(len(true))
    outputs, rounding = true - outcome.residuals, float(outcome.error.max(initial=0.0))
    found = scoring(outputs)
    if found.steepness is None:
        error = scoring.blur(outputs, rounding)
    else:
        error = found.steepness * rounding
    return replace(found, error=error, tie_error=_square_blur(-found.tie, rounding))


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
class SquaredError:
    """Minus the weighted mean squared error, averaged over targets."""

    Y: Array
    weights: Array
    name: str = "neg_mean_squared_error"

    def __call__(self, outputs: Array) -> Scored:
        with np.errstate(over="ignore"):
            losses = np.square(self.Y - outputs).mean(axis=1)
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(-error, losses, -error)

    def blur(self, outputs: Array, error: float) -> float:
        return _square_blur(-self(outputs).score, error)

    def of(self, targets: Index, unit: float) -> "SquaredError":
        return replace(self, Y=self.Y[:, targets] / unit)


class OfClasses:
    """A scoring that sees all scores of the classes."""

    def of(self, targets: Index, unit: float) -> Scoring:
        raise NotImplementedError("classes are scored together")


@dataclass(frozen=True)
class BalancedAccuracy(OfClasses):
    """The mean share of every class that is told; ties are broken by the squared error of the
    scores."""

    codes: Index
    n_classes: int
    Y: Array
    weights: Array
    name: str = "balanced_accuracy"

    def __call__(self, outputs: Array) -> Scored:
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        losses = (decided(outputs) != self.codes) * balance
        squared = np.square(self.Y - outputs).mean(axis=1) * balance
        error, tie = (float(self.weights @ v / self.weights.sum()) for v in (losses, squared))
        return Scored(1.0 - error, losses, -tie)

    def blur(self, outputs: Array, error: float) -> float:
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        open_ = _undecided(outputs, error) * balance
        return float(self.weights @ open_ / self.weights.sum())


@dataclass(frozen=True)
class LogLoss(OfClasses):
    """Minus the balanced log loss of the probabilities that the scores give.

    ``softmax(A outputs)`` with the factor A of greatest likelihood: what calibration makes of them.
    """

    codes: Index
    n_classes: int
    Y: Array
    weights: Array
    name: str = "neg_log_loss"

    def __call__(self, outputs: Array) -> Scored:
        found = balanced_log_losses(outputs[None], self.codes, self.weights[None])
        losses, factor = found[0][0], float(found[1][0])
        balance = balanced_weights(self.codes, self.n_classes, self.weights)[self.codes]
        squared = np.square(self.Y - outputs).mean(axis=1) * balance
        error, tie = (float(self.weights @ v / self.weights.sum()) for v in (losses, squared))
        return Scored(-error, losses, -tie, steepness=2.0 * factor)

    def blur(self, outputs: Array, error: float) -> float:
        steepness = self(outputs).steepness
        assert steepness is not None
        return steepness * error


@dataclass(frozen=True)
class PoissonDeviance(OfClasses):
    """Minus the mean deviance of the rates that the scores stand for."""

    y: Array
    weights: Array
    name: str = "neg_mean_poisson_deviance"

    def __call__(self, outputs: Array) -> Scored:
        losses = deviances(self.y, rates(outputs[:, 0]))
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(-error, losses, -error, steepness=0.0)

    def blur(self, outputs: Array, error: float) -> float:
        return 0.0


@dataclass(frozen=True)
class Concordance(OfClasses):
    """Harrell's concordance of risk scores."""

    event: Mask
    time: Array
    weights: Array
    name: str = "concordance"

    def __call__(self, outputs: Array) -> Scored:
        losses = concordance_losses(self.event, self.time, outputs[:, 0], self.weights)
        error = float(self.weights @ losses / self.weights.sum())
        return Scored(1.0 - error, losses, -error, steepness=0.0)

    def blur(self, outputs: Array, error: float) -> float:
        return 0.0


@dataclass(frozen=True)
class ScorerScore:
    """Any scikit-learn scorer, shown the out-of-fold outputs as if a model had predicted them."""

    scorer: Callable[..., float]
    precomputed: Callable[[Array], BaseEstimator]
    y: Any
    weights: Array | None
    inner: Scoring
    name: str

    def __call__(self, outputs: Array) -> Scored:
        inner = self.inner(outputs)
        return Scored(self._ask(outputs), inner.losses, inner.tie)

    def blur(self, outputs: Array, error: float) -> float:
        """The largest change over three patterns of signs: an estimate, scorers being any."""
        score, sides = self._ask(outputs), np.where(np.arange(outputs.size) % 2, 1.0, -1.0)
        patterns = (1.0, -1.0, sides.reshape(outputs.shape))
        return max(abs(self._ask(outputs + error * signs) - score) for signs in patterns)

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
            known = [m for m in ("predict", "decision_function") if hasattr(precomputed, m)]
            raise ValueError(
                f"scoring={self.name!r} asks for more than {' and '.join(known)}, which is what is "
                "known of out-of-fold samples (probabilities are fitted after the search). Use a "
                "scorer of those."
            ) from error
        except TypeError as error:
            if not keywords or "sample_weight" not in str(error):
                raise
            raise TypeError(
                f"scoring={self.name!r} takes no sample_weight ({error}), and fit was given one. "
                "Use a scorer that does, or fit without weights."
            ) from error


@dataclass(frozen=True)
class ZeroOne(OfClasses):
    """Minus the weighted error rate."""

    codes: Index
    Y: Array
    weights: Array
    name: str = "accuracy"

    def __call__(self, outputs: Array) -> Scored:
        losses = (decided(outputs) != self.codes).astype(float)
        squared = np.square(self.Y - outputs).mean(axis=1)
        total = self.weights.sum()
        return Scored(
            -float(self.weights @ losses / total), losses, -float(self.weights @ squared / total)
        )

    def blur(self, outputs: Array, error: float) -> float:
        return float(self.weights @ _undecided(outputs, error) / self.weights.sum())


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


def scorer_named(scoring: Any) -> tuple[Callable[..., float], str]:
    """A scorer and its name from what users pass as ``scoring``."""
    if callable(scoring):
        return scoring, getattr(scoring, "__name__", repr(scoring))
    return get_scorer(scoring), str(scoring)
