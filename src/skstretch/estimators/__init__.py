"""Scikit-learn glue: checks, attributes, no formula."""

from skstretch.estimators.classifier import StretchyClassifier as StretchyClassifier
from skstretch.estimators.classifier import StretchyClassifierCV as StretchyClassifierCV
from skstretch.estimators.recipes import RecipeClassifierCV as RecipeClassifierCV
from skstretch.estimators.recipes import RecipeRegressorCV as RecipeRegressorCV
from skstretch.estimators.regressor import StretchyRegressor as StretchyRegressor
from skstretch.estimators.regressor import StretchyRegressorCV as StretchyRegressorCV
from skstretch.estimators.stability import StabilitySelector as StabilitySelector
from skstretch.estimators.survival import StretchySurvivalCV as StretchySurvivalCV
