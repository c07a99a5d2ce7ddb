"""Samples that a split trains on several times, and what rounding does to a candidate."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from tests import literal
from tests.references import INTERCEPTS
from tests.search.grids import SHAPES, assert_literal, data, evaluated

ALL_C = (1.0, 1e3, 1e6, 1e9, 1e12, np.inf)


def bootstraps(n_samples, n_splits=3, seed=0):
    """Rows drawn with replacement, and those that were not drawn."""
    rng = np.random.default_rng(seed)
    for _ in range(n_splits):
        train = rng.integers(0, n_samples, n_samples)
        assert np.unique(train).size < n_samples
        yield train, np.setdiff1d(np.arange(n_samples), train)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_repetitions_are_fitted(shape, intercept):
    """Against refits on rows that are literally repeated; without a penalty only where M > D."""
    X, Y = data(shape, 2)
    c = (1.0, 1e3, np.inf) if shape == "tall" else (1.0, 1e3)
    assert_literal(X, Y, list(bootstraps(len(X))), c=c, intercept=intercept)


@pytest.mark.parametrize("shape", SHAPES)
def test_repetitions_of_weights(shape):
    X, Y = data(shape)
    weights = np.random.default_rng(3).uniform(0.3, 3.0, len(X))
    assert_literal(X, Y, list(bootstraps(len(X))), c=(1.0, 1e3), weights=weights)


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_repetitions_of_a_selection(shape):
    X, Y = data(shape)
    splits = list(bootstraps(len(X)))
    assert_literal(X, Y, splits, a=(-0.2,), k=(1.25, 2.0), c=(1.0, 1e3), densities=(1.0, 0.5))


def test_repetitions_without_a_penalty():
    """A wide model without penalty passes through its samples, however often they are repeated."""
    X, Y = data("wide")
    splits = list(bootstraps(len(X)))
    once = [(np.unique(train), test) for train, test in splits]
    found = evaluated(X, Y, splits, c=(np.inf,))
    expected = evaluated(X, Y, once, c=(np.inf,))
    for (_, outcome, predicted), (_, _, plain) in zip(found, expected, strict=True):
        np.testing.assert_allclose(predicted, plain, rtol=0, atol=1e-14 / outcome.rcond)


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("search", [StretchyRegressorCV, StretchyClassifierCV])
def test_estimators_repeat(search):
    X, Y = data("tall")
    y = Y[:, 0] if search is StretchyRegressorCV else Y[:, 0] > 3.0
    splits = list(bootstraps(len(X), 4))
    some = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (1.0, 10.0)}
    model = search(**some, cv=splits).fit(X, y)
    once = search(**some, cv=[(np.unique(a), b) for a, b in splits]).fit(X, y)
    assert np.nanmax(np.abs(model.cv_predictions_ - once.cv_predictions_)) > 1e-3


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_errors_are_bounded(shape, folded, intercept):
    """Out-of-fold predictions are known to the `error` of their candidate, whatever its
    condition."""
    rng = np.random.default_rng(0)
    X = np.exp(0.6 * rng.standard_normal(SHAPES[shape]))
    Y = X[:, :1] + 0.1 * rng.standard_normal((len(X), 1))
    splits = list(KFold(4).split(X)) if folded else None
    pairs = literal.leave_one_out(len(X)) if splits is None else splits
    poor = 0
    for candidate, outcome, predictions in evaluated(
        X, Y, splits, a=(-0.2, 0.5, 1.0), k=(1.04, 1.1, 1.25), c=ALL_C, intercept=intercept
    ):
        if outcome.usable:
            P = literal.features(X, candidate.a)
            refitted = literal.out_of_fold(
                P, Y, pairs, candidate.k, candidate.c, intercept, None, X.shape[1]
            )
            assert (np.abs(predictions - refitted).max(axis=0) <= outcome.error).all()
            poor += outcome.rcond < 1e-9
    # where samples and features are equally many, poor candidates are not usable
    assert poor > 0 or shape == "square"


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_errors_of_scores(shape):
    """The column `score_error` bounds the distance to the score of literal refits."""
    rng = np.random.default_rng(0)
    X = np.exp(0.6 * rng.standard_normal(SHAPES[shape]))
    y = X[:, 0] + 0.1 * rng.standard_normal(len(X))
    model = StretchyRegressorCV(a_grid=(0.7,), k_grid=(1.05, 1.1), c_grid=ALL_C).fit(X, y)
    table, P = model.cv_results_, literal.features(X, 0.7)
    pairs = literal.leave_one_out(len(X))
    assert (table["rcond"][table["usable"]] < 1e-8).any()
    for i in np.flatnonzero(table["usable"]):
        k, c = table["param_k"][i], table["param_c"][i]
        refitted = literal.out_of_fold(P, y[:, None], pairs, k, c, True, None, X.shape[1])
        true = -np.mean((y[:, None] - refitted) ** 2)
        assert abs(table["mean_test_score"][i] - true) <= table["score_error"][i]
    assert np.isnan(table["score_error"][~table["usable"]]).all()
