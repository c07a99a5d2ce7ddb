"""The permutation test of a search: literal refits, its level, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_iris

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV

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
    scores = []
    for order in orders:
        residuals = StretchyRegressor(k=1.5, c=0.3).fit(X, y[order])._state.loo_residuals
        scores.append(-np.mean(residuals**2))
    assert found.statistic == pytest.approx(scores[0], rel=1e-9)
    np.testing.assert_allclose(found.null_distribution, scores[1:], rtol=1e-9)
    assert found.pvalue == (1 + np.sum(np.array(scores[1:]) >= scores[0])) / 21


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
    assert abs(ours.pvalue - theirs) <= 3 / 61


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
    with pytest.raises(ValueError, match="groups"):
        grouped.permutation_test(9)
