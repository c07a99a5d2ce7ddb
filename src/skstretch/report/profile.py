"""Coefficients made small: the strongest features, and a profile of bounded length."""

from dataclasses import dataclass

import numpy as np

from skstretch.core.types import Array, Index

TOP = 50
POINTS = 500


@dataclass(frozen=True)
class Picture:
    """One output of one cell: its strongest features, and its slopes along all of them."""

    top: Index  # (TOP,) features by the size of their effect
    slopes: Array  # (TOP,) their ``slope_``
    profile: Array  # (POINTS,)


def starts(n_features: int) -> Index:
    """Where groups of neighbouring features begin, at most POINTS of them."""
    return np.arange(0, n_features, -(-n_features // POINTS))


def picture(slope: Array, scale: Array) -> Picture:
    """The picture of slopes (D,) whose features have standard deviations `scale` (D,).

    Features are ranked by the effect of one standard deviation, ``|slope * scale|``, which does
    not depend on units. A point of the profile is the largest slope, by size, of its group.
    """
    effect = np.abs(slope * scale)
    order = np.argsort(-effect, kind="stable")[:TOP]
    top = order[effect[order] > 0]
    begin = starts(slope.size)
    low, high = np.minimum.reduceat(slope, begin), np.maximum.reduceat(slope, begin)
    return Picture(top, slope[top], np.where(-low > high, low, high))
