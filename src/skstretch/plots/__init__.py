"""Displays: they hold numbers and draw them (extra ``plot``)."""

from skstretch.plots.grid import StretchyGridDisplay as StretchyGridDisplay
from skstretch.plots.interval import PredictionIntervalDisplay as PredictionIntervalDisplay
from skstretch.plots.path import CoefficientPathDisplay as CoefficientPathDisplay
