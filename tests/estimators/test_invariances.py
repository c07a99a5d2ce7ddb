"""What must not change a fit, or must change it in a known way."""

import numpy as np
import pytest

from skstretch import StretchyRegressor
from tests.estimators.samples import (
    assert_close,
    new_rows,
    plain_fit,
    problem,
    quadrant_features,
)
from tests.references import INTERCEPTS

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
powers = pytest.mark.parametrize("k", [1.1, 1.5, 2.0, 3.0])
intercepts = pytest.mark.parametrize("fit_intercept", INTERCEPTS)


@shapes
@powers
@intercepts
def test_the_fit_is_the_formula(shape, k, fit_intercept):
    X, y = problem(shape)
    model = StretchyRegressor(k=k, c=10.0, fit_intercept=fit_intercept).fit(X, y)
    P = quadrant_features(X)
    coef, intercept = plain_fit(P, y, k, 10.0, fit_intercept)
    assert_close(model.alpha_, coef)
    assert_close(model.predict(X), P @ coef + intercept)
    T = new_rows(X)
    assert_close(model.predict(T), quadrant_features(T, train=X) @ coef + intercept)


@shapes
def test_slope_and_shift_of_the_transform(shape):
    X, y = problem(shape)
    b = np.random.default_rng(8).normal(0, 0.3, X.shape[1])
    model = StretchyRegressor(k=1.5, c=10.0, a=0.35, b=b).fit(X, y)
    coef, intercept = plain_fit(quadrant_features(X, 0.35, b), y, 1.5, 10.0)
    assert_close(model.alpha_, coef)
    T = new_rows(X)
    assert_close(model.predict(T), quadrant_features(T, 0.35, b, train=X) @ coef + intercept)


@shapes
@powers
@intercepts
def test_primal_equals_dual_equals_qr(shape, k, fit_intercept):
    X, y = problem(shape)
    models = [
        StretchyRegressor(k=k, c=10.0, fit_intercept=fit_intercept, solver=solver).fit(X, y)
        for solver in ("primal", "dual", "qr")
    ]
    assert [model.solver_ for model in models] == ["primal", "dual", "qr"]
    first, *others = models
    T = new_rows(X)
    for other in others:
        assert_close(other.alpha_, first.alpha_)
        assert_close(other.predict(T), first.predict(T))
        assert_close(other.dual_coef_, first.dual_coef_, rtol=1e-8)
        assert_close(other.coef_std(), first.coef_std(), rtol=1e-8)
        assert other.dof_ == pytest.approx(first.dof_, rel=1e-9)


@shapes
@powers
def test_a_constant_added_to_y_is_added_to_every_prediction(shape, k):
    X, y = problem(shape)
    T = new_rows(X)
    base = StretchyRegressor(k=k, c=10.0).fit(X, y)
    shifted = StretchyRegressor(k=k, c=10.0).fit(X, y + 1000.0)
    assert_close(shifted.alpha_, base.alpha_)
    assert_close(shifted.predict(T), base.predict(T) + 1000.0, rtol=1e-13)


@shapes
@powers
@intercepts
def test_a_factor_of_y_is_a_factor_of_every_prediction(shape, k, fit_intercept):
    X, y = problem(shape)
    T = new_rows(X)
    base = StretchyRegressor(k=k, c=10.0, fit_intercept=fit_intercept).fit(X, y)
    scaled = StretchyRegressor(k=k, c=10.0, fit_intercept=fit_intercept).fit(X, -7e5 * y)
    assert_close(scaled.alpha_, -7e5 * base.alpha_, rtol=1e-12)
    assert_close(scaled.predict(T), -7e5 * base.predict(T), rtol=1e-12)


@shapes
@intercepts
def test_the_order_of_the_samples(shape, fit_intercept):
    X, y = problem(shape)
    order = np.random.default_rng(4).permutation(len(y))
    base = StretchyRegressor(k=1.3, fit_intercept=fit_intercept).fit(X, y)
    permuted = StretchyRegressor(k=1.3, fit_intercept=fit_intercept).fit(X[order], y[order])
    assert_close(permuted.alpha_, base.alpha_)
    assert_close(permuted.predict(X), base.predict(X))
    assert_close(permuted.dual_coef_, base.dual_coef_[order], rtol=1e-9)
    assert_close(permuted.coef_std(), base.coef_std(), rtol=1e-9)


@shapes
@intercepts
@pytest.mark.parametrize("density", [1.0, 0.4])
def test_the_order_of_the_features(shape, fit_intercept, density):
    X, y = problem(shape)
    order = np.random.default_rng(4).permutation(X.shape[1])
    params = {"k": 1.3, "fit_intercept": fit_intercept, "density": density}
    base = StretchyRegressor(**params).fit(X, y)
    permuted = StretchyRegressor(**params).fit(X[:, order], y)
    assert_close(permuted.alpha_, base.alpha_[order])
    assert_close(permuted.coef_, base.coef_[order])
    np.testing.assert_array_equal(permuted.support_, base.support_[order])
    assert_close(permuted.predict(X[:, order]), base.predict(X))
    assert_close(permuted.coef_std(), base.coef_std()[order], rtol=1e-9)


@shapes
@powers
def test_duplicated_columns_share_their_weight(shape, k):
    """Two copies of p add ``2 p q'`` to K: as one column ``s p`` with ``s**(1 + r) = 2``."""
    X, y = problem(shape)
    r = 1 / (k - 1)
    b = np.zeros(X.shape[1])
    b[3] = np.log(2) / (1 + r)
    single = StretchyRegressor(k=k, c=10.0, b=b).fit(X, y)
    double = StretchyRegressor(k=k, c=10.0).fit(np.column_stack([X, X[:, 3]]), y)
    assert double.alpha_[-1] == pytest.approx(double.alpha_[3], rel=1e-12)
    assert_close(2 * double.alpha_[3], np.exp(b[3]) * single.alpha_[3])
    assert_close(np.delete(double.alpha_[:-1], 3), np.delete(single.alpha_, 3))
    T = new_rows(X)
    assert_close(double.predict(np.column_stack([T, T[:, 3]])), single.predict(T))


@shapes
@powers
@pytest.mark.parametrize("far", [1.0, 100.0])
def test_units_of_the_features(shape, k, far):
    """Predictions do not know the unit; `far` times the range also crosses the bound on z."""
    X, y = problem(shape)
    rng = np.random.default_rng(6)
    unit, shift = 10.0 ** rng.uniform(-6, 6, X.shape[1]), rng.normal(0, 3, X.shape[1])
    centre = X.mean(axis=0)
    T = centre + far * (new_rows(X) - centre)
    base = StretchyRegressor(k=k).fit(X, y)
    other = StretchyRegressor(k=k).fit((X + shift) * unit, y)
    assert_close(other.predict((T + shift) * unit), base.predict(T))
    assert_close(other.alpha_, base.alpha_)
    assert_close(other.coef_ * unit, base.coef_)


@shapes
def test_mirrored_features_mirror_the_slope(shape):
    X, y = problem(shape)
    base = StretchyRegressor(a=-0.2).fit(X, y)
    mirrored = StretchyRegressor(a=0.2).fit(-X, y)
    assert_close(mirrored.alpha_, base.alpha_, rtol=1e-12)
    assert_close(mirrored.predict(-X), base.predict(X), rtol=1e-12)
    assert_close(mirrored.coef_, -base.coef_, rtol=1e-12)


@shapes
@intercepts
def test_several_targets_are_single_fits(shape, fit_intercept):
    X, Y = problem(shape, n_targets=3)
    together = StretchyRegressor(k=1.4, fit_intercept=fit_intercept).fit(X, Y)
    assert together.coef_.shape == (3, X.shape[1])
    assert together.intercept_.shape == (3,)
    assert together.dual_coef_.shape == (3, X.shape[0])
    for t in range(3):
        alone = StretchyRegressor(k=1.4, fit_intercept=fit_intercept).fit(X, Y[:, t])
        assert_close(together.alpha_[t], alone.alpha_, rtol=1e-12)
        assert_close(together.predict(X)[:, t], alone.predict(X), rtol=1e-12)
        # the noise is a sum of squared residuals: their rounding, that of the solution, counts
        # against residuals a thousand times smaller than y, and twice for the square
        residual = np.abs(Y[:, t] - alone.predict(X)).max()
        lost = np.finfo(float).eps / alone.rcond_ * np.abs(Y[:, t]).max() / residual
        assert_close(together.coef_std()[t], alone.coef_std(), rtol=max(1e-12, lost))
        assert_close(
            together.coef_covariance()[t], alone.coef_covariance(), rtol=max(1e-12, 2 * lost)
        )
        assert_close(together.dual_coef_[t], alone.dual_coef_, rtol=1e-11)


def test_one_column_of_targets_keeps_its_axis():
    X, y = problem("wide")
    flat = StretchyRegressor().fit(X, y)
    column = StretchyRegressor().fit(X, y[:, None])
    assert flat.predict(X).shape == (14,)
    assert flat.coef_.shape == flat.coef_.shape == flat.support_.shape == (30,)
    assert column.predict(X).shape == (14, 1)
    assert column.coef_.shape == column.coef_.shape == column.support_.shape == (1, 30)
    np.testing.assert_array_equal(column.predict(X)[:, 0], flat.predict(X))
