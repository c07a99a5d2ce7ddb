"""What a model is made of: stretch exponent, penalty, intercept, density; and safe powers."""

import math
import numbers
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index

# exp(+-300) squared and summed over any number of features that fits in memory stays in float64
SAFE_EXPONENT = 300.0
# entries of K within a factor of exp(10) of each other: centring costs at most four digits
SIMILAR_ROWS = 10.0
# beyond this a penalty is indistinguishable from infinity beside entries of order one
LARGEST_LOG = 575.0
# times a mean of stretched features it still is a float64
LARGEST_PENALTY = 1e250


def checked_number(name: str, value: Any, hint: str) -> float:
    """A real number, not NaN."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} is not a number: {hint}")
    if np.isnan(float(value)):
        raise ValueError(f"{name}=nan is not a number: {hint}")
    return float(value)


def stretch_exponent(k: float) -> float:
    """``r = 1/(k - 1)``, the power that turns features P into stretched features Q.

    Parameters
    ----------
    k : float
        Stretching power, above 1.

    Returns
    -------
    r : float
        The exponent.

    See Also
    --------
    penalty : What k and c add to the diagonal.

    Examples
    --------
    >>> from skstretch.core import stretch_exponent
    >>> stretch_exponent(1.25)
    4.0
    """
    if not 1 < k < np.inf:
        raise ValueError(
            f"k={k!r} is out of range: the stretch exponent 1/(k-1) needs 1 < k < inf. "
            "Values in (1, 2] compress the coefficients; k=2 is ridge regression."
        )
    return 1.0 / (float(k) - 1.0)


def penalty(c: float, k: float) -> float:
    """``lambda = 1/(c k)``; zero for ``c = inf``, the unregularised limit.

    Parameters
    ----------
    c : float
        Inverse strength of regularisation, positive.
    k : float
        Stretching power, above 1.

    Returns
    -------
    lam : float
        What is added to the diagonal of the system.

    See Also
    --------
    stretch_exponent : The other number that k stands for.

    Examples
    --------
    >>> from skstretch.core import penalty
    >>> penalty(4.0, 1.25), penalty(float("inf"), 1.5)
    (0.2, 0.0)
    """
    if not c > 0:
        raise ValueError(
            f"c={c!r} is out of range: it must be positive. Large c means little regularisation, "
            "c=np.inf none."
        )
    lam = 1.0 / (float(c) * float(k))
    if lam > LARGEST_PENALTY:
        raise ValueError(
            f"c={c!r} is out of range: its penalty 1/(ck) leaves the range of float64. "
            "Use c=1e-249 or larger; coefficients are zero to working precision long before."
        )
    return lam


def penalty_in_unit(lam: float, r: float, unit: float) -> float:
    """``lam exp(-(1 + r) unit)``: the penalty of features that were divided by ``exp(unit)``.

    ``P = exp(unit) P'`` gives ``K = exp((1 + r) unit) K'``, so that ``K + lam W^-1`` is a multiple
    of ``K' + lam' W^-1``. Beyond `LARGEST_PENALTY` coefficients are zero whatever it is.
    """
    if unit == 0.0 or lam == 0.0:
        return lam
    return math.exp(min(math.log(lam) - (1.0 + r) * unit, math.log(LARGEST_PENALTY)))


def is_safe(logs: Array, r: float) -> bool:
    """Whether features whose largest logs (of rows, or of columns) are these can be raised to r."""
    return bool(max(1.0, r) * np.abs(logs).max() <= SAFE_EXPONENT)


def rows_are_alike(peaks: Array, r: float) -> bool:
    """Whether rows with these largest logs can be centred and raised to r without scaling.

    Rows of very different size have no common part: centring would bury the small ones.
    """
    return is_safe(peaks, r) and bool((1.0 + r) * np.ptp(peaks) <= SIMILAR_ROWS)


def scaled_penalty(lam: Array, log_scale: Array) -> Array:
    """``lam * exp(-log_scale)`` without overflow: capped where it is infinite for all purposes."""
    with np.errstate(divide="ignore"):
        exponent = np.log(lam) - log_scale
    return np.exp(np.minimum(exponent, LARGEST_LOG))


def rows_for_penalty(log_rows: Array, lam: Array, r: float) -> Array:
    """Scales of the rows, raised where ``lam * exp(-(1 + r) log_rows)`` would be capped.

    A capped penalty loses its proportion to the others, and the free intercept with it.
    """
    with np.errstate(divide="ignore"):
        least = np.log(lam) / (1.0 + r)
    capped = (1.0 + r) * np.max(least - log_rows) > LARGEST_LOG
    return np.maximum(log_rows, least) if capped else log_rows


class Intercept(StrEnum):
    """Free (not penalised), the paper's column of ones (stretched and penalised), or none."""

    FREE = "free"
    COLUMN = "column"
    NONE = "none"

    @classmethod
    def of(cls, fit_intercept: object) -> "Intercept":
        """The kind that an estimator's ``fit_intercept`` stands for."""
        if isinstance(fit_intercept, str):
            if fit_intercept == "column":
                return cls.COLUMN
        elif fit_intercept in (True, False):
            return cls.FREE if fit_intercept else cls.NONE
        raise ValueError(
            f"fit_intercept={fit_intercept!r} is not known: use True (free, not penalised), "
            '"column" (a penalised column of ones, as in the paper) or False.'
        )


def keep_count(density: float, n_features: int) -> int:
    """How many features a density keeps: ``ceil(density * n)`` for a share, itself for a count.

    Parameters
    ----------
    density : float or int
        Share of the features in (0, 1], or their number.
    n_features : int
        How many there are.

    Returns
    -------
    count : int
        How many are kept, at least one.

    See Also
    --------
    strongest : Which ones.

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
            "features to keep, or an int for their number."
        )
    # 0.1 * 30 is a hair above 3: a share is meant in decimals
    return max(1, math.ceil(round(float(density) * n_features, 9)))


def selects(densities: Iterable[float], n_features: int) -> bool:
    """Whether one of the densities keeps fewer than all features."""
    return any(keep_count(density, n_features) < n_features for density in densities)


def strongest(coef: Array, count: int) -> Index:
    """Find the `count` largest ``|coef|``; ties go to the lower index.

    Parameters
    ----------
    coef : ndarray of shape (n_features,)
        Coefficients.
    count : int
        How many to keep.

    Returns
    -------
    kept : ndarray of shape (count,)
        Their indices in increasing order.

    See Also
    --------
    keep_count : How many a density keeps.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch.core import strongest
    >>> strongest(np.array([0.5, -3.0, 0.1, 2.0]), 2).tolist()
    [1, 3]
    """
    size = -np.abs(coef)
    if not 0 < count < size.size:
        return np.arange(size.size)[:count]
    edge = np.partition(size, count - 1)[count - 1]
    if np.isnan(edge):  # compares with nothing; a sort has it last
        return np.sort(np.argsort(size, kind="stable")[:count])
    kept = np.flatnonzero(size < edge)
    tied = np.flatnonzero(size == edge)[: count - kept.size]
    return np.sort(np.concatenate([kept, tied]))
