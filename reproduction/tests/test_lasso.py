"""The LASSO of the study against scikit-learn's, and MATLAB's rules for its path."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import KFold

from reproduction.lasso import (
    cross_validated,
    fit_lasso,
    fit_path,
    largest_penalty,
    penalty_sequence,
    search_lasso,
)

pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")


def literal(X, y, mixing, penalty):
    """MATLAB's problem by scikit-learn: coefficients and intercept for raw features."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    model = ElasticNet(alpha=penalty, l1_ratio=mixing, tol=1e-13, max_iter=10**7)
    model.fit((X - mean) / deviation, y)
    coef = model.coef_ / deviation
    return coef, model.intercept_ - mean @ coef


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X[::3], y[::3]


@pytest.mark.parametrize("mixing", [1.0, 0.5, 0.0001])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_agrees_with_sklearn(diabetes, mixing, container):
    X, y = diabetes
    penalties = largest_penalty(X, y, mixing) * np.array([0.3, 0.05, 0.01])
    path = fit_path(container(X), y, mixing, penalties, tolerance=1e-18)
    for i, penalty in enumerate(penalties):
        coef, intercept = literal(X, y, mixing, penalty)
        scale = np.abs(coef).max()
        np.testing.assert_allclose(path.coef[:, i], coef, rtol=0, atol=1e-6 * scale)
        assert path.intercept[i] == pytest.approx(intercept, rel=1e-6)


def test_default_tolerance_is_near_the_minimum(diabetes):
    X, y = diabetes
    penalty = 0.01 * largest_penalty(X, y, 1.0)
    path = fit_path(X, y, 1.0, np.array([penalty]))
    coef, _ = literal(X, y, 1.0, penalty)
    outputs, best = X @ path.coef[:, 0], X @ coef
    assert np.std(outputs - best) < 0.01 * np.std(y)


def test_one_penalty_predicts_the_mean(diabetes):
    X, y = diabetes
    path = fit_lasso(X, y, 0.5, 1)
    assert not path.coef.any()
    np.testing.assert_array_equal(path.predict(X), np.full(len(y), y.mean()))


def test_two_penalties_are_the_ends(diabetes):
    X, y = diabetes
    path = fit_lasso(X, y, 1.0, 2)
    largest = largest_penalty(X, y, 1.0)
    np.testing.assert_allclose(path.penalties, [largest, 1e-4 * largest])
    assert not path.coef[:, 0].any()
    assert path.coef[:, 1].all()


def test_path_ends_where_the_variance_is_explained():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5))
    y = X @ [1.0, 2.0, 0.0, 0.0, -1.0]
    path = fit_lasso(X, y, 1.0, 100)
    errors = path.errors(X, y)
    assert len(path.penalties) < 100
    assert errors[-1] < 1e-3 * y.var() <= errors[-2]


def test_cross_validation_against_literal_refits(diabetes):
    X, y = diabetes
    penalties = penalty_sequence(largest_penalty(X, y, 0.5), 4, ratio=1e-2)
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    expected = []
    for penalty in penalties:
        errors = []
        for train, test in splits:
            coef, intercept = literal(X[train], y[train], 0.5, penalty)
            errors.append(np.mean((y[test] - X[test] @ coef - intercept) ** 2))
        expected.append(np.mean(errors))
    found = cross_validated(X, y, 0.5, penalties, splits)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_search_takes_the_least_cross_validated_error(diabetes):
    X, y = diabetes
    counts = (1, 2, 5, 10)
    chosen = search_lasso(X, y, 1.0, counts, 5, seed=3)
    splits = list(KFold(5, shuffle=True, random_state=3).split(X))
    every = {}
    for count in counts:
        penalties = fit_lasso(X, y, 1.0, count).penalties
        every.update(zip(penalties, cross_validated(X, y, 1.0, penalties, splits), strict=True))
    assert chosen.penalties[0] == pytest.approx(min(every, key=every.get))
    assert len(chosen.penalties) == 1


def test_search_on_noise_keeps_few_features():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    chosen = search_lasso(X, y, 1.0, (1, 2, 10), 5, seed=0)
    assert np.count_nonzero(chosen.coef) < 10
