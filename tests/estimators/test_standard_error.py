"""`best_score_se_`: the standard error of the cross-validated score."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut, RepeatedKFold

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from tests.estimators.samples import problem

FEW = {"k_grid": (1.5, 2.0), "c_grid": (0.01, 0.1, 1.0)}
pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")


@pytest.fixture
def data():
    X, y = problem("tall")
    rng = np.random.default_rng(3)
    return X, y, rng.integers(0, 4, len(y)), rng.integers(0, 6, len(y))


def test_regression(data):
    X, y, _, _ = data
    model = StretchyRegressorCV(**FEW).fit(X, y)
    losses = (y - model.cv_predictions_) ** 2
    assert model.best_score_se_ == pytest.approx(losses.std() / np.sqrt(len(y)), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1.0, 1e12, 1e150])
def test_weights_make_an_effective_number_of_samples(data, unit):
    X, y, weights, _ = data
    closed = FEW | {"a_grid": (-0.2,), "c_grid": "auto"}
    model = StretchyRegressorCV(**closed).fit(X, y, sample_weight=weights * unit)
    losses = np.repeat((y - model.cv_predictions_) ** 2, weights)
    n = weights.sum() ** 2 / np.sum(weights**2)
    assert model.best_score_se_ == pytest.approx(losses.std() / np.sqrt(n), rel=1e-10)


def test_groups_are_the_units(data):
    X, y, _, groups = data
    model = StretchyRegressorCV(**FEW, cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    losses = (y - model.cv_predictions_) ** 2
    sums = [(losses - losses.mean())[groups == group].sum() for group in np.unique(groups)]
    expected = np.sqrt(np.square(sums).sum()) / len(y)
    assert model.best_score_se_ == pytest.approx(expected, rel=1e-10)


def test_repeats_do_not_make_more_samples(data):
    X, y, _, _ = data
    fits = [
        StretchyRegressorCV(**FEW, cv=RepeatedKFold(n_splits=5, n_repeats=n, random_state=0))
        for n in (1, 8)
    ]
    once, often = (fit.fit(X, y).best_score_se_ for fit in fits)
    assert often == pytest.approx(once, rel=0.3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_balanced_error(data, n_classes):
    X, y, _, _ = data
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes + 0.1))
    model = StretchyClassifierCV(**FEW).fit(X, labels)
    scores = model.cv_predictions_
    guessed = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    balance = len(y) / (n_classes * np.bincount(labels))
    losses = (guessed != labels) * balance[labels]
    assert 1.0 - model.best_score_ == pytest.approx(losses.mean(), rel=1e-12)
    assert model.best_score_se_ == pytest.approx(losses.std() / np.sqrt(len(y)), rel=1e-12)


def test_a_scorer_of_your_own_has_none(data):
    X, y, _, _ = data
    assert np.isnan(StretchyRegressorCV(**FEW, scoring="r2").fit(X, y).best_score_se_)
