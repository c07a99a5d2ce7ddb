"""Scikit-learn's own estimator checks over every estimator of the package."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.estimator_checks import parametrize_with_checks

import skstretch

# on the noise that some checks fit, the strongest penalty of the grid is the right answer
# ... and of three classes as numbers no feature may be selected again and again
pytestmark = [
    pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore:No features were selected"),
]


def discovered_estimators() -> list[type[BaseEstimator]]:
    """Every public estimator class defined in any module of the package."""
    found = set()
    for info in pkgutil.walk_packages(skstretch.__path__, "skstretch."):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # a room whose extra is not installed
            continue
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if (
                issubclass(cls, BaseEstimator)
                and cls.__module__.startswith("skstretch.")
                and not cls.__name__.startswith(("_", "Precomputed"))
            ):
                found.add(cls)
    # bases are checked through what inherits from them; Precomputed* only replay known predictions
    leaves = [c for c in found if not any(c is not d and issubclass(d, c) for d in found)]
    return sorted(leaves, key=lambda cls: cls.__name__)


def instance(cls):
    """An estimator as it comes, but for what takes long: many searches, and that of classes (as
    it comes the slow test below has it)."""
    if cls is skstretch.StabilitySelector:
        return cls(n_pairs=5)
    if cls is skstretch.StretchyClassifierCV:
        return cls(k_grid=(1.25, 2.0), n_features_to_select=1.0)
    if cls is skstretch.StretchySurvivalCV:
        return Times(**FEW)
    if cls not in (skstretch.RecipeRegressorCV, skstretch.RecipeClassifierCV):
        return cls()
    grid = {"a_grid": (0,), "k_grid": (2,), "c_grid": (1,), "n_features_to_select": 1.0}
    ridge = cls.own(**grid, combine="best")
    same = skstretch.SpectralFilter(derivative=0, window=1, polyorder=0)
    filters = {"raw": skstretch.SpectralFilter(), "smooth": same}
    return cls(ridge, filters, combine="best")


FEW = {"k_grid": (1.5,), "c_grid": (0.02, 0.2), "cv": 3}


class Times(skstretch.StretchySurvivalCV):
    """Survival for checks, whose y are numbers: all are times of events, in their order."""

    def _read(self, X, y, sample_weight, *, reset=True):
        return super()._read(X, in_order(y), sample_weight, reset=reset)

    def score(self, X, y, sample_weight=None):
        """Concordance beside the same."""
        return super().score(X, in_order(y), sample_weight)


def in_order(y):
    if y is None or np.asarray(y).dtype.names:
        return y
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        return check_array(y, ensure_2d=False)  # says so
    time = np.unique(y, return_inverse=True)[1]
    return np.rec.fromarrays([np.ones(len(y), dtype=bool), 1.0 * time], names="event,time")


LOSSES = [
    skstretch.StretchyRegressorCV(loss="poisson", **FEW),
    skstretch.StretchyClassifierCV(loss="log", **FEW),
]
# the exact minimiser in place of the closed form
EXACT = [cls(a=0, k=1.25) for cls in (skstretch.StretchyRegressor, skstretch.StretchyClassifier)]


def refused(estimator):
    """Checks that call `partial_fit`, which the exact minimiser refuses with a sentence.

    Cuts and probabilities come from left-out samples. Where folds can be set, the check sees to it
    that copies of a row are left out together; recipes have them in their estimator.
    """
    if isinstance(estimator, skstretch.RecipeClassifierCV):
        kinds, why = ("dense", "sparse"), "copies of a row stay in training"
        return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}
    if getattr(estimator, "a", None) != 0 or not hasattr(estimator, "partial_fit"):
        return {}
    why = "no sums over rows determine the exact minimiser"
    names = "fit_score_takes_y", "n_features_in_after_fitting", "estimators_partial_fit_n_features"
    return {f"check_{name}": why for name in names}


@parametrize_with_checks(
    [instance(cls) for cls in discovered_estimators()] + EXACT + LOSSES,
    expected_failed_checks=refused,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([skstretch.StretchyClassifierCV()])
def test_the_search_of_classes_as_it_comes(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name",
    [
        "StretchyRegressor",
        "StretchyClassifier",
        "StretchyRegressorCV",
        "StretchyClassifierCV",
        "StretchySurvivalCV",
        "FirstQuadrant",
        "RandomNetwork",
        "GaussianBasis",
        "SpectralFilter",
        "RecipeRegressorCV",
        "RecipeClassifierCV",
        "StabilitySelector",
    ],
)
def test_discovery_finds_the_public_estimators(name):
    assert name in {cls.__name__ for cls in discovered_estimators()}
