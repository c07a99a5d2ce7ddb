"""Scikit-learn glue: checks, attributes, no formula."""

from stretchy.estimators.classifier import StretchyClassifier as StretchyClassifier
from stretchy.estimators.regressor import StretchyRegressor as StretchyRegressor
