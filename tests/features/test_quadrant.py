"""The first-quadrant transform: z-score, then ``exp(a z + b)``."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from skstretch import FirstQuadrant, StretchyRegressor


def data(M=30, D=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((M, D)) * rng.uniform(0.1, 50, D) + rng.uniform(-100, 100, D)


@pytest.mark.parametrize("a", [-0.2, 0.2, 3.0, -1e-6])
@pytest.mark.parametrize("b", [0.0, 1.5, [0.1, -0.2, 0.3, -4.0]])
def test_formula(a, b):
    X = data()
    P = FirstQuadrant(a, b).fit_transform(X)
    expected = np.exp(a * StandardScaler().fit_transform(X) + np.asarray(b))
    np.testing.assert_allclose(P, expected, rtol=1e-13)
    assert (P > 0).all()


def test_new_data_is_measured_by_the_training_data():
    X, T = data(), data(seed=1) * 0.01 + data().mean(axis=0)
    P = FirstQuadrant().fit(X).transform(T)
    np.testing.assert_allclose(P, np.exp(-0.2 * (T - X.mean(0)) / X.std(0)), rtol=1e-13)


def test_weights_are_repetitions():
    X = data()
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = FirstQuadrant().fit(X, sample_weight=weights)
    repeated = FirstQuadrant().fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, rtol=1e-14)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-14)
    far = X * 1e6
    np.testing.assert_allclose(weighted.transform(far), repeated.transform(far), rtol=1e-12)


def test_bound():
    """Beyond the training range by its width on either side, z stands still."""
    X = data()
    low, high, width = X.min(axis=0), X.max(axis=0), np.ptp(X, axis=0)
    bounded, free = FirstQuadrant(a=0.3).fit(X), FirstQuadrant(a=0.3, bound=False).fit(X)
    edge = np.vstack([low - width, high + width])
    np.testing.assert_allclose(bounded.transform(edge), free.transform(edge), rtol=1e-12)
    beyond = np.vstack([low - 3 * width, high + 1e9 * width])
    np.testing.assert_allclose(bounded.transform(beyond), bounded.transform(edge), rtol=1e-12)
    inside = np.vstack([low - 0.9 * width, high + 0.9 * width])
    np.testing.assert_array_equal(bounded.transform(inside), free.transform(inside))
    z = (low - 3 * width - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(free.transform(beyond[:1])[0], np.exp(0.3 * z), rtol=1e-12)


@pytest.mark.parametrize("b", [0.0, [0.5, -1.0, 0.0, 2.0]])
def test_inverse(b):
    X = data()
    quadrant = FirstQuadrant(-0.7, b).fit(X)
    np.testing.assert_allclose(quadrant.inverse_transform(quadrant.transform(X)), X, rtol=1e-12)


def test_float32_stays_float32():
    X = data().astype(np.float32)
    quadrant = FirstQuadrant().fit(X)
    P = quadrant.transform(X)
    assert P.dtype == quadrant.inverse_transform(P).dtype == np.float32
    exact = FirstQuadrant().fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(P, exact, rtol=1e-7)


def test_integers():
    X = np.arange(12).reshape(6, 2)
    P = FirstQuadrant().fit_transform(X)
    np.testing.assert_array_equal(P, FirstQuadrant().fit_transform(X.astype(float)))
    assert P.dtype == np.float64


@pytest.mark.parametrize("value", [0.0, 3.5, -1e17, 1e300])
def test_constant_columns(value):
    X = np.column_stack([data(), np.full(30, value)])
    quadrant = FirstQuadrant(b=0.25).fit(X)
    assert quadrant.scale_[-1] == 1.0
    assert quadrant.mean_[-1] == value
    np.testing.assert_array_equal(quadrant.transform(X)[:, -1], np.exp(0.25))
    T = X.copy()
    T[:, -1] = 99.0
    np.testing.assert_array_equal(quadrant.transform(T)[:, -1], np.exp(0.25))


def test_one_sample():
    np.testing.assert_array_equal(FirstQuadrant().fit_transform([[3.0, -8.0]]), 1.0)


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_units(exponent):
    """Also where squares leave the range of float64."""
    X = data()
    base = FirstQuadrant(a=0.4).fit_transform(X)
    scaled = FirstQuadrant(a=0.4).fit_transform(X * 2.0**exponent)
    np.testing.assert_array_equal(scaled, base)


def test_nothing_is_written():
    X = data()
    X.flags.writeable = False
    quadrant = FirstQuadrant().fit(X)
    P = quadrant.transform(X)
    P.flags.writeable = False
    quadrant.inverse_transform(P)


@pytest.mark.parametrize(
    ("params", "seen", "way_out"),
    [
        ({"a": 0.0}, "a=0.0", "not zero"),
        ({"a": np.nan}, "a=nan", "finite"),
        ({"a": np.inf}, "a=inf", "finite"),
        ({"b": [1.0, 2.0]}, "b has shape (2,)", "one for each of the 4 features"),
        ({"b": np.nan}, "nan", "finite number"),
    ],
)
def test_parameters(params, seen, way_out):
    with pytest.raises(ValueError, match=re.escape(seen)) as caught:
        FirstQuadrant(**params).fit(data())
    assert way_out in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "seen"),
    [
        (-np.ones(30), "negative entry (-1)"),
        (np.zeros(30), "zero for every sample"),
        (np.ones(29), "[30, 29]"),
        (np.ones((30, 1)), "shape (30, 1)"),
        (np.full(30, np.nan), "contains NaN"),
    ],
)
def test_bad_weights(weights, seen):
    """They are refused as those of the estimators are."""
    for model in (FirstQuadrant(), StretchyRegressor()):
        with pytest.raises(ValueError, match=re.escape(seen)):
            model.fit(data(), np.arange(30.0), sample_weight=weights)


def test_overflow_is_an_error():
    X = data()
    with pytest.raises(ValueError, match=r"overflows at row \d+, column \d.*smaller \|a\|"):
        FirstQuadrant(a=700.0).fit_transform(X)
    free = FirstQuadrant(bound=False).fit(X)
    with pytest.raises(ValueError, match=r"overflows at row 0, column 0.*bound=True"):
        free.transform(X.mean(axis=0, keepdims=True) - 1e5 * X.std(axis=0))


def test_inverse_of_what_is_not_positive():
    quadrant = FirstQuadrant().fit(data())
    with pytest.raises(ValueError, match=r"-2.*positive"):
        quadrant.inverse_transform(np.full((1, 4), -2.0))
    with pytest.raises(ValueError, match=r"\(1, 3\).*4 columns"):
        quadrant.inverse_transform(np.ones((1, 3)))


@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(FirstQuadrant(), method)(data())


def test_names():
    frame = pd.DataFrame(data(), columns=list("wxyz"))
    quadrant = FirstQuadrant().fit(frame)
    assert quadrant.feature_names_in_.tolist() == list("wxyz")
    with pytest.raises(ValueError, match="same order"):
        quadrant.transform(frame[list("zyxw")])
