"""Closed-form stretchy regression: compressed coefficients for wide data, without iteration."""

from stretchy.estimators import StretchyClassifier as StretchyClassifier
from stretchy.estimators import StretchyClassifierCV as StretchyClassifierCV
from stretchy.estimators import StretchyRegressor as StretchyRegressor
from stretchy.estimators import StretchyRegressorCV as StretchyRegressorCV
from stretchy.features import FirstQuadrant as FirstQuadrant
from stretchy.features import GaussianBasis as GaussianBasis
from stretchy.features import RandomNetwork as RandomNetwork

__version__ = "0.1.0"
