"""``c="auto"``: against the formula in full, and what must not change it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import PoorTargetsWarning
from skstretch.solve.choose import AUTOMATIC_STRENGTH
from tests.dask_arrays import as_dask
from tests.references import INTERCEPTS

SHAPES = [(30, 80), (80, 30), (40, 40)]


def data(shape, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, shape) * rng.uniform(0.5, 3.0, shape)
    return X, (X[:, :3].sum(axis=1) > 4.5).astype(int), rng.uniform(0.5, 3.0, shape[0])


def formula(X, weights, a, k):
    """c of the relative strength: ``lam = s |sum w K_ii - w'Kw / sum w| / sum w``, K = P Q'."""
    mean = weights @ X / weights.sum()
    scale = np.sqrt(weights @ np.square(X - mean) / weights.sum())
    Z = (X - mean) / scale
    P, r = (Z if a == 0 else np.exp(a * Z)), 1.0 / (k - 1.0)
    K, total = P @ (P**r).T, weights.sum()
    lam = AUTOMATIC_STRENGTH * abs(weights @ K.diagonal() - weights @ K @ weights / total) / total
    return 1.0 / (lam * k)


@pytest.mark.parametrize("solver", ["auto", "krylov"])
@pytest.mark.parametrize(("a", "k"), [(-0.2, 1.25), (-0.2, 2.0), (0.3, 1.5), (0.0, 2.0)])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_formula_for_every_solver_and_storage(shape, a, k, solver):
    X, y, weights = data(shape)
    expected = formula(X, weights, a, k)
    for intercept in INTERCEPTS:
        model = StretchyRegressor(k, "auto", a=a, fit_intercept=intercept, solver=solver)
        for stored in (X, sparse.csr_array(X)):
            found = model.fit(stored, y, weights)
            assert found.c_ == pytest.approx(expected, rel=1e-11)
            given = StretchyRegressor(k, found.c_, a=a, fit_intercept=intercept, solver=solver)
            size = np.abs(found.alpha_).max()
            same = given.fit(stored, y, weights).alpha_
            np.testing.assert_allclose(found.alpha_, same, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize(("shape", "chunks"), [((30, 80), (30, 20)), ((80, 20), (10, 20))])
def test_dask_and_memory_maps_have_the_same(shape, chunks, tmp_path):
    X, y, _ = data(shape)
    expected = StretchyClassifier().fit(X, y)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for stored in (as_dask(X, chunks), mapped):
        model = StretchyClassifier().fit(stored, y)
        assert model.c_ == pytest.approx(expected.c_, rel=1e-11)
        np.testing.assert_allclose(model.alpha_, expected.alpha_, rtol=1e-8, atol=1e-11)


def test_units_permutations_and_repetitions_change_nothing():
    X, y, _ = data((30, 80))
    rng = np.random.default_rng(1)
    c = StretchyClassifier().fit(X, y).c_
    assert StretchyClassifier().fit(X * rng.uniform(1e-3, 1e3, 80), y).c_ == pytest.approx(c)
    rows, columns = rng.permutation(30), rng.permutation(80)
    assert StretchyClassifier().fit(X[rows][:, columns], y[rows]).c_ == pytest.approx(c)
    times = rng.integers(0, 4, 30)
    repeated = StretchyClassifier(threshold="zero").fit(X.repeat(times, axis=0), y.repeat(times))
    weighted = StretchyClassifier(threshold="zero").fit(X, y, sample_weight=times)
    assert repeated.c_ == pytest.approx(weighted.c_, rel=1e-11)
    scores = repeated.decision_function(X)
    np.testing.assert_allclose(scores, weighted.decision_function(X), atol=1e-9)


def test_shift_changes_c_and_not_the_model():
    """``exp(a z + b)`` has other coefficients for every b, and the same predictions."""
    X, y, _ = data((30, 80))
    plain, shifted = (
        StretchyClassifier(k=1.25).fit(X, y),
        StretchyClassifier(k=1.25, b=3.0).fit(X, y),
    )
    np.testing.assert_allclose(shifted.decision_function(X), plain.decision_function(X), atol=1e-9)
    assert shifted.c_ == pytest.approx(plain.c_ * np.exp(-3.0 * (1 + 4.0)))


def test_penalty_factors_have_the_scale_of_penalised_columns():
    X, y, _ = data((30, 80))
    factors = np.r_[np.zeros(2), np.full(78, 3.0)]
    model = StretchyClassifier(penalty_factor=factors).fit(X, y)
    given = StretchyClassifier(c=model.c_, penalty_factor=factors).fit(X, y)
    np.testing.assert_allclose(model.alpha_, given.alpha_, rtol=1e-10, atol=1e-12)
    iterated = StretchyClassifier(penalty_factor=factors, solver="krylov").fit(X, y)
    assert iterated.c_ == pytest.approx(model.c_, rel=1e-11)
    left_out = StretchyClassifier(penalty_factor=np.r_[np.full(40, np.inf), np.ones(40)])
    assert left_out.fit(X, y).c_ == pytest.approx(StretchyClassifier().fit(X[:, 40:], y).c_)


@pytest.mark.parametrize("k", [1.05, 1.3, 1.9])
@pytest.mark.parametrize("shape", SHAPES)
def test_of_an_exact_minimiser_the_trace_is_that_of_ridge(shape, k):
    """The Hessian I + Z W Z' of the dual at the best multiple of y: tr ZWZ' = sum(w) / strength."""
    X, y, w = data(shape)
    c = StretchyRegressor(k, "auto", a=0.0).fit(X, y, w).c_
    Z = X - w @ X / w.sum()
    Z = np.sqrt(w)[:, None] * Z / np.sqrt(w @ Z**2 / w.sum())
    target = np.sqrt(w) * (y - w @ y / w.sum())
    target = Z @ np.linalg.lstsq(Z, target, rcond=None)[0]  # what features reach
    lam, r = 0.25 / c, 1.0 / (k - 1.0)

    def slope(s):  # of the dual objective along s y
        alpha = np.sign(Z.T @ target) * (np.abs(Z.T @ target) * s / (lam * k)) ** r
        return s * target @ target - target @ target + (Z.T @ target) @ alpha

    v = brentq(slope, 0.0, 1.0, xtol=1e-300, rtol=1e-14) * np.abs(Z.T @ target)
    trace = np.sum(r * (v / (lam * k)) ** (r - 1.0) / (lam * k) * np.sum(Z**2, axis=0))
    assert trace == pytest.approx(w.sum() / AUTOMATIC_STRENGTH, rel=1e-6)


def test_exact_minimisers_follow_units_repetitions_and_the_power():
    X, y, _ = data((30, 80))
    y = y + 0.1 * X[:, 5]
    model = StretchyRegressor(1.3, a=0.0)
    plain, scale = model.fit(X, y).predict(X), np.random.default_rng(1).uniform(1e-3, 1e3, 80)
    for unit in (1e-50, 1e-3, 1e50):
        found = model.fit(X * scale, unit * y).predict(X * scale)
        np.testing.assert_allclose(found, unit * plain, rtol=0, atol=1e-8 * unit)
    times = np.random.default_rng(2).integers(0, 4, 30)
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).predict(X)
    weighted = model.fit(X, y, sample_weight=times).predict(X)
    np.testing.assert_allclose(repeated, weighted, atol=1e-8)
    near, ridge = (StretchyRegressor(k, a=0.0).fit(X, y).c_ for k in (2.0 - 1e-6, 2.0))
    assert near == pytest.approx(ridge, rel=1e-4)


def test_where_there_is_nothing_to_weigh_it_is_one():
    X, y, _ = data((30, 80))
    assert StretchyRegressor(c="auto").fit(np.ones((5, 3)), np.arange(5)).c_ == 1.0
    with pytest.warns(PoorTargetsWarning):
        assert StretchyRegressor(1.3, a=0.0).fit(X, 0.0 * y + 2.0).c_ == 1.0


def test_nothing_of_the_sums_stays_with_the_model():
    """K is remembered until the fit is done; a model in memory holds its data alone."""
    X, y, _ = data((30, 80))
    assert StretchyClassifier().fit(X, y)._state.model.design.ready is None


def test_a_grid_lists_numbers():
    X, y, _ = data((30, 80))
    with pytest.raises(ValueError, match='c_grid="auto"'):
        StretchyRegressorCV(c_grid=[1.0, "auto"]).fit(X, y)
