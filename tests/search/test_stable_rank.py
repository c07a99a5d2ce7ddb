"""Candidates whose errors rest on hardly any independent number do not win a search by luck."""

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.crossfit import stable_rank
from skstretch.core.dual import dual_system, spectrum
from skstretch.core.stretch import Intercept, stretch_exponent
from skstretch.solve import choose
from tests import literal
from tests.references import INTERCEPTS
from tests.search.grids import data, prepared_data


@pytest.mark.parametrize("n", [3, 20, 100])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_stable_rank(n, unit):
    rng = np.random.default_rng(n)
    for spread in (0.0, 3.0):
        R = rng.standard_normal((n, n)) * 10.0 ** -rng.uniform(0, spread, n)
        values = np.linalg.svd(R, compute_uv=False) ** 2
        assert stable_rank(unit * R) == pytest.approx(values.sum() / values.max(), rel=0.1)
    assert stable_rank(np.outer(np.arange(1.0, n), np.ones(4))) == pytest.approx(1.0)
    assert stable_rank(np.eye(n)) == pytest.approx(n)


def test_what_is_not_finite_is_not_doubted():
    """Other judgements say why such a candidate cannot be used."""
    assert stable_rank(np.full((3, 3), np.nan)) == np.inf
    assert stable_rank(np.zeros((3, 3))) == np.inf


def literal_matrix(P, k, c, intercept, weights):
    """R of ``R y``: leave-one-out residuals of unit targets, by refits."""
    n, root = len(P), np.sqrt(weights)
    outputs = literal.out_of_fold(P, np.eye(n), literal.leave_one_out(n), k, c, intercept, weights)
    return root[:, None] * (np.eye(n) - np.asarray(outputs, dtype=float)) / root


def some_weights(n, weighted):
    return np.random.default_rng(1).uniform(0.3, 3.0, n) if weighted else np.ones(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("k", [1.5, 2.0])
def test_matrices_are_those_of_refits(k, intercept, weighted):
    """Dual, by LU and by spectrum."""
    X, _ = data((12, 30))
    weights = some_weights(12, weighted)
    P, kind = literal.features(X, -0.2, weights), Intercept.of(intercept)
    design = prepared_data(X, weights, intercept).at(-0.2).design
    [gram] = design.gram([stretch_exponent(k)], weights, None)
    for lam in (1e-3, 1.0, 100.0):
        made = [dual_system(gram, lam / weights, kind)]
        made += [spectrum(gram, weights, kind).inverse(lam)] if k == 2 else []
        true = literal_matrix(P, k, 1.0 / (lam * k), intercept, weights)
        for inverse in made:
            tolerance = max(1e-9, 1e-14 / inverse.rcond) * np.abs(true).max()
            found = inverse.residual_matrix(weights)
            np.testing.assert_allclose(found, true, rtol=0, atol=tolerance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", [(12, 30), (12, 12), (14, 13), (14, 9)])
def test_doubted_are_those_of_a_low_rank(shape, intercept, weighted):
    """Dual and primal candidates of every penalty, against the rank of literal refits."""
    (X, Y), n = data(shape), shape[0]
    weights = some_weights(n, weighted)
    settings = {"k_grid": (1.5, 2.0), "a_grid": (-0.2,), "fit_intercept": intercept}
    search = StretchyRegressorCV(**settings, n_features_to_select=1.0)
    table = search.fit(X, Y[:, 0], sample_weight=weights).cv_results_
    P, judged = literal.features(X, -0.2, weights), []
    for i, reason in enumerate(table["reason"]):
        if reason.startswith("ill") or table["rcond"][i] < 1e-9:
            continue
        k, c = table["param_k"][i], table["param_c"][i]
        R = literal_matrix(P, k, c, intercept, weights)
        values = np.linalg.svd(R, compute_uv=False) ** 2
        rank = values.sum() / values.max()
        if abs(rank - 2.0) > 0.2:  # the rank is estimated to a tenth
            assert ("independent" in reason) == (rank < 2.0), (k, c, rank)
            judged.append(rank < 2.0)
    assert len(judged) > 10
    assert not all(judged)


def noisy(n, D, seed, n_new=1000):
    """Every feature matters a little, and there is as much noise as signal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_new, D))
    signal = X @ rng.standard_normal(D)
    return X, signal + signal.std() * rng.standard_normal(n + n_new)


@pytest.mark.parametrize(("n", "D", "seed"), [(20, 18, 1014), (20, 20, 1016), (40, 42, 1021)])
def test_as_many_features_as_samples(n, D, seed, monkeypatch):
    """These predict a little better than the mean does, or not much worse; before, luck chose."""
    X, y = noisy(n, D, seed)

    def error():
        model = StretchyRegressorCV().fit(X[:n], y[:n])
        return model, np.mean((y[n:] - model.predict(X[n:])) ** 2) / y[n:].var()

    model, doubted = error()
    said = [reason for reason in model.cv_results_["reason"] if "independent" in reason]
    assert said
    assert said[0] == "all errors of left-out samples rest on fewer than 2 independent numbers"
    assert doubted < 1.1
    monkeypatch.setattr(choose, "FEWEST_NUMBERS", 0.0)
    assert error()[1] > 1.7


@pytest.mark.parametrize("case", ["units", "order of samples", "order of features", "order in X"])
@pytest.mark.parametrize("D", [18, 21])
def test_what_does_not_matter(case, D):
    X, y = noisy(20, D, 3)
    X, y = X[:20], y[:20]
    rows, columns = np.random.default_rng(0).permutation(20), np.arange(D)[::-1]
    other = {
        "units": (X * np.logspace(-20, 20, D), 1e30 * y),
        "order of samples": (X[rows], y[rows]),
        "order of features": (X[:, columns], y),
        "order in X": (np.asfortranarray(X), y),
    }[case]
    search = StretchyRegressorCV()
    before = search.fit(X, y).cv_results_["reason"]
    assert any("independent" in reason for reason in before)
    np.testing.assert_array_equal(search.fit(*other).cv_results_["reason"], before)


def test_only_penalties_that_the_search_makes():
    """Those that are given are the choice of who gives them; folds leave several samples out."""
    X, y = noisy(20, 18, 1014)
    for settings in ({"c_grid": (1e2, 1e6), "k_grid": (1.5, 2.0)}, {"cv": 5}):
        model = StretchyRegressorCV(a_grid=(-0.2,), **settings).fit(X[:20], y[:20])
        assert not any("independent" in reason for reason in model.cv_results_["reason"])


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_few_samples_keep_some_candidates(n):
    X, y = noisy(n, n, 0)
    model = StretchyRegressorCV().fit(X[:n], y[:n])
    assert model.cv_results_["usable"].sum() >= 10
    assert np.isfinite(model.predict(X)).all()


def test_classes_too():
    X, y = noisy(20, 19, 5)
    model = StretchyClassifierCV().fit(X[:20], y[:20] > 0)
    assert any("independent" in reason for reason in model.cv_results_["reason"])
