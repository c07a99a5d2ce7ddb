"""Displays: objects that hold numbers of a fitted estimator and draw them with matplotlib.

As with the displays of scikit-learn, `from_estimator` draws, `plot` draws again on other axes, and
`ax_` and `figure_` hold what was drawn last.
"""

from skstretch.plots.features import CoefficientPathDisplay, EffectsDisplay
from skstretch.plots.grid import StretchyGridDisplay
from skstretch.plots.predictions import ContributionsDisplay, PredictionIntervalDisplay

__all__ = [
    "CoefficientPathDisplay",
    "ContributionsDisplay",
    "EffectsDisplay",
    "PredictionIntervalDisplay",
    "StretchyGridDisplay",
]
