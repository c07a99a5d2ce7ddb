"""Searches notice samples that cross-validation should not be trusted with."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import KFold, TimeSeriesSplit

import skstretch
from skstretch import (
    RecipeRegressorCV,
    SpectralFilter,
    StretchyClassifierCV,
    StretchyRegressorCV,
)
from skstretch.exceptions import DependentSamplesWarning, GrossErrorWarning

QUICK = {"a_grid": (0,), "k_grid": (2,), "n_features_to_select": 1.0}
RIDGE = StretchyRegressorCV(**QUICK)
N, P = 80, 120


def signal(X, rng):
    """Five features of an SNR of 5, and noise."""
    f = X[:, :5] @ rng.choice([-1.0, 1.0], 5)
    return np.sqrt(5) * f / f.std() + rng.normal(size=len(X))


def clean(rng):
    X = rng.normal(size=(N, P))
    return X, signal(X, rng)


def factors(rng):
    X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, P)) + 0.5 * rng.normal(size=(N, P))
    return X, signal(X, rng)


def heavy_tails(rng):
    X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, P)) + 0.5 * rng.normal(size=(N, P))
    return X, signal(X, rng) + rng.standard_t(3, size=N)


def in_order_of_y(rng):
    X, y = factors(rng)
    order = np.argsort(y)
    return X[order], y[order]


def replicated(rng, noise=0.0):
    """Pure noise, every row four times, in any order."""
    X, y = np.repeat(rng.normal(size=(N // 4, P)), 4, 0), np.repeat(rng.normal(size=N // 4), 4)
    order = rng.permutation(N)
    X = X + noise * rng.normal(size=X.shape)
    return X[order], (y + noise * rng.normal(size=N))[order]


def nearly_replicated(rng):
    return replicated(rng, noise=0.1)


def noisily_replicated(rng):
    return replicated(rng, noise=0.5)


def batched(rng):
    batch = np.repeat(np.arange(10), N // 10)
    X = rng.normal(size=(N, P)) + rng.normal(size=(10, P))[batch]
    return X, signal(X, rng) + 2 * rng.normal(size=10)[batch]


def shuffled_batches(rng):
    X, y = batched(rng)
    order = rng.permutation(N)
    return X[order], y[order]


def autocorrelated(rng):
    X, y = rng.normal(size=(N, P)), rng.normal(size=N)
    for i in range(1, N):
        X[i], y[i] = 0.7 * X[i - 1] + 0.7 * X[i], 0.7 * y[i - 1] + 0.7 * y[i]
    return X, y


def with_outliers(rng):
    """One y in twenty is off by ten standard deviations."""
    X, y = factors(rng)
    odd = rng.choice(N, N // 20, replace=False)
    y[odd] += rng.choice([-10.0, 10.0], odd.size) * y.std()
    return X, y


ODD = {
    replicated: "copies",
    nearly_replicated: "copies",
    noisily_replicated: "copies",
    batched: "order",
    shuffled_batches: "copies",
    autocorrelated: "order",
    with_outliers: "gross",
}


def noticed(model, X, y, **keywords):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(model).fit(X, y, **keywords)
    told = [w for w in caught if w.category in (DependentSamplesWarning, GrossErrorWarning)]
    assert len(told) == len(model._noticed)
    return model, told


@pytest.mark.parametrize("case", ODD)
def test_odd_samples_are_noticed(case):
    model, told = noticed(RIDGE, *case(np.random.default_rng(0)))
    assert ODD[case] in model._noticed
    assert str(told[0].message) in model.summary().error.replace("\u00a0", " ")


@pytest.mark.parametrize("case", [clean, factors, in_order_of_y, heavy_tails])
def test_sound_samples_are_not(case):
    assert noticed(RIDGE, *case(np.random.default_rng(0)))[1] == []


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.PoorTargetsWarning")
@pytest.mark.parametrize("level", [0.0, 0.1])
def test_equal_residuals_are_in_no_order(level):
    X, y = clean(np.random.default_rng(0))
    same = np.full(N, level)
    assert noticed(RIDGE, X, same)[1] == noticed(RIDGE, X, np.column_stack([y, same]))[1] == []


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_known_classes_are_sound(load):
    """Sorted by class, with rows that are the same, and in whole numbers."""
    X, y = load(return_X_y=True)
    model = StretchyClassifierCV(**QUICK)
    assert noticed(model, X, y)[1] == []
    assert noticed(model, np.round(X), y)[1] == []


def test_known_numbers_are_sound():
    assert noticed(RIDGE, *load_diabetes(return_X_y=True))[1] == []


def test_yes_or_no_is_no_copy():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (100, 4)).astype(float)
    assert noticed(RIDGE, X, X[:, 0] + rng.normal(size=100))[1] == []


@pytest.mark.parametrize("case", [replicated, batched])
def test_groups_and_own_splits_say_that_one_knows(case):
    X, y = case(np.random.default_rng(0))
    groups = np.repeat(np.arange(10), 8)
    assert noticed(RIDGE, X, y, groups=groups)[1] == []
    for cv in (TimeSeriesSplit(5), KFold(5)):
        assert noticed(clone(RIDGE).set_params(cv=cv), X, y)[1] == []
    # whoever shuffles takes samples to be independent
    for cv in (5, KFold(5, shuffle=True, random_state=0)):
        assert noticed(clone(RIDGE).set_params(cv=cv), X, y)[1] != []


def test_rows_are_named_by_their_place_among_all():
    X, y = factors(np.random.default_rng(0))
    y[41] += 40 * y.std()
    weights = np.ones(N)
    weights[:3] = 0.0
    model, told = noticed(RIDGE, X, y, sample_weight=weights)
    assert model._noticed == {"gross": [41]}
    assert "1 sample lies far from what the others predict (row 41)" in str(told[0].message)


def test_units_do_not_matter():
    X, y = batched(np.random.default_rng(0))
    factor = np.random.default_rng(1).choice([-1000.0, 0.01], P)
    assert noticed(RIDGE, X * factor, 1e6 * y)[0]._noticed == noticed(RIDGE, X, y)[0]._noticed


def test_classes_and_recipes():
    X, y = batched(np.random.default_rng(0))
    assert "order" in noticed(StretchyClassifierCV(**QUICK), X, y > np.median(y))[0]._noticed
    model = RecipeRegressorCV(RIDGE, {"raw": SpectralFilter()})
    with pytest.warns(DependentSamplesWarning, match="order of the rows"):
        model.fit(X, y)


def test_files_keep_it(tmp_path):
    model, _ = noticed(RIDGE, *nearly_replicated(np.random.default_rng(0)))
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    assert again._noticed == model._noticed
    for one in (model, again):
        assert "80 samples lie in tight groups (row 0" in one.summary().error


def test_permutation_test_refuses_copies():
    model, _ = noticed(RIDGE, *replicated(np.random.default_rng(0)))
    with pytest.raises(ValueError, match="replicates cannot be put in any order"):
        model.permutation_test(19)


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD)
def test_nearly_all_odd_samples_are_noticed(case):
    found = [noticed(RIDGE, *case(np.random.default_rng(seed)))[0]._noticed for seed in range(60)]
    assert np.mean([ODD[case] in each for each in found]) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("case", [clean, factors, in_order_of_y, heavy_tails])
def test_hardly_any_sound_samples_are(case):
    found = [noticed(RIDGE, *case(np.random.default_rng(seed)))[1] for seed in range(150)]
    assert np.mean([len(each) > 0 for each in found]) <= 0.02
