"""Out-of-fold predictions of every usable candidate are those of literal refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from skstretch import StretchyClassifierCV
from tests import literal
from tests.references import INTERCEPTS
from tests.search.grids import DENSITIES, RARE, assert_literal, data, evaluated, rare_columns

shapes = pytest.mark.parametrize("shape", ["wide", "tall", "square"])
two_shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)


def five_fold(X):
    return list(KFold(5, shuffle=True, random_state=0).split(X))


def some_weights(n, seed=3):
    """Between 0.2 and 3, and some zeros."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.2, 3.0, n) * (np.arange(n) % 6 != 4)


@shapes
@intercepts
def test_leave_one_out(shape, intercept):
    # without a penalty a square system predicts a left-out sample a hundred times too large
    assert_literal(*data(shape), huge=shape == "square", intercept=intercept)


@shapes
@intercepts
def test_five_folds(shape, intercept):
    X, Y = data(shape)
    assert_literal(X, Y, five_fold(X), intercept=intercept, densities=DENSITIES)


@two_shapes
def test_leave_one_out_that_selects(shape):
    X, Y = data(shape)
    splits = literal.leave_one_out(len(X))
    settings = {"a": (-0.2, 0.0), "k": (1.1, 1.5), "densities": DENSITIES}
    assert_literal(X, Y, splits, **settings)


def splitters(n):
    groups = np.random.default_rng(1).integers(0, 7, n)
    index = np.random.default_rng(2).permutation(n)
    return {
        "groups": GroupKFold(4).split(index, groups=groups),
        "repeats": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0).split(index),
        "shuffled": ShuffleSplit(3, test_size=0.2, train_size=0.6, random_state=0).split(index),
        "in time": TimeSeriesSplit(3).split(index),
        "listed": [
            (index[3:], index[:2]),
            (index[: n // 2], index[n // 2 :]),
            (index[1:], index[:0]),
        ],
    }


@two_shapes
@pytest.mark.parametrize("name", splitters(8))
def test_any_splits(shape, name):
    X, Y = data(shape)
    splits = list(splitters(len(X))[name])
    # a quarter of the rows in time is fewer than the features: without penalty not unique
    at_least = 0.6 if (shape, name) == ("tall", "in time") else 0.9
    assert_literal(X, Y, splits, densities=DENSITIES, at_least=at_least)


def test_masks_are_splits():
    X, Y = data("tall")
    test = np.arange(len(X)) % 3 == 0
    [one] = evaluated(X, Y, [(~test, test)], a=(-0.2,), k=(1.5,), c=(10.0,))
    other = (np.flatnonzero(~test), np.flatnonzero(test))
    [two] = evaluated(X, Y, [other], a=(-0.2,), k=(1.5,), c=(10.0,))
    np.testing.assert_array_equal(one[2], two[2])


@two_shapes
@intercepts
def test_weights(shape, intercept):
    X, Y = data(shape)
    weights = some_weights(len(X))
    splits = five_fold(X)
    # without intercept, z of weighted mean zero leaves K singular at c=inf
    how = {"intercept": intercept, "weights": weights, "at_least": 0.8}
    assert_literal(X, Y, splits, densities=DENSITIES, **how)
    assert_literal(X, Y, a=(-0.2, 0.0), k=(1.25, 2.0), **how)


def test_fold_of_weight_zero():
    X, Y = data("tall")
    weights = np.ones(len(X))
    weights[:10] = 0.0
    splits = list(KFold(4).split(X))
    assert_literal(X, Y, splits, weights=weights, densities=(1.0, 0.5), k=(1.25, 2.0))


@two_shapes
def test_several_targets(shape):
    X, Y = data(shape, n_targets=3)
    assert_literal(X, Y, five_fold(X), densities=DENSITIES)
    assert_literal(X, Y, a=(-0.2, 0.0), k=(1.25, 2.0))


@two_shapes
@intercepts
def test_identity(shape, intercept):
    X, Y = data(shape)
    X = np.abs(X) / np.abs(X).mean(axis=0)
    X[X < 0.1] = 0.0
    assert (X == 0).any()
    how = {"intercept": intercept, "quadrant": "identity", "a": (1.0,), "at_least": 0.8}
    assert_literal(X, Y, five_fold(X), densities=DENSITIES, **how)
    assert_literal(X, Y, **how)


@two_shapes
def test_in_blocks(shape):
    X, Y = data(shape)
    with config_context(working_memory=0.002):
        assert_literal(X, Y, five_fold(X), k=(1.25, 2.0), densities=(1.0, 0.5))
        assert_literal(X, Y, k=(1.25, 2.0))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("density", [1.0, 0.5])
@two_shapes
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_scores_of_classes(shape, n_classes, density):
    X, Y = data((24, 50) if shape == "wide" else (60, 8))
    codes = np.digitize(Y[:, 0], np.quantile(Y, [1 / 3, 2 / 3] if n_classes == 3 else [0.4]))
    signed = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    signed = signed[:, 1:] if n_classes == 2 else signed
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    P = literal.features(X, -0.2)
    for k, c in ((1.1, 1e3), (2.0, 10.0)):
        grids = {"a_grid": (-0.2,), "k_grid": (k,), "c_grid": (c,)}
        model = StretchyClassifierCV(density, **grids, cv=cv, class_weight=None).fit(X, codes)
        splits = list(cv.split(X, codes))
        count = literal.count_of(density, X.shape[1])
        Z = literal.features(X, 0.0)
        refitted = literal.out_of_fold(P, signed, splits, k, c, count=count, Z=Z)
        scores = np.empty_like(refitted)
        scores[np.concatenate([test for _, test in splits])] = refitted
        found = model.cv_predictions_.reshape(scores.shape)
        np.testing.assert_allclose(found, scores, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", RARE)
@intercepts
def test_scaled(kind, intercept):
    """Sums of products drown what is small unless rows (wide) or columns (tall) are scaled."""
    X, Y = rare_columns(kind)
    assert 20 * np.log(literal.features(X, -3.0)).max() > 300
    splits = list(KFold(4).split(X))
    settings = {"a": (-3.0,), "k": (1.05,), "c": (1e-3, 1.0), "intercept": intercept}
    huge = kind == "wide, some rows"
    assert_literal(X, Y, huge=huge, **settings)
    # rows may lack selected columns in which they are large: all features alone are usable then
    at_least = 0.9 if kind == "tall" else 0.5
    assert_literal(X, Y, splits, huge=huge, densities=(1.0, 0.5), at_least=at_least, **settings)


@pytest.mark.parametrize(("intercept", "extra"), [(True, 1), ("column", 1), (False, 0)])
def test_as_many_samples_as_coefficients(intercept, extra):
    """Without one of them the primal form is not unique; the dual form is."""
    X, Y = data((9 + extra, 9))
    settings = {"c": (1e6, 1e10, np.inf), "k": (1.25, 2.0), "intercept": intercept}
    assert_literal(X, Y, **settings)


@pytest.mark.parametrize("densities", [(1.0,), (1.0, 0.5)])
def test_folds_with_fewer_samples_than_coefficients(densities):
    """All samples determine the model and folds do not: such candidates are not usable.

    Half of the features are few enough.
    """
    X, Y = data((14, 10))
    splits = five_fold(X)[:2] + list(KFold(2).split(X))
    for candidate, outcome, _ in evaluated(
        X, Y, splits, c=(np.inf,), k=(1.25, 2.0), densities=densities
    ):
        assert outcome.usable == (candidate.density == 0.5)
        assert outcome.usable or "ill-conditioned" in outcome.trouble
    assert_literal(
        X, Y, splits, c=(1.0, 1e4, 1e8), k=(1.25, 2.0), densities=densities, at_least=0.6
    )


def test_column_that_only_one_fold_has():
    X, Y = data((20, 5))
    X = np.abs(X)
    X[4:, 0] = 0.0
    splits = list(KFold(5).split(X))
    settings = {"quadrant": "identity", "a": (1.0,), "k": (1.5, 2.0), "densities": (1.0, 0.4)}
    for candidate, outcome, _ in evaluated(X, Y, splits, c=(np.inf,), **settings):
        assert outcome.usable == (candidate.density == 0.4)  # two others are kept
    assert_literal(X, Y, splits, c=(1.0,), **settings)


@given(
    n_samples=st.integers(4, 12),
    n_features=st.integers(1, 14),
    n_splits=st.integers(2, 6),
    seed=st.integers(0, 10**6),
    intercept=st.sampled_from(INTERCEPTS),
    c=st.sampled_from([0.1, 10.0, 1e3]),
    density=st.sampled_from(DENSITIES),
)
def test_any_shape(n_samples, n_features, n_splits, seed, intercept, c, density):
    X, Y = data((n_samples, n_features), seed=seed)
    splits = list(KFold(min(n_splits, n_samples), shuffle=True, random_state=seed).split(X))
    settings = {"a": (-0.2,), "k": (1.1, 1.5, 2.0), "c": (c,), "densities": (density,)}
    assert_literal(X, Y, splits, intercept=intercept, at_least=0.0, **settings)
