"""Newton's method on designs: one pass a step, folds, and what it gives beside coefficients."""

import numpy as np
import pytest

from skstretch.core.bridge_products import DenseProducts
from skstretch.core.crossfit import Fold
from skstretch.core.features import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.designs import as_design
from skstretch.solve import Spec, fit_model
from skstretch.solve.newton import minimise, minimised_coefs

KINDS = [*Intercept]


def sample(M, D, seed=0, n_targets=2):
    """Z-scores as a design of the linear quadrant, targets, weights."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((M, D))
    ones, zeros = np.ones(D), np.zeros(D)
    moments = Moments(zeros, ones, Z.min(axis=0), Z.min(axis=0), Z.max(axis=0), zeros > 0)
    design = as_design(Z, Quadrant("linear", moments, 0.0, zeros))
    return Z, design, rng.standard_normal((M, n_targets)) + 1.0, rng.integers(1, 4, M) * 1.0


def spec(k=1.3, c=0.2, intercept=Intercept.FREE):
    return Spec(k, c, intercept, linear=True)


@pytest.mark.parametrize("shape", [(12, 30), (30, 5)], ids=["wide", "tall"])
@pytest.mark.parametrize("intercept", KINDS)
def test_folds_are_literal_refits(shape, intercept):
    _, design, Y, w = sample(*shape)
    found = minimise(design, Y, w, spec(intercept=intercept))
    folds = [Fold(np.arange(i, len(Y), 3), np.arange(i, len(Y), 3)[::-1]) for i in range(3)]
    alone = [Fold(np.array([i]), np.array([i])) for i in range(len(Y))]
    for cut, got in ((folds, found.out_of_fold(folds)), (alone, found.out_of_fold(None))):
        want = []
        for fold in cut:
            kept = np.setdiff1d(np.arange(len(Y)), fold.held)
            model = fit_model(
                design.take_rows(kept), Y[kept], w[kept], spec(intercept=intercept), shape[1]
            )
            outputs = design.take_rows(fold.tested).dot(model.coef.T) + model.level
            want.append(Y[fold.tested] - outputs)
        want = np.vstack(want)
        assert np.abs(got - want).max() <= 1e-8 * np.abs(want).max()


@pytest.mark.parametrize("shape", [(12, 30), (30, 5)], ids=["wide", "tall"])
@pytest.mark.parametrize("intercept", KINDS)
def test_spread_is_that_of_the_derivative(shape, intercept):
    _, design, Y, w = sample(*shape, n_targets=1)
    found, h = minimise(design, Y, w, spec(intercept=intercept)), 1e-5
    J, S = np.empty(shape[::-1]), np.empty((shape[0], shape[0]))
    for i in range(shape[0]):
        ends = []
        for sign in (1, -1):
            moved = Y + sign * h * np.eye(shape[0])[:, [i]]
            ends.append(minimise(design, moved, w, spec(intercept=intercept)).minima[0])
        J[:, i] = (ends[0].alpha - ends[1].alpha) / (2 * h)
        S[:, i] = (ends[0].residual - ends[1].residual) / (2 * h)
    want = (J / w) @ J.T
    top = np.abs(want).max()
    np.testing.assert_allclose(found.covariance(0), want, atol=1e-4 * top)
    np.testing.assert_allclose(found.variance(0), want.diagonal(), atol=1e-4 * top)
    norm = w.sum() - len(w) + np.sum(w[:, None] * S**2 / w)
    e = found.minima[0].residual
    np.testing.assert_allclose(found.noise_variance(0), w @ e**2 / norm, rtol=1e-5)
    np.testing.assert_allclose(found.dof(0), len(w) - np.trace(S), rtol=1e-5)


def test_targets_share_walks():
    _, design, Y, w = sample(15, 40, n_targets=5)
    found = minimise(design, Y, w, spec())
    counted = Counted(found.where.products)
    from skstretch.core.bridge import newton, start

    problems = [found.where.problem(1.3, 0.2, y) for y in Y.T]
    points = newton(counted, start(counted, problems))
    assert counted.steps == max(p.n_iter for p in points)
    assert counted.steps == max(p.n_iter for p in found.points)


class Counted:
    """Passes that count themselves."""

    def __init__(self, products):
        self.products, self.steps = products, 0

    def step(self, trials):
        self.steps += 1
        return self.products.step(trials)

    def coef(self, trial, v):
        return self.products.coef(trial, v)

    def transposed(self, X):
        return self.products.transposed(X)


def test_an_interpolating_fit_has_the_noise_of_left_out_samples():
    _, design, Y, w = sample(8, 40)
    found = minimise(design, Y, w * 0 + 1, spec(c=1e9))
    left_out = found.out_of_fold(None)[:, 0]
    assert found.noise_variance(0) == pytest.approx(np.mean(left_out**2), rel=1e-12)
    assert found.noise_variance(0) > 0


@pytest.mark.parametrize("shape", [(20, 60), (60, 20)], ids=["wide", "tall"])
@pytest.mark.parametrize("intercept", KINDS)
def test_a_power_begins_where_the_one_before_has_ended(shape, intercept, monkeypatch):
    _, design, Y, w = sample(*shape)
    specs = [spec(k, intercept=intercept) for k in (2.0, 1.5, 1.25, 1.1, 1.05, 1.02)]
    asked, step = [], DenseProducts.step
    monkeypatch.setattr(DenseProducts, "step", lambda s, x: asked.append(len(x)) or step(s, x))
    cold = [minimise(design, Y, w, one) for one in specs]
    n_cold = sum(asked)
    asked.clear()
    found = [*minimised_coefs(design, Y, w, specs, np.array([1]))]
    assert 2 * sum(asked) < 0.75 * n_cold
    for coef, one in zip(found, cold, strict=True):
        assert not coef[0].any()
        expected = one.fit(1).coef[:, 0]
        np.testing.assert_allclose(coef[1], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
