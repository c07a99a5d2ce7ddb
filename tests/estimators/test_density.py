"""Two passes: fit on all features, keep the strongest, fit again on those alone."""

import math

import numpy as np
import pytest

from skstretch import StretchyClassifier, StretchyRegressor
from tests.estimators.samples import (
    assert_close,
    new_rows,
    plain_fit,
    problem,
    quadrant_features,
)
from tests.references import INTERCEPTS

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
DENSITIES = [0.01, 0.1, 0.3, 0.5, 0.99, 1, 3, 6]


def kept_by_hand(coef, density):
    """Indices of the strongest features, by sorting pairs of strength and index."""
    count = density if isinstance(density, int) else math.ceil(density * len(coef))
    ranked = sorted(range(len(coef)), key=lambda j: (-abs(coef[j]), j))
    return sorted(ranked[:count])


@shapes
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("density", DENSITIES)
def test_two_passes_by_hand(shape, fit_intercept, density):
    X, y = problem(shape)
    params = {"k": 1.4, "c": 10.0, "fit_intercept": fit_intercept}
    first = StretchyRegressor(**params).fit(X, y)
    kept = kept_by_hand(first.alpha_, density)
    second = StretchyRegressor(**params).fit(X[:, kept], y)
    model = StretchyRegressor(density=density, **params).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == kept
    assert model.support_.dtype == bool
    assert model.support_.shape == model.coef_.shape == (X.shape[1],)
    assert_close(model.alpha_[kept], second.alpha_, rtol=1e-13)
    np.testing.assert_array_equal(model.alpha_[~model.support_], 0.0)
    np.testing.assert_array_equal(model.coef_[~model.support_], 0.0)
    T = new_rows(X)
    assert_close(model.predict(T), second.predict(T[:, kept]), rtol=1e-13)
    assert_close(model.coef_std(0.1)[kept], second.coef_std(0.1), rtol=1e-13)
    np.testing.assert_array_equal(model.coef_std(0.1)[~model.support_], 0.0)
    assert (model._state.space, model.dof_) == (
        second._state.space,
        pytest.approx(second.dof_, rel=1e-12),
    )


@shapes
def test_two_passes_by_the_formula(shape):
    X, y = problem(shape)
    model = StretchyRegressor(k=1.4, c=10.0, density=0.25).fit(X, y)
    P = quadrant_features(X)
    kept = kept_by_hand(plain_fit(P, y, 1.4, 10.0)[0], 0.25)
    coef, intercept = plain_fit(P[:, kept], y, 1.4, 10.0)
    assert_close(model.alpha_[kept], coef)
    assert_close(model.predict(X), P[:, kept] @ coef + intercept)


@pytest.mark.parametrize(
    ("density", "count"),
    [(0.1, 3), (0.1000001, 4), (1e-9, 1), (1.0, 30), (1, 1), (30, 30), (np.int64(7), 7)],
)
def test_how_many_are_kept(density, count):
    X, y = problem("wide")
    assert StretchyRegressor(density=density).fit(X, y).support_.sum() == count


def test_a_share_is_meant_in_decimals():
    X, y = problem((9, 25))
    assert 0.28 * 25 > 7
    assert StretchyRegressor(density=0.28).fit(X, y).support_.sum() == 7


@shapes
def test_all_features_are_one_pass(shape):
    X, y = problem(shape)
    base = StretchyRegressor().fit(X, y)
    for density in (1.0, X.shape[1]):
        model = StretchyRegressor(density=density).fit(X, y)
        np.testing.assert_array_equal(model.alpha_, base.alpha_)
    assert base.support_.all()


def test_ties_go_to_the_lower_index():
    X, _ = problem("wide")
    model = StretchyRegressor(density=4).fit(X, np.zeros(len(X)))
    assert np.flatnonzero(model.support_).tolist() == [0, 1, 2, 3]


@shapes
def test_every_target_keeps_its_own(shape):
    X, Y = problem(shape, n_targets=4)
    model = StretchyRegressor(density=0.2).fit(X, Y)
    assert len({row.tobytes() for row in model.support_}) > 1
    for t in range(4):
        alone = StretchyRegressor(density=0.2).fit(X, Y[:, t])
        np.testing.assert_array_equal(model.support_[t], alone.support_)
        assert_close(model.alpha_[t], alone.alpha_, rtol=1e-12)
        assert_close(model.predict(X)[:, t], alone.predict(X), rtol=1e-12)
        assert_close(model.coef_std(0.1)[t], alone.coef_std(0.1), rtol=1e-12)


@shapes
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(shape, n_jobs):
    X, Y = problem(shape, n_targets=5)
    serial = StretchyRegressor(density=0.3).fit(X, Y)
    threaded = StretchyRegressor(density=0.3, n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(threaded.support_, serial.support_)
    np.testing.assert_array_equal(threaded.alpha_, serial.alpha_)


def test_the_second_pass_may_change_the_space():
    X, y = problem("wide")
    assert StretchyRegressor().fit(X, y)._state.space == "dual"
    assert StretchyRegressor(density=5).fit(X, y)._state.space == "primal"


def test_constant_columns_are_never_kept():
    X, y = problem("wide")
    X[:, [2, 5]] = 7.0
    model = StretchyRegressor(density=29).fit(X, y)
    assert np.flatnonzero(~model.support_).tolist() == [2, 5]
    assert StretchyRegressor(density=0.5).fit(X, y).support_.sum() == 15


def test_classes_keep_their_own():
    X, y = problem("wide")
    labels = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    model = StretchyClassifier(density=0.2, threshold="zero").fit(X, labels)
    assert model.support_.shape == (3, 30)
    np.testing.assert_array_equal(model.support_.sum(axis=1), 6)
    for code in range(3):
        target = np.where(labels == code, 1.0, -1.0)
        alone = StretchyRegressor(density=0.2).fit(X, target)
        np.testing.assert_array_equal(model.support_[code], alone.support_)
        assert_close(model.decision_function(X)[:, code], alone.predict(X), rtol=1e-12)
