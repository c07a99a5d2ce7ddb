"""Errors, standard errors and baselines against plain sums."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from skstretch.cli.learning import error_rates, estimate, squared_error
from skstretch.estimators.quality import left_out_means

rng = np.random.default_rng(3)


def test_a_weight_counts_repetitions():
    losses, weights = rng.exponential(size=40), rng.integers(0, 4, 40)
    weighted, repeated = estimate(losses, weights), estimate(np.repeat(losses, weights))
    assert weighted.mean == pytest.approx(repeated.mean)
    assert weighted.error == pytest.approx(repeated.error)
    assert estimate(losses).error == pytest.approx(losses.std() / np.sqrt(40))


def test_groups_are_the_units():
    losses, groups = rng.exponential(size=40), np.repeat(np.arange(10), 4)
    found = estimate(losses, None, groups)
    means = losses.reshape(10, 4).mean(axis=1)
    assert found.error == pytest.approx(means.std() / np.sqrt(10))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_means_of_the_others(weighted, grouped):
    y = rng.normal(size=12)
    weights = rng.integers(1, 4, 12) if weighted else None
    groups = np.arange(12) % 4 if grouped else None
    units = np.arange(12) if groups is None else groups
    expected = [
        np.average(
            y[units != units[i]], weights=None if weights is None else weights[units != units[i]]
        )
        for i in range(12)
    ]
    np.testing.assert_allclose(left_out_means(y, weights, groups), expected)


def test_squared_error_of_the_mean_is_one_in_r2():
    y = rng.normal(size=30)
    judged = squared_error(y, left_out_means(y))
    assert judged.model == judged.baseline


def test_balanced_error_rate():
    codes, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    balanced, plain = error_rates(codes, predicted, 3)
    assert balanced.model.mean == pytest.approx(1 - balanced_accuracy_score(codes, predicted))
    assert plain.model.mean == pytest.approx(np.mean(codes != predicted))
    assert balanced.baseline.mean == pytest.approx(2 / 3)
    assert plain.baseline.mean == pytest.approx(1 - np.bincount(codes).max() / 60)


def test_classes_that_no_row_has_do_not_count():
    """As in scikit-learn: the mean over the classes that are there."""
    codes, predicted = np.array([0, 0, 2, 2]), np.array([1, 1, 0, 2])
    balanced, _ = error_rates(codes, predicted, 4)
    assert balanced.model.mean == pytest.approx(0.75)
