"""Mixtures: weights follow the formula, and the model is the weighted mean of its candidates."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.search.candidates import Candidate
from skstretch.search.choice import (
    HANDICAP,
    TAU,
    class_weights,
    fair_shares,
    regression_weights,
    squared_errors,
    tempered,
)
from tests import literal

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")


def wide(n=30, p=80, seed=0, targets=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    Y = X[:, :targets] + 0.5 * X[:, 5:6] + rng.standard_normal((n, targets))
    return X, Y[:, 0] if targets == 1 else Y


def test_weights_of_a_regression():
    rng = np.random.default_rng(3)
    n, fair = 20, np.array([0.5, 0.25, 0.25])
    residuals = np.array([[1.0], [1.0], [2.0]]) * np.sign(rng.standard_normal((3, n)))
    errors = squared_errors(residuals[:, :, None], np.ones(n), np.zeros(3), n)
    w = regression_weights(errors, float(n), fair)
    # a family of four times the mean square, 4^(-tau n / 2) of its fair share
    shares = np.array([0.5, 0.25, 0.25 * 4 ** (-TAU * n / 2)])
    np.testing.assert_allclose(w, shares / shares.sum(), rtol=1e-12)
    # units of y change nothing, nor does repetition against weights
    for unit in (1e-200, 1e200):
        other = squared_errors(unit * residuals[:, :, None], np.ones(n), np.zeros(3), n)
        np.testing.assert_allclose(regression_weights(other, float(n), fair), w, rtol=1e-9)
    twice = squared_errors(np.tile(residuals, 2)[:, :, None], np.ones(2 * n), np.zeros(3), 2 * n)
    np.testing.assert_allclose(
        squared_errors(residuals[:, :, None], np.full(n, 2.0), np.zeros(3), 2 * n),
        twice,
        rtol=1e-12,
    )
    handicapped = squared_errors(residuals[:, :, None], np.ones(n), np.array([0.0, 1.0, 0.0]), n)
    np.testing.assert_allclose(handicapped, errors * [1.0, 1.0 + HANDICAP / n, 1.0])


def test_few_samples_share_alike_and_many_do_not():
    losses = np.array([1.0, 1.1, 1.5])
    few, many = (tempered(n * 0.1 * losses, np.ones(3)) for n in (5, 5000))
    assert few.min() > 0.25
    assert many[0] > 1.0 - 1e-9
    np.testing.assert_allclose(class_weights(np.zeros(4), 10.0), 0.25)


def test_a_family_that_predicts_without_error_has_everything():
    assert regression_weights(np.array([1.0, 0.0, 2.0]), 10.0, np.ones(3)).tolist() == [0, 1, 0]


def test_fair_shares_are_equal_at_every_fork():
    """Bent, straight on all features or on few; then ridge or not; then one by one."""
    straight = [Candidate(0.0, k, 1.0, 1.0, 1.0) for k in (1.1, 1.5, 2.0)]
    bent = [Candidate(-0.2, k, 1.0, 1.0, 1.0) for k in (1.5, 2.0)]
    few = [Candidate(0.0, 2.0, 1.0, 1.0, density) for density in (1, 10, 0.5)]
    shares = [1 / 12, 1 / 12, 1 / 6, 1 / 6, 1 / 6, 1 / 9, 1 / 9, 1 / 9]
    np.testing.assert_allclose(fair_shares([*straight, *bent, *few]), shares)
    np.testing.assert_allclose(fair_shares(straight), [1 / 4, 1 / 4, 1 / 2])
    np.testing.assert_allclose(fair_shares(few), 1 / 3)


@pytest.mark.parametrize("targets", [1, 3])
def test_the_model_is_the_weighted_mean_of_its_candidates(targets):
    X, y = wide(targets=targets)
    model = StretchyRegressorCV(k_grid=(1.25, 2.0)).fit(X, y)
    table, new = model.weights_, wide(seed=1)[0]
    columns = [f"weight_{j}" for j in range(targets)] if "weight_0" in table else ["weight"]
    weights = table[columns].to_numpy()
    np.testing.assert_allclose(weights.sum(axis=0), 1.0, rtol=1e-12)
    assert len(table["a"]) > 3
    expected, slopes = 0.0, 0.0
    for i in range(len(table["a"])):
        candidate, kept = {name: table[name][i] for name in ("a", "k", "c")}, np.arange(X.shape[1])
        if table["density"][i] != 1.0:
            Z = literal.features(X, 0.0)
            # every target has the features of its own path
            own = y.reshape(len(X), -1)[:, weights[i] > 0]
            kept = literal.lasso_support(Z, own, table["density"][i])
        one = StretchyRegressor(**candidate).fit(X[:, kept], y)
        expected = expected + weights[i] * one.predict(new[:, kept]).reshape(len(new), -1)
        slope = np.zeros((targets, X.shape[1]))
        slope[:, kept] = one.coef_
        slopes = slopes + weights[i][:, None] * slope
    np.testing.assert_allclose(
        model.predict(new).reshape(len(new), -1), expected, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(np.atleast_2d(model.coef_), slopes, rtol=1e-6, atol=1e-9)
    held_out = np.asarray(model.cv_predictions_).reshape(len(X), -1)
    assert -model.best_score_ == pytest.approx(
        np.mean((y.reshape(len(X), -1) - held_out) ** 2), rel=1e-10
    )


def test_linear_candidates_make_a_linear_model():
    X, y = wide()
    model = StretchyRegressorCV(a_grid=(0.0,)).fit(X, y)
    inside = X.mean(axis=0) + 0.3 * (X[:7] - X.mean(axis=0))
    at_mean = model.predict(X.mean(axis=0, keepdims=True))
    linear = at_mean + (inside - X.mean(axis=0)) @ model.coef_
    np.testing.assert_allclose(model.predict(inside), linear, rtol=1e-9)
    np.testing.assert_allclose(model.effect_, model.coef_ * X.std(axis=0), rtol=1e-9)


@cache
def searched_again(cv, change):
    """Weights of all candidates. Automatic folds, by which features are selected, depend on the
    order of the rows."""
    X, y = wide(p=50)
    how = {"n_features_to_select": 1.0} if cv is None else {"cv": cv}
    return (
        StretchyRegressorCV(**how).fit(*(change(X, y) if change else (X, y))).cv_results_["weight"]
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (1e5 * X - 3.0, y),
        lambda X, y: (X, 1e-4 * y),
        lambda X, y: (X[:, ::-1], y),
        lambda X, y: (X[::-1], y[::-1]),
    ],
    ids=["units of X", "units of y", "columns", "rows"],
)
@pytest.mark.parametrize("cv", [None, KFold(5)], ids=["alone", "folds"])
def test_what_must_not_change_the_weights(change, cv):
    first, second = searched_again(cv, None), searched_again(cv, change)
    np.testing.assert_allclose(second, first, atol=1e-5)


def test_weights_count_as_repetitions():
    X, y = wide(n=16, p=40)
    times = np.array([1, 2] * 8)
    grids = {"a_grid": (-0.2,), "cv": [(np.arange(8, 16), np.arange(8))]}
    weighed = StretchyRegressorCV(**grids).fit(X, y, sample_weight=times)
    again = np.repeat(np.arange(16), times)
    splits = [(np.flatnonzero(again >= 8), np.flatnonzero(again < 8))]
    repeated = StretchyRegressorCV(**(grids | {"cv": splits})).fit(X[again], y[again])
    np.testing.assert_allclose(repeated.weights_["weight"], weighed.weights_["weight"], atol=1e-7)
    np.testing.assert_allclose(repeated.predict(X), weighed.predict(X), rtol=1e-6, atol=1e-9)


def test_targets_mix_on_their_own():
    X, Y = wide(targets=2)
    # closed forms: paths of exact minimisers have values of c that all targets share
    both = StretchyRegressorCV(a_grid=(-0.2, 0.1)).fit(X, Y)
    for j in range(2):
        alone = clone(both).fit(X, Y[:, j])
        np.testing.assert_allclose(both.predict(X)[:, j], alone.predict(X), rtol=1e-7, atol=1e-9)


def test_classes_share_candidates_and_weights():
    X, y = load_iris(return_X_y=True)
    model = StretchyClassifierCV().fit(X, y)
    assert model.weights_["weight"].ndim == 1
    assert model.weights_["weight"].sum() == pytest.approx(1.0)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()


def test_intervals_of_the_mixture_are_those_of_its_leave_one_out_models():
    X, y = wide(n=20, p=25)
    model = StretchyRegressorCV(a_grid=(-0.2, 0.0), k_grid=(1.5, 2.0)).fit(X, y)
    lower, upper = model.predict_interval(X[:4], coverage=0.8, method="residual")
    width = np.sort(np.abs(y - model.cv_predictions_))[int(np.ceil(0.8 * 21)) - 1]
    np.testing.assert_allclose(upper - model.predict(X[:4]), width, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X[:4]) - lower, width, rtol=1e-9)


def test_jackknife_plus_of_the_mixture_equals_literal_refits():
    X, y = wide(n=14, p=20)
    grid = {"a_grid": (-0.2, 0.1), "k_grid": (1.5, 2.0), "c_grid": (0.1, 3.0)}
    model = StretchyRegressorCV(**grid).fit(X, y)
    table, predicted, own = model.weights_, np.zeros((4, 14)), np.zeros(14)
    for a, k, c, w in zip(*(table[name] for name in ("a", "k", "c", "weight")), strict=True):
        P = literal.features(X, a)
        for i in range(14):
            rest = np.delete(np.arange(14), i)
            coef, constant = literal.fit(P[rest], y[rest, None], k, c)
            outputs = (P @ coef + constant)[:, 0].astype(float)
            predicted[:, i] += w * outputs[:4]
            own[i] += w * outputs[i]
    size = np.abs(y - own)
    lower = np.sort(predicted - size, axis=1)[:, int(0.2 * 15) - 1]
    upper = np.sort(predicted + size, axis=1)[:, int(0.8 * 15) - 1]
    found = model.predict_interval(X[:4], coverage=0.8)
    np.testing.assert_allclose(found, (lower, upper), rtol=1e-8)


def test_repeated_folds_are_no_more_samples():
    X, y = wide(n=24, p=30)
    once = list(KFold(4).split(X))
    grid = {"a_grid": (-0.2, 0.1)}
    first = StretchyRegressorCV(**grid, cv=once).fit(X, y)
    again = StretchyRegressorCV(**grid, cv=once * 10).fit(X, y)
    np.testing.assert_allclose(
        again.cv_results_["weight"], first.cv_results_["weight"], rtol=1e-9, atol=1e-12
    )
    classes = [StretchyClassifierCV(**grid, cv=cv).fit(X, y > 0) for cv in (once, once * 10)]
    # but for the one pseudo-observation of a class, which weighs less beside more tests
    np.testing.assert_allclose(*(model.cv_results_["weight"] for model in classes), rtol=0.01)
