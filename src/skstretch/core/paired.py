"""Paired comparison of two models by their losses on the same samples."""

import numpy as np
import numpy.typing as npt

from skstretch.core.types import Array


def paired_error(
    difference: Array, weights: Array, groups: npt.NDArray[np.generic] | None
) -> tuple[float, float]:
    """Weighted mean of paired differences of loss and its standard error.

    A weight counts repetitions; with groups, whole groups are the independent units.
    """
    total = weights.sum()
    mean = float(weights @ difference / total)
    deviations = difference - mean
    if groups is None:
        return mean, float(np.sqrt(weights @ np.square(deviations)) / total)
    _, codes = np.unique(groups, return_inverse=True)
    sums = np.bincount(codes, weights=weights * deviations)
    return mean, float(np.sqrt(np.sum(np.square(sums))) / total)
