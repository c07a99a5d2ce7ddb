"""Splits of the samples, as sets that are held out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.crossfit import Fold
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Folds:
    """Leave one out (`folds` is None), or a list of folds over the samples in use.

    `tested` names the tested sample of every out-of-fold prediction, fold after fold.
    """

    folds: Sequence[Fold] | None
    tested: Index

    def mean(self, values: Array, n_samples: int) -> Array:
        """Average predictions (or losses) of each sample over its folds; NaN where it has none."""
        sums = np.zeros((n_samples, *values.shape[1:]))
        np.add.at(sums, self.tested, values)
        counts = np.bincount(self.tested, minlength=n_samples).astype(float)
        counts[counts == 0] = np.nan
        return sums / counts.reshape(-1, *([1] * (values.ndim - 1)))


def leave_one_out(n_samples: int) -> Folds:
    """Every sample on its own."""
    return Folds(None, np.arange(n_samples))


def folds_from_splits(splits: Iterable[tuple[Any, Any]], used: Index, n_samples: int) -> Folds:
    """Folds over the samples `used` (those of positive weight) from (train, test) pairs.

    What is not trained on is held out, whether it is tested or not; so any splitter is exact.
    """
    place = np.full(n_samples, -1)
    place[used] = np.arange(used.size)
    folds = []
    for train, test in splits:
        training = np.zeros(n_samples, dtype=bool)
        training[train] = True
        test = np.asarray(test)
        if test.dtype == bool:
            test = np.flatnonzero(test)
        overlap = np.flatnonzero(training[test])
        if overlap.size:
            raise ValueError(
                f"sample {test[overlap[0]]} is in the training and the test part of one split."
            )
        if not training[used].any():
            raise ValueError("a split has no training sample of positive weight.")
        held = place[np.flatnonzero(~training)]
        tested = place[test]
        folds.append(Fold(held[held >= 0], tested[tested >= 0]))
    if not folds:
        raise ValueError("cv gives no split.")
    return Folds(folds, np.concatenate([fold.tested for fold in folds]))
