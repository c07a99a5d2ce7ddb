"""Closed-form stretchy regression: compressed coefficients for wide data, without iteration."""

from stretchy.estimators import StretchyClassifier as StretchyClassifier
from stretchy.estimators import StretchyClassifierCV as StretchyClassifierCV
from stretchy.estimators import StretchyRegressor as StretchyRegressor
from stretchy.estimators import StretchyRegressorCV as StretchyRegressorCV
from stretchy.export import to_onnx as to_onnx
from stretchy.features import FirstQuadrant as FirstQuadrant
from stretchy.features import GaussianBasis as GaussianBasis
from stretchy.features import RandomNetwork as RandomNetwork
from stretchy.io import load as load
from stretchy.io import save as save

__version__ = "0.1.0"
