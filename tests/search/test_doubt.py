"""Cells whose errors rest on hardly any independent number do not win a search by luck."""

import numpy as np
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.crossfit import stable_rank
from skstretch.search import cells, closed
from tests import literal
from tests.references import INTERCEPTS
from tests.search.grids import data


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
    """Other judgements say why such a cell cannot be used."""
    assert stable_rank(np.full((3, 3), np.nan)) == np.inf
    assert stable_rank(np.zeros((3, 3))) == np.inf


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(("shape", "near"), [((12, 30), True), ((12, 30), False), ((14, 9), False)])
def test_matrices_are_those_of_refits(shape, near, intercept, weighted, monkeypatch):
    """R of every cell, dual and primal, by LU and spectrum: residuals of unit targets.

    Penalties that share an inverse share its R, which is close to theirs.
    """
    (X, Y), n = data(shape), shape[0]
    if not near:
        monkeypatch.setattr(closed, "NEAR_SIDE", 0)
    weights = np.random.default_rng(1).uniform(0.3, 3.0, n) if weighted else None
    found, ask = [], cells.tells_nothing
    monkeypatch.setattr(closed, "tells_nothing", lambda R: found.append(R) or ask(R))
    settings = {"k_grid": (1.5, 2.0), "a_grid": (-0.2,), "fit_intercept": intercept}
    search = StretchyRegressorCV(**settings, density_grid=(1.0,), rule="mix", nested=False)
    search.fit(X, Y[:, 0], sample_weight=weights)
    table, root = search.cv_results_, np.sqrt(np.ones(n) if weights is None else weights)
    P = literal.features(X, -0.2, weights)
    sound = [i for i in range(len(table["rcond"])) if not table["reason"][i].startswith("ill")]
    assert len(found) == len(sound)
    assert len(found) > 20
    for i, R in zip(sound, found, strict=True):
        cell = P, np.eye(n), literal.leave_one_out(n), table["param_k"][i], table["param_c"][i]
        outputs = np.asarray(literal.out_of_fold(*cell, intercept, weights), dtype=float)
        true = root[:, None] * (np.eye(n) - outputs) / root
        size = np.abs(true).max()
        tolerance = max(1e-3 if near else 1e-9, 1e-14 / table["rcond"][i])
        np.testing.assert_allclose(R, true, rtol=0, atol=tolerance * size)


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
        model = StretchyRegressorCV(nested=False).fit(X[:n], y[:n])
        return model, np.mean((y[n:] - model.predict(X[n:])) ** 2) / y[n:].var()

    model, doubted = error()
    said = [reason for reason in model.cv_results_["reason"] if "independent" in reason]
    assert said
    assert said[0] == "all errors of left-out samples rest on fewer than 2 independent numbers"
    assert doubted < 1.1
    monkeypatch.setattr(cells, "DOUBTED_SAMPLES", 0)
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
    search = StretchyRegressorCV(nested=False)
    before = search.fit(X, y).cv_results_["reason"]
    assert any("independent" in reason for reason in before)
    np.testing.assert_array_equal(search.fit(*other).cv_results_["reason"], before)


def test_only_penalties_that_the_search_makes():
    """Those that are given are the choice of who gives them; folds leave several samples out."""
    X, y = noisy(20, 18, 1014)
    for settings in ({"c_grid": (1e2, 1e6), "k_grid": (1.5, 2.0)}, {"cv": 5}):
        model = StretchyRegressorCV(a_grid=(-0.2,), nested=False, **settings).fit(X[:20], y[:20])
        assert not any("independent" in reason for reason in model.cv_results_["reason"])


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_few_samples_keep_some_cells(n):
    X, y = noisy(n, n, 0)
    model = StretchyRegressorCV(nested=False).fit(X[:n], y[:n])
    assert model.cv_results_["usable"].sum() >= 10
    assert np.isfinite(model.predict(X)).all()


def test_classes_too():
    X, y = noisy(20, 19, 5)
    model = StretchyClassifierCV(nested=False).fit(X[:20], y[:20] > 0)
    assert any("independent" in reason for reason in model.cv_results_["reason"])
