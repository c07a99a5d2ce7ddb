"""Scikit-learn glue: checks, attributes, no formula."""

from stretchy.estimators.classifier import StretchyClassifier as StretchyClassifier
from stretchy.estimators.classifier_cv import StretchyClassifierCV as StretchyClassifierCV
from stretchy.estimators.regressor import StretchyRegressor as StretchyRegressor
from stretchy.estimators.regressor_cv import StretchyRegressorCV as StretchyRegressorCV
