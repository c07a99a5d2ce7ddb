"""Searches of many classes: the same grid unless it takes too long, and exact values for what the
model tells."""

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core import strongest
from skstretch.solve import choose
from skstretch.solve.choose import SEARCHES

LOOKED_AT = {"a_grid": (0.0,)}


def crowd(n_classes, n=72, p=90, noise=0.5, seed=0):
    """Classes that differ a little in every feature: models of few features are far worse."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = rng.standard_normal((n_classes, p))
    return noise * means[y] + rng.standard_normal((n, p)), y


def searched(model):
    """The powers that were tried, and the number of candidates on selected features."""
    found = model.cv_results_
    some = found["param_density"] != 1.0
    return np.unique(found["param_k"]).tolist(), int(some.sum())


def test_the_number_of_classes_does_not_change_the_grid():
    few, many = (StretchyClassifierCV(**LOOKED_AT).fit(*crowd(n, n=42)) for n in (2, 7))
    assert searched(few)[0] == list(SEARCHES[0].linear_k)
    assert searched(many) == searched(few)
    assert few.plan_.left_out == many.plan_.left_out == ()


def test_what_they_cost_does(monkeypatch):
    """Seven classes take longer than the search may, two do not."""
    X, y = crowd(7, n=42)
    whole, shorter = (SEARCHES[i].seconds(*X.shape, 7) for i in (0, 1))
    monkeypatch.setattr(choose, "RATE", choose.RATE * (whole + shorter) / 2.0 / 600.0)
    many = StretchyClassifierCV(**LOOKED_AT).fit(X, y)
    assert searched(many)[0] == list(SEARCHES[1].linear_k)
    assert many.plan_.left_out == (SEARCHES[1].left_out,)
    two = StretchyClassifierCV(**LOOKED_AT).fit(X, y > 3)
    assert searched(two)[0] == list(SEARCHES[0].linear_k)
    assert searched(two)[1] > searched(many)[1] > 0
    targets = StretchyRegressorCV(**LOOKED_AT, c_grid=(1.0,)).fit(X, np.eye(7)[y] + X[:, :7])
    assert targets.plan_.left_out == many.plan_.left_out


def test_grids_that_are_given_are_searched():
    given = {**LOOKED_AT, "k_grid": (1.02, 1.3, 2.0), "n_features_to_select": 1.0}
    k, _ = searched(StretchyClassifierCV(**given).fit(*crowd(6, n=42)))
    assert k == [1.02, 1.3, 2.0]


@pytest.mark.parametrize("n_classes", [2, 6])
def test_what_enters_the_mixture_is_exact(n_classes):
    X, y = crowd(n_classes, 60, 90)
    grid = {**LOOKED_AT, "k_grid": (1.05, 1.5, 2.0), "n_features_to_select": 1.0}
    model = StretchyClassifierCV(**grid).fit(X, y, sample_weight=np.full(len(y), 2.0))
    told = model.cv_results_["loo"]
    assert (told[model.weights_["row"]] == "exact").all()
    assert (told == "approximate").any()


@pytest.mark.parametrize("count", [1, 3, 7, 12, 20])
@pytest.mark.parametrize("spoiled", [0, 9, 12])
def test_the_strongest_are_the_first_of_a_stable_sort(count, spoiled):
    rng = np.random.default_rng(count)
    coef = rng.integers(-3, 4, 12).astype(float)  # with ties
    coef[rng.permutation(12)[:spoiled]] = np.nan
    expected = np.sort(np.argsort(-np.abs(coef), kind="stable")[:count])
    np.testing.assert_array_equal(strongest(coef, count), expected)
