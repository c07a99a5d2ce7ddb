"""Intervals whose width follows the sample."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import skstretch
from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.core.crossfit import learned_spread
from skstretch.solve.choose import LEAST_SPREAD, STRENGTHS

LOADINGS = np.random.default_rng(4).normal(size=(4, 60))


def draw(rng, n, uneven=True):
    """Four factors, of which one scales the noise; that scale too."""
    F = rng.normal(size=(n, 4))
    scale = np.exp(0.8 * F[:, 2]) if uneven else np.ones(n)
    X = F @ LOADINGS + 0.5 * rng.normal(size=(n, 60))
    return X, 2 * F[:, 0] + 0.7 * scale * rng.normal(size=n), scale


def test_spreads_of_left_out_samples_are_those_of_literal_refits():
    rng = np.random.default_rng(0)
    Z, outputs = rng.normal(size=(25, 6)), rng.normal(size=25)
    Z -= Z.mean(axis=0)
    residuals, weights = rng.normal(size=25) * np.exp(Z[:, 0]), rng.integers(1, 3, 25).astype(float)
    found = learned_spread(Z @ Z.T, outputs, residuals, weights, STRENGTHS[::2], LEAST_SPREAD)
    f = outputs - outputs.mean()
    features = np.column_stack([Z / np.sqrt(np.square(Z).sum()), f / np.sqrt(f @ f)])
    size = np.abs(residuals)
    logs = np.log(np.maximum(size, 0.05 * np.median(size)))
    least = np.inf
    for penalty in STRENGTHS[::2]:
        ridge = penalty * np.trace(features @ features.T) / 25
        left = np.empty(25)
        for i in range(25):
            rest = np.arange(25) != i
            w = weights[rest]
            A = np.column_stack([np.ones(24), features[rest]])
            P = np.diag([0.0, *[ridge] * 7])
            coef = np.linalg.solve(A.T @ (w[:, None] * A) + P, A.T @ (w * logs[rest]))
            left[i] = coef[0] + features[i] @ coef[1:]
        error = weights @ np.square(logs - left)
        if error < least:
            least, expected = error, left
    np.testing.assert_allclose(found.left_out, expected, rtol=1e-9)


@pytest.mark.parametrize("uneven", [True, False])
def test_widths_follow_the_noise_where_it_differs(uneven):
    rng = np.random.default_rng(1)
    X, y, _ = draw(rng, 120, uneven)
    new, truth, scale = draw(rng, 1500, uneven)
    model = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0).fit(X, y)
    lower, upper = model.predict_interval(new, 0.9, adaptive=True)
    held, plain = (lower <= truth) & (truth <= upper), model.predict_interval(new, 0.9)
    assert 0.84 < held.mean() < 0.96
    if not uneven:
        assert abs(np.median(upper - lower) / np.median(plain[1] - plain[0]) - 1) < 0.15
        return
    noisy = scale >= np.quantile(scale, 0.8)
    before = (plain[0] <= truth) & (truth <= plain[1])
    assert held[noisy].mean() > before[noisy].mean() + 0.1
    assert spearmanr(upper - lower, np.abs(truth - model.predict(new)))[0] > 0.3


def test_units_and_several_targets():
    X, y, _ = draw(np.random.default_rng(2), 60)
    one = StretchyRegressor(a=0, k=2).fit(X, y).predict_interval(X, adaptive=True)
    both = StretchyRegressor(a=0, k=2).fit(X * 7 - 1, np.column_stack([1e3 * y, y]))
    for ours, theirs in zip(both.predict_interval(X * 7 - 1, adaptive=True), one, strict=True):
        np.testing.assert_allclose(ours, np.column_stack([1e3 * theirs, theirs]), rtol=1e-6)


def test_what_it_needs(tmp_path):
    X, y, _ = draw(np.random.default_rng(2), 40)
    model = StretchyRegressor(a=0, k=2).fit(X, y)
    with pytest.raises(ValueError, match="leave one of them out"):
        model.predict_interval(X, method="nested", adaptive=True)
    skstretch.save(model, tmp_path / "m.stretchy")
    with pytest.raises(ValueError, match="intervals=True"):
        skstretch.load(tmp_path / "m.stretchy").predict_interval(X, adaptive=True)


@pytest.mark.parametrize("several", [False, True])
def test_files_with_intervals_hold_it(tmp_path, several):
    X, y, _ = draw(np.random.default_rng(2), 60)
    X[:, 7] = 3.0  # does not vary
    Y = np.column_stack([y, -3 * y + X[:, 1]]) if several else y
    model = StretchyRegressorCV(k_grid=(1.5, 2.0), c_grid=(0.01, 1.0)).fit(X, Y)
    new = draw(np.random.default_rng(3), 20)[0]
    for _ in range(2):  # and what was loaded can be saved
        skstretch.save(model, tmp_path / "m.stretchy", intervals=True)
        again = skstretch.load(tmp_path / "m.stretchy")
        expected = model.predict_interval(new, adaptive=True)
        np.testing.assert_allclose(again.predict_interval(new, adaptive=True), expected, rtol=1e-12)
        model = again
