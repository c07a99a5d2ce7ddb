"""A sample weight w counts as w repetitions of the sample."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from tests.estimators.samples import (
    assert_close,
    new_rows,
    plain_fit,
    problem,
    quadrant_features,
)
from tests.references import INTERCEPTS, literal_repeat


def weighted_and_repeated(shape, seed=0, n_targets=None, **params):
    """The same model fitted with integer weights (some zero) and on repeated rows."""
    X, y = problem(shape, n_targets)
    weights = np.random.default_rng(seed).integers(0, 4, len(X))
    assert set(weights) == {0, 1, 2, 3}
    weighted = StretchyRegressor(**params).fit(X, y, sample_weight=weights)
    # repeated rows have no QR factorisation of full rank
    repeated = StretchyRegressor(**params | {"solver": "auto"})
    repeated.fit(*literal_repeat(X, y, weights))
    return weighted, repeated, new_rows(X), weights


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("k", [1.2, 2.0])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_weights_are_repetitions(shape, fit_intercept, k, density):
    weighted, repeated, T, _ = weighted_and_repeated(
        shape, k=k, c=10.0, fit_intercept=fit_intercept, density=density
    )
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    assert_close(weighted.alpha_, repeated.alpha_)
    assert_close(np.append(weighted.intercept_, 1.0), np.append(repeated.intercept_, 1.0))
    assert_close(weighted.predict(T), repeated.predict(T))
    assert_close(weighted.coef_, repeated.coef_)
    assert weighted.dof_ == pytest.approx(repeated.dof_, rel=1e-9)
    assert_close(weighted.coef_std(), repeated.coef_std(), rtol=1e-9)
    assert_close(weighted.coef_std(0.25), repeated.coef_std(0.25))
    assert_close(weighted.coef_covariance(), repeated.coef_covariance(), rtol=1e-9)


@pytest.mark.parametrize("solver", ["dual", "primal", "qr"])
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_every_solver_knows_weights(shape, solver):
    weighted, repeated, T, _ = weighted_and_repeated(shape, k=1.4, c=10.0, solver=solver)
    assert weighted.solver_ == solver
    assert_close(weighted.alpha_, repeated.alpha_)
    assert_close(weighted.predict(T), repeated.predict(T))
    assert weighted.dof_ == pytest.approx(repeated.dof_, rel=1e-9)
    assert_close(weighted.coef_std(), repeated.coef_std(), rtol=1e-9)


def test_dual_coefficients_of_repetitions_add_up():
    weighted, repeated, _, weights = weighted_and_repeated("wide", k=1.4, c=10.0)
    owner = np.repeat(np.arange(len(weights)), weights)
    total = np.bincount(owner, weights=repeated.dual_coef_, minlength=len(weights))
    assert_close(weighted.dual_coef_, total)
    np.testing.assert_array_equal(weighted.dual_coef_[weights == 0], 0.0)


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_several_targets(shape):
    weighted, repeated, T, _ = weighted_and_repeated(shape, n_targets=2, c=10.0, density=0.4)
    assert_close(weighted.alpha_, repeated.alpha_)
    assert_close(weighted.predict(T), repeated.predict(T))
    assert_close(weighted.coef_std(), repeated.coef_std(), rtol=1e-9)


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_real_weights_equal_the_formula(shape, fit_intercept):
    X, y = problem(shape)
    weights = np.random.default_rng(5).uniform(0.01, 5.0, len(y))
    model = StretchyRegressor(k=1.6, c=10.0, fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weights)
    P = quadrant_features(X, weights=weights)
    coef, intercept = plain_fit(P, y, 1.6, 10.0, fit_intercept, weights)
    assert_close(model.alpha_, coef)
    assert_close(model.predict(X), P @ coef + intercept)


@pytest.mark.parametrize("sample_weight", [None, 1, 1.0, [1] * 14])
def test_unit_weights_change_nothing(sample_weight):
    X, y = problem("wide")
    plain = StretchyRegressor().fit(X, y)
    model = StretchyRegressor().fit(X, y, sample_weight=sample_weight)
    np.testing.assert_array_equal(model.alpha_, plain.alpha_)


def test_a_sample_of_weight_zero_may_hold_anything():
    X, y = problem("wide")
    weights = np.ones(len(y))
    weights[4] = 0
    X_wild, y_wild = X.copy(), y.copy()
    X_wild[4], y_wild[4] = 1e9, -1e9
    expected = StretchyRegressor().fit(np.delete(X, 4, axis=0), np.delete(y, 4))
    model = StretchyRegressor().fit(X_wild, y_wild, sample_weight=weights)
    assert_close(model.predict(X), expected.predict(X))
    assert_close(model.coef_std(), expected.coef_std())


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_weights_are_repetitions(shape, n_classes):
    X, y = problem(shape)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = StretchyClassifier(threshold="zero", class_weight="balanced")
    repeated = StretchyClassifier(threshold="zero", class_weight="balanced")
    weighted.fit(X, labels, sample_weight=weights)
    repeated.fit(*literal_repeat(X, labels, weights))
    assert_close(weighted.decision_function(X), repeated.decision_function(X))
    assert_close(weighted.alpha_, repeated.alpha_)


SEARCHES = [
    (search, shape)
    for search in (StretchyRegressorCV, StretchyClassifierCV)
    for shape in ((40, 100), (60, 12))
]


def searched(search, X, y, cv, **keywords):
    """Outputs, score and its error of a whole search."""
    model = search(cv=cv).fit(X, y, **keywords)
    outputs = model.predict if search is StretchyRegressorCV else model.decision_function
    return outputs(T_OF[X.shape[1]]), [model.best_score_, model.best_score_se_]


T_OF = {D: np.random.default_rng(9).standard_normal((20, D)) for D in (100, 12)}


def samples(search, shape):
    """X, targets or classes, whole weights, and folds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(len(X))
    y = y if search is StretchyRegressorCV else y > 0
    return X, y, rng.integers(1, 4, len(X)), [*KFold(5).split(X)]


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(("search", "shape"), SEARCHES[:3])
def test_a_search_does_not_know_the_unit_of_weights(search, shape):
    X, y, weights, cv = samples(search, shape)
    true = searched(search, X, y, cv, sample_weight=weights)
    for unit in (1e-12, 1e12):
        for found, want in zip(
            searched(search, X, y, cv, sample_weight=unit * weights), true, strict=True
        ):
            np.testing.assert_allclose(found, want, rtol=0, atol=1e-9 * np.ptp(true[0]))


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize(("search", "shape"), SEARCHES)
def test_a_search_counts_weights_as_repetitions(search, shape):
    """Where folds are given, which keep the copies of a sample together; in any storage."""
    storage = np.asarray if search is StretchyRegressorCV else sparse.csr_array
    X, y, weights, cv = samples(search, shape)
    rows = np.repeat(np.arange(len(X)), weights)
    folds = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in cv]
    true = searched(search, storage(X), y, cv, sample_weight=weights)
    for found, want in zip(searched(search, storage(X[rows]), y[rows], folds), true, strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-9 * np.ptp(true[0]))


@pytest.mark.parametrize("solver", ["auto", "qr"])
@pytest.mark.parametrize("n_copies", [2, 3])
@pytest.mark.parametrize(("k", "a"), [(2.0, 0.0), (1.5, -0.2), (1.1, -0.2)])
def test_replicates_with_other_targets_lose_no_digits(k, a, n_copies, solver):
    """Wide data: copies of a sample are one with their mean and number, whatever c is."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 60)), rng.standard_normal((10, n_copies, 2))
    w = rng.uniform(0.5, 2.0, (10, n_copies))
    mean, total = np.einsum("ij,ijt->it", w, y) / w.sum(axis=1)[:, None], w.sum(axis=1)
    for c in 10.0 ** np.arange(2, 13, 2):
        model = StretchyRegressor(k=k, a=a, c=c, solver=solver)
        merged = model.fit(X, mean, total)
        coef, intercept, dof = merged.alpha_, merged.intercept_, merged.dof_
        model.fit(np.repeat(X, n_copies, axis=0), y.reshape(-1, 2), w.ravel())
        np.testing.assert_allclose(model.alpha_, coef, rtol=0, atol=1e-10 * np.abs(coef).max())
        np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-9)
        assert model.dof_ == pytest.approx(dof)
        # dual coefficients are weighted residuals, one for each copy
        rest = y.reshape(-1, 2) - model.predict(np.repeat(X, n_copies, axis=0))
        expected = (w.ravel()[:, None] * rest * (c * k)).T
        size = 1e-6 * np.abs(expected).max()
        np.testing.assert_allclose(model.dual_coef_, expected, rtol=0, atol=size)
