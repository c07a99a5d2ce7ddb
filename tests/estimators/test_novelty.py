"""`novelty`: invariances, files, storages, and how often fresh samples are called strange."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import skstretch
from skstretch import (
    RecipeRegressorCV,
    SpectralFilter,
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.estimators.samples import reference_of
from skstretch.exceptions import RowsForgottenError
from skstretch.solve.choose import N_COMPONENTS, N_JACKKNIFE

RNG = np.random.default_rng(11)
LOADINGS = RNG.normal(size=(3, 40))
COLUMNS = ["leverage", "distance", "p_leverage", "p_distance", "p_value"]
QUICK = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
CLASSES = StretchyClassifierCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
LOG = StretchyClassifierCV(loss="log", k_grid=(2,))
RIDGE = StretchyRegressor(a=0, k=2)


def samples(n, rng=RNG):
    """Three factors and noise, in units that differ."""
    X = rng.normal(size=(n, 3)) @ LOADINGS + 0.3 * rng.normal(size=(n, 40))
    return X * np.arange(1, 41) + np.arange(40)


X, NEW = samples(60), samples(9)
y = X[:, 0] + RNG.normal(size=60)


def table(model, rows):
    return np.column_stack([model.novelty(rows)[name] for name in COLUMNS])


def literal(X, new, count):
    """Leverage times n, and distance, by the singular value decomposition of z-scores."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z, N = (X - mean) / scale, (new - mean) / scale
    _, s, V = np.linalg.svd(Z, full_matrices=False)
    T = N @ V[:count].T
    inside = (T**2 / (s[:count] ** 2 / len(X))).sum(axis=1)
    return 1 + inside, np.sqrt(np.square(N - T @ V[:count]).mean(axis=1))


def test_leverage_and_distance_are_those_of_principal_components():
    found = StretchyRegressor().fit(X, y).novelty(NEW)
    inside, outside = literal(X, NEW, N_COMPONENTS)
    np.testing.assert_allclose(found["leverage"] * 60, inside, rtol=1e-5)
    np.testing.assert_allclose(found["distance"], outside, rtol=1e-5)


def test_training_samples_are_left_out_with_their_folds():
    """The reference are literal refits without each fold: means, deviations and components."""
    reference = reference_of(StretchyRegressor().fit(X, y)._state)
    norms = np.square((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1)
    folds = np.argsort(np.argsort(norms)) % N_JACKKNIFE
    for number in range(N_JACKKNIFE):
        held = folds == number
        inside, outside = literal(X[~held], X[held], N_COMPONENTS)
        np.testing.assert_allclose(reference.leverage[held] * 60, inside, rtol=1e-5)
        np.testing.assert_allclose(reference.distance[held], outside, rtol=1e-5)


@pytest.mark.parametrize(
    "model",
    [StretchyRegressor(), QUICK, StretchyClassifier(), StretchyClassifierCV(a_grid=(-0.2,))],
    ids=lambda model: type(model).__name__,
)
def test_all_estimators_agree(model):
    """It is a property of the samples: the same for every model that reads all columns."""
    target = y > np.median(y) if "Classifier" in type(model).__name__ else y
    expected = table(StretchyRegressor().fit(X, y), NEW)
    np.testing.assert_allclose(table(clone(model).fit(X, target), NEW), expected, rtol=1e-6)


@pytest.mark.parametrize("change", ["rows", "units", "columns", "sparse", "repetitions", "float32"])
def test_invariances(change):
    expected, weights = table(RIDGE.fit(X, y), NEW), None
    A, t, N, rtol = X, y, NEW, 1e-6
    if change == "rows":
        order = RNG.permutation(60)
        A, t = A[order], t[order]
    elif change == "units":
        factor = RNG.choice([-1000.0, 0.01, 3.0], 40)
        A, N = A * factor + 7, N * factor + 7
    elif change == "columns":
        order = RNG.permutation(40)
        A, N = A[:, order], N[:, order]
    elif change == "sparse":
        A, N = sparse.csr_array(A), sparse.csr_array(N)
    elif change == "float32":
        A, N, rtol = A.astype(np.float32), N.astype(np.float32), 1e-3
    else:
        weights = RNG.integers(0, 3, 60)
        expected = table(clone(RIDGE).fit(np.repeat(X, weights, 0), np.repeat(y, weights)), NEW)
    found = table(clone(RIDGE).fit(A, t, sample_weight=weights), N)
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_only_columns_that_are_read():
    """What no prediction depends on is not compared."""
    model = clone(QUICK).set_params(n_features_to_select=3).fit(X, y)
    strange = NEW.copy()
    strange[:, ~model.support_] += 1e4
    np.testing.assert_array_equal(table(model, strange), table(model, NEW))


def test_strange_samples_are_noticed():
    model = StretchyRegressor().fit(X, y)
    far = X.mean(axis=0) + 6 * (NEW - X.mean(axis=0))
    assert (model.novelty(far)["p_leverage"] <= 0.05).all()
    shifted = NEW.copy()
    shifted[:, 10:14] += 2 * X.std(axis=0)[10:14]
    assert (model.novelty(shifted)["p_distance"] <= 0.05).all()


@pytest.mark.parametrize("model", [QUICK, CLASSES, LOG], ids=["numbers", "classes", "log"])
def test_whole_groups_are_left_out(model):
    """Copies of a sample are no reason to call another one strange."""
    groups, rng = np.repeat(np.arange(20), 3), np.random.default_rng(2)
    A = np.repeat(samples(20, rng), 3, axis=0) + 0.01 * rng.normal(size=(60, 40))
    t = A[:, 0] + rng.normal(size=60)
    t = t if model is QUICK else t > np.median(t)
    alone, known = clone(model).fit(A, t), clone(model).fit(A, t, groups=groups)
    fresh = samples(200, np.random.default_rng(1))
    assert np.mean(alone.novelty(fresh)["p_distance"] <= 0.05) > 0.9
    assert np.mean(known.novelty(fresh)["p_distance"] <= 0.05) < 0.15


@pytest.mark.parametrize("model", [StretchyRegressor(), QUICK], ids=["single", "search"])
def test_files_keep_it(model, tmp_path):
    model = clone(model).fit(X, y)
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    np.testing.assert_array_equal(table(again, NEW), table(model, NEW))


def test_many_samples_are_represented():
    rng = np.random.default_rng(3)
    A = samples(900, rng)
    model = clone(RIDGE).fit(A, A[:, 0])
    order = rng.permutation(900)
    other = clone(RIDGE).fit(A[order], A[order, 0])
    np.testing.assert_allclose(table(model, NEW), table(other, NEW), rtol=1e-6)
    assert reference_of(model._state).leverage.size == 200


def test_recipes():
    model = RecipeRegressorCV(QUICK, {"raw": SpectralFilter(), "d": SpectralFilter(derivative=1)})
    found = model.fit(X, y).novelty(NEW)
    assert list(found) == COLUMNS
    assert len(found) == 9


def test_batches_have_no_reference():
    model = StretchyRegressor().partial_fit(X, y, moments=(X.mean(axis=0), X.std(axis=0)))
    with pytest.raises(RowsForgottenError, match="Fit it again to all samples at once"):
        model.novelty(NEW)


def false_alarms(kind, n, p, n_sets, seed):
    """The share of fresh samples with a p_value of 0.05 or less."""
    rng, shares = np.random.default_rng(seed), []
    for _ in range(n_sets):
        loadings = rng.normal(size=(8, p))
        if kind == "spectra":
            loadings = np.cumsum(loadings, axis=1) * 2.0 ** -np.arange(8)[:, None]

        def draw(n, loadings=loadings):
            if kind == "noise":
                return rng.normal(size=(n, p))
            if kind == "heavy":
                return rng.standard_t(3, (n, p))
            return rng.normal(size=(n, 8)) @ loadings + 0.3 * rng.normal(size=(n, p))

        model = StretchyRegressor(a=0, k=2, c=1.0).fit(draw(n), rng.normal(size=n))
        shares.append(np.mean(model.novelty(draw(200))["p_value"] <= 0.05))
    return float(np.mean(shares))


@pytest.mark.parametrize("kind", ["noise", "factors", "spectra"])
def test_false_alarms_are_few(kind):
    assert 0.02 < false_alarms(kind, 79, 150, 10, 0) < 0.08


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "heavy", "factors", "spectra"])
@pytest.mark.parametrize(("n", "p"), [(79, 300), (79, 1000), (99, 20), (199, 500)])
def test_false_alarms_are_five_percent(kind, n, p):
    assert 0.035 <= false_alarms(kind, n, p, 80, 7) <= 0.065
