"""The shift b of ``exp(a z + b)``: a common one only rescales c, and costs no digit.

``P = exp(b) P0`` gives ``K = exp((1 + r) b) K0``: the model at (b, c) is that at
``(0, c exp((1 + r) b))``, with coefficients ``exp(-b)`` times as large.
"""

import warnings

import dask.array as da
import mpmath
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

import skstretch
from skstretch import (
    FirstQuadrant,
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)

SHIFTS = (-50.0, -4.0, -0.7, 3.0, 50.0)
SOLVERS = ("dual", "primal", "qr", "krylov", "auto")


def data(shape):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    y = X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(shape[0]) + 5.0
    return X, y


def mapped(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


STORAGES = {
    "dense": lambda X, path: X,
    "float32": lambda X, path: X.astype(np.float32),
    "csr": lambda X, path: sparse.csr_array(X),
    "csc": lambda X, path: sparse.csc_array(X),
    "map": mapped,
    "dask": lambda X, path: da.from_array(X, (-1, 9) if X.shape[0] < X.shape[1] else (9, -1)),
}


def agree(found, true, b, r, X, tolerance=1e-11):
    """The same model in other units, relative to the largest number of each kind."""
    pairs = [
        (np.asarray(found.predict(X)), np.asarray(true.predict(X))),
        (found.intercept_, true.intercept_),
        (found.coef_, true.coef_),
        (found.alpha_ * np.exp(b), true.alpha_),
        (found.dof_, true.dof_),
    ]
    if not hasattr(true, "n_samples_seen_"):
        pairs.append((found.dual_coef_ * np.exp((1.0 + r) * b), true.dual_coef_))
    for one, other in pairs:
        size = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * size)
    assert found._state.space == true._state.space
    assert found.solver_ == true.solver_
    np.testing.assert_allclose(found.rcond_, true.rcond_, rtol=1e-6)


@pytest.mark.parametrize("b", SHIFTS)
@pytest.mark.parametrize("per_feature", [False, True], ids=["scalar", "per feature"])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("shape", [(18, 40), (40, 12)], ids=["wide", "tall"])
def test_a_common_shift_rescales_c(shape, storage, per_feature, b, tmp_path):
    X, y = data(shape)
    held = STORAGES[storage](X, tmp_path)
    k, c = 1.1, 30.0
    r = 1.0 / (k - 1.0)
    true = StretchyRegressor(k=k, c=c).fit(held, y)
    shift = np.full(shape[1], b) if per_feature else b
    found = StretchyRegressor(k=k, c=c * np.exp(-(1.0 + r) * b), b=shift).fit(held, y)
    agree(found, true, b, r, held, 3e-6 if storage == "float32" else 1e-11)
    if storage in ("dense", "csr"):
        for one, other in zip(
            found.predict_interval(held, 0.8), true.predict_interval(held, 0.8), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9)
        np.testing.assert_allclose(found.coef_std(), true.coef_std(), rtol=1e-6)


@pytest.mark.parametrize("b", SHIFTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(18, 40), (40, 12)], ids=["wide", "tall"])
def test_every_solver(shape, solver, fit_intercept, b):
    X, y = data(shape)
    k = 1.1 if (solver, shape[0]) != ("dual", 40) else 2.0  # else K is singular to rounding
    r, c = 1.0 / (k - 1.0), 30.0
    params = {"k": k, "solver": solver, "fit_intercept": fit_intercept}
    true = StretchyRegressor(c=c, **params).fit(X, y)
    found = StretchyRegressor(c=c * np.exp(-(1.0 + r) * b), b=b, **params).fit(X, y)
    if solver == "krylov":
        np.testing.assert_allclose(found.predict(X), true.predict(X), rtol=1e-9)
        np.testing.assert_allclose(found.coef_, true.coef_, rtol=0, atol=1e-9)
    else:
        agree(found, true, b, r, X, 1e-9)


@pytest.mark.parametrize("b", SHIFTS)
def test_features_with_shifts_of_their_own(b):
    """Adding b to all of them is the same change of c."""
    X, y = data((18, 40))
    own = np.random.default_rng(0).uniform(-2.0, 2.0, 40)
    k = 1.25
    r = 1.0 / (k - 1.0)
    true = StretchyRegressor(k=k, c=3.0, b=own).fit(X, y)
    found = StretchyRegressor(k=k, c=3.0 * np.exp(-(1.0 + r) * b), b=own + b).fit(X, y)
    agree(found, true, b, r, X)


@pytest.mark.parametrize("b", [-50.0, -4.0, 50.0])
def test_partial_fit(b):
    X, y = data((40, 12))
    r, moments = 4.0, (X.mean(axis=0), X.std(axis=0))

    def batches(model):
        for rows in (slice(0, 15), slice(15, 40)):
            model.partial_fit(X[rows], y[rows], moments=moments)
        return model

    true = batches(StretchyRegressor(k=1.25, c=2.0))
    found = batches(StretchyRegressor(k=1.25, c=2.0 * np.exp(-(1.0 + r) * b), b=b))
    agree(found, true, b, r, X)
    with pytest.raises(ValueError, match=r"b was \[.*and is \[.*now"):
        found.set_params(b=b + 1.0).partial_fit(X, y)


@pytest.mark.parametrize("b", [-48.0, -4.0, 3.0, 50.0])
@pytest.mark.parametrize("classes", [False, True], ids=["regressor", "classifier"])
def test_a_search_finds_the_same_model(b, classes):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    Search = StretchyClassifierCV if classes else StretchyRegressorCV
    y = y > np.median(y) if classes else y
    grids = {"a_grid": (-0.2, 0.3), "k_grid": (1.1, 1.5, 2.0), "n_features_to_select": [1.0, 0.5]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", skstretch.exceptions.GridEdgeWarning)
        true = Search(cv=5, **grids).fit(X, y)
        found = Search(cv=5, b=b, **grids).fit(X, y)
    one, other = (model.weights_.sort_values("row") for model in (found, true))
    names = ["row", "a", "k", "density"]
    assert one[names].values.tolist() == other[names].values.tolist()
    r = 1.0 / (other["k"].to_numpy() - 1.0)
    np.testing.assert_allclose(one["c"] * np.exp((1.0 + r) * b), other["c"], rtol=1e-10)
    np.testing.assert_allclose(one["weight"], other["weight"], rtol=0, atol=1e-9)
    assert found.best_score_ == pytest.approx(true.best_score_, rel=1e-9)
    output = "predict_proba" if classes else "predict"
    np.testing.assert_allclose(getattr(found, output)(X), getattr(true, output)(X), rtol=1e-9)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], true.cv_results_["mean_test_score"], rtol=1e-7
    )


def test_the_search_that_claimed_a_perfect_score():
    X, y = load_diabetes(return_X_y=True)
    params = {"a_grid": (-0.2,), "k_grid": (1.1, 1.25, 1.5, 2.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", skstretch.exceptions.GridEdgeWarning)
        true = StretchyRegressorCV(**params).fit(X, y)
        found = StretchyRegressorCV(b=-4.0, **params).fit(X, y)
    assert found.score(X, y) == pytest.approx(true.score(X, y), rel=1e-9)
    assert found.best_score_ == pytest.approx(true.best_score_, rel=1e-9)
    assert found.score(X, y) > 0.4


SPREAD = {
    "close": np.linspace(-4.6, -3.4, 14),
    "far apart": np.array([-9.0, 3.0] * 7),
    "one of them": np.r_[2.0, np.zeros(13)],
}


@pytest.mark.parametrize("a", [-0.2, 1e-3])
@pytest.mark.parametrize("b", SPREAD)
@pytest.mark.parametrize("storage", ["dense", "csr", "dask"])
def test_every_coefficient_against_sixty_digits(storage, b, a, tmp_path):
    """Also those of features that are small beside others, each by its own size."""
    X, y = data((9, 14))
    held, b, k = STORAGES[storage](X, tmp_path), SPREAD[b], 1.25
    c = 30.0 * float(np.exp(-5.0 * b.max())) / a**2
    coef, fitted = precise_fit(X, y, k, c, a, b)
    found = StretchyRegressor(k=k, c=c, a=a, b=b, solver="dual").fit(held, y)
    # alpha_j = exp(r b_j) Q0_j' beta, with Q0 of order one
    size = np.exp(4.0 * b)
    largest = np.abs(coef / size).max()
    np.testing.assert_allclose(found.alpha_ / size, coef / size, rtol=0, atol=1e-12 * largest)
    np.testing.assert_allclose(found.predict(held), fitted, rtol=1e-12)


@pytest.mark.parametrize("solver", ["dual", "primal", "qr"])
@pytest.mark.parametrize("b", [-2.0, -1.0, 0.5])
def test_the_column_of_ones_stands_beside_shifted_features(solver, b):
    """Nothing is taken out of them, and yet they keep their digits."""
    X, y = data((9, 14))
    k, a = 1.1, -0.2
    c = 30.0 * float(np.exp(-11.0 * b))
    coef, fitted = precise_fit(X, y, k, c, a, np.full(14, b), column=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", skstretch.exceptions.IllConditionedWarning)
        found = StretchyRegressor(k=k, c=c, a=a, b=b, solver=solver, fit_intercept="column").fit(
            X, y
        )
    np.testing.assert_allclose(found.predict(X), fitted, rtol=1e-9)
    np.testing.assert_allclose(found.alpha_, coef, rtol=0, atol=1e-8 * np.abs(coef).max())


def precise_fit(X, y, k, c, a, b, column=False):
    """Coefficients and fitted values with 60 digits: a free intercept, or a column of ones."""
    with mpmath.workdps(60):
        M, D = X.shape
        r, lam = 1 / (mpmath.mpf(k) - 1), 1 / (mpmath.mpf(c) * mpmath.mpf(k))
        P = mpmath.matrix(M, D)
        for j in range(D):
            values = [mpmath.mpf(float(x)) for x in X[:, j]]
            mean = sum(values) / M
            scale = mpmath.sqrt(sum((x - mean) ** 2 for x in values) / M)
            for i in range(M):
                P[i, j] = mpmath.exp(a * (values[i] - mean) / scale + float(b[j]))
        Q = P.apply(lambda p: p**r)
        A = mpmath.matrix(M + 1, M + 1)
        K = P * Q.T
        for i in range(M):
            for j in range(M):
                A[i, j] = K[i, j] + (lam if i == j else 0)
            A[i, M] = A[M, i] = 1
        A[M, M] = -1 if column else 0  # the sum of beta is the weight of the column, or zero
        solution = mpmath.lu_solve(A, mpmath.matrix([*map(float, y), 0.0]))
        coef = Q.T * mpmath.matrix(solution[:M])
        fitted = P * coef
        return (
            np.array([float(v) for v in coef]),
            np.array([float(v + solution[M]) for v in fitted]),
        )


@pytest.mark.parametrize("b", [-50.0, -4.0])
@pytest.mark.parametrize("intervals", [False, True])
def test_files_and_classes(b, intervals, tmp_path):
    X, y = data((18, 40))
    model = StretchyRegressor(k=1.25, c=3.0 * np.exp(-5.0 * b), b=b).fit(X, y)
    skstretch.save(model, tmp_path / "model.stretchy", intervals=intervals)
    loaded = skstretch.load(tmp_path / "model.stretchy")
    np.testing.assert_array_equal(loaded.alpha_, model.alpha_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(loaded.dual_coef_, model.dual_coef_, rtol=1e-14)
    np.testing.assert_allclose(loaded.coef_, model.coef_, rtol=1e-14)
    if intervals:
        for one, other in zip(loaded.predict_interval(X), model.predict_interval(X), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    labels = y > np.median(y)
    true = StretchyClassifier(k=1.25, c=3.0).fit(X, labels)
    found = StretchyClassifier(k=1.25, c=3.0 * np.exp(-5.0 * b), b=b).fit(X, labels)
    np.testing.assert_allclose(found.predict_proba(X), true.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("b", SHIFTS)
def test_the_transform_alone(b):
    """It hands out exp(a z + b) itself."""
    X, _ = data((18, 6))
    P, P0 = FirstQuadrant(b=b).fit_transform(X), FirstQuadrant().fit_transform(X)
    np.testing.assert_allclose(P, np.exp(b) * P0, rtol=1e-13)
    np.testing.assert_allclose(FirstQuadrant(b=b).fit(X).inverse_transform(P), X, atol=1e-12)


def test_a_path_and_lazy_coefficients_are_the_users():
    X, y = data((18, 40))
    b, k = -4.0, 1.25
    true = StretchyRegressor(k=k, c=3.0).fit(X, y)
    blocks = da.from_array(X, chunks=(-1, 9))
    found = StretchyRegressor(k=k, c=3.0 * np.exp(-5.0 * b), b=b, solver="dual").fit(blocks, y)
    np.testing.assert_allclose(found.lazy_coef().compute(), found.coef_, rtol=1e-13)
    cs = np.array([0.1, 1.0, 10.0])
    _, expected = true.effect_path(values=cs)
    _, effects = found.effect_path(values=cs * np.exp(-5.0 * b))
    np.testing.assert_allclose(effects, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
