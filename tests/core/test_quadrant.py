"""The first-quadrant transform: moments, bound, inverse and slope."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skstretch.core.features import column_moments
from skstretch.core.quadrant import Quadrant
from tests.references import literal_repeat

EPS = np.finfo(np.float64).eps
EPS32 = float(np.finfo(np.float32).eps)
FIELDS = ("mean", "scale", "smallest", "low", "high", "constant")


def sample(M=20, D=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((M, D)) * [1.0, 30.0, 0.02, 5.0][:D] + [0.0, 100.0, -3.0, 8.0][:D]


def quadrant(X, a=-0.4, b=0.0, kind="exp", weights=None):
    moments = column_moments(X, np.ones(len(X)) if weights is None else weights)
    return Quadrant(kind, moments, a, np.broadcast_to(np.float64(b), X.shape[1:]).copy())


def features_of(q, X, bounded=False):
    """P itself, from the block of features."""
    return q.features(X, slice(None), bounded).power(1.0, np.zeros(1))


def test_moments_are_numpys():
    X = sample()
    moments = column_moments(X, np.ones(len(X)))
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(moments.scale, X.std(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(moments.smallest, X.min(axis=0))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(moments.low, Z.min(axis=0), rtol=1e-13)
    np.testing.assert_allclose(moments.high, Z.max(axis=0), rtol=1e-13)
    assert not moments.constant.any()


@given(st.lists(st.integers(1, 5), min_size=20, max_size=20))
def test_weighted_moments_are_those_of_repeated_rows(weights):
    X = sample()
    repeated, _ = literal_repeat(X, np.zeros(20), weights)
    found = column_moments(X, np.array(weights, dtype=float))
    expected = column_moments(repeated, np.ones(len(repeated)))
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found.scale, repeated.std(axis=0), rtol=1e-13)
    for field in FIELDS:
        np.testing.assert_allclose(
            getattr(found, field), getattr(expected, field), rtol=1e-12, atol=1e-14
        )


def test_moments_do_not_depend_on_the_unit_of_weight():
    X, weights = sample(), np.linspace(0.1, 3.0, 20)
    one, other = column_moments(X, weights), column_moments(X, weights * 1e-9)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-14)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1 / 3, 1e300, -1e300, 1e-300, 5e-324])
def test_constant_columns(value):
    X = np.column_stack([np.full(11, value), np.arange(11.0)])
    moments = column_moments(X, np.full(11, 0.3))
    np.testing.assert_array_equal(moments.constant, [True, False])
    assert moments.scale[0] == 1.0
    assert moments.mean[0] == pytest.approx(value, rel=1e-15)


def test_constant_within_rounding():
    """A sum of tenths in another order, a column that went through another unit."""
    rng = np.random.default_rng(0)
    terms = rng.permuted(np.tile([0.1, 0.2, 0.3, 0.7, 1e-3], (50, 1)), axis=1)
    rounded = np.cumsum(terms, axis=1)[:, -1]
    assert np.ptp(rounded) > 0
    X = np.column_stack([rounded, rounded + 1e-13 * np.arange(50)])
    np.testing.assert_array_equal(column_moments(X, np.ones(50)).constant, [True, False])


def test_constant_within_the_rounding_of_float32():
    """The same numbers count as constant for float32 data and as varying for float64 data."""
    base = np.float32(0.7)
    X = np.array([[base], [np.nextafter(base, np.float32(1))], [base]]).astype(np.float64)
    assert np.ptp(X) > 0
    assert column_moments(X, np.ones(3), EPS32).constant.all()
    assert not column_moments(X, np.ones(3)).constant.any()
    assert not column_moments(X + 1e-5 * np.eye(3)[:, :1], np.ones(3), EPS32).constant.any()


@pytest.mark.parametrize("unit", [1e300, 1e160, 1e-160, 1e-300])
def test_moments_scale_with_the_unit(unit):
    """Squares of 1e160 overflow and squares of 1e-160 vanish: the moments do neither."""
    X = sample()
    plain, scaled = (column_moments(x, np.ones(len(X))) for x in (X, X * unit))
    np.testing.assert_allclose(scaled.mean / unit, plain.mean, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(scaled.scale / unit, plain.scale, rtol=1e-13)
    np.testing.assert_allclose(scaled.low, plain.low, rtol=1e-12)
    np.testing.assert_allclose(scaled.high, plain.high, rtol=1e-12)
    np.testing.assert_array_equal(scaled.constant, plain.constant)


def test_units_of_columns_do_not_mix():
    X = sample()
    mixed = column_moments(X * [1e300, 1.0, 1e-300, 1.0], np.ones(len(X)))
    np.testing.assert_allclose(mixed.scale, X.std(axis=0) * [1e300, 1.0, 1e-300, 1.0], rtol=1e-13)


def test_take_keeps_the_chosen_columns():
    X = sample()
    index = np.array([0, 2])
    q = quadrant(X, b=[0.1, 0.2, 0.3, 0.4]).take(index)
    expected = column_moments(X[:, index], np.ones(len(X)))
    for field in FIELDS:
        # numpy sums blocks of another width in another order
        np.testing.assert_allclose(
            getattr(q.moments, field), getattr(expected, field), rtol=1e-13, atol=1e-15
        )
    np.testing.assert_array_equal(q.b, [0.1, 0.3])


@pytest.mark.parametrize("b", [0.0, 0.7, [0.1, -0.2, 0.3, 1.0]])
@pytest.mark.parametrize("a", [-0.2, 3.0])
def test_exp_is_its_formula(a, b):
    X = sample()
    P = np.exp(a * (X - X.mean(axis=0)) / X.std(axis=0) + b)
    # |a z + b| is below 10, so the exponent carries about 10 eps
    np.testing.assert_allclose(features_of(quadrant(X, a, b), X), P, rtol=1e-13)


def test_linear_is_the_z_score_and_identity_the_data():
    X = sample()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    linear, identity = quadrant(X, 0.0, kind="linear"), quadrant(X, kind="identity")
    np.testing.assert_allclose(features_of(linear, X), Z, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(features_of(identity, X), X)
    # new raw data is neither bounded nor checked
    far = X + 1e6
    np.testing.assert_array_equal(features_of(identity, -far, bounded=True), -far)


def test_features_of_some_columns():
    X, columns = sample(), slice(1, 3)
    q = quadrant(X, b=[0.1, 0.2, 0.3, 0.4])
    part = q.features(X[:, columns], columns, False).excess(1.0)
    np.testing.assert_array_equal(part, q.features(X, slice(None), False).excess(1.0)[:, columns])


@pytest.mark.parametrize("a", [-0.4, 0.0, 0.4])
def test_bound_is_the_training_range_widened_by_its_width(a):
    X = sample()
    low, high = X.min(axis=0), X.max(axis=0)
    width = high - low
    edges = np.stack([low - width, high + width])
    beyond = np.stack([low - 5 * width, high + 5 * width])
    just_inside = np.stack([low - 0.999 * width, high + 0.999 * width])
    q = quadrant(X, a, kind="exp" if a else "linear")
    Z = (edges - X.mean(axis=0)) / X.std(axis=0)
    expected = np.exp(a * Z) if a else Z
    np.testing.assert_allclose(features_of(q, beyond, bounded=True), expected, rtol=1e-12)
    for inside in (X, just_inside):
        np.testing.assert_array_equal(
            features_of(q, inside, bounded=True), features_of(q, inside, bounded=False)
        )
    assert np.all(features_of(q, beyond) != features_of(q, beyond, bounded=True))


@pytest.mark.parametrize("b", [0.0, [0.1, -0.2, 0.3, 1.0]])
@pytest.mark.parametrize("a", [-0.2, 2.0])
def test_inverse(a, b):
    X = sample()
    q = quadrant(X, a, b)
    # the logarithm of P near one knows a z to eps, so z to eps / |a|
    np.testing.assert_allclose(
        q.inverse(features_of(q, X)), X, rtol=0, atol=20 * EPS / abs(a) * np.abs(X).max()
    )


def test_inverse_of_a_constant_column():
    X = np.column_stack([np.full(6, 4.0), np.arange(6.0)])
    q = quadrant(X)
    np.testing.assert_allclose(q.inverse(features_of(q, X)), X, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", ["exp", "linear", "identity"])
def test_slope_is_the_derivative_at_the_mean(kind):
    X, rng = sample(), np.random.default_rng(1)
    coef = rng.standard_normal((3, 4))
    q = quadrant(X, -0.7, [0.3, 0.0, -0.5, 1.0], kind)
    mean, slope = X.mean(axis=0), np.empty((3, 4))
    for j in range(4):
        step = 1e-4 * X.std(axis=0)[j]
        ends = features_of(q, mean + np.outer([-step, step], np.eye(4)[j]))
        slope[:, j] = coef @ (ends[1] - ends[0]) / (2 * step)
    # central difference: (a 1e-4)**2 / 6 from the curvature, 150 eps / 1e-4 from rounding where
    # the mean is 150 deviations from zero
    np.testing.assert_allclose(q.slope(coef), slope, rtol=2e-9)
    np.testing.assert_array_equal(q.slope(coef[0]), q.slope(coef)[0])


@pytest.mark.parametrize("a", [-0.5, 0.5])
def test_peaks_and_lowest_log_bound_the_training_features(a):
    X = sample()
    q = quadrant(X, a, [0.0, 1.0, -2.0, 0.5])
    L = np.log(features_of(q, X))
    np.testing.assert_allclose(q.column_peaks(), L.max(axis=0), rtol=1e-12, atol=1e-13)
    assert q.lowest_log() <= L.min() + 1e-13


@pytest.mark.parametrize("kind", ["identity", "linear"])
def test_peaks_of_other_kinds(kind):
    X = sample()
    q = quadrant(X, kind=kind)
    largest = np.abs(features_of(q, X)).max(axis=0)
    np.testing.assert_allclose(q.column_peaks(), np.log(largest), rtol=1e-12, atol=1e-13)
    assert quadrant(np.zeros((3, 1)), kind="identity").column_peaks() == 0.0


def test_overflowing_column_is_named():
    X = sample()
    assert quadrant(X, 100.0).overflowing() is None
    column, peak = quadrant(X, 100.0, [0.0, 0.0, 500.0, 0.0]).overflowing()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert column == 2
    assert peak == pytest.approx(100.0 * Z[:, 2].max() + 500.0, rel=1e-12)
    assert quadrant(X, 1e6, kind="identity").overflowing() is None


def test_data_is_not_written():
    X = sample()
    X.flags.writeable = False
    copy = X.copy()
    for kind in ("exp", "linear", "identity"):
        q = quadrant(X, kind=kind)
        features = q.features(X, slice(None), True)
        features.excess(1.0)
        features.power(1.0, np.zeros(1))
        features.log_peaks(axis=0)
        np.testing.assert_array_equal(X, copy)


def test_features_of_integers_and_float32_are_float64():
    X = np.arange(12).reshape(4, 3) % 5
    q = quadrant(X.astype(float))
    expected = features_of(q, X.astype(float))
    for dtype in (np.int8, np.uint8, np.int64, np.float32):
        found = features_of(q, X.astype(dtype))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
