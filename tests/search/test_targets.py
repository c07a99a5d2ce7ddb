"""Several targets: each has the candidate that it would have alone, whatever the rule."""

from functools import cache

import numpy as np
import pytest

import skstretch
from skstretch import StretchyRegressorCV

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::skstretch.exceptions.{name}")
    for name in ("GridEdgeWarning", "PoorTargetsWarning")
]
GRID = {"a_grid": (-0.2, 0.0), "k_grid": (1.2, 2.0), "c_grid": (0.001, 0.01, 0.1, 1.0)}


@pytest.fixture(scope="module")
def data():
    """One target of few features, one of many, and one of noise: their candidates differ."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 12))
    signals = [3.0 * X[:, 0], X.sum(axis=1), np.zeros(30)]
    return X, np.column_stack(signals) + 0.3 * rng.standard_normal((30, 3))


@pytest.mark.parametrize("combine", ["best", "1se"])
def test_each_has_the_candidate_of_a_search_alone(data, combine, tmp_path):
    X, Y = data
    model = StretchyRegressorCV(**GRID, combine=combine).fit(X, Y)
    alone = [StretchyRegressorCV(**GRID, combine=combine).fit(X, y) for y in Y.T]
    candidates = {(one.a_, one.k_, one.c_) for one in alone}
    assert len(candidates) > 1, "the targets are made to choose different candidates"
    table = model.weights_
    shares = table[[f"weight_{j}" for j in range(Y.shape[1])]].to_numpy()
    assert set(np.unique(shares)) == {0.0, 1.0}
    np.testing.assert_array_equal(shares.sum(axis=0), 1.0)
    for j, one in enumerate(alone):
        row = int(np.argmax(shares[:, j]))
        assert (table["a"][row], table["k"][row], table["c"][row]) == (one.a_, one.k_, one.c_)
    together = [np.column_stack([m.predict(X[:5]) for m in alone]), model.predict(X[:5])]
    np.testing.assert_allclose(*together, rtol=1e-8)
    held_out = np.column_stack([one.cv_predictions_ for one in alone])
    np.testing.assert_allclose(model.cv_predictions_, held_out, rtol=1e-7)
    mean = np.mean([one.best_score_ for one in alone])
    assert model.best_score_ == pytest.approx(mean, rel=1e-8)
    bounds = np.array([one.predict_interval(X[:4], 0.8) for one in alone]).transpose(1, 2, 0)
    np.testing.assert_allclose(model.predict_interval(X[:4], 0.8), bounds, rtol=1e-6)
    assert "Every target has a model of its own (target" in str(model.summary())
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.weights_.equals(table)
    assert again.summary().choice == model.summary().choice


def test_equal_targets_make_one_candidate(data):
    X, Y = data
    twice = StretchyRegressorCV(**GRID, combine="best").fit(X, Y[:, [0, 0]])
    once = StretchyRegressorCV(**GRID, combine="best").fit(X, Y[:, 0])
    assert (twice.a_, twice.k_, twice.c_) == (once.a_, once.k_, once.c_)
    assert twice.weights_["weight"].tolist() == [1.0]
    np.testing.assert_allclose(twice.predict(X)[:, 1], once.predict(X), rtol=1e-8)


def test_another_scoring_is_asked_of_each_target(data):
    X, Y = data
    model = StretchyRegressorCV(**GRID, combine="best", scoring="r2").fit(X, Y)
    alone = [StretchyRegressorCV(**GRID, combine="best", scoring="r2").fit(X, y) for y in Y.T]
    expected = np.column_stack([one.predict(X) for one in alone])
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8)


def others(y, seed=1):
    """Targets of all kinds of units and shapes that may stand beside y."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(y.size)
    units = {f"{f:g}": [f * noise] for f in (1e-150, 1e-6, 1.0, 1e4, 1e6, 1e150)}
    kinds = {"constant": [np.full(y.size, 3.0)], "zero": [0.0 * y], "itself": [y]}
    kinds["far away"], kinds["many"] = [1e9 + noise], [y + noise, 1e6 * noise, -y, 1e-6 * y**2]
    return units | kinds


SEARCHES = {
    "best": {"combine": "best"},
    "given c": {"c_grid": (0.01, 0.1, 1.0, 10.0)},
    "folds": {"cv": 4, "k_grid": (1.05, 1.5, 2.0)},
    "r2": {"scoring": "r2", "k_grid": (1.25, 2.0)},
    "density": {"n_features_to_select": 6, "k_grid": (1.25, 2.0)},
}


@pytest.mark.parametrize("kind", list(others(np.arange(3.0))))
def test_what_stands_beside_a_target_does_not_matter(kind):
    check_beside((24, 60), kind, {})


@pytest.mark.parametrize("kind", ["1e-150", "1e+150", "many"])
def test_nor_does_it_where_samples_are_many(kind):
    check_beside((60, 8), kind, {})


@pytest.mark.parametrize("search", list(SEARCHES))
def test_so_it_is_in_every_search(search):
    """Beside a target like it, and others of a million times its size and a millionth of it."""
    check_beside((24, 60), "many", SEARCHES[search])


def drawn(shape):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape)
    return X, X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(shape[0])


@cache
def searched_alone(shape, search):
    return StretchyRegressorCV(**dict(search)).fit(*drawn(shape))


def check_beside(shape, kind, search):
    X, y = drawn(shape)
    beside, new = others(y)[kind], np.random.default_rng(4).standard_normal((20, shape[1]))
    alone = searched_alone(shape, tuple(search.items()))
    model = StretchyRegressorCV(**search).fit(X, np.column_stack([y, *beside]))
    size = 1e-10 * np.ptp(y)
    np.testing.assert_allclose(model.predict(new)[:, 0], alone.predict(new), rtol=0, atol=size)
    held_out = model.cv_predictions_[:, 0]
    np.testing.assert_allclose(held_out, alone.cv_predictions_, rtol=0, atol=size)
    if not search:
        ours, theirs = alone.predict_interval(new), np.array(model.predict_interval(new))
        np.testing.assert_allclose(theirs[:, :, 0], ours, rtol=0, atol=1e2 * size)
