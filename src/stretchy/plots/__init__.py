"""Displays: they hold numbers and draw them (extra ``plot``)."""

from stretchy.plots.grid import StretchyGridDisplay as StretchyGridDisplay
from stretchy.plots.interval import PredictionIntervalDisplay as PredictionIntervalDisplay
from stretchy.plots.path import CoefficientPathDisplay as CoefficientPathDisplay
