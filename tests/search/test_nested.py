"""Searches without single samples: the same as literal ones, and honest on noise."""

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.classes import signed_targets
from skstretch.search.mix import HANDICAP, regression_weights
from skstretch.search.nested import log_losses, outer_samples
from skstretch.search.scoring import LogLoss
from tests import literal

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
GRID = {"a_grid": (-0.2, 0.1), "k_grid": (1.5, 2.0), "c_grid": (0.01, 0.3, 10.0)}


def noise(n, p, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal(n)


def literal_nested(X, y, a_grid, k_grid, c_grid):
    """Every sample by a search over refits that leave it out, pair by pair."""
    n = len(y)
    families = [(a, k) for a in a_grid for k in k_grid]
    P = {a: literal.features(X, a) for a in a_grid}
    predicted = np.empty(n)

    def output(a, k, c, rows, at):
        coef, constant = literal.fit(P[a][rows], y[rows, None], k, c)
        return float((P[a][at] @ coef + constant)[0])

    for i in range(n):
        others = np.delete(np.arange(n), i)
        residuals, own = [], []
        for a, k in families:
            tried = []
            for c in c_grid:
                r = np.array([y[j] - output(a, k, c, others[others != j], j) for j in others])
                tried.append((np.mean(r**2), c, r))
            _, c, r = min(tried, key=lambda one: one[0])
            residuals.append(r * np.sqrt(1.0 + HANDICAP / (n - 1)))
            own.append(output(a, k, c, others, i))
        R = np.array(residuals)
        predicted[i] = regression_weights(R @ R.T / (n - 1), float(n - 1)) @ own
    return -np.mean((y - predicted) ** 2)


@pytest.mark.parametrize("shape", [(9, 14), (12, 4)], ids=["wide", "tall"])
def test_equal_to_literal_searches(shape):
    X, y = noise(*shape, seed=4)
    y = y + X[:, 0]
    model = StretchyRegressorCV(**GRID).fit(X, y)
    expected = literal_nested(X, y, *GRID.values())
    assert model.nested_score_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_exact_cells_are_near_literal_searches():
    X, y = noise(24, 60, seed=1)
    y = y + 2.0 * X[:, 0]
    model = StretchyRegressorCV(a_grid=(0.0,), density_grid=(1.0,)).fit(X, y)
    n, losses = len(y), []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        part = StretchyRegressorCV(a_grid=(0.0,), density_grid=(1.0,), nested=False)
        losses.append((y[i] - part.fit(X[rest], y[rest]).predict(X[[i]])[0]) ** 2)
    # z-scores of all samples, and pairs to first order
    assert -model.nested_score_ == pytest.approx(np.mean(losses), rel=0.25)
    assert -model.nested_score_ > -model.best_score_


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("apart", [0.0, 1.0, 6.0])
def test_log_losses_of_many_at_once(n_classes, scale, apart):
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.arange(40) % n_classes)
    Y = signed_targets(codes, n_classes)
    outputs = scale * (apart * Y + rng.standard_normal((6, *Y.shape)))
    weights = rng.integers(0, 3, (6, 40)).astype(float)
    expected = [
        -LogLoss(codes[w > 0], n_classes, Y[w > 0], w[w > 0])(one[w > 0]).score
        for one, w in zip(outputs, weights, strict=True)
    ]
    np.testing.assert_allclose(log_losses(outputs, codes, weights), expected, rtol=1e-6)


def test_classes_are_searched_again_too():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 40))
    model = StretchyClassifierCV().fit(X, np.arange(30) % 2)
    assert -1.0 <= model.nested_score_ <= 0.0
    assert model.nested_score_se_ > 0.0


def test_where_it_is_not_known():
    X, y = noise(20, 10, seed=0)
    assert np.isnan(StretchyRegressorCV(cv=5).fit(X, y).nested_score_)
    assert np.isnan(StretchyRegressorCV(rule="best").fit(X, y).nested_score_)
    assert not hasattr(StretchyRegressorCV(nested=False).fit(X, y), "nested_score_")


def test_many_samples_are_drawn():
    assert outer_samples(50, 1, classes=False).tolist() == list(range(50))
    drawn = outer_samples(5000, 1, classes=False)
    assert drawn.size == np.unique(drawn).size == 30
    assert outer_samples(400, 1, classes=False).size == 150
    assert (drawn == outer_samples(5000, 1, classes=False)).all()
    # none where memory has no room for as many as say anything
    assert outer_samples(12_000, 5, classes=True).size == 30
    assert outer_samples(12_000, 20, classes=True).size == 0


@pytest.mark.parametrize("k", [1.5, 2.0])
def test_more_samples_than_are_drawn(k, monkeypatch):
    """Some samples need some rows of an inverse, and give the residuals that all rows give."""
    X, y = noise(40, 60, seed=6)
    grid = {"a_grid": (-0.2, 0.1), "k_grid": (k,), "c_grid": (0.01, 0.1, 1.0, 10.0)}
    model = StretchyRegressorCV(**grid).fit(X, y)
    monkeypatch.setattr("skstretch.search.nested.MOST", 30)
    some = StretchyRegressorCV(**grid).fit(X, y)
    assert some.nested_score_ != model.nested_score_
    # what is drawn tells the difference to the plain score, which is known of all samples
    flattery = model.best_score_ - model.nested_score_
    assert some.best_score_ - some.nested_score_ == pytest.approx(flattery, rel=0.5)
    assert some.nested_score_se_ == pytest.approx(model.nested_score_se_, rel=0.2)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_units_of_y(unit):
    X, y = noise(12, 8, seed=3)
    first, second = (StretchyRegressorCV(**GRID).fit(X, unit_y) for unit_y in (y, unit * y))
    assert second.nested_score_ / unit / unit == pytest.approx(first.nested_score_, rel=1e-9)


@pytest.mark.slow
def test_no_bias_on_noise():
    """The plain score of pure noise flatters, the nested one does not."""
    nested, plain = [], []
    for seed in range(200):
        X, y = noise(25, 40, seed)
        model = StretchyRegressorCV().fit(X, y)
        variance = y.var() * 25 / 24  # what answering the mean of the others costs, and more
        nested.append(-model.nested_score_ / variance)
        plain.append(-model.best_score_ / variance)
    # a search on noise ends near the mean of the others: (n / (n - 1)) of the variance
    level = 25 / 24
    error = np.std(nested) / np.sqrt(len(nested))
    assert np.mean(nested) > level - 2 * error
    assert np.mean(plain) < np.mean(nested) - 4 * error
