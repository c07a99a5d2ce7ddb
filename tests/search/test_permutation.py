"""The permutation test of a search: literal refits, its level, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_iris

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.search.permutation import combined_pvalue, random_orders
from tests import literal

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")


def noise(n, p, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal(n)


def test_scores_are_those_of_refits():
    X, y = noise(14, 6, seed=0)
    one = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (0.3,)}
    found = StretchyRegressorCV(**one).fit(X, y).permutation_test(20, random_state=3)
    rng = np.random.RandomState(3)
    orders = [np.arange(14)] + [rng.permutation(14) for _ in range(20)]
    scores, features = [], np.exp(-0.2 * (X - X.mean(axis=0)) / X.std(axis=0)).T
    for order in orders:
        residuals = StretchyRegressor(k=1.5, c=0.3).fit(X, y[order])._state.loo_residuals
        scores.append(-np.mean(residuals**2))
    assert found.statistic == pytest.approx(scores[0], rel=1e-9)
    np.testing.assert_allclose(found.null_distribution, scores[1:], rtol=1e-9)
    strongest = [max(np.corrcoef(x, y[order])[0, 1] ** 2 for x in features) for order in orders]
    assert found.correlation == pytest.approx(strongest[0], rel=1e-9)
    np.testing.assert_allclose(found.null_correlations, strongest[1:], rtol=1e-9)
    least = [
        min(np.sum(np.array(values) >= values[i]) for values in (scores, strongest))
        for i in range(21)
    ]
    assert found.pvalue == sum(value <= least[0] for value in least) / 21


@pytest.mark.parametrize("signal", [0.0, 0.6])
def test_agrees_with_scikit_learn(signal):
    """The same orders: scikit-learn draws them alike, but takes z-scores anew in every fold."""
    from sklearn.model_selection import LeaveOneOut, permutation_test_score

    X, y = noise(15, 6, seed=1)
    y = y + signal * X[:, 0]
    one = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (0.3,)}
    ours = StretchyRegressorCV(**one).fit(X, y).permutation_test(60)
    _, null, theirs = permutation_test_score(
        StretchyRegressor(k=1.5, c=0.3),
        X,
        y,
        cv=LeaveOneOut(),
        n_permutations=60,
        scoring="neg_mean_squared_error",
        random_state=0,
    )
    assert np.corrcoef(ours.null_distribution, null)[0, 1] > 0.98
    own = (1 + np.sum(ours.null_distribution >= ours.statistic)) / 61
    assert abs(own - theirs) <= 3 / 61


def test_a_signal_is_found():
    X, y = noise(30, 8, seed=2)
    found = StretchyRegressorCV().fit(X, y + 2.0 * X[:, 0]).permutation_test(99)
    assert found.pvalue == pytest.approx(0.01)
    assert "of 99 random orders of the targets 0 did as well" in str(found)


def test_classes():
    X, y = load_iris(return_X_y=True)
    model = StretchyClassifierCV().fit(X[::5], y[::5])
    found = model.permutation_test(49)
    assert found.pvalue == pytest.approx(0.02)
    assert model.permutation_ is found


@pytest.mark.slow
def test_the_level_is_held():
    values = []
    for seed in range(200):
        X, y = noise(15, 20, seed)
        model = StretchyRegressorCV(a_grid=(-0.2,)).fit(X, y)
        values.append(model.permutation_test(39).pvalue)
    rejected = int(np.sum(np.array(values) <= 0.05))
    low, high = binom.ppf([0.005, 0.995], 200, 0.05)
    assert low <= rejected <= high


def test_refusals():
    X, y = noise(20, 5, seed=0)
    model = StretchyRegressorCV(a_grid=(-0.2,)).fit(X, y)
    with pytest.raises(ValueError, match="n_permutations=0 must be a whole number"):
        model.permutation_test(0)
    with pytest.raises(ValueError, match="fit it again"):
        pickle.loads(pickle.dumps(model)).permutation_test(9)
    grouped = StretchyRegressorCV(a_grid=(-0.2,)).fit(X, y, groups=np.arange(20) // 2)
    with pytest.raises(ValueError, match="pass the groups to permutation_test too"):
        grouped.permutation_test(9)
    with pytest.raises(ValueError, match=r"shape \(3,\), and there are 20 samples"):
        grouped.permutation_test(9, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="within=True needs groups"):
        model.permutation_test(9, within=True)
    uneven = np.repeat([0, 1, 2, 3, 4], [2, 3, 4, 5, 6])
    with pytest.raises(ValueError, match="no two of 5 groups have as many samples"):
        model.permutation_test(9, groups=uneven)


@pytest.mark.parametrize("unit", [1e-200, 1e150])
def test_the_unit_of_targets_does_not_matter(unit):
    X, y = noise(20, 5, seed=0)
    one, other = (
        StretchyRegressorCV(a_grid=(-0.2,)).fit(X, s * (y + X[:, 0])).permutation_test(19)
        for s in (1.0, unit)
    )
    assert other.pvalue == one.pvalue < 1.0


def test_copies_are_refused():
    X, y = noise(20, 5, seed=0)
    X[13] = X[4]
    model = StretchyRegressorCV(a_grid=(-0.2,)).fit(X, y)
    with pytest.raises(ValueError, match=r"samples 4 and 13 have the same .* Pass groups="):
        model.permutation_test(9)
    alone = model.permutation_test(9, groups=np.arange(20))
    assert 0.1 <= alone.pvalue <= 1.0


def one_true_feature(seed, n=60, p=500, size=0.8):
    X, y = noise(n, p, [5, seed])
    return X, y + size * X[:, 0]


def test_one_true_feature_is_found():
    """The mixture hardly sees it; the largest correlation does."""
    both, score = [], []
    for seed in range(10):
        X, y = one_true_feature(seed)
        model = StretchyRegressorCV(a_grid=(0.0,), k_grid=(2.0,), n_features_to_select=(1.0,)).fit(
            X, y
        )
        found = model.permutation_test(99)
        both.append(found.pvalue)
        score.append((1 + np.sum(found.null_distribution >= found.statistic)) / 100)
    assert np.mean(np.array(both) <= 0.05) >= 0.6
    assert np.mean(np.array(both) <= 0.05) > np.mean(np.array(score) <= 0.05)


def test_combined_level_by_all_orders():
    """Of all orders as the data in turn, at most a share p has a p-value of p or less."""
    rng = np.random.default_rng(0)
    for ties in (False, True):
        first, second = rng.standard_normal((2, 40))
        if ties:
            first, second = np.round(first), np.round(second)
        values = [
            combined_pvalue(np.roll(first, -i), np.roll(second, -i)) for i in range(first.size)
        ]
        for level in np.arange(1, 41) / 40:
            assert np.mean(np.array(values) <= level + 1e-12) <= level + 1e-12


def test_orders_keep_groups():
    rng = np.random.RandomState(0)
    groups = np.array([0, 1, 0, 2, 1, 2, 3, 3, 3, 4, 4, 4])
    y = rng.standard_normal((12, 1))
    for order in random_orders(rng, 20, y, groups, within=False):
        assert sorted(order) == list(range(12))
        for group in range(5):
            assert np.unique(groups[order[groups == group]]).size == 1
    for order in random_orders(rng, 20, y, groups, within=True):
        np.testing.assert_array_equal(groups[order], groups)
    # targets of groups: any group takes the place of any other
    own = np.array([0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 4, 4])
    seen = set()
    for order in random_orders(rng, 50, own[:, None] * 1.0, own, within=False):
        moved = own[order]
        assert all(np.unique(moved[own == group]).size == 1 for group in range(5))
        seen.add(tuple(moved[[0, 3, 4, 8, 10]]))
        assert sorted(moved[[0, 3, 4, 8, 10]]) == [0, 1, 2, 3, 4]
    assert len(seen) > 20


def test_groups_are_left_out_together():
    X, y = noise(18, 6, seed=4)
    groups = np.arange(18) % 6
    one = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (0.3,)}
    found = StretchyRegressorCV(**one).fit(X, y, groups=groups).permutation_test(9, groups=groups)
    P = literal.features(X, -0.2)
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(6)]
    predicted = literal.out_of_fold(P, y[:, None], splits, 1.5, 0.3)[:, 0]
    residuals = y[np.concatenate([test for _, test in splits])] - predicted
    assert found.statistic == pytest.approx(-np.mean(residuals**2), rel=1e-9)


@pytest.mark.slow
def test_the_level_is_held_with_groups():
    """Replicates of samples: without groups noise would be found."""
    values = []
    for seed in range(200):
        X, y = noise(12, 20, [6, seed])
        which = np.repeat(np.arange(12), 3)
        X = X[which] + 0.01 * np.random.default_rng(seed).standard_normal((36, 20))
        model = StretchyRegressorCV(a_grid=(-0.2,)).fit(X, y[which], groups=which)
        values.append(model.permutation_test(39, groups=which).pvalue)
    low, high = binom.ppf([0.005, 0.995], 200, 0.05)
    assert low <= int(np.sum(np.array(values) <= 0.05)) <= high
