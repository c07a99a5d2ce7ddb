"""From ``scoring`` to a score of out-of-fold outputs."""

from functools import partial
from typing import Any

from skstretch.core.types import Array
from skstretch.estimators.classification import Labels
from skstretch.estimators.prepared import Prepared
from skstretch.search import Folds
from skstretch.search.scoring import (
    BalancedError,
    ForetoldClassifier,
    ForetoldRegressor,
    ScorerScore,
    Scoring,
    SquaredError,
    ZeroOne,
    scorer_named,
)


def regression_scoring(
    scoring: Any, y: Any, Y: Array, prepared: Prepared, folds: Folds, *, weighted: bool
) -> Scoring:
    """Minus the mean squared error, or the scorer that was asked for."""
    weights = prepared.weights[folds.tested]
    squared = SquaredError(Y[folds.tested], weights)
    if scoring is None:
        return squared
    scorer, name = scorer_named(scoring)
    true = y[prepared.rows][folds.tested]
    return ScorerScore(
        scorer, ForetoldRegressor, true, weights if weighted else None, squared, name
    )


def classification_scoring(
    scoring: Any, y: Any, labels: Labels, prepared: Prepared, folds: Folds, *, weighted: bool
) -> Scoring:
    """Minus the balanced error rate, or the scorer that was asked for."""
    tested = prepared.rows[folds.tested]
    codes, Y, weights = labels.codes[tested], labels.Y[tested], labels.sample_weights[tested]
    if scoring is None:
        return BalancedError(codes, labels.classes.size, Y, weights)
    scorer, name = scorer_named(scoring)
    foretold = partial(ForetoldClassifier, classes=labels.classes)
    inner = ZeroOne(codes, Y, weights)
    return ScorerScore(scorer, foretold, y[tested], weights if weighted else None, inner, name)
