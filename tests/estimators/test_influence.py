"""Influence of single samples: literal refits without them, one by one and in pairs."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from skstretch import StretchyClassifierCV, StretchyRegressorCV, load, save
from tests import literal
from tests.estimators.samples import assert_close, new_rows, problem
from tests.references import INTERCEPTS
from tests.search.test_minimisers import KINDS, refit, zscores

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
SHAPES = {"wide": (11, 25), "tall": (14, 4)}
CLOSED = {"a_grid": (-0.3, 0.2), "k_grid": (1.5, 2.0), "c_grid": (0.05, 1.0)}
shapes = pytest.mark.parametrize("shape", SHAPES)


def candidates_of(model):
    """(a, k, c, weights (t,)) of every candidate of a model."""
    table, t = model.weights_, np.atleast_2d(model.coef_).shape[0]
    own = [f"weight_{j}" for j in range(t)] if "weight_0" in table else ["weight"]
    shares = table[own].to_numpy() * np.ones(t)
    return list(zip(table["a"], table["k"], table["c"], shares, strict=True))


def refitted(model, X, Y, rows, weights, intercept):
    """Outputs (n, t) at all samples of the candidates fitted to some rows, mixed."""
    total = 0.0
    for a, k, c, shares in candidates_of(model):
        P = literal.features(X, a, weights)
        coef, constant = literal.fit(P[rows], Y[rows], k, c, intercept, weights[rows])
        total = total + shares * (P @ coef + constant)
    return np.asarray(total, dtype=float)


def checked(model, X, Y, fit, weights, tolerance=1e-9):
    """Predictions, own changes and distances against `fit(rows)`, which gives outputs (n, t)."""
    found, n = model.influence(), len(X)
    everything = np.arange(n)
    whole = fit(everything)
    without = np.array([fit(np.delete(everything, i)) for i in everything])  # (i, j, t)
    own = without[everything, everything]
    cut = np.atleast_1d(getattr(model, "threshold_", 0.0))
    assert_close(found.predicted.reshape(n, -1), whole - cut, tolerance)
    assert_close(found.without.reshape(n, -1), own - cut, tolerance)
    squares = np.einsum("j,ijt->it", weights, (whole - without) ** 2)
    variance = weights @ (Y - own) ** 2 / weights.sum()
    assert_close(found.distance, (squares / (model.dof_ * variance)).mean(axis=1), tolerance)
    return found


@shapes
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("combine", ["average", "best"])
def test_closed_forms_are_literal_refits(shape, intercept, combine):
    X, y = problem(SHAPES[shape])
    Y, weights = y[:, None], np.arange(len(y)) % 3 + 0.5
    model = StretchyRegressorCV(**CLOSED, combine=combine, fit_intercept=intercept)
    model.fit(X, y, sample_weight=weights)
    assert len(candidates_of(model)) > 1 or combine == "best"

    def fit(rows):
        return refitted(model, X, Y, rows, weights, intercept)

    checked(model, X, Y, fit, weights)


@shapes
def test_several_targets(shape):
    X, Y = problem(SHAPES[shape], n_targets=2)
    ones = np.ones(len(Y))
    model = StretchyRegressorCV(**CLOSED).fit(X, Y)
    found = checked(model, X, Y, lambda rows: refitted(model, X, Y, rows, ones, True), ones)
    assert found.without.shape == Y.shape
    columns = found.frame.columns
    assert {"observed_1", "predicted_0", "without_1", "change_0", "distance"} < set(columns)


@shapes
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(shape, n_classes):
    X, y = problem(SHAPES[shape])
    labels = np.array(["c", "a", "b"])[
        np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    ]
    model = StretchyClassifierCV(**CLOSED).fit(X, labels)
    codes = np.searchsorted(model.classes_, labels)
    weights = model._state.model.weights
    Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    Y = Y[:, 1:] if n_classes == 2 else Y

    def fit(rows):
        return refitted(model, X, Y, rows, weights, True)

    found = checked(model, X, Y, fit, weights)
    np.testing.assert_array_equal(found.observed, labels)
    # out-of-fold probabilities of the labels that were given, the least first
    proba = model.predict_proba(X)
    assert found.probability.shape == (len(y),)
    scores = model.cv_predictions_ - model.threshold_
    margins = np.column_stack([np.zeros(len(y)), scores]) if n_classes == 2 else scores
    decision = model._state.decision
    logits = decision.factor * margins + decision.biases
    true = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
    assert_close(found.probability, true[np.arange(len(y)), codes], 1e-9)
    assert proba.shape == true.shape
    assert (np.diff(found.frame["probability"]) >= 0).all()
    assert "doubtful" in str(found)


def minimised(X, y, k, c, kind="free"):
    """Outputs (n, 1) at all samples of an exact minimiser, from a cold start on some rows."""
    Z = zscores(X)

    def fit(rows):
        alpha, m = refit(Z[rows], y[rows], k, c, kind)
        return (Z @ alpha + m)[:, None]

    return fit


@shapes
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_exact_minimisers_are_refitted(shape, intercept):
    X, y = problem(SHAPES[shape])
    grid = {"a_grid": (0.0,), "k_grid": (1.3,), "c_grid": (0.2,)}
    model = StretchyRegressorCV(**grid, fit_intercept=intercept).fit(X, y)
    fit = minimised(X, y, 1.3, 0.2, KINDS[intercept])
    checked(model, X, y[:, None], fit, np.ones(len(y)), 1e-6)


def test_without_regularisation_it_is_cooks_distance():
    """The textbook's ``e^2 h / (p s^2 (1 - h)^2)``, but for the variance."""
    X, y = problem("tall")
    model = StretchyRegressorCV(
        a_grid=(0.0,), k_grid=(2.0,), c_grid=(np.inf,), n_features_to_select=1.0
    ).fit(X, y)
    A = np.column_stack([np.ones(len(y)), X])
    h = np.einsum("ij,ji->i", A, np.linalg.pinv(A))
    e, p = y - LinearRegression().fit(X, y).predict(X), A.shape[1]
    cook = e**2 * h / (p * (1 - h) ** 2)
    alone = np.mean((e / (1 - h)) ** 2)
    assert_close(model.influence().distance, cook / alone, 1e-9)


def test_new_samples_owe_their_prediction_to_training_samples():
    X, y = problem((10, 30))
    new, everything = new_rows(X, 6), np.arange(10)
    model = StretchyRegressorCV(**CLOSED).fit(X, y)
    # zero weights of the new rows leave no trace in the statistics
    both, only = np.vstack([X, new]), np.append(np.ones(10), np.zeros(6))
    P = {a: literal.features(both, a, only) for a, *_ in candidates_of(model)}

    def fit(rows):
        outputs = 0.0
        for a, k, c, share in candidates_of(model):
            coef, constant = literal.fit(P[a][rows], y[rows, None], k, c)
            outputs = outputs + share * (P[a][10:] @ coef + constant)
        return outputs[:, 0]

    lost = np.array([fit(everything) - fit(np.delete(everything, i)) for i in everything])
    assert_close(model.influence(new).changes, lost.T.astype(float), 1e-9)


@pytest.mark.parametrize("cv", [None, 5])
def test_what_changes_nothing(cv):
    """Order and units; samples of weight zero; folds of the search, for the same candidates."""
    X, y = problem((14, 20))
    grid = {**CLOSED, "c_grid": (1.0,), "combine": "best", "cv": cv}
    true = StretchyRegressorCV(**grid).fit(X, y).influence()
    order = np.random.default_rng(0).permutation(len(y))
    moved = (
        StretchyRegressorCV(**{**grid, "cv": None}).fit(1e3 * X[order] + 5.0, y[order]).influence()
    )
    for name in ("distance", "without"):
        assert_close(getattr(moved, name), getattr(true, name)[order], 1e-8)
    more = np.vstack([X[:1] + 9.0, X])
    weights = np.append(0.0, np.ones(len(y)))
    padded = (
        StretchyRegressorCV(**{**grid, "cv": None})
        .fit(more, np.append(0.0, y), weights)
        .influence()
    )
    np.testing.assert_array_equal(padded.samples, np.arange(len(y)) + 1)
    assert_close(padded.distance, true.distance, 1e-8)


def test_an_outlier_and_a_wrong_label_are_found_first():
    X, y = problem((40, 60))
    y = y.copy()
    y[7] += 8 * y.std()
    found = StretchyRegressorCV().fit(X, y).influence()
    assert isinstance(found.frame, pd.DataFrame)
    assert found.frame.index[0] == 7
    assert "sample 7: distance" in str(found).splitlines()[1]
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((60, 5))
    labels = Z[:, 0] + 0.1 * rng.standard_normal(60) > 0
    wrong = int(np.argmax(Z[:, 0]))
    labels[wrong] = not labels[wrong]
    found = StretchyClassifierCV().fit(Z, labels).influence()
    assert found.frame.index[0] == wrong
    assert found.probability[wrong] < 0.1


def test_kept_features_are_held_fixed():
    X, y = problem((20, 30))
    model = StretchyRegressorCV(
        a_grid=(0.0,), k_grid=(2.0,), c_grid=(1.0,), n_features_to_select=5
    ).fit(X, y)
    found, kept, Z = model.influence(), np.flatnonzero(model.support_), zscores(X)
    for i in range(3):
        rest = np.delete(np.arange(20), i)
        coef, constant = literal.fit(Z[np.ix_(rest, kept)], y[rest, None], 2.0, 1.0)
        assert_close(found.without[i], float((Z[i, kept] @ coef + constant)[0]), 1e-9)


def test_trouble_is_named(tmp_path):
    X, y = problem("wide")
    with pytest.raises(NotFittedError):
        StretchyRegressorCV().influence()
    model = StretchyRegressorCV(**CLOSED).fit(X, y)
    with config_context(working_memory=0.001), pytest.raises(MemoryError, match="Pass fewer rows"):
        model.influence(np.tile(X, (20, 1)))
    import dask.array as da

    with pytest.raises(TypeError, match="compute"):
        model.influence(da.from_array(X))
    save(model, tmp_path / "plain.stretchy")
    loaded = load(tmp_path / "plain.stretchy")
    with pytest.raises(ValueError, match="intervals=True"):
        loaded.influence()
    save(model, tmp_path / "whole.stretchy", intervals=True)
    whole = load(tmp_path / "whole.stretchy").influence()
    assert_close(whole.distance, model.influence().distance, 1e-9)
