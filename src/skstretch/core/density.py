"""Two-pass compression: which features a second pass keeps."""

import math
import numbers

import numpy as np

from skstretch.core.types import Array, Index


def keep_count(density: float, n_features: int) -> int:
    """How many features a density keeps: ``ceil(density * n)`` for a share, itself for a count.

    Examples
    --------
    >>> from skstretch.core import keep_count
    >>> keep_count(0.1, 30), keep_count(0.01, 30), keep_count(7, 30)
    (3, 1, 7)
    """
    if isinstance(density, numbers.Integral) and not isinstance(density, bool):
        if not 1 <= density <= n_features:
            raise ValueError(
                f"density={density!r} is a count (an int) and must lie in 1..{n_features}, the "
                "number of features; for a share pass a float in (0, 1]."
            )
        return int(density)
    if isinstance(density, bool) or not isinstance(density, numbers.Real) or not 0 < density <= 1:
        raise ValueError(
            f"density={density!r} is out of range: pass a float in (0, 1] for the share of "
            "features that the second pass keeps, or an int for their number."
        )
    # 0.1 * 30 is a hair above 3: a share is meant in decimals
    return max(1, math.ceil(round(float(density) * n_features, 9)))


def strongest(coef: Array, count: int) -> Index:
    """Indices of the `count` largest ``|coef|`` in increasing order; ties go to the lower index."""
    order = np.argsort(-np.abs(coef), kind="stable")
    return np.sort(order[:count])
