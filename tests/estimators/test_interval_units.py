"""Intervals that leave samples out together: groups, given folds, folds of the whole search."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, TimeSeriesSplit

import skstretch
from skstretch import StretchyRegressorCV
from skstretch.core.crossfit import mass_quantile
from tests import literal
from tests.estimators.samples import new_rows, problem
from tests.estimators.test_intervals import new_features, plus_bounds

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
ONE = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (1.0,)}
SMALL = {**ONE, "a_grid": (-0.2, 0.0), "c_grid": (0.1, 1.0), "n_features_to_select": 1.0}


def grouped(shape=(24, 8), seed=0):
    """A problem with groups of one to five samples, in no order, and weights."""
    X, y = problem(shape, seed=seed)
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat([7, 3, 9, 1, 4, 6, 0, 2], [5, 4, 4, 3, 3, 2, 2, 1]))
    return X, y, groups, rng.uniform(0.5, 2.0, len(y))


def least(values, masses, coverage):
    """The least value with so much mass up to it, by adding up."""
    total = 0.0
    for i in np.argsort(values):
        total += masses[i]
        if total >= coverage - 1e-12:
            return values[i]
    return np.inf


def literal_bounds(X, y, new, units, masses, coverage, weights, k=1.5, c=1.0):
    """Refits without each unit, sample by sample and new row by new row."""
    P, Pn = literal.features(X, -0.2, weights), new_features(X, new, -0.2, weights)
    low, high = np.empty((len(y), len(new))), np.empty((len(y), len(new)))
    for i in range(len(y)):
        rest = units != units[i]
        coef, level = literal.fit(P[rest], y[rest][:, None], k, c, True, weights[rest])
        size = abs(y[i] - (P[i] @ coef + level)[0])
        predicted = (Pn @ coef + level)[:, 0].astype(float)
        low[i], high[i] = predicted - size, predicted + size
    lower = [-least(-column, masses, coverage) for column in low.T]
    return np.array(lower), np.array([least(column, masses, coverage) for column in high.T])


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("shape", [(24, 8), (24, 60)])
@pytest.mark.parametrize("weighted", [False, True])
def test_groups_by_literal_refits(coverage, shape, weighted):
    X, y, groups, weights = grouped(shape)
    weights = weights if weighted else np.ones(len(y))
    new = new_rows(X, 9)
    model = StretchyRegressorCV(**ONE).fit(X, y, sample_weight=weights, groups=groups)
    totals = {g: weights[groups == g].sum() for g in groups}
    masses = np.array([w / totals[g] / 9 for w, g in zip(weights, groups, strict=True)])
    expected = literal_bounds(X, y, new, groups, masses, coverage, weights)
    found = model.predict_interval(new, coverage)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    assert np.isinf(found).all() == (coverage > 8 / 9)


@pytest.mark.parametrize("params", [ONE, SMALL, {"combine": "best", **SMALL}])
def test_groups_of_one_make_the_jackknife(params):
    X, y, _, _ = grouped((24, 40))
    new, plain = new_rows(X, 9), StretchyRegressorCV(**params).fit(X, y)
    model = StretchyRegressorCV(**params).fit(X, y, groups=np.arange(len(y)))
    for method in ("plus", "residual"):
        expected = plain.predict_interval(new, 0.8, method)
        found = model.predict_interval(new, 0.8, method)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_order_names_and_repetition():
    X, y, groups, _ = grouped()
    new, order = new_rows(X, 9), np.random.default_rng(1).permutation(len(y))
    times = np.random.default_rng(2).integers(1, 4, len(y))
    found = StretchyRegressorCV(**SMALL).fit(X, y, sample_weight=times, groups=groups)
    expected = found.predict_interval(new, 0.8)
    named = np.array([f"batch {g}" for g in groups])
    other = StretchyRegressorCV(**SMALL)
    other.fit(X[order], y[order], sample_weight=times[order], groups=named[order])
    np.testing.assert_allclose(other.predict_interval(new, 0.8), expected, rtol=1e-7)
    many = np.repeat(np.arange(len(y)), times)
    other.fit(X[many], y[many], groups=groups[many])
    np.testing.assert_allclose(other.predict_interval(new, 0.8), expected, rtol=1e-7)


def test_a_grouped_splitter_has_the_same_groups():
    X, y, groups, _ = grouped()
    new = new_rows(X, 9)
    plain = StretchyRegressorCV(**ONE).fit(X, y, groups=groups)
    folded = StretchyRegressorCV(cv=GroupKFold(4), **ONE).fit(X, y, groups=groups)
    expected = plain.predict_interval(new, 0.8)
    np.testing.assert_allclose(folded.predict_interval(new, 0.8), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["list", "predefined"])
def test_given_folds_make_cv_plus(kind):
    X, y, _, _ = grouped()
    new, part = new_rows(X, 9), np.arange(len(y)) % 6
    folds = PredefinedSplit(part)
    cv = folds if kind == "predefined" else [*folds.split()]
    model = StretchyRegressorCV(cv=cv, **ONE).fit(X, y)
    masses = np.full(len(y), 1 / (len(y) + 1))
    expected = literal_bounds(X, y, new, part, masses, 0.8, np.ones(len(y)))
    np.testing.assert_allclose(model.predict_interval(new, 0.8), expected, rtol=1e-7, atol=1e-7)


def test_folds_of_exchangeable_samples_make_the_jackknife():
    X, y, _, _ = grouped()
    new = new_rows(X, 9)
    expected = StretchyRegressorCV(**ONE).fit(X, y).predict_interval(new, 0.8)
    for cv in (5, KFold(5, shuffle=True, random_state=0)):
        found = StretchyRegressorCV(cv=cv, **ONE).fit(X, y).predict_interval(new, 0.8)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["plus", "residual"])
def test_an_order_in_time_is_refused(method):
    X, y, _, _ = grouped()
    cv = TimeSeriesSplit(4)
    for given in (cv, [*cv.split(X)]):
        model = StretchyRegressorCV(cv=given, **ONE).fit(X, y)
        with pytest.raises(ValueError, match=r"not exchangeable .* Fit with groups=\.\.\. "):
            model.predict_interval(X, 0.8, method)


@pytest.mark.parametrize("params", [ONE, SMALL])
@pytest.mark.parametrize("targets", [1, 2])
def test_files_and_pickles(params, targets, tmp_path):
    X, y, groups, _ = grouped()
    Y = y if targets == 1 else np.column_stack([y, X[:, 0] - y])
    new, path = new_rows(X, 9), tmp_path / "model.stretchy"
    model = StretchyRegressorCV(**params).fit(X, Y, groups=groups)
    expected = {m: model.predict_interval(new, 0.8, m) for m in ("plus", "residual")}
    assert np.isfinite(expected["plus"]).all()
    skstretch.save(model, path, intervals=True)
    for again in (pickle.loads(pickle.dumps(model)), skstretch.load(path)):
        for method, bounds in expected.items():
            found = again.predict_interval(new, 0.8, method)
            np.testing.assert_allclose(found, bounds, rtol=1e-9)
    skstretch.save(model, path)
    again = skstretch.load(path)
    np.testing.assert_array_equal(
        again.predict_interval(new, 0.8, "residual"), expected["residual"]
    )
    with pytest.raises(ValueError, match="training features"):
        again.predict_interval(new, 0.8)


def test_an_order_in_time_stays_refused_in_files(tmp_path):
    X, y, _, _ = grouped()
    model = StretchyRegressorCV(cv=[*TimeSeriesSplit(4).split(X)], **ONE).fit(X, y)
    skstretch.save(model, tmp_path / "model.stretchy")
    with pytest.raises(ValueError, match="not exchangeable"):
        skstretch.load(tmp_path / "model.stretchy").predict_interval(X, 0.8, "residual")


@pytest.mark.parametrize("with_groups", [False, True])
def test_nested_by_searches_without_each_fold(with_groups):
    X, y = problem((40, 12))
    groups = np.arange(40) // 2 if with_groups else None
    new, params = new_rows(X, 9), {**SMALL, "nested_cv": 5}
    given = {} if groups is None else {"groups": groups}
    model = StretchyRegressorCV(**params).fit(X, y, **given)
    folds = GroupKFold(5) if with_groups else KFold(5, shuffle=True, random_state=0)
    own = clone(model).set_params(nested_cv=None)
    low, high = np.empty((40, 9)), np.empty((40, 9))
    for train, test in folds.split(X, y, groups):
        inner = {} if groups is None else {"groups": groups[train]}
        alone = clone(own).fit(X[train], y[train], **inner)
        size = np.abs(y[test] - alone.predict(X[test]))[:, None]
        low[test], high[test] = alone.predict(new) - size, alone.predict(new) + size
    masses = np.full(40, 1 / 41 if groups is None else 1 / 42)
    expected = (
        [-least(-column, masses, 0.8) for column in low.T],
        [least(column, masses, 0.8) for column in high.T],
    )
    np.testing.assert_allclose(model.predict_interval(new, 0.8, "nested"), expected, rtol=1e-9)
    again = pickle.loads(pickle.dumps(model)).predict_interval(new, 0.8, "nested")
    np.testing.assert_allclose(again, expected, rtol=1e-9)


def test_nested_needs_nested_cv():
    X, y, _, _ = grouped()
    model = StretchyRegressorCV(**ONE).fit(X, y)
    with pytest.raises(ValueError, match=r"fitted without nested_cv, .*: fit with nested_cv=10"):
        model.predict_interval(X, method="nested")


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.8, 0.9, 0.99])
def test_equal_masses_make_ranks(coverage):
    rng = np.random.default_rng(0)
    predictions, residuals = rng.standard_normal((19, 6)), rng.standard_normal(19)
    masses, size = np.full(19, 1 / 20), np.abs(residuals)
    lower, upper = plus_bounds(predictions, residuals, coverage)
    np.testing.assert_array_equal(mass_quantile(predictions.T + size, masses, coverage), upper)
    np.testing.assert_array_equal(-mass_quantile(size - predictions.T, masses, coverage), lower)


def batches(n_batches, size, seed, p=60):
    """Samples of batches that share a shift of all features and one of the target."""
    rng = np.random.default_rng([2024, seed])
    batch = np.repeat(np.arange(n_batches), size)
    X = rng.standard_normal((batch.size, p)) + 0.7 * rng.standard_normal((n_batches, p))[batch]
    y = X[:, :5].sum(axis=1) + rng.standard_normal(n_batches)[batch]
    return X, y + 0.3 * rng.standard_normal(batch.size), batch


def covered(n_batches, size, seed, params, *, together):
    X, y, batch = batches(n_batches, size, seed)
    new, truth, _ = batches(150, 2, 1000 + seed)
    given = {"groups": batch} if together else {}
    lower, upper = StretchyRegressorCV(**params).fit(X, y, **given).predict_interval(new, 0.9)
    return float(((lower <= truth) & (truth <= upper)).mean())


def test_new_batches_are_covered():
    """Asked for 90 %: 80 % are promised, and leaving single samples out gives fewer."""
    params = {"a_grid": (0.0,), "k_grid": (2.0,), "n_features_to_select": 1.0}
    shares = [covered(20, 5, seed, params, together=True) for seed in range(8)]
    alone = [covered(20, 5, seed, params, together=False) for seed in range(8)]
    assert 0.85 < np.mean(shares) < 0.97
    assert np.mean(alone) < np.mean(shares) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n_batches", "size"), [(12, 8), (20, 5), (40, 3)])
def test_new_batches_are_covered_after_a_default_search(n_batches, size):
    shares = [covered(n_batches, size, seed, {}, together=True) for seed in range(20)]
    assert 0.87 < np.mean(shares) < 0.98
