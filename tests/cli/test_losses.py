"""Errors, standard errors and baselines against plain sums."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from skstretch.cli.training import error_of
from skstretch.estimators.quality import left_out_means

rng = np.random.default_rng(3)


def test_a_weight_counts_repetitions():
    y, predicted, weights = rng.normal(size=40), rng.normal(size=40), rng.integers(0, 4, 40)
    weighted = error_of(y, predicted, "numbers", weights)
    repeated = error_of(np.repeat(y, weights), np.repeat(predicted, weights), "numbers")
    assert weighted == pytest.approx(repeated)
    losses = np.square(y - predicted)
    assert error_of(y, predicted, "numbers")[1] == pytest.approx(losses.std() / np.sqrt(40))


def test_groups_are_the_units():
    y, predicted, groups = rng.normal(size=40), rng.normal(size=40), np.repeat(np.arange(10), 4)
    _, error = error_of(y, predicted, "numbers", None, groups)
    means = np.square(y - predicted).reshape(10, 4).mean(axis=1)
    assert error == pytest.approx(means.std() / np.sqrt(10))


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


def test_balanced_error_rate():
    codes, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    found, _ = error_of(codes, predicted, "classes")
    assert found == pytest.approx(1 - balanced_accuracy_score(codes, predicted))
    largest = np.full(60, np.bincount(codes).argmax())
    assert error_of(codes, largest, "classes")[0] == pytest.approx(2 / 3)


def test_classes_that_no_row_has_do_not_count():
    """As in scikit-learn: the mean over the classes that are there."""
    codes, predicted = np.array([0, 0, 2, 2]), np.array([1, 1, 0, 2])
    assert error_of(codes, predicted, "classes")[0] == pytest.approx(0.75)
