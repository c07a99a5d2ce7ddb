"""Analysis of variance: expectation and covariance of the coefficients."""

import numpy as np
import pytest
from sklearn import config_context

from skstretch import StretchyClassifier, StretchyRegressor
from skstretch.core import coef_covariance, expected_coef
from tests import literal
from tests.references import (
    INTERCEPTS,
    exponential_features,
    literal_repeat,
    plain_dual,
    plain_primal,
)

SHAPES = {"wide": (7, 16), "tall": (24, 5)}
SOLVERS = [("wide", "auto"), ("wide", "dual"), ("wide", "qr")]
SOLVERS += [("tall", "auto"), ("tall", "primal"), ("tall", "qr")]

shapes = pytest.mark.parametrize("shape", SHAPES)
systems = pytest.mark.parametrize(("shape", "solver"), SOLVERS)
intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)


def problem(shape, seed=0):
    return exponential_features(*SHAPES[shape], a=0.5, seed=seed)


def linear_map(P, k, c, intercept=False, weights=None):
    """``(A, m)`` with ``coef = A y`` and ``intercept = m y``, by the plain formula."""
    plain = plain_dual if P.shape[0] < P.shape[1] else plain_primal
    return plain(P, np.eye(len(P)), k, c, intercept=intercept, weights=weights)


def literal_noise(P, y, k, c, intercept):
    """``sum e**2 / tr((I - H)'(I - H))``."""
    A, m = linear_map(P, k, c, intercept)
    left = np.eye(len(y)) - P @ A - m
    return np.sum((left @ y) ** 2) / np.trace(left.T @ left)


def fitted(P, y, k=1.5, c=20.0, weights=None, **params):
    model = StretchyRegressor(k, c, quadrant="identity", **params)
    return model.fit(P, y, sample_weight=weights)


def jacobian(model, P, y, weights=None):
    """``d coef / d y`` (D x M) by refitting; exact to rounding, since coef is linear in y."""
    columns, step = [], 1e-3
    for i in range(len(y)):
        ends = []
        for sign in (1, -1):
            moved = y.copy()
            moved[i] += sign * step
            refit = StretchyRegressor(**model.get_params()).fit(P, moved, sample_weight=weights)
            np.testing.assert_array_equal(refit.support_, model.support_)
            ends.append(refit.alpha_)
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.column_stack(columns)


def assert_close(found, expected, rtol):
    """Equal to `rtol` of the largest entry."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())


# The functions of the maths.


@pytest.mark.parametrize("c", [0.1, 50.0, np.inf])
@pytest.mark.parametrize("k", [1.2, 1.6, 2.0])
@shapes
def test_expected_coef_is_its_formula(shape, k, c):
    P, _ = problem(shape)
    alpha = np.random.default_rng(1).standard_normal(P.shape[1])
    A, _ = linear_map(P, k, c)
    # the plain formula carries eps times its condition number, about 1e4
    assert_close(expected_coef(P, alpha, k, c), A @ P @ alpha, 1e-11)


@pytest.mark.parametrize("k", [1.05, 1.3, 2.0, 3.0])
def test_tall_and_unregularised_is_unbiased_for_any_k(k):
    P, _ = problem("tall")
    alpha = np.random.default_rng(1).standard_normal(5)
    assert_close(expected_coef(P, alpha, k, np.inf), alpha, 1e-12)


def test_wide_and_regularised_are_biased():
    P, _ = problem("wide")
    alpha = np.ones(16)
    assert np.linalg.norm(expected_coef(P, alpha, 1.2, np.inf) - alpha) > 0.1
    P, _ = problem("tall")
    assert np.linalg.norm(expected_coef(P, np.ones(5), 1.2, 0.1) - 1.0) > 0.01


@pytest.mark.parametrize("c", [0.1, 50.0, np.inf])
@pytest.mark.parametrize("k", [1.2, 2.0])
@shapes
def test_covariance_is_its_formula(shape, k, c):
    P, _ = problem(shape)
    M = len(P)
    A, _ = linear_map(P, k, c)
    rng = np.random.default_rng(2)
    root = rng.standard_normal((M, M))
    variances = rng.uniform(0.1, 2.0, M)
    for noise, matrix in [
        (0.3, 0.3 * np.eye(M)),
        (variances, np.diag(variances)),
        (root @ root.T, root @ root.T),
    ]:
        assert_close(coef_covariance(P, k, c, noise), A @ matrix @ A.T, 1e-11)


@pytest.mark.parametrize("noise", [np.ones(3), np.ones((7, 3)), np.ones((7, 1))])
def test_covariance_names_a_wrong_shape(noise):
    with pytest.raises(ValueError, match=r"noise_covariance has shape .*\(7,\) or \(7, 7\)"):
        coef_covariance(problem("wide")[0], 1.5, 1.0, noise)


# The estimator.


@pytest.mark.parametrize("k", [1.1, 1.5, 2.0])
@intercepts
@systems
def test_estimator_is_the_formula(shape, solver, intercept, k):
    P, y = problem(shape)
    A, _ = linear_map(P, k, 20.0, intercept)
    model = fitted(P, y, k, fit_intercept=intercept, solver=solver)
    expected = 0.7 * A @ A.T
    assert_close(model.coef_covariance(0.7), expected, 1e-10)
    assert_close(model.coef_std(0.7), np.sqrt(expected.diagonal()), 1e-10)


@intercepts
@systems
def test_estimator_is_the_jacobian(shape, solver, intercept):
    P, y = problem(shape)
    model = fitted(P, y, fit_intercept=intercept, solver=solver)
    J = jacobian(model, P, y)
    # differences over 1e-3 leave 1e3 times the rounding of the coefficients
    assert_close(model.coef_covariance(1.0), J @ J.T, 1e-10)


@intercepts
@systems
def test_default_noise(shape, solver, intercept):
    P, y = problem(shape)
    y = y + 4.0
    noise = literal_noise(P, y, 1.5, 20.0, intercept)
    A, _ = linear_map(P, 1.5, 20.0, intercept)
    model = fitted(P, y, fit_intercept=intercept, solver=solver)
    assert_close(model.coef_covariance(), noise * A @ A.T, 1e-10)
    assert_close(model.coef_std(), np.sqrt(noise * (A @ A.T).diagonal()), 1e-10)


@intercepts
@systems
def test_weights_are_repetitions(shape, solver, intercept):
    P, y = problem(shape)
    weights = np.random.default_rng(3).integers(1, 4, len(y))
    many, often = literal_repeat(P, y, weights)
    A, _ = plain_primal(many, np.eye(len(many)), 1.5, 20.0, intercept=intercept)
    model = fitted(P, y, weights=weights, fit_intercept=intercept, solver=solver)
    # the primal formula of the wide problem has condition number 1e5
    assert_close(model.coef_covariance(1.0), A @ A.T, 1e-9)
    left = np.eye(len(many)) - many @ A
    if intercept is not False:
        _, m = plain_primal(many, np.eye(len(many)), 1.5, 20.0, intercept=intercept)
        left -= m
    noise = np.sum((left @ often) ** 2) / np.trace(left.T @ left)
    assert_close(model.coef_covariance(), noise * A @ A.T, 1e-9)
    assert_close(model.coef_std(), np.sqrt(noise * (A @ A.T).diagonal()), 1e-9)


@intercepts
@shapes
def test_fractional_weights_divide_the_noise(shape, intercept):
    P, y = problem(shape)
    weights = np.random.default_rng(4).uniform(0.2, 3.0, len(y))
    model = fitted(P, y, weights=weights, fit_intercept=intercept)
    A, _ = linear_map(P, 1.5, 20.0, intercept, weights)
    assert_close(model.coef_covariance(1.0), A / weights @ A.T, 1e-10)
    J = jacobian(model, P, y, weights)
    assert_close(model.coef_covariance(1.0), J / weights @ J.T, 1e-10)


@shapes
def test_rows_of_weight_zero_take_no_part(shape):
    P, y = problem(shape)
    weights = np.ones(len(y))
    weights[[0, 3]] = 0.0
    with_zeros = fitted(P, y, weights=weights)
    without = fitted(P[weights > 0], y[weights > 0])
    A, _ = linear_map(P[weights > 0], 1.5, 20.0, True)
    noise = literal_noise(P[weights > 0], y[weights > 0], 1.5, 20.0, True)
    assert_close(with_zeros.coef_covariance(), noise * A @ A.T, 1e-10)
    assert_close(with_zeros.coef_std(), without.coef_std(), 1e-12)


@intercepts
@pytest.mark.parametrize("density", [0.5, 3])
@pytest.mark.parametrize("solver", ["auto", "qr"])
@shapes
def test_density_keeps_the_spread_of_the_kept(shape, solver, density, intercept):
    P, y = problem(shape, seed=1)
    model = fitted(P, y, fit_intercept=intercept, density=density, solver=solver)
    kept = model.support_
    assert 0 < kept.sum() < P.shape[1]
    A, _ = linear_map(P[:, kept], 1.5, 20.0, intercept)
    expected = np.zeros((P.shape[1], P.shape[1]))
    expected[np.ix_(kept, kept)] = A @ A.T
    assert_close(model.coef_covariance(1.0), expected, 1e-10)
    J = jacobian(model, P, y)
    assert_close(model.coef_covariance(1.0), J @ J.T, 1e-10)
    noise = literal_noise(P[:, kept], y, 1.5, 20.0, intercept)
    assert_close(model.coef_std(), np.sqrt(noise * expected.diagonal()), 1e-9)


@pytest.mark.parametrize("density", [1.0, 0.4])
@shapes
def test_several_targets(shape, density):
    P, y = problem(shape)
    Y = np.column_stack([y, np.sin(7 * y), 2 - y])
    model = fitted(P, Y, density=density)
    for t in range(3):
        kept = model.support_[t]
        A, _ = linear_map(P[:, kept], 1.5, 20.0, True)
        for given, noise in [
            (None, literal_noise(P[:, kept], Y[:, t], 1.5, 20.0, True)),
            ([0.1, 2.0, 3.0], [0.1, 2.0, 3.0][t]),
            (0.5, 0.5),
        ]:
            expected = np.zeros((P.shape[1], P.shape[1]))
            expected[np.ix_(kept, kept)] = noise * A @ A.T
            assert_close(model.coef_covariance(given)[t], expected, 1e-9)
            assert_close(model.coef_std(given)[t], np.sqrt(expected.diagonal()), 1e-9)


@shapes
def test_exponential_quadrant_and_a_constant_column(shape):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal(SHAPES[shape]), rng.standard_normal(SHAPES[shape][0])
    X[:, 2] = 7.0
    model = StretchyRegressor(1.3, 50.0, a=-0.4).fit(X, y)
    vary = np.arange(X.shape[1]) != 2
    Z = (X[:, vary] - X[:, vary].mean(axis=0)) / X[:, vary].std(axis=0)
    A, _ = linear_map(np.exp(-0.4 * Z), 1.3, 50.0, True)
    expected = np.zeros((X.shape[1], X.shape[1]))
    slope = -0.4 / X[:, vary].std(axis=0)  # of the transform at the mean: coef_ is in raw units
    expected[np.ix_(vary, vary)] = slope[:, None] * (A @ A.T) * slope
    assert_close(model.coef_covariance(1.0), expected, 1e-9)
    assert model.coef_std()[2] == 0.0


@intercepts
def test_interpolating_fit_has_the_noise_of_left_out_samples(intercept):
    P, y = problem("wide")
    model = fitted(P, y, c=1e15, fit_intercept=intercept)
    splits = literal.leave_one_out(len(y))
    left_out = literal.out_of_fold(P, y[:, None], splits, model.k, model.c, intercept)[:, 0]
    noise = float(np.mean((y - left_out) ** 2))
    assert_close(model.coef_std(), np.sqrt(noise) * model.coef_std(1.0), 1e-5)
    assert_close(model.coef_covariance(), noise * model.coef_covariance(1.0), 1e-5)


@pytest.mark.parametrize("noise", [-1.0, [1.0, 2.0], np.nan, [[1.0]]])
def test_bad_noise_variance(noise):
    model = fitted(*problem("tall"))
    with pytest.raises(ValueError, match="noise_variance="):
        model.coef_std(noise)
    with pytest.raises(ValueError, match="noise_variance="):
        model.coef_covariance(noise)


def test_large_covariance_is_refused_and_std_is_not():
    """300 x 300 numbers take 0.69 MiB; the standard deviations need no such matrix."""
    P, y = exponential_features(6, 300)
    model = fitted(P, y)
    with config_context(working_memory=0.5):
        with pytest.raises(MemoryError, match=r"300 coefficients.*coef_std\(\).*working_memory"):
            model.coef_covariance(1.0)
        std = model.coef_std(1.0)
    assert_close(std, np.sqrt(model.coef_covariance(1.0).diagonal()), 1e-12)


# By simulation.


@pytest.mark.slow
@intercepts
@pytest.mark.parametrize(("shape", "c"), [("wide", 5.0), ("wide", np.inf), ("tall", 5.0)])
def test_simulation(shape, c, intercept):
    """2000 noisy draws: mean and covariance within five standard errors everywhere.

    The variance of a sample variance of n normal numbers is 2/(n-1) of its square; that of a
    covariance ``(s_i s_j + s_ij**2)/(n-1)``. One bound holds for about 150 numbers, so that five
    standard errors are passed by chance once in 10,000 runs; the seed is fixed.
    """
    rng, n, sigma = np.random.default_rng(11), 2000, 0.3
    P, _ = problem(shape)
    M, D = P.shape
    truth = rng.standard_normal(D)
    signal = P @ truth
    noisy = signal[:, None] + sigma * rng.standard_normal((M, n))
    coef = fitted(P, noisy, c=c, fit_intercept=intercept).alpha_
    single = fitted(P, signal, c=c, fit_intercept=intercept)
    covariance = single.coef_covariance(sigma**2)
    expected = expected_coef(P, truth, 1.5, c) if intercept is False else single.alpha_
    std = single.coef_std(sigma**2)
    assert np.all(np.abs(coef.mean(axis=0) - expected) < 5 * std / np.sqrt(n))
    spread = np.sqrt((np.outer(std**2, std**2) + covariance**2) / (n - 1))
    assert np.all(np.abs(np.cov(coef.T) - covariance) < 5 * spread)


@pytest.mark.slow
@shapes
def test_simulated_noise_variance(shape):
    """``sum e**2 / tr((I-H)'(I-H))`` is unbiased where the fit has no bias: y = intercept."""
    rng, n, sigma = np.random.default_rng(12), 2000, 0.3
    P, _ = problem(shape)
    noisy = 2.0 + sigma * rng.standard_normal((len(P), n))
    model = fitted(P, noisy, c=1.0)
    A, _ = linear_map(P, 1.5, 1.0, True)
    estimates = model.coef_std()[:, 0] ** 2 / (A @ A.T)[0, 0]
    assert abs(estimates.mean() - sigma**2) < 5 * estimates.std() / np.sqrt(n)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_spread_of_classifiers(n_classes):
    """That of the regression on +-1, one row for a class."""
    P, y = problem("wide")
    codes = np.digitize(y, np.quantile(y, [0.5] if n_classes == 2 else [0.3, 0.7]))
    params = {"k": 1.5, "c": 1.0, "a": -0.2}
    model = StretchyClassifier(**params).fit(P, codes)
    signs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    signs = signs[:, 1] if n_classes == 2 else signs
    other = StretchyRegressor(**params).fit(P, signs)
    assert_close(model.coef_std(), other.coef_std(), 1e-12)
    assert_close(model.coef_std(0.5), other.coef_std(0.5), 1e-12)
