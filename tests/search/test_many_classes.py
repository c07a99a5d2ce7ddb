"""Searches of many classes: shorter automatic grids, and exact values for what the model tells."""

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core import strongest
from skstretch.search import contest

LOOKED_AT = {"a_grid": (0.0,), "nested": False}


def crowd(n_classes, n=72, p=90, noise=0.5, seed=0):
    """Classes that differ a little in every feature: models of few features are far worse."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = rng.standard_normal((n_classes, p))
    return noise * means[y] + rng.standard_normal((n, p)), y


def powers(model):
    """The powers of the exact minimisers and the number of strengths of selections."""
    found = model.cv_results_
    some = found["param_density"] != 1.0
    return np.unique(found["param_k"]).tolist(), int(some.sum())


def test_automatic_grids_are_shorter_from_six_classes_on():
    k, n_selections = powers(StretchyClassifierCV(**LOOKED_AT).fit(*crowd(5, n=40)))
    assert k == [1.02, 1.05, 1.1, 1.25, 1.5, 2.0]
    fewer, fewer_selections = powers(StretchyClassifierCV(**LOOKED_AT).fit(*crowd(6, n=42)))
    assert fewer == [1.05, 1.25, 1.5, 2.0]
    assert 0 < fewer_selections < 0.6 * n_selections


def test_grids_that_are_given_are_searched():
    given = {**LOOKED_AT, "k_grid": (1.02, 1.3, 2.0), "density_grid": (1.0,)}
    k, _ = powers(StretchyClassifierCV(**given).fit(*crowd(6, n=42)))
    assert k == [1.02, 1.3, 2.0]


def test_six_targets_are_not_six_classes():
    X, y = crowd(6, n=18, p=30)
    model = StretchyRegressorCV(**LOOKED_AT, c_grid=(1.0,))
    k, _ = powers(model.fit(X, np.eye(6)[y] + 0.1 * X[:, :6]))
    assert k == [1.02, 1.05, 1.1, 1.25, 1.5, 2.0]


@pytest.mark.parametrize(("shape", "noise", "saved"), [((160, 400), 0.25, 1), ((60, 90), 0.5, 0)])
def test_the_mixture_is_that_of_a_search_that_makes_every_family_exact(
    shape, noise, saved, monkeypatch
):
    X, y = crowd(6, *shape, noise)
    grid = {**LOOKED_AT, "k_grid": (1.05, 1.5, 2.0), "density_grid": (1.0,)}
    weight = np.full(len(y), 2.0)
    short = StretchyClassifierCV(**grid).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(contest, "MANY_CLASSES", 100)
    whole = StretchyClassifierCV(**grid).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(short.weights_["row"], whole.weights_["row"])
    # shares are of one before what is too small is left out: that rounds
    for name in ("k", "c", "weight"):
        np.testing.assert_allclose(short.weights_[name], whole.weights_[name], rtol=1e-14)
    np.testing.assert_allclose(short.cv_predictions_, whole.cv_predictions_, rtol=0, atol=1e-14)
    np.testing.assert_allclose(short.coef_, whole.coef_, rtol=0, atol=1e-14)
    n_exact = [np.sum(model.cv_results_["loo"] == "exact") for model in (short, whole)]
    assert n_exact[1] - n_exact[0] == saved
    assert (short.cv_results_["loo"][short.weights_["row"]] == "exact").all()


@pytest.mark.parametrize("count", [1, 3, 7, 12, 20])
@pytest.mark.parametrize("spoiled", [0, 9, 12])
def test_the_strongest_are_the_first_of_a_stable_sort(count, spoiled):
    rng = np.random.default_rng(count)
    coef = rng.integers(-3, 4, 12).astype(float)  # with ties
    coef[rng.permutation(12)[:spoiled]] = np.nan
    expected = np.sort(np.argsort(-np.abs(coef), kind="stable")[:count])
    np.testing.assert_array_equal(strongest(coef, count), expected)
